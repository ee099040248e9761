// Workflows in one process, on a store in memory, under a virtual clock.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { query, signal, update, workflow } from "./definition/definition.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

const double = async (n: number): Promise<number> => n * 2;

describe("workflows", () => {
  const sum = workflow("sum", async (ctx, numbers: number[]) => {
    let total = 0;
    for (const n of numbers) total += await ctx.activity(double, n);
    return total;
  });

  it("a workflow runs its activities one after the other and returns its result", async () => {
    await using app = await testLimpet({ workflows: [sum], activities: { double } });
    const handle = await app.workflows.start(sum, { id: "one", input: [1, 2, 3] });
    assert.equal(await handle.result(), 12);
    const events = await handle.history();
    assert.deepEqual(
      events.map(({ number, event }) => [number, event.kind]),
      [
        [1, "WorkflowStarted"],
        [2, "ActivityScheduled"],
        [3, "ActivityCompleted"],
        [4, "ActivityScheduled"],
        [5, "ActivityCompleted"],
        [6, "ActivityScheduled"],
        [7, "ActivityCompleted"],
        [8, "WorkflowCompleted"],
      ],
    );
    const { status, historyEvents } = await handle.describe();
    assert.deepEqual([status, historyEvents], ["completed", 8]);
  });

  it("a workflow starts once under an id by default", async () => {
    const slow = workflow("slow", async (ctx, said: string) => {
      await ctx.signal("end");
      return said;
    });
    await using app = await testLimpet({ workflows: [slow] });
    const first = await app.workflows.start(slow, { id: "x", input: "first" });
    await assert.rejects(app.workflows.start(slow, { id: "x", input: "second" }), hasCode("WORKFLOW_EXISTS", /x/));
    const same = await app.workflows.start(slow, { id: "x", input: "second", ifRunning: "existing" });
    assert.equal(same.runId, first.runId);
    const other = await app.workflows.start(slow, { id: "x", input: "third", ifRunning: "terminate" });
    assert.notEqual(other.runId, first.runId);
    await assert.rejects(first.result(), hasCode("WORKFLOW_TERMINATED"));
    await other.signal("end", undefined);
    assert.equal(await other.result(), "third");
    await assert.rejects(
      app.workflows.start(slow, { id: "x", input: "fourth", ifEnded: "start unless completed" }),
      hasCode("WORKFLOW_EXISTS"),
    );
  });

  it("a workflow sleeps for the requested time, and not longer", async () => {
    const sleepy = workflow("sleepy", async (ctx) => {
      const from = ctx.now();
      await ctx.sleep("30d");
      return ctx.now() - from;
    });
    await using app = await testLimpet({ workflows: [sleepy] });
    const handle = await app.workflows.start(sleepy, { input: undefined });
    await app.advance("29d");
    assert.equal((await handle.describe()).status, "running");
    await app.advance("1d");
    assert.equal(await handle.result(), 30 * 86_400_000);
  });

  it("a workflow handles signals, queries and updates while it runs", async () => {
    const close = signal("close");
    const total = query<number>("total");
    const add = update<number, number>("add");
    const account = workflow("account", async (ctx) => {
      let money = 0;
      ctx.onQuery(total, () => money);
      ctx.onUpdate(
        add,
        async (by) => {
          money += await ctx.activity(double, by);
          return money;
        },
        {
          validate: (by) => {
            if (by < 0) throw new LimpetError("ARGUMENT_INVALID", "only more");
          },
        },
      );
      await ctx.signal(close);
      return money;
    });
    await using app = await testLimpet({ workflows: [account], activities: { double } });
    const handle = await app.workflows.start(account, { id: "a", input: undefined });
    const added = handle.update(add, 2);
    await app.advance("1s");
    assert.equal(await added, 4);
    assert.equal(await handle.query(total), 4);
    const refused = assert.rejects(handle.update(add, -1), hasCode("UPDATE_REJECTED", /only more/));
    await app.advance("1s");
    await refused;
    await assert.rejects(handle.query("none"), hasCode("QUERY_UNKNOWN"));
    await handle.signal(close, undefined);
    assert.equal(await handle.result(), 4);
    assert.equal(await handle.query(total), 4);
    await assert.rejects(handle.signal(close, undefined), hasCode("WORKFLOW_CLOSED", /completed/));
  });

  it("a failing activity is retried after growing pauses, and fails with its last error", async () => {
    const attempts: number[] = [];
    const flaky = async (failures: number, { attempt }: { attempt: number }): Promise<string> => {
      attempts.push(attempt);
      if (attempt <= failures) throw new LimpetError("ARGUMENT_INVALID", `attempt ${attempt}`);
      return "done";
    };
    const trying = workflow("trying", async (ctx, failures: number) =>
      ctx.activity<string>("flaky", failures, { retry: { attempts: 3, initial: "10s" } }),
    );
    await using app = await testLimpet({ workflows: [trying], activities: { flaky } });
    const handle = await app.workflows.start(trying, { input: 2 });
    await app.advance("9s");
    assert.deepEqual(attempts, [1]);
    await app.advance("2s");
    assert.deepEqual(attempts, [1, 2]);
    await app.advance("20s");
    assert.equal(await handle.result(), "done");
    const failing = await app.workflows.start(trying, { input: 5 });
    await app.advance("1m");
    await assert.rejects(failing.result(), hasCode("WORKFLOW_FAILED", /attempt 3/));
  });

  it("a workflow gets the results of its children, which end with it", async () => {
    const child = workflow("child", async (ctx, n: number) => {
      if (n < 0) await ctx.signal("never");
      return n * 10;
    });
    const parent = workflow("parent", async (ctx) => {
      void ctx.child(child, { id: "left", input: -1 });
      return Promise.all([ctx.child(child, { input: 1 }), ctx.child(child, { input: 2 })]);
    });
    await using app = await testLimpet({ workflows: [parent, child] });
    const handle = await app.workflows.start(parent, { id: "p", input: undefined });
    await app.advance("5s");
    assert.deepEqual(await handle.result(), [10, 20]);
    await app.advance("5s");
    assert.equal((await app.workflows.get("left").describe()).status, "terminated");
  });

  it("a workflow calls actors", async () => {
    class Counter extends Actor<{ n: number }> {
      override initial() {
        return { n: 0 };
      }
      add(by: number): number {
        this.state.n += by;
        return this.state.n;
      }
    }
    const counting = workflow("counting", async (ctx) => {
      await ctx.actor(Counter, "one").add(2);
      return ctx.actor(Counter, "one").add(3);
    });
    await using app = await testLimpet({ actors: [Counter], workflows: [counting] });
    const handle = await app.workflows.start(counting, { input: undefined });
    assert.equal(await handle.result(), 5);
  });

  it("an actor starts and signals a workflow in the transaction of its turn, or not at all", async () => {
    const order = workflow("order", async (ctx, items: string[]) => [...items, await ctx.signal<string>("paid")]);
    class Cart extends Actor<{ items: string[] }> {
      override initial() {
        return { items: [] as string[] };
      }
      async checkout(item: string, isSure: boolean): Promise<string> {
        this.state.items.push(item);
        const id = await this.workflows.start(order, { id: `order-${this.id}`, input: this.state.items });
        await this.workflows.signal(id, "paid", "thanks");
        if (!isSure) throw new LimpetError("ARGUMENT_INVALID", "not sure");
        return id;
      }
    }
    await using app = await testLimpet({ actors: [Cart], workflows: [order] });
    await assert.rejects(app.actor(Cart, "one").checkout("tea", false), hasCode("ARGUMENT_INVALID"));
    assert.equal(await app.workflows.count(), 0);
    assert.equal(await app.actor(Cart, "one").checkout("milk", true), "order-one");
    assert.deepEqual(await app.workflows.get(order, "order-one").result(), ["milk", "thanks"]);
  });

  it("a workflow can be cancelled, terminated, and timed out", async () => {
    const patient = workflow("patient", async (ctx) => {
      try {
        await ctx.sleep("1d");
      } finally {
        if (ctx.isCancelled) await ctx.activity(double, 1);
      }
    });
    await using app = await testLimpet({ workflows: [patient], activities: { double } });
    const cancelled = await app.workflows.start(patient, { input: undefined });
    await cancelled.cancel("enough");
    await assert.rejects(cancelled.result(), hasCode("WORKFLOW_CANCELLED"));
    const terminated = await app.workflows.start(patient, { input: undefined });
    await terminated.terminate("now");
    await assert.rejects(terminated.result(), hasCode("WORKFLOW_TERMINATED", /now/));
    const late = await app.workflows.start(patient, { input: undefined, runTimeout: "1h" });
    const over = assert.rejects(late.result(), hasCode("WORKFLOW_TIMED_OUT"));
    await app.advance("2h");
    await over;
    const { runs } = await app.workflows.list({ type: "patient" });
    assert.deepEqual(
      runs.map(({ status }) => status),
      ["timed out", "terminated", "cancelled"],
    );
    await app.advance("2d");
  });

  it("a workflow continues as new any number of times under one id", async () => {
    const rounds = workflow("rounds", async (ctx, n: number): Promise<number> => {
      await ctx.sleep("1m");
      if (n < 3) ctx.continueAsNew(n + 1);
      return n;
    });
    await using app = await testLimpet({ workflows: [rounds] });
    const handle = await app.workflows.start(rounds, { id: "r", input: 1 });
    const result = handle.result();
    await app.advance("5m");
    assert.equal(await result, 3);
    assert.equal(await app.workflows.count({ workflowId: "r" }), 3);
  });
});

