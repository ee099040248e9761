// A start that fails at any step leaves nothing behind. A start continues when the store is silent for a
// moment.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import { type LimpetSettings, resolveSettings } from "../config/settings.ts";
import { LimpetError } from "../kernel/errors.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import { type AroundMethod, interceptMethods, interceptStore } from "../ports/store/intercept.ts";
import type { Store } from "../ports/store/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { workflow } from "../workflows/definition/definition.ts";
import { type App, openApp } from "./app.ts";
import { eventually, isBusy } from "./cluster-kit.test.ts";
import { type ClusterWire, systemWire } from "./cluster-wire.ts";

class Plain extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }

  add() {
    return ++this.state.n;
  }
}

class Sharded extends Plain {
  static options = { placement: sharded({ shards: 4, remember: true }) };
}

const flow = workflow("flow", async (ctx) => ctx.activity("step"));
const DEFINITIONS = { actors: [Plain, Sharded], workflows: [flow], activities: { step: async () => "done" } };
/** Factor for the time of a successful start on a busy machine. */
const TIMES = isBusy ? 20 : 1;
const BRIEF: LimpetSettings = {
  worker: { build: "b1" },
  http: { port: 0 },
  storeTimeout: 100 * TIMES,
  drainTimeout: 200 * TIMES,
};

/** Calls `meet` with the name of a method, and then the method. */
const meeting =
  (meet: (name: string) => void, path: string): AroundMethod =>
  (method, _, next) => {
    try {
      meet(`${path}${method}`);
    } catch (error) {
      if (method === "watch" || method === "openLinks") throw error;
      return Promise.reject(error);
    }
    return next();
  };

interface Trial {
  readonly store: Store;
  readonly outcome: App | Error;
  /** Names of all methods that the start has called. */
  readonly names: ReadonlySet<string>;
}

async function start(meet: (name: string) => void, code: LimpetSettings = BRIEF, dedicated = false): Promise<Trial> {
  const store = new MemoryStore();
  const names = new Set<string>();
  const note = (name: string): void => {
    names.add(name);
    meet(name);
  };
  // Shorter than users may choose, so that a start that waits for its cluster gives up soon.
  const brief = { lease: 300 * TIMES, leaderLease: 100 * TIMES, roundTimeout: 250 * TIMES, moveTimeout: 100 * TIMES };
  const settings = { ...resolveSettings({ code, file: false, env: {} }), ...(code === BRIEF ? brief : {}) };
  const seen = interceptStore<Store>(store, (part, ...call) =>
    meeting(note, part === "actors" ? "" : `${part}.`)(...call),
  );
  const real = systemWire(settings, { log: silentLog, meter: silentMeter, coordination: seen.coordination });
  const wire: ClusterWire = { ...real, ...interceptMethods(pick(real), meeting(note, "wire.")) };
  const extras = { store: seen, wire, clustered: true, dedicated, log: silentLog };
  const outcome = await openApp(dedicated ? {} : DEFINITIONS, settings, extras).catch((error: Error) => error);
  return { store, outcome, names: new Set(names) };
}

const pick = ({ openLinkServer, openControlServer, openLinks }: ClusterWire) => ({
  openLinkServer,
  openControlServer,
  openLinks,
});

async function leavesNothing({ store, outcome }: Trial, step: string): Promise<void> {
  if (!(outcome instanceof Error)) await outcome.stop();
  assert.deepEqual(await store.coordination.members(), [], `${step}: no member is left`);
  const probe = { incarnation: "p", address: "", machine: "m", pid: 1, dedicated: false, leaseMs: 10, hostLeaseMs: 10 };
  const { schedulers, leading } = await store.coordination.campaign(probe, []);
  assert.ok(leading, `${step}: no leader is left`);
  assert.deepEqual(
    schedulers.map(({ incarnation }) => incarnation),
    ["p"],
    `${step}: no scheduler is left`,
  );
  assert.deepEqual(await store.workflows.workers("default"), [], `${step}: no worker is left`);
}

const fails = (failing: string) => (name: string) => {
  if (name === failing) throw new LimpetError("STORE_INCOMPATIBLE", `${name} fails in this test`);
};

describe("a failed start", () => {
  for (const dedicated of [false, true]) {
    it(`a failed start leaves no member, socket or timer, whichever step fails (${dedicated ? "scheduler" : "host"})`, async () => {
      const before = process.getActiveResourcesInfo().sort();
      const good = await start(() => {}, BRIEF, dedicated);
      assert.ok(!(good.outcome instanceof Error), String(good.outcome));
      await leavesNothing(good, "nothing fails");
      const steps = [...good.names].filter((name) => name !== "warm" && !name.startsWith("location"));
      assert.ok(steps.length > (dedicated ? 3 : 8), steps.join());
      let failed = 0;
      await Promise.all(
        steps.map(async (step) => {
          const trial = await start(fails(step), BRIEF, dedicated);
          if (trial.outcome instanceof Error) failed++;
          await leavesNothing(trial, step);
        }),
      );
      assert.ok(failed > (dedicated ? 2 : 7), `${failed} of ${steps.join()}`);
      const isFree = async (): Promise<boolean> => isDeepStrictEqual(process.getActiveResourcesInfo().sort(), before);
      await eventually(isFree, "nothing keeps the process");
    });
  }

  it("a start that finds its HTTP port in use leaves nothing behind, and the next start is the only member", async () => {
    await using first = await openApp(
      {},
      resolveSettings({ code: { ...BRIEF, store: "memory:" }, file: false, env: {} }),
    );
    const port = Number(new URL(first.url!).port);
    const trial = await start(() => {}, { ...BRIEF, http: { port } });
    assert.ok(trial.outcome instanceof LimpetError && trial.outcome.code === "ADDRESS_IN_USE");
    await leavesNothing(trial, "http");
  });
});

it("a start continues when the store does not answer the first request", async () => {
  const met = new Set<string>();
  let isStarted = false;
  const once = (name: string): void => {
    if (isStarted || name.endsWith("watch") || name.startsWith("wire.") || met.has(name)) return;
    met.add(name);
    throw new LimpetError("STORE_UNAVAILABLE", `${name} fails once in this test`);
  };
  const trial = await start(once, { ...BRIEF, storeTimeout: "10s" });
  isStarted = true;
  assert.ok(!(trial.outcome instanceof Error), String(trial.outcome));
  assert.ok(met.size > 8, [...met].join());
  assert.equal(await trial.outcome.actor(Plain, "a").add(), 1);
  await leavesNothing(trial, "the first answer of each question is lost");
});
