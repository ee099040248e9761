// Values that workflow code receives and returns: copies, the same at every replay. Also the rights of
// handlers that only read a run, to answer a query or validate an update.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasCode } from "../host/faults-kit.test.ts";
import { MemoryStore, replayHistory, type TestApp, testLimpet } from "../testing.ts";
import { query, signal, update, workflow } from "./definition/definition.ts";
import { HISTORY_SUGGESTED_BYTES, HISTORY_SUGGESTED_EVENTS } from "./engine/history-budget.ts";

const go = signal<number>("go");
const input = undefined;

/** Lets the run rest, and evicts it, so that its next task replays it. */
async function forget(app: TestApp): Promise<void> {
  await app.advance("1s");
  assert.equal(app.dropWarmRuns(), 1);
}

describe("ctx.info and the size of the history", () => {
  const note = (text: string): number => text.length;
  const asks = workflow("asks", async (ctx, { rounds, text }: { rounds: number; text: string }) => {
    const seen: number[] = [];
    for (let i = 0; i < rounds; i++) {
      await ctx.activity(note, text);
      // Code that branches on this value takes the same branch at every replay.
      if (ctx.info.continueAsNewSuggested) await ctx.activity(note, "is long");
      seen.push(ctx.info.historyEvents, ctx.info.historyBytes);
    }
    await ctx.signal(go);
    return [...seen, ctx.info.historyEvents, ctx.info.historyBytes];
  });
  const open = () => testLimpet({ workflows: [asks], activities: { note } });

  it("ctx.info is the same at a replay", async () => {
    const given = { rounds: 3, text: "tea" };
    await using warm = await open();
    const one = await warm.workflows.start(asks, { id: "a", input: given });
    await warm.advance("1s");
    await one.signal(go, 1);
    await using cold = await open();
    const other = await cold.workflows.start(asks, { id: "a", input: given });
    await forget(cold as TestApp);
    await other.signal(go, 1);
    assert.deepEqual(await other.result(), await one.result());
    assert.equal((await one.result()).at(-2), (await one.history()).length - 1, "the signal is the last but one");
  });

  for (const [what, given] of [
    ["events", { rounds: HISTORY_SUGGESTED_EVENTS / 2 + 2, text: "" }],
    ["bytes", { rounds: 8, text: "x".repeat(HISTORY_SUGGESTED_BYTES / 7) }],
  ] as const) {
    it(`a run that reacts to its many ${what} is not blocked at a replay`, async () => {
      await using app = await testLimpet({ workflows: [asks], activities: { note }, checksReplay: false });
      const handle = await app.workflows.start(asks, { id: "a", input: given });
      while (app.dropWarmRuns() === 0) await app.advance("1s");
      await handle.signal(go, 1);
      await app.advance("1s");
      assert.equal((await handle.describe()).blocked, undefined);
      await handle.result();
      const { isOver } = await replayHistory(asks, await handle.history());
      assert.equal(isOver, true);
    });
  }
});