describe("determinism checks in tests", () => {
  it("a workflow with non-deterministic code fails at its first step", async () => {
    let calls = 0;
    const moody = workflow("moody", async (ctx) => {
      await ctx.activity(calls++ % 2 === 0 ? "even" : "odd");
      await ctx.signal("never");
    });
    const activities = { even: async () => {}, odd: async () => {} };
    await using app = await testLimpet({ workflows: [moody], activities });
    const handle = await app.workflows.start(moody, { input: undefined });
    await assert.rejects(
      handle.result(),
      hasCode("WORKFLOW_FAILED", /history has ActivityScheduled even.*decides ActivityScheduled odd/),
    );
    await using careless = await testLimpet({ workflows: [moody], activities, checksReplay: false });
    const passes = await careless.workflows.start(moody, { input: undefined });
    await careless.advance("1s");
    assert.equal((await passes.describe()).status, "running");
  });
});

describe("workflows whose process is gone", () => {
  it("a workflow continues in another process from its history, and repeats unrecorded activities", async () => {
    const runs: string[] = [];
    const store = new MemoryStore(() => clock.now());
    let clock = { now: () => 0 };
    const step = workflow("step", async (ctx) => {
      const one = await ctx.activity<string>("note", "one");
      await ctx.sleep("1h");
      const two = await ctx.activity<string>("note", "two");
      return [one, two];
    });
    const activities = {
      note: async (what: string) => {
        runs.push(what);
        return what;
      },
    };
    const first = await testLimpet({ workflows: [step], activities, stateStore: store });
    clock = first.clock;
    const handle = await first.workflows.start(step, { id: "s", input: undefined });
    await first.advance("10m");
    await first.stop();
    await using second = await testLimpet({ workflows: [step], activities, stateStore: store });
    clock = { now: () => first.clock.now() + second.clock.now() };
    const result = second.workflows.get(step, "s").result();
    await second.advance("2h");
    assert.deepEqual(await result, ["one", "two"]);
    assert.deepEqual(runs, ["one", "two"]);
    assert.equal(handle.id, "s");
  });
});

