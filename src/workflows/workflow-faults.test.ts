// Faults of workers: double completion, a lost lease, code that does not match, code that throws on every
// replay; and clocks that jump. Each has a defined outcome, loses no data and does not affect other runs.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { blockedBy, go, healthy, isWell, NAMESPACE, step, storeWith } from "../host/faults-kit.test.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import type { TaskClaim, TaskCompletion } from "../ports/store/workflows.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { workflow } from "./definition/definition.ts";
import { type HistoryEvent, writeEventBatch } from "./engine/events.ts";

const theft = (worker: string): TaskClaim => ({
  namespace: NAMESPACE,
  queue: "default",
  types: [{ type: "held", pins: [{ pinned: undefined, pins: undefined }] }],
  limit: 10,
  isSticky: false,
  staleMs: 1,
  lease: { token: `of ${worker}`, worker, leaseMs: 3_600_000 },
});

const NOTHING = {
  affinity: undefined,
  attributes: undefined,
  memo: undefined,
  reminders: [],
  starts: [],
  messages: [],
};

describe("workers that complete a task twice", () => {
  it("a task is completed once, and a repeated completion changes nothing", async () => {
    const clock = new VirtualClock();
    const twice = storeWith(clock, (workflows) => ({
      complete: async (batch) => {
        await workflows.complete(batch);
        return workflows.complete(batch);
      },
    }));
    const ran: number[] = [];
    const counts = workflow("counts", async (ctx) => {
      for (let n = 0; n < 5; n++) await ctx.activity("note", n);
      await ctx.signal(go);
      return "counted";
    });
    const note = async (n: number): Promise<void> => void ran.push(n);
    const activities = { note, step };
    await using app = await testLimpet({ workflows: [counts, healthy], activities, clock, stateStore: twice });
    const handle = await app.workflows.start(counts, { input: undefined });
    await app.advance("1s");
    await handle.signal(go, 1);
    assert.equal(await handle.result(), "counted");
    assert.deepEqual(ran, [0, 1, 2, 3, 4]);
    const kinds = (await handle.history()).map(({ event }) => event.kind);
    assert.equal(kinds.filter((kind) => kind === "ActivityCompleted").length, 5);
    await isWell(app);
  });
});

describe("workers without their lease", () => {
  /** A run with a running activity, on a worker that cannot renew its lease. */
  async function held(clock: VirtualClock) {
    const store = storeWith(clock, () => ({
      renew: async () => {
        throw new LimpetError("STORE_UNAVAILABLE", "not now");
      },
    }));
    const going = Promise.withResolvers<string>();
    const holds = workflow("held", async (ctx) => ctx.activity("wait"));
    const activities = { wait: () => going.promise, step };
    const settings = { worker: { lease: "30s", pollInterval: "1h" } };
    const app = await testLimpet({ workflows: [holds, healthy], activities, clock, stateStore: store, ...settings });
    const handle = await app.workflows.start(holds, { id: "h", input: undefined });
    await app.advance("10s");
    return { app, handle, going, store };
  }

  it("a worker whose lease was stolen writes nothing, and the writes of the thief stay", async () => {
    const clock = new VirtualClock();
    const { app, handle, going, store } = await held(clock);
    await using _ = app;
    await app.advance("25s");
    const { tasks } = await store.workflows.claim(theft("thief"));
    assert.equal(tasks.length, 1);
    const [{ ref, token, last, taken }] = tasks as [(typeof tasks)[0]];
    going.resolve("of the first");
    await app.advance("1s");
    assert.equal((await handle.describe()).historyEvents, last);
    const events: HistoryEvent[] = [
      { kind: "ActivityCompleted", of: 1, result: "of the thief" },
      { kind: "WorkflowCompleted", n: 2, result: "of the thief" },
    ];
    const batch = writeEventBatch({ at: clock.now(), events });
    const outcome = { kind: "close", status: "completed", result: JSON.stringify({ result: "of the thief" }) } as const;
    const stolen: TaskCompletion = { ref, token, last, batch, taken, outcome, ...NOTHING };
    assert.equal((await store.workflows.complete([stolen]))[0]?.kind, "done");
    await app.advance("1m");
    assert.equal(await handle.result(), "of the thief");
    await isWell(app);
  });

  it("a worker whose expired lease no other worker claimed completes its task all the same", async () => {
    const { app, handle, going } = await held(new VirtualClock());
    await using _ = app;
    await app.advance("29s");
    going.resolve("late");
    assert.equal(await handle.result(), "late");
  });
});

describe("workers with commands that do not match the history", () => {
  it("a worker whose commands do not match writes nothing, and the run continues when matching code appears", async () => {
    const make = (name: string) =>
      workflow("made", async (ctx) => {
        await ctx.activity(name);
        await ctx.signal(go);
        return name;
      });
    const activities = { a: step, b: step, step };
    await using app = await testLimpet({ workflows: [make("a"), healthy], activities });
    const handle = await app.workflows.start("made", { id: "m", input: undefined });
    await app.advance("1s");
    const before = await handle.history();
    await app.restart({ workflows: [make("b"), healthy] });
    await handle.signal(go, 1);
    await app.advance("1m");
    assert.match(await blockedBy(handle), /history has ActivityScheduled a .*decides ActivityScheduled b/);
    assert.deepEqual(await handle.history(), before);
    await isWell(app);
    await app.restart({ workflows: [make("a"), healthy] });
    await app.advance("10m");
    assert.equal(await handle.result(), "a");
  });
});

