// Activities that go through a queue, while processes start, stop and crash.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { App } from "../host/app.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { everyCrash } from "../testing/every-crash.ts";
import { TestProcesses } from "./activity-kit.test.ts";
import type { ActivityContext, ActivityOptions } from "./definition/context.ts";
import { workflow } from "./definition/definition.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

const never = (): Promise<never> => new Promise(() => {});

/** Calls one activity and returns its result or its error. */
const asking = workflow("asking", async (ctx, options: ActivityOptions) => {
  try {
    return await ctx.activity("act", "input", options);
  } catch (thrown) {
    const { code, message } = thrown as { code?: string; message: string };
    return `${code}: ${message}`;
  }
});

const ask = (app: App, options: ActivityOptions, id = "a") =>
  app.workflows.start(asking, { id, input: { queue: "far", ...options } });

/** Waits for a condition while time passes. */
async function until(processes: TestProcesses, test: () => boolean, seconds = 600): Promise<number> {
  for (let i = 0; i < seconds && !test(); i++) await processes.advance("1s");
  assert.ok(test(), "it did not come to pass");
  return processes.seconds;
}

describe("queued activities without a worker", () => {
  it("an activity that no worker begins in time times out, and leaves no rows", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const handle = await ask(app, { scheduleToStart: "20s", scheduleToClose: "1h" });
    await processes.advance("19s");
    assert.equal((await handle.describe()).status, "running");
    await processes.advance("2s");
    assert.match(String(await handle.result()), /^ACTIVITY_TIMED_OUT: act was not begun within 20000 ms$/);
    assert.deepEqual(await processes.store.reminders.list({ namespace: "default", limit: 10 }), []);
  });

  it("an activity that no worker completes in time times out", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const handle = await ask(app, { scheduleToClose: "20s" });
    await processes.advance("19s");
    assert.equal((await handle.describe()).status, "running");
    await processes.advance("2s");
    assert.match(String(await handle.result()), /^ACTIVITY_TIMED_OUT: act was not done within 20000 ms$/);
  });

  it("an activity times out although its caller's process is gone, because another process notices", async () => {
    await using processes = new TestProcesses();
    const first = await processes.open({ workflows: [asking] });
    await ask(first, { scheduleToStart: "20s" });
    await processes.advance("1s");
    processes.kill(first);
    const second = await processes.open({ workflows: [asking] });
    const result = second.workflows.get(asking, "a").result();
    await processes.advance("2m");
    assert.match(String(await result), /not begun within/);
  });

  it("an activity times out although only a process without workflows is left", async () => {
    await using processes = new TestProcesses();
    const first = await processes.open({ workflows: [asking] });
    await ask(first, { scheduleToStart: "20s" });
    await processes.advance("1s");
    processes.kill(first);
    await processes.open({});
    await processes.advance("2m");
    assert.deepEqual(await processes.store.reminders.list({ namespace: "default", limit: 10 }), []);
    assert.equal((await processes.store.workflows.find({ namespace: "default", workflowId: "a" }))?.task?.arrived, 1);
  });

  it("an activity waits for a worker, and a worker that comes too late does not begin it", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const [late, patient] = [await ask(app, { scheduleToStart: "20s" }, "late"), await ask(app, {}, "patient")];
    await processes.advance("1h");
    let attempts = 0;
    await processes.open({ activities: { act: () => ++attempts }, queue: "far" });
    await processes.advance("1s");
    assert.equal(await patient.result(), 1);
    assert.match(String(await late.result()), /not begun/);
    assert.equal(attempts, 1);
  });
});