describe("stopping workers", () => {
  it("a stopping worker waits for activities, begins no new ones, and leaves the rest to others at once", async () => {
    const store = new MemoryStore(() => time);
    const time = 0;
    const ran: string[] = [];
    const going = Promise.withResolvers<void>();
    const long = workflow("long", async (ctx) => {
      for (const name of ["one", "two", "three"]) await ctx.activity("note", name);
      return "done";
    });
    const note = async (name: string): Promise<void> => {
      ran.push(name);
      if (name === "two") await going.promise;
    };
    const first = await testLimpet({ workflows: [long], activities: { note }, stateStore: store });
    await first.workflows.start(long, { id: "l", input: undefined });
    while (ran.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const stopped = first.stop();
    going.resolve();
    await stopped;
    assert.deepEqual(ran, ["one", "two"]);
    // No time passes: no process waits for a lease.
    await using second = await testLimpet({ workflows: [long], activities: { note }, stateStore: store });
    assert.equal(await second.workflows.get(long, "l").result(), "done");
    assert.deepEqual(ran, ["one", "two", "three"]);
  });
});

describe("workflows with changed code", () => {
  it("a run with changed code is blocked, is shown as blocked, and continues when the code fits again", async () => {
    const store = new MemoryStore(() => time);
    let time = 0;
    const make = (activity: string) =>
      workflow("changing", async (ctx) => {
        await ctx.activity(activity);
        await ctx.signal("go");
        return activity;
      });
    const activities = { a: async () => {}, b: async () => {} };
    const open = async (definition: ReturnType<typeof make>) => {
      const app = await testLimpet({ workflows: [definition], activities, stateStore: store });
      const { advance } = app;
      return Object.assign(app, {
        async pass(ms: number) {
          for (let passed = 0; passed < ms; passed += 1_000) {
            time += 1_000;
            await advance(1_000);
          }
        },
      });
    };
    const good = await open(make("a"));
    await good.workflows.start(make("a"), { id: "c", input: undefined });
    await good.pass(1_000);
    await good.stop();
    const bad = await open(make("b"));
    await bad.workflows.get("c").signal("go", undefined);
    await bad.pass(5_000);
    const { blocked, attempt, status } = await bad.workflows.get("c").describe();
    assert.match(String(blocked), /history has ActivityScheduled a .* code now decides ActivityScheduled b/);
    assert.ok(attempt >= 1 && status === "running");
    assert.equal(await bad.workflows.count({ isBlocked: true }), 1);
    await bad.stop();
    await using mended = await open(make("a"));
    const result = mended.workflows.get("c").result();
    await mended.pass(400_000);
    assert.equal(await result, "a");
  });

  it("a blocked run can be cancelled", async () => {
    const broken = workflow("broken", async (ctx) => {
      await ctx.signal("go");
      await new Promise(() => {});
    });
    await using app = await testLimpet({ workflows: [broken] });
    const handle = await app.workflows.start(broken, { id: "b", input: undefined });
    await handle.signal("go", undefined);
    await app.advance("1s");
    assert.match(String((await handle.describe()).blocked), /does not come from ctx/);
    await handle.cancel("never mind");
    const result = assert.rejects(handle.result(), hasCode("WORKFLOW_CANCELLED"));
    await app.advance("10m");
    await result;
  });
});
