// A process checks its workflows and activities before it runs anything. Where code and activities do not
// match, no run is damaged.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { type AnyWorkflow, workflow } from "./definition/definition.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

async function charge(amount: number): Promise<string> {
  return `charged ${amount}`;
}
/** A wrapper around an activity: another function of the same name. */
const wrapped = { charge: async (amount: number) => `${await charge(amount)}, and logged` }.charge;
const another = /this worker has another function as its activity charge: .*or call the activity by its name/;

const atOnce = workflow("at once", async (ctx): Promise<string> => ctx.activity(charge, 5));
const later = workflow("later", async (ctx): Promise<string> => {
  await ctx.signal("go");
  return ctx.activity(charge, 5);
});

describe("workflows that call another function than the activity of that name", () => {
  it("the start of such a workflow is rejected with the reason, and its run is terminated", async () => {
    await using app = await testLimpet({ workflows: [atOnce], activities: { charge: wrapped } });
    const start = () => app.workflows.start(atOnce, { id: "a", input: undefined, timeout: "1h" });
    await assert.rejects(start(), hasCode("ACTIVITY_UNKNOWN", another));
    assert.equal((await app.workflows.get("a").describe()).status, "terminated");
    await assert.rejects(app.workflows.get("a").result(), hasCode("WORKFLOW_TERMINATED", another));
    await assert.rejects(start(), hasCode("ACTIVITY_UNKNOWN", another), "the id is free for another start");
  });

  it("no start is stored when the workflow has already reached a first wait", async () => {
    const either = workflow(
      "either",
      async (ctx, calls: boolean): Promise<unknown> => (calls ? ctx.activity(charge, 5) : ctx.signal("go")),
    );
    await using app = await testLimpet({ workflows: [either], activities: { charge: wrapped } });
    await app.workflows.start(either, { id: "waits", input: false });
    await assert.rejects(app.workflows.start(either, { id: "a", input: true }), hasCode("ACTIVITY_UNKNOWN", another));
    await assert.rejects(app.workflows.get("a").describe(), hasCode("WORKFLOW_UNKNOWN"));
  });

  it("a workflow does not start with a function that is no activity at all", async () => {
    await using app = await testLimpet({ workflows: [atOnce], activities: { refund: wrapped } });
    const unknown = hasCode("ACTIVITY_UNKNOWN", /charge is not among the activities of this worker/);
    await assert.rejects(app.workflows.start(atOnce, { id: "a", input: undefined }), unknown);
  });

  it("a run blocks at the call of an unknown function, and continues once the functions match", async () => {
    const clock = new VirtualClock();
    const common = { workflows: [later], clock, stateStore: new MemoryStore(() => clock.now()) };
    const wrong = await testLimpet({ ...common, activities: { charge: wrapped } });
    const handle = await wrong.workflows.start(later, { id: "l", input: undefined });
    await wrong.advance("1s");
    await handle.signal("go", undefined);
    await wrong.advance("1m");
    const { status, blocked } = await handle.describe();
    assert.equal(status, "running");
    assert.match(String(blocked), another);
    await wrong.stop();
    await using right = await testLimpet({ ...common, activities: { charge } });
    const result = right.workflows.get("l").result();
    await right.advance("10m");
    assert.equal(await result, "charged 5");
  });

  it("workflow code cannot catch the error and take another path, which its history would have to follow for ever", async () => {
    const sly = workflow("sly", async (ctx): Promise<string> => {
      await ctx.signal("go");
      try {
        return await ctx.activity(charge, 5);
      } catch {
        return "caught";
      }
    });
    await using app = await testLimpet({ workflows: [sly], activities: { charge: wrapped } });
    const handle = await app.workflows.start(sly, { id: "s", input: undefined });
    await app.advance("1s");
    await handle.signal("go", undefined);
    await app.advance("1m");
    assert.equal((await handle.describe()).status, "running");
    await handle.terminate();
  });
});

describe("definitions of a process", () => {
  const refuses = (options: object, code: string, about: RegExp): Promise<void> =>
    assert.rejects(testLimpet(options), hasCode(code, about));

  it("a process does not start with two workflows of one name and different code", async () => {
    const other = workflow("later", async () => "other");
    await refuses({ workflows: [later, other] }, "WORKFLOW_INVALID", /two of them are called later/);
    await using app = await testLimpet({ workflows: [later, later], activities: { charge } });
    assert.equal(await app.workflows.count(), 0);
  });

  it("a process does not start with a value that is neither a workflow nor an activity", async () => {
    const plain = (async () => {}) as unknown as AnyWorkflow;
    await refuses({ workflows: [plain] }, "WORKFLOW_INVALID", /plain is not a workflow; write workflow\(name/);
    await refuses({ workflows: [undefined] }, "WORKFLOW_INVALID", /undefined is not a workflow/);
    await refuses({ activities: { charge: undefined } }, "OPTION_INVALID", /activities: charge is no function/);
  });
});