describe("activities whose process dies", () => {
  it("an activity begins again in another process after a missed heartbeat, with its last details", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const begun: [number, unknown][] = [];
    const activities = {
      act: async (_: unknown, { attempt, heartbeat, lastHeartbeat }: ActivityContext) => {
        begun.push([attempt, lastHeartbeat]);
        if (attempt > 1) return "done";
        heartbeat({ page: 1 });
        heartbeat({ page: 2 });
        return never();
      },
    };
    const doomed = await processes.open({ activities, queue: "far" });
    const handle = await ask(app, { heartbeat: "6s" });
    await processes.advance("2s");
    processes.kill(doomed);
    await processes.open({ activities, queue: "far" });
    const died = processes.seconds;
    const again = await until(processes, () => begun.length === 2);
    assert.ok(again - died <= 6, `it took ${again - died} seconds`);
    assert.deepEqual(begun, [
      [1, undefined],
      [2, { page: 2 }],
    ]);
    await processes.advance("1s");
    assert.equal(await handle.result(), "done");
  });

  it("an activity begins again in another process after its lease, and the lost attempt counts", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const begun: number[] = [];
    const activities = {
      act: (_: unknown, { attempt }: ActivityContext) => {
        begun.push(attempt);
        return attempt < 3 ? never() : "done";
      },
    };
    const handle = await ask(app, {});
    for (let i = 1; i < 3; i++) {
      const doomed = await processes.open({ activities, queue: "far" });
      await until(processes, () => begun.length === i);
      processes.kill(doomed);
    }
    await processes.open({ activities, queue: "far" });
    await until(processes, () => begun.length === 3);
    assert.deepEqual(begun, [1, 2, 3]);
    await processes.advance("1s");
    assert.equal(await handle.result(), "done");
  });

  it("an activity fails after its last attempt was lost, although no worker is left", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    let begun = 0;
    const act = () => {
      begun++;
      return never();
    };
    const handles = [
      await ask(app, { heartbeat: "6s", retry: { attempts: 1 } }, "beating"),
      await ask(app, { startToClose: "2m", retry: { attempts: 1 } }, "silent"),
    ];
    const doomed = await processes.open({ activities: { act }, queue: "far" });
    await until(processes, () => begun === 2);
    processes.kill(doomed);
    await processes.advance("40s");
    assert.match(String(await handles[0]!.result()), /^ACTIVITY_TIMED_OUT: act began and reported no result/);
    assert.equal((await handles[1]!.describe()).status, "running");
    await processes.advance("2m");
    assert.match(String(await handles[1]!.result()), /reported no result/);
    assert.equal(begun, 2);
  });

  it("an activity that crashes its processes crashes no more of them than it has attempts", async () => {
    await using processes = new TestProcesses();
    const deadly = workflow("deadly", async (ctx) => {
      try {
        await ctx.activity("act", undefined, { retry: { attempts: 2 } });
      } catch (thrown) {
        return String((thrown as Error).message);
      }
      return "alive";
    });
    const attempts: number[] = [];
    const open = async (): Promise<App> => {
      const app = await processes.open({
        workflows: [deadly],
        activities: {
          act: (_: unknown, { attempt }: ActivityContext) => {
            attempts.push(attempt);
            processes.kill(app);
            return never();
          },
        },
      });
      return app;
    };
    const first = await open();
    void first.workflows.start(deadly, { id: "d", input: undefined });
    await until(processes, () => attempts.length === 1);
    await open();
    await until(processes, () => attempts.length === 2);
    const third = await open();
    const result = third.workflows.get(deadly, "d").result();
    await processes.advance("11m");
    assert.match(await result, /reported no result/);
    assert.deepEqual(attempts, [1, 2]);
  });

  it("an eager activity is tried again after its pause, however long, when its process dies", async () => {
    await using processes = new TestProcesses();
    const begun: number[] = [];
    const activities = {
      act: (_: unknown, { attempt }: ActivityContext) => {
        begun.push(processes.seconds);
        if (attempt < 3) throw new RangeError("not yet");
        return attempt;
      },
    };
    const processOptions = { workflows: [asking], activities, queue: "far" };
    const first = await processes.open(processOptions);
    await ask(first, { retry: { delays: ["10m", "30m"] } });
    await processes.advance("1s");
    processes.kill(first);
    const second = await processes.open(processOptions);
    await until(processes, () => begun.length === 2, 700);
    processes.kill(second);
    const third = await processes.open(processOptions);
    const result = third.workflows.get(asking, "a").result();
    await processes.advance("31m");
    assert.equal(await result, 3);
    assert.deepEqual(begun, [0, 600, 2_400]);
  });

  it("an activity goes to a worker that knows it when a process without it takes over the run", async () => {
    await using processes = new TestProcesses();
    let runs = 0;
    const first = await processes.open({ workflows: [asking], activities: { act: never }, queue: "far" });
    await ask(first, { retry: { attempts: 3 } });
    await processes.advance("1s");
    await Promise.all([processes.stop(first), processes.advance("1m")]);
    const second = await processes.open({ workflows: [asking], queue: "far" });
    await processes.advance("1m");
    assert.equal((await second.workflows.get("a").describe()).blocked, undefined);
    await processes.open({
      activities: { act: (_: unknown, { attempt }: ActivityContext) => [++runs, attempt] },
      queue: "far",
    });
    const result = second.workflows.get(asking, "a").result();
    await processes.advance("1m");
    assert.deepEqual(await result, [1, 1]);
  });
});

