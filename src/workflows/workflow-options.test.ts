// Options of a start: delay, time limits, attributes and ids.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { testLimpet } from "../testing.ts";
import type { WorkflowContext } from "./definition/context.ts";
import { workflow } from "./definition/definition.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

describe("workflows that start with a delay", () => {
  const naps = workflow("naps", async (ctx): Promise<number> => {
    await ctx.sleep("1m");
    return ctx.now();
  });

  it("a delayed workflow begins after the delay, and its time limits count from then", async () => {
    await using app = await testLimpet({ workflows: [naps] });
    const from = (await app.workflows.start(naps, { input: undefined })) && app.workflows;
    const handle = await from.start(naps, {
      id: "late",
      input: undefined,
      delay: "1h",
      timeout: "2m",
      runTimeout: "2m",
    });
    await app.advance("59m");
    assert.equal((await handle.describe()).historyEvents, 1);
    await app.advance("90s");
    assert.equal((await handle.describe()).status, "running");
    await app.advance("1m");
    const { startedAt } = await handle.describe();
    assert.ok((await handle.result()) - startedAt >= 61 * 60_000);
  });

  it("a delayed workflow can be cancelled before it begins", async () => {
    await using app = await testLimpet({ workflows: [naps] });
    const handle = await app.workflows.start(naps, { input: undefined, delay: "1h" });
    await handle.cancel();
    await app.advance("1s");
    await assert.rejects(handle.result(), hasCode("WORKFLOW_CANCELLED"));
  });
});

describe("time limits", () => {
  const rounds = workflow("rounds", async (ctx, every: string): Promise<void> => {
    await ctx.sleep(every);
    ctx.continueAsNew(every);
  });

  it("the limit of a run restarts with each run, and the limit of the workflow covers all runs", async () => {
    await using app = await testLimpet({ workflows: [rounds] });
    const fine = await app.workflows.start(rounds, { id: "fine", input: "4m", runTimeout: "5m" });
    const all = await app.workflows.start(rounds, { id: "all", input: "4m", timeout: "10m" });
    const slow = await app.workflows.start(rounds, { id: "slow", input: "6m", runTimeout: "5m" });
    await app.advance("30m");
    assert.equal((await app.workflows.get("fine").describe()).status, "running");
    await assert.rejects(all.result(), hasCode("WORKFLOW_TIMED_OUT"));
    await assert.rejects(slow.result(), hasCode("WORKFLOW_TIMED_OUT"));
    assert.equal(await app.workflows.count({ workflowId: "all" }), 3);
    await fine.terminate();
  });
});

