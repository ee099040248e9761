import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { serializeError } from "../../kernel/serialized-error.ts";
import { query, signal, update, workflow } from "../definition/definition.ts";
import { DrivenRun } from "../execution-kit.test.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

describe("execution of workflow code", () => {
  it("the code runs until it waits, continues with each event, and ends with its return value", async () => {
    const sum = workflow("sum", async (ctx, input: { readonly of: number[] }) => {
      let total = 0;
      for (const each of input.of) total += await ctx.activity<number>("double", each);
      return { total };
    });
    const run = await DrivenRun.begin(sum, { of: [1, 2] });
    assert.deepEqual(run.execution.waitsFor, ["ActivityScheduled 1"]);
    assert.deepEqual(await run.complete(1, 2), [{ kind: "ActivityScheduled", n: 2, name: "double", input: 2 }]);
    assert.deepEqual(await run.complete(2, 4), [{ kind: "WorkflowCompleted", n: 3, result: { total: 6 } }]);
  });

  it("the result of a run is a copy that later changes do not reach", async () => {
    const chatty = workflow("chatty", async (ctx) => {
      const seen: string[] = [];
      const one = ctx.activity("one");
      void one.then(async () => {
        for (let i = 0; i < 20; i++) await null;
        seen.push("late");
      });
      await one;
      return seen;
    });
    const run = await DrivenRun.begin(chatty);
    assert.deepEqual(await run.complete(1), [{ kind: "WorkflowCompleted", n: 2, result: [] }]);
  });

  it("the code waits for several commands with any promise combinator", async () => {
    const many = workflow("many", async (ctx) => {
      const both = await Promise.all([ctx.activity("a"), ctx.activity("b")]);
      const first = await Promise.race([ctx.sleep("1m").then(() => "late"), ctx.activity("c")]);
      const settled = await Promise.allSettled([ctx.activity("d"), ctx.activity("e")]);
      return [both, first, settled.map(({ status }) => status)];
    });
    const run = await DrivenRun.begin(many);
    await run.complete(2, "B");
    await run.complete(1, "A");
    assert.deepEqual(run.execution.waitsFor, ["TimerScheduled 3", "ActivityScheduled 4"]);
    await run.complete(4, "C");
    const error = serializeError(new LimpetError("ACTIVITY_FAILED", "no"));
    await run.deliver({ kind: "ActivityFailed", of: 6, error, attempts: 1 });
    await run.complete(5);
    assert.deepEqual(run.execution.end, {
      kind: "WorkflowCompleted",
      n: 7,
      result: [["A", "B"], "C", ["fulfilled", "rejected"]],
    });
  });

  it("the run fails with the error that its code throws, and the code can catch the error of an activity", async () => {
    const careful = workflow("careful", async (ctx) => {
      try {
        await ctx.activity("charge");
      } catch (error) {
        if (hasCode("ACTIVITY_FAILED", /no money/)(error)) throw new LimpetError("ARGUMENT_INVALID", "give me money");
      }
    });
    const run = await DrivenRun.begin(careful);
    const error = serializeError(new LimpetError("ACTIVITY_FAILED", "no money"));
    const [end] = await run.deliver({ kind: "ActivityFailed", of: 1, error, attempts: 3 });
    assert.equal(end?.kind, "WorkflowFailed");
    assert.equal(end?.kind === "WorkflowFailed" && end.error.message, "give me money");
  });

  it("the code sees the time of its event, draws the same numbers at every replay, and records side effects", async () => {
    let calls = 0;
    const chance = workflow("chance", async (ctx) => {
      const before = [ctx.now(), ctx.random(), ctx.uuid(), ctx.sideEffect(() => ++calls)];
      await ctx.sleep(500);
      return [...before, ctx.now(), ctx.random(), ctx.uuid()];
    });
    const run = await DrivenRun.begin(chance);
    assert.deepEqual(run.decided, ["SideEffectRecorded", "TimerScheduled"]);
    await run.fire(2);
    const { end } = await run.replay();
    const [started, , uuid, effect, later] = (end as unknown as { result: unknown[] }).result;
    assert.deepEqual([started, effect, later], [1_000, 1, 2_000]);
    assert.match(String(uuid), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(calls, 1);
  });
});

describe("signals", () => {
  const approved = signal<boolean>("approved");

  it("signals are received one by one in order of arrival, also earlier ones", async () => {
    const waiting = workflow("waiting", async (ctx) => {
      await ctx.sleep(1);
      return [await ctx.signal(approved), await ctx.signal(approved)];
    });
    const run = await DrivenRun.begin(waiting);
    await run.signal("approved", 1);
    await run.signal("other", 0);
    await run.fire(1);
    await run.signal("approved", 2);
    assert.deepEqual(run.execution.end, { kind: "WorkflowCompleted", n: 2, result: [1, 2] });
  });

  it("a wait for a signal with a time limit leaves no timer", async () => {
    const impatient = workflow("impatient", async (ctx) => ctx.signal(approved, { within: "1h" }));
    const late = await DrivenRun.begin(impatient);
    await late.fire(1);
    assert.deepEqual(late.decided, ["TimerScheduled", "WorkflowCompleted"]);
    const inTime = await DrivenRun.begin(impatient);
    await inTime.signal("approved", true);
    assert.deepEqual(inTime.decided, ["TimerScheduled", "TimerCancelled", "WorkflowCompleted"]);
  });

  it("a handler receives signals as they arrive", async () => {
    const adding = workflow("adding", async (ctx, goal: number) => {
      let sum = 0;
      ctx.onSignal<number>("add", async (by) => {
        sum += by;
        if (by > 10) await ctx.activity("celebrate");
      });
      const isReached = await ctx.condition(() => sum >= goal, { within: "1h" });
      return [sum, isReached];
    });
    const run = await DrivenRun.begin(adding, 20);
    await run.signal("add", 5);
    await run.signal("add", 16);
    assert.deepEqual(run.decided, ["TimerScheduled", "ActivityScheduled", "TimerCancelled", "WorkflowCompleted"]);
    const late = await DrivenRun.begin(adding, 20);
    await late.fire(1);
    assert.deepEqual(late.execution.end?.kind === "WorkflowCompleted" && late.execution.end.result, [0, false]);
  });

  it("a signal handler that throws fails the run, and does not block its task for ever", async () => {
    const failing = workflow("failing", async (ctx) => {
      ctx.onSignal("bad", () => {
        throw new LimpetError("ARGUMENT_INVALID", "not like this");
      });
      await ctx.sleep("1d");
    });
    const run = await DrivenRun.begin(failing);
    await run.signal("bad");
    assert.equal(run.execution.end?.kind, "WorkflowFailed");
  });
});

describe("queries and updates", () => {
  const total = query<number>("total");
  const add = update<number, number>("add");
  const account = workflow("account", async (ctx) => {
    let sum = 0;
    ctx.onQuery(total, () => sum);
    const validate = (by: number): void => {
      if (by < 0) throw new LimpetError("ARGUMENT_INVALID", "only more");
    };
    ctx.onUpdate(
      add,
      async (by) => {
        await ctx.activity("book", by);
        sum += by;
        return sum;
      },
      { validate },
    );
    await ctx.signal("close");
    return sum;
  });

  it("a query is answered from the current state of the run, and issues no command", async () => {
    const run = await DrivenRun.begin(account);
    await run.deliver({ kind: "UpdateAccepted", id: "u1", name: "add", input: 5 });
    assert.equal(run.execution.handlers.query("total", undefined), 0);
    const decided = await run.complete(1);
    assert.deepEqual(decided, [{ kind: "UpdateCompleted", n: 2, id: "u1", result: 5 }]);
    assert.equal((await run.replay()).handlers.query("total", undefined), 5);
    assert.throws(() => run.execution.handlers.query("sum", undefined), hasCode("QUERY_UNKNOWN", /total/));
  });

  it("an update is rejected by its validator before it has any effect", async () => {
    const run = await DrivenRun.begin(account);
    assert.throws(() => run.execution.handlers.validate("add", -1), hasCode("ARGUMENT_INVALID"));
    assert.equal(run.execution.handlers.validate("add", 1), true);
    assert.equal(run.execution.handlers.validate("take", 1), false);
  });

  it("an update whose handler throws fails, and the run continues", async () => {
    const picky = workflow("picky", async (ctx) => {
      ctx.onUpdate("do", async () => {
        throw new LimpetError("ARGUMENT_INVALID", "no");
      });
      await ctx.signal("close");
    });
    const run = await DrivenRun.begin(picky);
    const [failed] = await run.deliver({ kind: "UpdateAccepted", id: "u", name: "do", input: null });
    assert.equal(failed?.kind, "UpdateFailed");
    await run.signal("close");
    assert.equal(run.execution.end?.kind, "WorkflowCompleted");
  });
});

describe("cancellation", () => {
  it("a cancellation is thrown once where the code waits, and the code may clean up", async () => {
    const tidy = workflow("tidy", async (ctx) => {
      try {
        await Promise.all([ctx.activity("long"), ctx.sleep("1d"), ctx.signal("never"), ctx.condition(() => false)]);
      } finally {
        await ctx.activity("clean", ctx.isCancelled);
      }
    });
    const run = await DrivenRun.begin(tidy);
    await run.deliver({ kind: "CancelRequested", reason: "enough" });
    assert.deepEqual(run.execution.waitsFor, ["ActivityScheduled 5"]);
    const [end] = await run.complete(5);
    assert.equal(end?.kind === "WorkflowCancelled" && end.error.message, "enough");
  });

  it("a shielded wait is not interrupted, and the code may end in any way", async () => {
    const stubborn = workflow("stubborn", async (ctx) => {
      const kept = await ctx.shield(() => ctx.activity("important"));
      return [kept, ctx.isCancelled];
    });
    const run = await DrivenRun.begin(stubborn);
    await run.deliver({ kind: "CancelRequested", reason: "" });
    await run.complete(1, "done");
    assert.deepEqual(run.execution.end?.kind === "WorkflowCompleted" && run.execution.end.result, ["done", true]);
  });
});

describe("children, other workflows and actors", () => {
  it("children, signals and calls are commands, and a child is a promise of its result", async () => {
    const inner = workflow("inner", async (_, input: number) => input + 1);
    const outer = workflow("outer", async (ctx) => {
      const child = ctx.child(inner, { id: "child", input: 1 });
      child.signal("hurry", true);
      ctx.workflow("other").cancel();
      const count = await ctx.actor<{ count(by: number): number }>("Counter", "one").count(2);
      return [await child, count, child.workflowId];
    });
    const run = await DrivenRun.begin(outer);
    assert.deepEqual(run.decided, ["ChildWorkflowScheduled", "SignalSent", "CancelSent", "ActorCalled"]);
    await run.complete(4, 7);
    await run.deliver({ kind: "ChildRunCompleted", of: 1, result: 2 });
    assert.deepEqual(run.execution.end?.kind === "WorkflowCompleted" && run.execution.end.result, [2, 7, "child"]);
  });

  it("a run continues as new with an input, and keeps unhandled signals", async () => {
    const endless = workflow("endless", async (ctx, round: number): Promise<void> => {
      await ctx.signal("next");
      ctx.setMemo({ round });
      ctx.setAttributes({ round, gone: null });
      ctx.continueAsNew(round + 1);
    });
    const run = await DrivenRun.begin(endless, 1);
    await run.signal("other", "kept");
    await run.signal("next");
    assert.deepEqual(run.execution.end, {
      kind: "WorkflowContinuedAsNew",
      n: 3,
      type: "endless",
      input: 2,
      runId: "r.2",
    });
    assert.deepEqual(
      run.execution.unheard.map(({ name, input }) => [name, input]),
      [["other", "kept"]],
    );
    assert.deepEqual([run.execution.memo, run.execution.attributes], [{ round: 1 }, { round: 1 }]);
  });
});

describe("versions of a change", () => {
  const before = workflow("changing", async (ctx) => {
    await ctx.activity("old");
    await ctx.activity("same");
  });
  const after = workflow("changing", async (ctx) => {
    await ctx.activity(ctx.version("better", 0, 1) === 0 ? "old" : "new");
    await ctx.activity("same");
  });

  it("a run that passed a change keeps the old version, and a new run gets the new one", async () => {
    const old = await DrivenRun.begin(before);
    await old.complete(1);
    assert.deepEqual((await old.replay(after)).waitsFor, ["ActivityScheduled 2"]);
    const fresh = await DrivenRun.begin(after);
    assert.deepEqual(fresh.decided, ["VersionMarkerRecorded", "ActivityScheduled"]);
  });

  it("a run of a version that the code no longer knows has diverged", async () => {
    const old = await DrivenRun.begin(before);
    await old.complete(1);
    const newest = workflow("changing", async (ctx) => {
      ctx.version("better", 1, 2);
      await ctx.activity("new");
    });
    await assert.rejects(
      old.replay(newest),
      hasCode("WORKFLOW_DIVERGED", /version 1|version 0|knows 1 to 2|ActivityScheduled/),
    );
  });
});

describe("divergence", () => {
  const honest = workflow("honest", async (ctx) => {
    await ctx.activity("one");
    await ctx.activity("two");
    await ctx.sleep("1h");
  });
  const recorded = async (): Promise<DrivenRun> => {
    const run = await DrivenRun.begin(honest);
    await run.complete(1);
    await run.complete(2);
    return run;
  };

  it("code that issues another command has diverged, and the error names both and the place", async () => {
    const run = await recorded();
    const other = workflow("honest", async (ctx) => {
      await ctx.activity("one");
      await ctx.activity("three");
    });
    await assert.rejects(run.replay(other), (error) => {
      assert.ok(
        hasCode(
          "WORKFLOW_DIVERGED",
          /history has ActivityScheduled two .* code now decides ActivityScheduled three/,
        )(error),
      );
      assert.match((error as Error).stack!, /execution\.test\.ts/);
      return true;
    });
  });

  it("code that ends too early or stops issuing commands has diverged", async () => {
    const run = await recorded();
    const shorter = workflow("honest", async (ctx) => {
      await ctx.activity("one");
    });
    await assert.rejects(run.replay(shorter), hasCode("WORKFLOW_DIVERGED", /ActivityScheduled two/));
    const waiting = workflow("honest", async (ctx) => {
      await ctx.activity("one");
      await ctx.signal("more");
    });
    await assert.rejects(run.replay(waiting), hasCode("WORKFLOW_DIVERGED", /does not decide it.*signal more/));
  });

  it("code that catches the error has diverged all the same", async () => {
    const run = await recorded();
    const sly = workflow("honest", async (ctx) => {
      await ctx.activity("one");
      await ctx.sleep(1).catch(() => {});
      await ctx.activity("two");
    });
    await assert.rejects(run.replay(sly), hasCode("WORKFLOW_DIVERGED"));
  });

  it("code may change the values of its commands", async () => {
    const run = await recorded();
    const mended = workflow("honest", async (ctx) => {
      await ctx.activity("one", { more: true }, { retry: { attempts: 3 } });
      await ctx.activity("two");
      await ctx.sleep("2h");
    });
    assert.deepEqual((await run.replay(mended)).waitsFor, ["TimerScheduled 3"]);
  });
});

describe("waits for other promises", () => {
  it("code that waits for a promise outside of ctx gets an error", async () => {
    const foreign = workflow("foreign", async () => {
      await new Promise(() => {});
    });
    await assert.rejects(DrivenRun.begin(foreign), hasCode("WORKFLOW_MISUSED", /does not come from ctx/));
  });

  it("code that resumes outside of its turn gets an error", async () => {
    let wake: () => void = () => {};
    let seen: unknown;
    const foreign = workflow("foreign", async (ctx) => {
      const sleeping = ctx.sleep("1h");
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        await ctx.activity("later");
      } catch (error) {
        seen = error;
      }
      await sleeping;
    });
    const run = await DrivenRun.begin(foreign);
    wake();
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(hasCode("WORKFLOW_MISUSED", /outside of its turn/)(seen));
    await assert.rejects(run.execution.deliver({ kind: "TimerFired", of: 1 }, 5_000), hasCode("WORKFLOW_MISUSED"));
  });
});