describe("queued activities under crashes at every point", () => {
  it("a queued activity delivers its result with its attempts counted and its details kept, wherever its process crashes", async () => {
    const reported: unknown[] = [];
    const act = async (_: unknown, { attempt, heartbeat, lastHeartbeat }: ActivityContext): Promise<number> => {
      reported.push(lastHeartbeat);
      heartbeat({ attempt });
      if (attempt < 3) throw new RangeError("not yet");
      return attempt;
    };
    const options = { heartbeat: "1m", scheduleToClose: "1h", retry: { attempts: 10, initial: "10s" } } as const;
    const definitions = { workflows: [asking], activities: { act } };
    const crashes = await everyCrash(definitions, async (app) => {
      reported.length = 0;
      const handle = await app.workflows.start(asking, { id: "a", input: options });
      const result = handle.result();
      await app.advance("10m");
      const attempts = Number(await result);
      assert.ok(attempts >= 3 && attempts <= 4, `${attempts} attempts`);
      // An attempt counts also when its process crashed right before it.
      assert.ok(reported.length >= 2 && reported.length <= 5, `${reported.length} beginnings`);
      const left = await app.store.reminders.list({ namespace: "default", limit: 10 });
      assert.deepEqual(left, []);
    });
    assert.ok(crashes > 20, `${crashes} crashes`);
  });
});

describe("activities that end while the store is unavailable", () => {
  it("a completed activity runs once, and its result is written when the store is back", async () => {
    for (const [seconds, options] of [
      [20, {}],
      [20, { heartbeat: "15s" }],
      [200, {}],
    ] as const) {
      await using processes = new TestProcesses();
      const app = await processes.open({ workflows: [asking] });
      const going = Promise.withResolvers<void>();
      let attempts = 0;
      const act = async (_: unknown, { heartbeat }: ActivityContext) => {
        attempts++;
        await going.promise;
        heartbeat("nearly");
        return "done";
      };
      await processes.open({ activities: { act }, queue: "far" });
      const handle = await ask(app, options);
      await until(processes, () => attempts === 1);
      processes.isAway = true;
      going.resolve();
      await processes.advance(`${seconds}s`);
      processes.isAway = false;
      await processes.advance("1m");
      assert.equal(await handle.result(), "done", `${seconds} seconds`);
      assert.equal(attempts, 1, `${seconds} seconds`);
    }
  });

  it("a failed activity is tried again when the store is back, with its heartbeat details", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const going = Promise.withResolvers<void>();
    const begun: unknown[] = [];
    const act = async (_: unknown, { attempt, heartbeat, lastHeartbeat }: ActivityContext) => {
      begun.push([attempt, lastHeartbeat]);
      if (attempt > 1) return "done";
      await going.promise;
      heartbeat({ page: 7 });
      throw new RangeError("no");
    };
    await processes.open({ activities: { act }, queue: "far" });
    const handle = await ask(app, { retry: { initial: "5s" } });
    await until(processes, () => begun.length === 1);
    processes.isAway = true;
    going.resolve();
    await processes.advance("20s");
    processes.isAway = false;
    await processes.advance("1m");
    assert.equal(await handle.result(), "done");
    assert.deepEqual(begun, [
      [1, undefined],
      [2, { page: 7 }],
    ]);
  });
});