describe("attributes", () => {
  const marked = workflow("marked", async (ctx, n: number): Promise<void> => {
    ctx.setAttributes({ n, isEven: n % 2 === 0, draft: null });
    await ctx.signal("end");
  });

  it("attributes find runs by value and type, page by page, and count them", async () => {
    await using app = await testLimpet({ workflows: [marked] });
    for (let n = 0; n < 25; n++) {
      await app.workflows.start(marked, { id: `m${n}`, input: n, attributes: { colour: "red", draft: true } });
    }
    await app.advance("1s");
    assert.equal(await app.workflows.count({ attributes: { colour: "red", isEven: true } }), 13);
    assert.equal(await app.workflows.count({ attributes: { n: 7 } }), 1);
    assert.equal(await app.workflows.count({ attributes: { n: "7" } }), 0);
    assert.equal(await app.workflows.count({ attributes: { draft: true } }), 0);
    const ids: string[] = [];
    for (let before: number | undefined; ; ) {
      const page = await app.workflows.list({ attributes: { isEven: true }, limit: 5, before });
      ids.push(...page.runs.map(({ workflowId }) => workflowId));
      before = page.before;
      if (before === undefined) break;
    }
    assert.deepEqual(
      ids,
      Array.from({ length: 13 }, (_, i) => `m${24 - 2 * i}`),
    );
  });

  it("attributes that cannot be searched are rejected, at the start and in the code", async () => {
    const odd = workflow("odd", async (ctx): Promise<string> => {
      try {
        ctx.setAttributes({ when: new Date(0) as never });
        return "taken";
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    await using app = await testLimpet({ workflows: [odd] });
    for (const value of [{ a: 1 }, [1], Number.NaN, undefined]) {
      const attributes = { odd: value as never };
      await assert.rejects(
        app.workflows.start(odd, { input: undefined, attributes }),
        hasCode("WORKFLOW_INVALID", /attribute odd/),
      );
    }
    const long = app.workflows.start(odd, { attributes: { long: "ü".repeat(1_024) } });
    await assert.rejects(long, hasCode("WORKFLOW_INVALID", /attribute long: 2050 bytes, and 2048 are allowed/));
    const handle = await app.workflows.start(odd, { input: undefined, attributes: { none: null } });
    assert.deepEqual((await handle.describe()).attributes, {});
    assert.equal(await handle.result(), "WORKFLOW_INVALID");
  });
});

describe("ids that were used before", () => {
  it("a workflow with a used id is started, rejected or found, as its options request", async () => {
    const quick = workflow("quick", async (_, said: string): Promise<string> => said);
    await using app = await testLimpet({ workflows: [quick] });
    const first = await app.workflows.start(quick, { id: "q", input: "first" });
    assert.equal(await first.result(), "first");
    const start = (input: string, ifEnded?: "start" | "start unless completed" | "fail" | "existing") =>
      app.workflows.start(quick, { id: "q", input, ifRunning: "existing", ...(ifEnded && { ifEnded }) });
    assert.equal(await (await start("found", "existing")).result(), "first");
    await assert.rejects(start("refused", "fail"), hasCode("WORKFLOW_EXISTS"));
    await assert.rejects(start("refused", "start unless completed"), hasCode("WORKFLOW_EXISTS"));
    assert.equal(await (await start("second")).result(), "second");
  });
});

describe("invalid options", () => {
  const quick = workflow("quick", async () => "done");

  it("an invalid option of a start is rejected before any effect", async () => {
    await using app = await testLimpet({ workflows: [quick] });
    const wrong = [
      { ifRunning: "stop" },
      { ifEnded: "restart" },
      { memo: 5 },
      { attributes: ["a"] },
      { build: "" },
      { build: "a\u0000b" },
      { build: "b".repeat(513) },
      { ifRuning: "existing" },
      null,
      "quick",
    ] as unknown as readonly { readonly id?: string }[];
    for (const options of wrong) {
      await assert.rejects(app.workflows.start(quick, options), hasCode("OPTION_INVALID"), JSON.stringify(options));
    }
    assert.equal(await app.workflows.count(), 0);
  });

  it("an invalid query for workflows is rejected", async () => {
    await using app = await testLimpet({ workflows: [quick] });
    const wrong = [
      { limit: 0 },
      { limit: -1 },
      { limit: 1.5 },
      { limit: Number.NaN },
      { before: 1.5 },
      { status: "open" },
      { typ: "quick" },
      { type: 5 },
      { prefix: null },
      { prefix: "a\u0000" },
      { attributes: { "a\u0000": 1 } },
      { startedFrom: "yesterday" },
      { startedBefore: Number.NaN },
      { isBlocked: "yes" },
      { attributes: 5 },
      { attributes: null },
      { attributes: { city: ["Rome"] } },
      null,
      5,
    ];
    for (const query of wrong as readonly object[]) {
      await assert.rejects(app.workflows.list(query), hasCode("OPTION_INVALID"), JSON.stringify(query));
      await assert.rejects(app.workflows.count(query), hasCode("OPTION_INVALID"), JSON.stringify(query));
    }
    assert.throws(() => app.workflows.get(quick, "q", "a\u0000"), hasCode("NAME_INVALID", /run id must not/));
  });

  it("result() and update() reject unknown options", async () => {
    const waits = workflow("waits", async (ctx) => ctx.sleep("1h"));
    await using app = await testLimpet({ workflows: [waits] });
    const handle = await app.workflows.start(waits);
    const meant = (name: string) => hasCode("OPTION_INVALID", new RegExp(`did you mean "${name}"`));
    await assert.rejects(handle.result({ timeuot: "1s" } as object), meant("timeout"));
    await assert.rejects(handle.update("u", 1, { singal: undefined } as object), meant("signal"));
  });

  it("the call get() rejects the type and the id of a workflow as two texts, and names the intended calls", async () => {
    const parent = workflow("parent", async (ctx) => ctx.child(next, { id: "next", input: 1 }));
    const next = workflow(
      "next",
      async (ctx, n: number): Promise<string> => (n > 2 ? "end" : ctx.continueAsNew(n + 1)),
    );
    await using app = await testLimpet({ workflows: [parent, next] });
    const handle = await app.workflows.start(parent, { id: "p" });
    assert.equal(await handle.result(), "end");
    const message =
      /"ship-0" is not a run id; pass the workflow itself and its id, or get\("ship-0"\) with the id alone/;
    assert.throws(() => app.workflows.get("ship", "ship-0"), hasCode("NAME_INVALID", message));
    assert.throws(
      () => app.workflows.get("p", { runid: "r" } as object),
      hasCode("OPTION_INVALID", /did you mean "runId"/),
    );
    // Ids of real runs are recognized, also of children and of runs that continue others.
    const { runs } = await app.workflows.list();
    assert.equal(runs.length, 4);
    for (const { workflowId, runId } of runs) {
      const [old, plain] = [app.workflows.get(workflowId, runId), app.workflows.get(workflowId, { runId })];
      assert.deepEqual([(await old.describe()).runId, (await plain.describe()).runId], [runId, runId]);
    }
  });
});

describe("values from workflow code", () => {
  it("a sleep may be arbitrarily long, and a past one does not wait", async () => {
    const sleeps = workflow("sleeps", async (ctx) => {
      await ctx.until(-1);
      await Promise.race([
        ctx.sleep("10000000d"),
        ctx.until(1e18),
        ctx.signal("x", { within: "10000000d" }),
        ctx.sleep(1),
      ]);
      return "awake";
    });
    await using app = await testLimpet({ workflows: [sleeps] });
    const handle = await app.workflows.start(sleeps);
    await app.advance("1s");
    await app.advance("1s");
    assert.equal((await handle.describe()).blocked, undefined);
    assert.equal(await handle.result(), "awake");
  });

  it("a run cannot have more attributes than one start may give it", async () => {
    const notes = workflow("notes", async (ctx) => {
      for (let i = 0; i < 100; i++) ctx.setAttributes({ [`a${i}`]: i });
      ctx.setAttributes({ a0: null, a100: 100 });
      try {
        ctx.setAttributes({ a101: 101 });
      } catch (thrown) {
        return [isLimpetError(thrown) && thrown.code, Object.keys(ctx.attributes).length];
      }
    });
    await using app = await testLimpet({ workflows: [notes] });
    const handle = await app.workflows.start(notes);
    assert.deepEqual(await handle.result(), ["WORKFLOW_INVALID", 100]);
    assert.equal(Object.keys((await handle.describe()).attributes).length, 100);
  });

  it("the size limit of an input counts bytes", async () => {
    const hears = workflow("hears", async (_ctx, text: string) => text.length);
    await using app = await testLimpet({ workflows: [hears] });
    const started = app.workflows.start(hears, { input: "ü".repeat(1_500_000) });
    await assert.rejects(started, hasCode("BODY_TOO_LARGE", /3000002 bytes/));
  });

  it("invalid options of a child are rejected", async () => {
    const parent = workflow("parent", async (ctx): Promise<unknown[]> => {
      const wrong = [{ onParentClose: "forget" }, { onParentclose: "abandon" }, null, { queue: "" }, { id: "a/b" }];
      return wrong.map((options) => {
        try {
          return ctx.child("kid", options as object);
        } catch (thrown) {
          return isLimpetError(thrown) && thrown.code;
        }
      });
    });
    await using app = await testLimpet({ workflows: [parent] });
    const handle = await app.workflows.start(parent);
    const refused = ["WORKFLOW_INVALID", "WORKFLOW_INVALID", "WORKFLOW_INVALID", "NAME_INVALID", "NAME_INVALID"];
    assert.deepEqual(await handle.result(), refused);
  });

  it("a child of a workflow with an id of the maximum length has an id", async () => {
    const kid = workflow("kid", async (ctx) => ctx.info.workflowId);
    const parent = workflow("parent", async (ctx) => ctx.child(kid));
    await using app = await testLimpet({ workflows: [parent, kid] });
    const long = await app.workflows.start(parent, { id: "p".repeat(512) });
    assert.match(await long.result(), /^[\w-]{10,}$/);
    assert.match(await (await app.workflows.start(parent, { id: "p" })).result(), /^p\./);
  });

  it("a condition that throws at the first check throws where the code waits", async () => {
    const asks = workflow("asks", async (ctx) => {
      const throws = (): boolean => {
        throw new RangeError("never");
      };
      return ctx.condition(throws).catch((thrown: Error) => thrown.message);
    });
    await using app = await testLimpet({ workflows: [asks] });
    assert.equal(await (await app.workflows.start(asks)).result(), "never");
  });
});

describe("invalid arguments of ctx", () => {
  it("an invalid argument of ctx is rejected at the call, with the expected form", async () => {
    const activities = { greet: () => "hello" };
    const wrong: [(ctx: WorkflowContext) => unknown, RegExp][] = [
      [(ctx) => ctx.onSignal("paid", "later" as never), /ctx\.onSignal: "later" is not a function/],
      [(ctx) => ctx.onQuery("total", 5 as never), /ctx\.onQuery: 5 is not a function/],
      [(ctx) => ctx.onUpdate("add", null as never), /ctx\.onUpdate: null is not a function/],
      [(ctx) => ctx.onUpdate("add", () => 1, { validate: {} as never }), /onUpdate: validate: .* is not a function/],
      [(ctx) => ctx.condition(true as never), /ctx\.condition: true is not a function/],
      [(ctx) => ctx.sideEffect(7 as never), /ctx\.sideEffect: 7 is not a function/],
      [
        (ctx) => ctx.activity("greet", 1, { startToclose: "1s" } as never),
        /no "startToclose"; did you mean "startToClose"/,
      ],
      [(ctx) => ctx.activity("greet", 1, { retry: { attempt: 3 } } as never), /retry: .*did you mean "attempts"/],
      [(ctx) => ctx.activity("greet", 1, { retry: 3 } as never), /retry: 3 is no object/],
      [(ctx) => ctx.activity("greet", 1, null as never), /the options of an activity: null is no object/],
      [
        (ctx) => ctx.activity("greet", 1, { retry: { delays: "5s" } } as never),
        /retry\.delays must be a list; got "5s"/,
      ],
      [
        (ctx) => ctx.activity("greet", 1, { retry: { nonRetryable: "X" } } as never),
        /retry\.nonRetryable must be a list; got "X"/,
      ],
      [(ctx) => ctx.shield(5 as never), /ctx\.shield: 5 is not a function/],
      [(ctx) => ctx.setAttributes(null as never), /attributes are an object/],
      [(ctx) => ctx.setAttributes("Rome" as never), /attributes are an object/],
      [(ctx) => ctx.setMemo(["Rome"] as never), /the entries must be an object/],
    ];
    const clumsy = workflow("clumsy", async (ctx, which: number): Promise<void> => {
      await wrong[which]![0](ctx);
    });
    await using app = await testLimpet({ workflows: [clumsy], activities });
    for (const [which, [, about]] of wrong.entries()) {
      const handle = await app.workflows.start(clumsy, { input: which });
      await app.advance("1s");
      await assert.rejects(handle.result(), (error: Error) => {
        assert.match(`${error.message} ${(error.cause as Error | undefined)?.message}`, about);
        return true;
      });
    }
  });
});

describe("invalid names", () => {
  it("an invalid name of a workflow, signal, query or update is rejected with its code", async () => {
    const idle = workflow("idle", async () => {});
    await using app = await testLimpet({ workflows: [idle] });
    const handle = await app.workflows.start(idle, { delay: "1h" });
    for (const name of [null, undefined, 5, {}] as never[]) {
      await assert.rejects(app.workflows.start(name as string), hasCode("NAME_INVALID"));
      await assert.rejects(handle.signal(name), hasCode("NAME_INVALID"));
      await assert.rejects(handle.update(name), hasCode("NAME_INVALID"));
      await assert.rejects(handle.query(name), hasCode("QUERY_UNKNOWN"));
    }
  });
});