describe("copies of values", () => {
  it("the answer to a query is a copy of what the run has, and so is the question", async () => {
    const items = query<string[], string[]>("items");
    const list = workflow("list", async (ctx) => {
      let has = ["tea"];
      ctx.onQuery(items, (more) => {
        const all = has;
        if (more.length > 0) has = more;
        return all;
      });
      await ctx.signal(go);
      return has;
    });
    await using app = await testLimpet({ workflows: [list] });
    const handle = await app.workflows.start(list, { id: "l", input });
    await app.advance("1s");
    (await handle.query(items, [])).push("milk");
    assert.deepEqual(await handle.query(items, []), ["tea"]);
    const asked = ["salt"];
    await handle.query(items, asked);
    asked.push("pepper");
    assert.deepEqual(await handle.query(items, []), ["salt"]);
  });

  it("an answer to a query that cannot be stored is rejected", async () => {
    const odd = workflow("odd", async (ctx) => {
      ctx.onQuery("fn", () => ({ fn: () => 1 }));
      await ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [odd] });
    const handle = await app.workflows.start(odd, { id: "o", input });
    await assert.rejects(handle.query("fn"), hasCode("RESULT_INVALID", /the result.fn \(a function\)/));
  });

  it("the answer to an update is a copy from the moment when the update was done", async () => {
    const add = update<string[], string>("add");
    const list = workflow("list", async (ctx) => {
      const has: string[] = [];
      ctx.onUpdate(add, (item) => {
        has.push(item);
        return has;
      });
      await ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [list] });
    const handle = await app.workflows.start(list, { id: "l", input });
    const both = await Promise.all([handle.update(add, "tea"), handle.update(add, "milk")]);
    assert.deepEqual(both, [["tea"], ["tea", "milk"]]);
  });

  it("the result of an activity is a copy from the moment when the activity was done", async () => {
    const state = { n: 1 };
    const look = (): { n: number } => {
      // After the activity is done, and before its result is written.
      const change = (moments: number): void => {
        if (moments > 0) queueMicrotask(() => change(moments - 1));
        else state.n = 2;
      };
      change(10);
      return state;
    };
    const looks = workflow("looks", async (ctx) => {
      const seen = await ctx.activity(look);
      await ctx.signal(go);
      return seen;
    });
    await using app = await testLimpet({ workflows: [looks], activities: { look } });
    const handle = await app.workflows.start(looks, { id: "l" });
    await forget(app as unknown as TestApp);
    await handle.signal(go, 1);
    assert.deepEqual(await handle.result(), { n: 1 });
  });

  it("values of side effects and memos are recorded as copies of that moment", async () => {
    const notes = workflow("notes", async (ctx) => {
      const value = { n: 1 };
      const recorded = ctx.sideEffect(() => value);
      ctx.setMemo({ value });
      value.n = 2;
      await ctx.signal(go);
      return [recorded.n, ctx.memo];
    });
    await using app = await testLimpet({ workflows: [notes] });
    const handle = await app.workflows.start(notes, { id: "n", input });
    await forget(app as TestApp);
    assert.deepEqual((await handle.describe()).memo, { value: { n: 1 } });
    await handle.signal(go, 1);
    assert.deepEqual(await handle.result(), [1, { value: { n: 1 } }]);
  });
});

describe("side effects", () => {
  it("a side effect may use the clock and random numbers of the process, and its value is recorded", async () => {
    const draws = workflow("draws", async (ctx) => {
      const drawn = ctx.sideEffect(() => [Math.random(), Date.now(), new Date().toISOString(), crypto.randomUUID()]);
      await ctx.signal(go);
      return [drawn, ctx.sideEffect(() => Date.now()) >= (drawn[1] as number)];
    });
    await using app = await testLimpet({ workflows: [draws] });
    const handle = await app.workflows.start(draws, { id: "d" });
    await forget(app as unknown as TestApp);
    const [, recorded] = await handle.history();
    await handle.signal(go, 1);
    assert.deepEqual(await handle.result(), [(recorded!.event as { result?: unknown }).result, true]);
  });

  it("a side effect may read the run, and must not change it: a replay would not repeat the change", async () => {
    const wrong = workflow("wrong", async (ctx) =>
      ctx.sideEffect(() => {
        ctx.setMemo({ from: ctx.info.workflowId });
        return Math.random();
      }),
    );
    await using app = await testLimpet({ workflows: [wrong] });
    const handle = await app.workflows.start(wrong, { id: "w" });
    await app.advance("1s");
    assert.match(
      (await handle.describe()).blocked!,
      /ctx\.setMemo\(\).*a side effect may read the run, and must not change it/,
    );
  });
});

describe("conditions", () => {
  it("a condition that throws when its time is over throws where the code waits", async () => {
    const late = workflow("late", async (ctx) => {
      const end = ctx.now() + 1_000;
      const test = (): boolean => {
        if (ctx.now() >= end) throw new RangeError("too late");
        return false;
      };
      return ctx.condition(test, { within: "1s" }).catch((thrown: Error) => thrown.message);
    });
    await using app = await testLimpet({ workflows: [late] });
    const handle = await app.workflows.start(late, { id: "l" });
    await app.advance("2s");
    assert.equal((await handle.describe()).blocked, undefined);
    assert.equal(await handle.result(), "too late");
  });

  it("a condition may not read the clock of the process, also at a later check", async () => {
    const wrong = workflow("wrong", async (ctx) => {
      let isOpen = false;
      ctx.onSignal(go, () => {
        isOpen = true;
      });
      await ctx.condition(() => isOpen && Date.now() > 0);
    });
    await using app = await testLimpet({ workflows: [wrong] });
    const handle = await app.workflows.start(wrong, { id: "w" });
    await handle.signal(go, 1);
    await app.advance("1s");
    const { status, blocked } = await handle.describe();
    assert.deepEqual([status, blocked?.includes("Date.now()")], ["running", true]);
  });
});