describe("activities whose lease expires while their process lives", () => {
  it("an activity continues where it is when no other worker has claimed it", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const going = Promise.withResolvers<string>();
    const signals: AbortSignal[] = [];
    const act = (_: unknown, { signal }: ActivityContext) => {
      signals.push(signal);
      return going.promise;
    };
    await processes.open({ activities: { act }, queue: "far" });
    const handle = await ask(app, {});
    await until(processes, () => signals.length === 1);
    processes.isAway = true;
    await processes.advance("2m");
    processes.isAway = false;
    await processes.advance("2m");
    going.resolve("done");
    await processes.advance("1s");
    assert.equal(await handle.result(), "done");
    assert.deepEqual([signals.length, signals[0]?.aborted], [1, false]);
  });
});

describe("processes that stop properly", () => {
  it("a stopping process waits for its activities or returns them, and a return does not count as an attempt", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const attempts: number[] = [];
    const going = Promise.withResolvers<string>();
    const stopping = await processes.open({
      activities: {
        act: (_: unknown, { attempt, workflowId }: ActivityContext) => {
          attempts.push(attempt);
          return workflowId === "short" ? going.promise : never();
        },
      },
      queue: "far",
    });
    const [short, long] = [await ask(app, {}, "short"), await ask(app, { retry: { attempts: 1 } }, "long")];
    await until(processes, () => attempts.length === 2);
    const stopped = processes.stop(stopping);
    going.resolve("done");
    await stopped;
    assert.equal(await short.result(), "done");
    await processes.open({ activities: { act: (_: unknown, { attempt }: ActivityContext) => attempt }, queue: "far" });
    await processes.advance("1s");
    assert.equal(await long.result(), 1);
  });
});

describe("activities whose result is no longer needed", () => {
  const waiting = (signals: AbortSignal[]) => ({
    act: (_: unknown, { signal }: ActivityContext) => {
      signals.push(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    },
  });

  it("an activity in another process is aborted at its next heartbeat or lease renewal", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const signals: AbortSignal[] = [];
    await processes.open({ activities: waiting(signals), queue: "far" });
    const [beating, silent] = [await ask(app, { heartbeat: "6s" }, "beating"), await ask(app, {}, "silent")];
    await until(processes, () => signals.length === 2);
    await Promise.all([beating.cancel("enough"), silent.cancel("enough")]);
    await processes.advance("3s");
    assert.ok(signals.some(({ aborted }) => aborted));
    await processes.advance("10s");
    for (const { aborted, reason } of signals) assert.ok(aborted && hasCode("WORKFLOW_CANCELLED")(reason));
    await processes.advance("10m");
    assert.equal(signals.length, 2);
    assert.deepEqual(await processes.store.reminders.list({ namespace: "default", limit: 10 }), []);
  });

  it("an activity in the same process is aborted at once, and its error causes no retry", async () => {
    await using processes = new TestProcesses();
    const signals: AbortSignal[] = [];
    const app = await processes.open({ workflows: [asking], activities: waiting(signals) });
    const options = [{}, { heartbeat: "1h" }];
    const handles = await Promise.all(
      options.map((each, i) => app.workflows.start(asking, { id: `${i}`, input: each })),
    );
    await until(processes, () => signals.length === 2);
    for (const handle of handles) await handle.cancel("enough");
    await processes.clock.settled();
    await processes.clock.settled();
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, true],
    );
    for (const handle of handles) assert.match(String(await handle.result()), /^WORKFLOW_CANCELLED/);
    await processes.advance("1h");
    assert.equal(signals.length, 2);
    assert.deepEqual(await processes.store.reminders.list({ namespace: "default", limit: 10 }), []);
  });

  it("an activity is aborted when its run is ended from outside, and does not begin again", async () => {
    await using processes = new TestProcesses();
    const app = await processes.open({ workflows: [asking] });
    const signals: AbortSignal[] = [];
    await processes.open({ activities: waiting(signals), queue: "far" });
    const handle = await ask(app, { heartbeat: "6s" });
    const queued = await ask(app, { queue: "nowhere" }, "queued");
    await until(processes, () => signals.length === 1);
    await Promise.all([handle.terminate("now"), queued.terminate("now")]);
    await processes.advance("6s");
    assert.equal(signals[0]?.aborted, true);
    await processes.open({ activities: waiting(signals), queue: "nowhere" });
    await processes.advance("10m");
    assert.equal(signals.length, 1);
    assert.deepEqual(await processes.store.reminders.list({ namespace: "default", limit: 10 }), []);
  });
});

