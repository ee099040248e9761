import assert from "node:assert/strict";
import { test } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { ShardedRules } from "../../kernel/sharded-rule.ts";
import { Metrics } from "../../observe/metrics.ts";
import type { TermFeature } from "../../ports/cluster/leader-feature.ts";
import type { ControlListener, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import { silentLog } from "../../ports/log.ts";
import type { Coordination, MemberChange } from "../../ports/store/coordination.ts";
import { LeaderShards } from "../../sharding/leader/leader-shards.ts";
import { newCandidate } from "../../stores/contract/coordination-shared.contract.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { LeaderTerm } from "./leader-term.ts";
import { SchedulerInstruments } from "./metrics.ts";

const SETTINGS = {
  leaseMs: 10_000,
  roundTimeoutMs: 8_000,
  coalesceMs: 0,
  replicationFactor: 10,
  failover: "lease",
} as const;

const fail = async (): Promise<never> => assert.fail("a leader persists members and nothing else");
const NOTHING_ELSE = { campaign: fail, resign: fail, members: fail, leave: fail, secret: fail };

/** Shards whose writes are never answered. */
async function beginShards(clock: VirtualClock, term: number): Promise<TermFeature> {
  const shards = {
    ...new MemoryStore().shards,
    homes: async () => [],
    noteHomes: () => new Promise<boolean>(() => {}),
  };
  const feature = new LeaderShards({ clock, log: silentLog, meter: new Metrics(), shards });
  return (await feature.load())(term, assert.fail);
}

/** A leader, and a store that takes 100 ms for a write. */
class Setting {
  readonly clock = new VirtualClock();
  readonly coordination: Coordination = new MemoryStore(() => this.clock.now()).coordination;
  /** Changes that the store was asked to write, step by step. */
  readonly asked: string[][] = [];
  /**
   * Outcomes of the next steps: "before": the step failed and changed nothing; "after": it failed, but was
   * applied.
   */
  readonly failures: ("before" | "after")[] = [];
  readonly overs: string[] = [];
  /** The leader's own lease, by its own clock. */
  lasts = true;
  readonly candidate = newCandidate();
  #leading: LeaderTerm | undefined;

  /** `change` replaces the shards of the term. */
  static async begin(change = (shards: TermFeature): TermFeature => shards): Promise<Setting> {
    const setting = new Setting();
    const { term } = await setting.coordination.campaign(setting.candidate);
    setting.#leading = new LeaderTerm(term, [], 0, SETTINGS, {
      shards: change(await beginShards(setting.clock, term)),
      clock: setting.clock,
      log: silentLog,
      instruments: new SchedulerInstruments(new Metrics()),
      coordination: { ...NOTHING_ELSE, persist: (of, changes) => setting.#persist(of, changes) },
      hasEnded: () => false,
      lasts: () => setting.lasts,
      over: (why) => setting.#end(why),
      broken: (why) => setting.#end(`bug: ${why}`),
    });
    return setting;
  }

  #end(why: string): void {
    this.overs.push(why);
    this.leading.freeze();
  }

  get leading(): LeaderTerm {
    return this.#leading!;
  }

  async #persist(term: number, changes: readonly MemberChange[]): Promise<boolean> {
    this.asked.push(changes.map((one) => (one.kind === "drop" ? `drop ${one.incarnation}` : one.member.incarnation)));
    const failure = this.failures.shift();
    await new Promise<void>((resolve) => this.clock.after(100, resolve));
    const isCurrent = failure === "before" || (await this.coordination.persist(term, changes));
    if (failure !== undefined) throw new LimpetError("STORE_UNAVAILABLE", "the connection was lost");
    return isCurrent;
  }

  /** A host sends hello. */
  host(name: string, sharded?: ShardedRules, sent: SchedulerMessage[] = []): ControlListener<HostMessage> {
    const listener = this.leading.report({ send: (message) => void sent.push(message), close() {} });
    listener.message({
      kind: "hello",
      namespace: "default",
      incarnation: name,
      replaces: undefined,
      address: name,
      name,
      types: ["Cart"],
      sharded,
      unlocked: new Map(),
      machine: "m",
      pid: 1,
    });
    return listener;
  }

  hosts(count: number, prefix: string): string[] {
    const names = Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(4, "0")}`);
    for (const name of names) this.host(name);
    return names;
  }

  /** Hosts that are members. */
  get joined(): string[] {
    return this.leading.view().hosts.flatMap(({ state, incarnation }) => (state === "member" ? [incarnation] : []));
  }

  async stored(): Promise<string[]> {
    return (await this.coordination.members()).map(({ incarnation }) => incarnation);
  }
}

test("hosts that join at once are recorded in a few steps, even with a slow store", async () => {
  const setting = await Setting.begin();
  const names = setting.hosts(100, "a");
  await setting.clock.advance("50ms");
  assert.deepEqual(setting.joined, []);
  names.push(...setting.hosts(100, "b"));
  await setting.clock.advance("200ms");
  assert.deepEqual(
    setting.asked.map((step) => step.length),
    [100, 100],
  );
  assert.deepEqual(setting.joined, names);
  assert.deepEqual(await setting.stored(), names);
});

test("one step has no more changes than a store takes at once", async () => {
  const setting = await Setting.begin();
  const names = setting.hosts(LIMITS.memberChanges + 1, "a");
  await setting.clock.advance("200ms");
  assert.deepEqual(
    setting.asked.map((step) => step.length),
    [LIMITS.memberChanges, 1],
  );
  assert.deepEqual(setting.joined, names);
});

test("a change that the store did not write is written again, together with newer ones, in order", async () => {
  for (const failure of ["before", "after"] as const) {
    const setting = await Setting.begin();
    setting.failures.push(failure, failure);
    setting.host("a");
    const leaving = setting.host("b");
    await setting.clock.advance("50ms");
    leaving.message({ kind: "goodbye" });
    setting.host("c");
    let isPersisted = false;
    void setting.leading.persisted().then(() => {
      isPersisted = true;
    });
    await setting.clock.advance("600ms");
    assert.deepEqual([setting.joined, isPersisted], [[], false]);
    await setting.clock.advance("400ms");
    const rest = ["drop b", "c"];
    // Its record came after it had left, so it is dropped once more.
    assert.deepEqual(setting.asked, [["a", "b"], ["a", "b", ...rest], ["a", "b", ...rest], ["drop b"]]);
    assert.deepEqual([setting.joined, isPersisted], [["a", "c"], true]);
    assert.deepEqual(await setting.stored(), ["a", "c"]);
  }
});

test("a leader whose term is over learns it from the store, writes nothing more and admits no host", async () => {
  const setting = await Setting.begin();
  setting.host("a");
  await setting.clock.advance("50ms");
  setting.host("b");
  await setting.coordination.campaign(newCandidate(), [setting.candidate.incarnation]);
  await setting.clock.advance("1s");
  await setting.leading.persisted();
  assert.deepEqual(setting.overs, ["another scheduler leads by now"]);
  assert.deepEqual([setting.asked, setting.joined], [[["a"]], []]);
  assert.deepEqual(await setting.stored(), []);
});

test("a leader whose term ends does not claim that an unanswered pause of shards was not written", async () => {
  const setting = await Setting.begin();
  const rule = {
    shards: 4,
    ownShards: false,
    movesAtOnce: 1,
    rebalanceMs: 1_000,
    handOffMs: 1_000,
    minHosts: 1,
    startMs: 10_000,
  };
  setting.host("a", new Map([["Cart", { ...rule, strategy: { kind: "hashed" } }]]));
  await setting.clock.advance("1s");
  const steering = { kind: "pause", paused: true } as const;
  const pause = { kind: "steerShards", namespace: "default", type: "Cart", steering } as const;
  const paused = setting.leading.admin(pause);
  paused.catch(() => {});
  await setting.clock.advance("1s");
  setting.leading.freeze();
  await assert.rejects(paused, { code: "COMMIT_UNKNOWN", retry: "unknown" });
  const late = setting.leading.admin(pause);
  await assert.rejects(late, { code: "NOT_LEADER" });
});

test("a leader whose own lease is over answers no renewal, whichever host asks first", async () => {
  for (const last of ["renewal", "hello", "goodbye"] as const) {
    const setting = await Setting.begin();
    const sent: SchedulerMessage[] = [];
    const host = setting.host("a", undefined, sent);
    await setting.clock.advance("1s");
    host.message({ kind: "renew", sequence: 1, actors: 0 });
    assert.equal(sent.filter(({ kind }) => kind === "renewed").length, 1);
    setting.lasts = false;
    sent.length = 0;
    if (last === "hello") setting.host("b", undefined, sent);
    if (last === "goodbye") setting.host("b", undefined, sent).message({ kind: "goodbye" });
    host.message({ kind: "renew", sequence: 2, actors: 0 });
    await setting.clock.advance("1s");
    assert.deepEqual([sent, setting.overs], [[], ["it could not be kept up"]]);
  }
});

test("a broken invariant ends the term and not the process, and any other error is thrown", async () => {
  for (const code of ["INVARIANT", "ARGUMENT_INVALID"] as const) {
    const throwing = (shards: TermFeature): TermFeature => ({
      end: () => shards.end(),
      namespace(of) {
        const { coordinator, requests } = shards.namespace(of);
        const message = (): never => {
          throw new LimpetError(code, "shard 7: buffering, home a");
        };
        return { coordinator: Object.assign(coordinator, { message }), requests };
      },
    });
    const setting = await Setting.begin(throwing);
    const sent: SchedulerMessage[] = [];
    const host = setting.host("a", undefined, sent);
    await setting.clock.advance("1s");
    sent.length = 0;
    const report = (): void => host.message({ kind: "leaveShards", types: ["Cart"] });
    if (code === "INVARIANT") report();
    else assert.throws(report, { code });
    host.message({ kind: "renew", sequence: 1, actors: 0 });
    const isOver = code === "INVARIANT";
    assert.deepEqual(setting.overs, isOver ? ["bug: an invariant of its decisions is broken"] : []);
    assert.equal(sent.length, isOver ? 0 : 1, "a leader after its term answers no renewal");
  }
});

test("a leader removes a silent host when its lease is over, although no other message arrives", async () => {
  const setting = await Setting.begin();
  setting.host("a");
  await setting.clock.advance("200ms");
  assert.deepEqual([setting.joined, await setting.stored()], [["a"], ["a"]]);
  await setting.clock.advance("11s");
  assert.deepEqual([setting.joined, await setting.stored()], [[], []]);
});