describe("poisoned workflows", () => {
  it("a workflow that throws on every replay is blocked and retried less and less often, and other runs continue", async () => {
    let isReplay = false;
    const poisoned = workflow("poisoned", async (ctx) => {
      if (isReplay) await new Promise(() => {});
      await ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [poisoned, healthy], activities: { step }, checksReplay: false });
    const handle = await app.workflows.start(poisoned, { id: "p", input: undefined });
    await app.advance("1s");
    isReplay = true;
    app.dropWarmRuns();
    await handle.signal(go, 1);
    const attempts: number[] = [];
    for (let minute = 0; minute < 30; minute++) {
      await app.advance("1m");
      attempts.push((await handle.describe()).attempt);
    }
    assert.match(await blockedBy(handle), /does not come from ctx/);
    // Six in the first minute, then one in five minutes.
    assert.ok(attempts[0]! >= 5 && attempts[29]! <= attempts[0]! + 10, attempts.join(" "));
    await isWell(app);
    assert.equal(await app.workflows.count({ isBlocked: true }), 1);
    isReplay = false;
    await app.advance("10m");
    assert.equal(await handle.result(), undefined);
  });

  it("a poisoned workflow can be terminated, and cancelled without waiting for the next retry", async () => {
    const poisoned = workflow("poisoned", async (ctx) => {
      await ctx.signal(go);
      await new Promise(() => {});
    });
    for (const how of ["terminate", "cancel"] as const) {
      await using app = await testLimpet({ workflows: [poisoned] });
      const handle = await app.workflows.start(poisoned, { input: undefined });
      await handle.signal(go, 1);
      await app.advance("30m");
      await handle[how]("enough");
      await app.advance("5s");
      await assert.rejects(handle.result(), (error) => isLimpetError(error));
      assert.equal((await handle.describe()).status, how === "cancel" ? "cancelled" : "terminated");
    }
  });

  it("a poisoned child that is ended from outside notifies its parent", async () => {
    const child = workflow("child", async (ctx) => {
      await ctx.signal(go);
      await new Promise(() => {});
    });
    const parent = workflow("parent", async (ctx, how: string) => {
      try {
        await ctx.child(child, { id: `child of ${how}`, input: undefined });
        return "done";
      } catch (error) {
        return isLimpetError(error) ? error.code : "something else";
      }
    });
    for (const [how, code] of [
      ["terminate", "WORKFLOW_TERMINATED"],
      ["cancel", "WORKFLOW_CANCELLED"],
    ] as const) {
      await using app = await testLimpet({ workflows: [parent, child] });
      const handle = await app.workflows.start(parent, { input: how });
      await app.advance("1s");
      const inner = app.workflows.get(`child of ${how}`);
      await inner.signal(go, 1);
      await app.advance("1m");
      await inner[how]("enough");
      await app.advance("10m");
      assert.equal((await handle.describe()).status, "completed", how);
      assert.equal(await handle.result(), code);
    }
  });
});

const HOUR_MS = 3_600_000;

describe("clocks that jump", () => {
  const naps = workflow("naps", async (ctx) => {
    const seen = [ctx.now()];
    for (let i = 0; i < 3; i++) {
      await ctx.sleep("1h");
      seen.push(ctx.now());
    }
    return seen;
  });

  /**
   * A store whose clock is an hour behind the clock of the process, and in which no reminder can be claimed
   * yet.
   */
  function behind(clock: VirtualClock): MemoryStore {
    const store = new MemoryStore(() => clock.now() - HOUR_MS);
    const claim = store.reminders.claim.bind(store.reminders);
    store.reminders.claim = async (request) => {
      if (request.types.length > 0) throw new LimpetError("STORE_UNAVAILABLE", "not now");
      return claim(request);
    };
    return store;
  }

  it("first starts and reminders use the clock of the store, whatever the clock of the process shows", async () => {
    const clock = new VirtualClock();
    const looks = workflow("looks", async (ctx) => ctx.now());
    class Bell extends Actor<{ rings: number }> {
      initial() {
        return { rings: 0 };
      }
      override onReminder() {}
    }
    await using app = await testLimpet({ actors: [Bell], workflows: [looks], clock, stateStore: behind(clock) });
    const handle = await app.workflows.start(looks);
    assert.ok((await handle.result()) <= clock.now() - HOUR_MS);
    await app.reminders.set(Bell, "a", "tea", { due: "1m" });
    const tea = await app.reminders.get(Bell, "a", "tea");
    assert.ok(tea!.next <= clock.now() - HOUR_MS + 60_000);
  });

  for (const [what, jumpMs] of [
    ["ahead by a day", 86_400_000],
    ["back by a day", -86_400_000],
  ] as const) {
    it(`a clock that jumps ${what} loses no timer, and the time of a run never goes back`, async () => {
      const clock = new VirtualClock();
      let jumped = 0;
      const store = new MemoryStore(() => clock.now() + jumped);
      await using app = await testLimpet({
        workflows: [naps, healthy],
        activities: { step },
        clock,
        stateStore: store,
      });
      const handle = await app.workflows.start(naps, { input: undefined });
      await app.advance("30m");
      jumped = jumpMs;
      await app.advance("3d");
      const seen = (await handle.result()) as number[];
      assert.equal(seen.length, 4);
      for (const [i, at] of seen.slice(1).entries()) assert.ok(at >= seen[i]! + 3_600_000, `nap ${i + 1}`);
    });
  }
});