describe("names of activities and queues", () => {
  it("names of activities and queues may have spaces, and are never confused", async () => {
    await using processes = new TestProcesses();
    const spaced = workflow("spaced", async (ctx) =>
      Promise.all([
        ctx.activity<string>("c", undefined, { queue: "a b" }),
        ctx.activity<string>("b c", undefined, { queue: "a" }),
      ]),
    );
    const app = await processes.open({ workflows: [spaced] });
    await processes.open({ activities: { c: () => "c of a b" }, queue: "a b" });
    await processes.open({ activities: { "b c": () => "b c of a" }, queue: "a" });
    const handle = await app.workflows.start(spaced, { input: undefined });
    await processes.advance("1s");
    assert.deepEqual(await handle.result(), ["c of a b", "b c of a"]);
  });

  it("names of activities and queues with a slash are rejected", async () => {
    await using processes = new TestProcesses();
    await assert.rejects(
      processes.open({ activities: { "a/b": () => 1 } }),
      hasCode("NAME_INVALID", /activity name must not contain .*\//),
    );
    const app = await processes.open({ workflows: [asking] });
    const handle = await ask(app, { queue: "a/b" });
    assert.match(String(await handle.result()), /^NAME_INVALID: queue name must not contain/);
  });
});

describe("values between workflows and activities", () => {
  it("a value is copied: changes on one side reach neither the other side nor the history", async () => {
    await using processes = new TestProcesses();
    const sharing = workflow("sharing", async (ctx, order: { items: string[] }) => {
      order.items.push("mine");
      const asked = ctx.activity<{ n: number; at: Date }>("act", order);
      order.items.push("too late");
      const result = await asked;
      result.n += 1;
      result.at.setTime(9);
      await ctx.activity("act", order);
      return [order.items, result];
    });
    const given: unknown[] = [];
    const activities = {
      act: (order: { items: string[] }) => {
        given.push(structuredClone(order.items));
        order.items.push("theirs");
        return { n: 1, at: new Date(5) };
      },
    };
    const app = await processes.open({ workflows: [sharing], activities });
    const handle = await app.workflows.start(sharing, { input: { items: ["first"] } });
    assert.deepEqual(await handle.result(), [["first", "mine", "too late"], { n: 2, at: new Date(9) }]);
    assert.deepEqual(given, [
      ["first", "mine"],
      ["first", "mine", "too late"],
    ]);
    const [started, , completed] = (await handle.history()).map(({ event }) => event);
    assert.deepEqual((started as { input: unknown }).input, { items: ["first"] });
    assert.deepEqual((completed as { result: unknown }).result, { n: 1, at: { $: "date", v: 5 } });
  });

  it("a value above the size limit is rejected at the call in the workflow", async () => {
    await using processes = new TestProcesses();
    const large = workflow("large", async (ctx) => {
      try {
        await ctx.activity("act", "x".repeat(2 * 1024 * 1024));
      } catch (thrown) {
        return (thrown as { code: string }).code;
      }
      return "no";
    });
    const app = await processes.open({ workflows: [large] });
    const handle = await app.workflows.start(large, { input: undefined });
    assert.equal(await handle.result(), "BODY_TOO_LARGE");
  });
});

describe("thousands of activities of one run", () => {
  const COUNT = 3_000;
  const many = workflow("many", async (ctx, options: ActivityOptions) => {
    const all = Array.from({ length: COUNT }, (_, i) => ctx.activity<number>("act", i, options));
    return (await Promise.all(all)).reduce((sum, n) => sum + n, 0);
  });

  for (const [title, options] of [
    ["at once", {}],
    ["through a queue", { heartbeat: "1h" }],
  ] as const) {
    it(`activities that run ${title} respect the concurrency of the worker`, async () => {
      await using processes = new TestProcesses();
      let [running, most] = [0, 0];
      const activities = {
        act: async (n: number) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setImmediate(resolve));
          running--;
          return n;
        },
      };
      const worker = { concurrency: 50 };
      const app = await processes.open({ workflows: [many], activities, worker, checksReplay: false });
      const handle = await app.workflows.start(many, { input: options });
      const result = handle.result();
      await processes.advance("1m");
      assert.equal(await result, (COUNT * (COUNT - 1)) / 2);
      assert.equal(most, 50);
    });
  }
});