describe("updates", () => {
  it("updates are answered without the passing of time", async () => {
    const echo = update<string, string>("echo");
    const echoes = workflow("echoes", async (ctx) => {
      ctx.onUpdate(echo, (text) => text, {
        validate: (text) => {
          if (text === "") throw new RangeError("nothing was said");
        },
      });
      await ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [echoes] });
    const handle = await app.workflows.start(echoes, { id: "e", input });
    assert.equal(await handle.update(echo, "hello"), "hello");
    await assert.rejects(handle.update(echo, ""), hasCode("UPDATE_REJECTED", /nothing was said/));
    await assert.rejects(handle.update("none"), hasCode("UPDATE_UNKNOWN"));
  });

  it("updates that are unfinished when the run is terminated fail at once", async () => {
    const slow = workflow("slow", async (ctx) => {
      ctx.onUpdate("wait", () => ctx.sleep("1d"));
      await ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [slow] });
    const handle = await app.workflows.start(slow, { id: "s" });
    const answer = assert.rejects(handle.update("wait"), hasCode("WORKFLOW_CLOSED", /ended \(terminated\)/));
    await app.advance("1h");
    await handle.terminate();
    await answer;
  });

  it("an update may let the run continue as new", async () => {
    const counts = workflow("counts", async (ctx, from: number) => {
      ctx.onUpdate("again", () => ctx.continueAsNew(from + 1));
      await ctx.signal(go);
      return from;
    });
    await using app = await testLimpet({ workflows: [counts] });
    const handle = await app.workflows.start(counts, { id: "c", input: 1 });
    await assert.rejects(handle.update("again"), hasCode("WORKFLOW_CLOSED", /continued as new/));
    await handle.signal(go, 1);
    assert.equal(await handle.result(), 2);
  });

  it("an update with an async validator is rejected, because the validator is not awaited", async () => {
    const asyncs = workflow("asyncs", async (ctx) => {
      ctx.onUpdate("late", () => "done", {
        validate: async () => {
          throw new RangeError("too late");
        },
      });
      await ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [asyncs] });
    const handle = await app.workflows.start(asyncs, { id: "a", input });
    await assert.rejects(handle.update("late"), hasCode("UPDATE_REJECTED", /must not be async/));
  });
});

describe("handlers that only read a run", () => {
  const even = (): string => "even";
  const odd = (): string => "odd";
  const rolls = workflow("rolls", async (ctx) => {
    // Created by code that may act, and used by handlers that may not.
    const [cart, other] = [ctx.actor("Cart", "c"), ctx.workflow("other")];
    const decide: Record<string, () => unknown> = {
      activity: () => ctx.activity(even),
      "activity of no name": () => ctx.activity(() => 1),
      actor: () => cart.add!(1),
      workflow: () => other.signal(go, 1),
      "workflow to cancel": () => other.cancel(),
      shield: () => ctx.shield(async () => ctx.sleep("1s")),
      sleep: () => ctx.sleep("1s"),
      signal: () => ctx.signal(go),
      condition: () => ctx.condition(() => true),
      child: () => ctx.child("rolls", { input }),
      sideEffect: () => ctx.sideEffect(() => 1),
      random: () => ctx.random(),
      uuid: () => ctx.uuid(),
      version: () => ctx.version("change", 0, 1),
      setMemo: () => ctx.setMemo({ note: "x" }),
      setAttributes: () => ctx.setAttributes({ note: "x" }),
      continueAsNew: () => ctx.continueAsNew(input),
    };
    ctx.onQuery<unknown, string>({ query: "try" }, (name) => decide[name]!());
    ctx.onUpdate<unknown, string>({ update: "try" }, () => "accepted", { validate: (name) => void decide[name]!() });
    ctx.onQuery("now", () => ctx.now());
    const rolled: number[] = [];
    for (let i = 0; i < 2; i++) {
      await ctx.signal(go);
      rolled.push(ctx.random());
      await ctx.activity(rolled[i]! < 0.5 ? even : odd);
    }
    return rolled;
  });
  const names = ["activity", "sleep", "signal", "condition", "child", "sideEffect", "random", "uuid", "version"];
  names.push("setMemo", "setAttributes", "continueAsNew");
  names.push("activity of no name", "actor", "workflow", "workflow to cancel", "shield");

  it("a query handler or validator cannot change the run, and an attempt does no damage", async () => {
    await using app = await testLimpet({ workflows: [rolls], activities: { even, odd } });
    const handle = await app.workflows.start(rolls, { id: "r", input });
    for (let i = 0; i < 2; i++) {
      await app.advance("1s");
      for (const name of names) {
        const message = new RegExp(`ctx.${name.split(" ")[0]}\\(\\).*may read the run, and must not change it`);
        const asked = Promise.resolve(handle.query("try", name));
        await assert.rejects(asked, hasCode("WORKFLOW_MISUSED", message));
        // Validators cannot wait.
        if (name !== "sleep") await assert.rejects(handle.update("try", name), hasCode("UPDATE_REJECTED", message));
      }
      await handle.signal(go, i);
    }
    assert.equal((await handle.result()).length, 2);
    assert.equal(typeof (await handle.query("now")), "number", "the clock may be looked at");
  });

  it("a signal handler that misuses the process blocks the run, and does not end it", async () => {
    const wrong = workflow("wrong", async (ctx) => {
      ctx.onSignal(go, () => Date.now());
      await ctx.sleep("1d");
    });
    await using app = await testLimpet({ workflows: [wrong] });
    const handle = await app.workflows.start(wrong, { id: "w", input });
    await handle.signal(go, 1);
    await app.advance("1s");
    const { status, blocked } = await handle.describe();
    assert.equal(status, "running");
    assert.match(blocked!, /Date.now\(\)/);
  });
});

