// Calls while shards move: none fails, each runs once, and the calls of one caller to one actor run in their
// order.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import type { App } from "../host/app.ts";
import { eventually, TestApps } from "../host/cluster-kit.test.ts";
import { isLimpetError } from "../kernel/errors.ts";

class Ledger extends Actor<{ last: Record<string, number> }> {
  static options = { placement: sharded({ shards: 12, rebalance: "100ms", relativeLimit: 1 }), mailboxLimit: 10_000 };
  initial() {
    return { last: {} };
  }
  /** Detects a repeated, reordered or missing call at once. */
  append(caller: string, n: number) {
    const { last } = this.state;
    assert.equal(n, (last[caller] ?? 0) + 1, `${this.id}: ${caller} is at ${last[caller] ?? 0}`);
    last[caller] = n;
    return n;
  }
}

const ids = Array.from({ length: 24 }, (_, i) => `ledger-${i}`);
/**
 * Ten thousand actors begin at once. On a busy machine that takes long, and no host may lose its lease and no
 * call may time out over it.
 */
const PATIENT = {
  callTimeout: "5m",
  cluster: { lease: "60s", leaderLease: "20s", roundTimeout: "30s", moveTimeout: "10s" },
} as const;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Limit for one caller. A busy machine must not collect calls faster than it serves them. */
const MOST_UNDER_WAY = 2_000;

/** Makes calls without waiting for the earlier ones. */
class Caller {
  readonly #app: App;
  readonly #name: string;
  readonly #calls: Promise<number>[] = [];
  #sent = 0;
  #answered = 0;

  constructor(app: App, name: string) {
    this.#app = app;
    this.#name = name;
  }

  sendAll(): void {
    this.#sent++;
    for (const id of ids) {
      const call = this.#app.actor(Ledger, id, { timeout: "5m" }).append(this.#name, this.#sent);
      const answered = () => {
        this.#answered++;
      };
      call.then(answered, answered);
      this.#calls.push(call);
    }
  }

  get isBehind(): boolean {
    return this.#calls.length - this.#answered > MOST_UNDER_WAY;
  }

  async finish(): Promise<number> {
    await Promise.all(this.#calls);
    return this.#sent;
  }
}

describe("calls to sharded actors", () => {
  it("calls keep their order and none fails while hosts join and leave", async () => {
    await using apps = new TestApps();
    const one = await apps.open([Ledger]);
    const proxy = await apps.open([]);
    const callers = [new Caller(one, "one"), new Caller(proxy, "proxy"), new Caller(one, "again")];
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        for (const caller of callers) if (!caller.isBehind) caller.sendAll();
        await pause(3);
      }
    })();
    const two = await apps.open([Ledger]);
    const balanced = async () => {
      const homes = await apps.store.shards.homes();
      return new Set(homes.map(({ incarnation }) => incarnation)).size === 2;
    };
    await eventually(balanced, "both have shards");
    await two.stop();
    await apps.open([Ledger]);
    await eventually(balanced, "both have shards again");
    isOver = true;
    await sending;
    for (const caller of callers) assert.ok((await caller.finish()) > 0);
  });

  it("calls wait in their order while the homes are unknown, and go ahead of newer ones", async () => {
    await using apps = new TestApps();
    const one = await apps.open([Ledger]);
    const caller = new Caller(one, "one");
    // The first ones request the homes of their shards, and the rest are made before the answers.
    for (let i = 0; i < 50; i++) caller.sendAll();
    await pause(0);
    caller.sendAll();
    assert.equal(await caller.finish(), 51);
  });

  it("calls are rejected when too many wait, and the waiting ones are served", async () => {
    await using apps = new TestApps();
    const bufferSize = 300;
    const one = await apps.open([Ledger], { ...PATIENT, sharding: { bufferSize } });
    const many = bufferSize + 10;
    const outcomes = await Promise.allSettled(
      Array.from({ length: many }, (_, i) => one.actor(Ledger, `id-${i}`).append("me", 1)),
    );
    const refused = outcomes.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    const why = Map.groupBy(refused, ({ reason }) => String(reason.code ?? reason));
    assert.deepEqual(Object.fromEntries([...why].map(([code, those]) => [code, those.length])), { BUFFER_FULL: 10 });
    assert.match(one.metrics(), /limpet_host_shard_calls_refused_total\{[^}]*type="Ledger"\} 10\n/);
    assert.match(one.metrics(), /limpet_host_shard_calls_waiting\{[^}]*type="Ledger"\} 0\n/);
    for (const { reason } of refused) assert.ok(isLimpetError(reason, "BUFFER_FULL") && reason.retry === "later");
    assert.equal(await one.actor(Ledger, `id-${many - 1}`).append("me", 1), 1);
  });
});