describe("metrics of closed runs", () => {
  const waits = workflow("waits", async (ctx, fails: boolean) => {
    await ctx.signal(go);
    if (fails) throw new RangeError("no");
  });

  it("closed runs are counted by their status, also runs ended from outside", async () => {
    await using app = await testLimpet({ workflows: [waits] });
    const start = (id: string, more: object = {}) =>
      app.workflows.start(waits, { id, input: id === "failed", ...more });
    for (const id of ["completed", "failed"]) await (await start(id)).signal(go, 1);
    await (await start("cancelled")).cancel();
    await (await start("terminated")).terminate();
    await start("timed out", { timeout: "1s" });
    await app.advance("1m");
    const counted = (await app.metrics()).matchAll(/limpet_workflow_runs_ended_total\{.*status="([a-z ]+)"\} (\d+)/g);
    const each = { completed: "1", failed: "1", cancelled: "1", terminated: "1", "timed out": "1", continued: "0" };
    assert.deepEqual(Object.fromEntries([...counted].map(([, status, count]) => [status, count])), each);
  });
});

describe("callers that wait for a workflow", () => {
  const waits = workflow("waits", async (ctx) => {
    ctx.onUpdate("wait", () => ctx.sleep("1d"));
    return ctx.signal(go);
  });

  it("a waiting caller gets an error when the process stops, and the workflow continues", async () => {
    const store = new MemoryStore(() => 0);
    const one = await testLimpet({ workflows: [waits], stateStore: store });
    const handle = await one.workflows.start(waits, { id: "w" });
    const rejected = [handle.result(), handle.update("wait")].map((each) => assert.rejects(each, hasCode("STOPPING")));
    await one.advance("1s");
    await one.stop();
    await Promise.all(rejected);
    for (const late of [() => handle.cancel(), () => handle.result(), () => one.workflows.start(waits)]) {
      await assert.rejects(late, hasCode("STOPPING"), "nothing is tried for long");
    }
    await using other = await testLimpet({ workflows: [waits], stateStore: store });
    const same = other.workflows.get(waits, "w");
    await same.signal(go, 5);
    assert.equal(await same.result(), 5);
  });

  it("a caller gets the result from the next process after a deployment", async () => {
    await using app = await testLimpet({ workflows: [waits] });
    const handle = await app.workflows.start(waits, { id: "w" });
    const result = handle.result();
    await app.advance("1s");
    await app.restart();
    await handle.signal(go, 7);
    assert.equal(await result, 7);
  });
});

describe("code that is not deterministic", () => {
  let calls = 0;
  const note = (text: string): string => text;
  const counts = workflow("counts", async (ctx) => ctx.activity(note, `call ${++calls}`));

  it("a test detects code whose commands differ only in their values", async () => {
    await using app = await testLimpet({ workflows: [counts], activities: { note } });
    const failed = (await app.workflows.start(counts)).result();
    await assert.rejects(failed, (error: Error) =>
      hasCode("WORKFLOW_DIVERGED", /"input":"call 1".*the code now decides.*"input":"call \d"/)(error.cause),
    );
  });

  it("the values of commands may be corrected while runs are in progress", async () => {
    const make = (text: string) =>
      workflow("mended", async (ctx) => {
        const first = await ctx.activity(note, text);
        await ctx.signal(go);
        return [first, await ctx.activity(note, text)];
      });
    await using app = await testLimpet({ workflows: [make("old")], activities: { note } });
    const handle = await app.workflows.start("mended", { id: "m" });
    await app.advance("1s");
    await app.restart({ workflows: [make("new")] });
    await handle.signal(go, 1);
    assert.deepEqual(await handle.result(), ["old", "new"]);
  });
});
