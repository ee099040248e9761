// Parents and children: the notifications at the end of either, for every reason.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { workflow } from "./definition/definition.ts";
import type { ParentClosePolicy } from "./engine/events.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

/**
 * Returns how it ended, after an hour unless it is ended earlier. With `continues` it continues as new first.
 */
const child = workflow("child", async (ctx, continues: boolean): Promise<string> => {
  if (continues) ctx.continueAsNew(false);
  await ctx.sleep("1h");
  return "of its own accord";
});

interface Plan {
  readonly policy: ParentClosePolicy;
  readonly childContinues?: boolean;
}

/** Starts a child, and ends as the signal requests. */
const parent = workflow("parent", async (ctx, { policy, childContinues = false }: Plan): Promise<string> => {
  ctx.child(child, { id: "the child", input: childContinues, onParentClose: policy });
  const how = await ctx.signal<string>("end");
  if (how === "continue") ctx.continueAsNew({ policy: "abandon" });
  if (how === "fail") throw new TypeError("on purpose");
  return how;
});

/** The end of a child by the policy of its start, after its parent ended. */
const ENDS = { abandon: "running", cancel: "cancelled", terminate: "terminated" } as const;
const POLICIES = ["abandon", "cancel", "terminate"] as const;

describe("parents that end before their child", () => {
  const ways: Record<string, (app: Awaited<ReturnType<typeof testLimpet>>) => Promise<void>> = {
    completes: (app) => app.workflows.get("p").signal("end", "complete"),
    fails: (app) => app.workflows.get("p").signal("end", "fail"),
    "is cancelled": (app) => app.workflows.get("p").cancel(),
    "is terminated": (app) => app.workflows.get("p").terminate("enough"),
    "times out": async (app) => void (await app.advance("10m")),
  };
  for (const [way, end] of Object.entries(ways)) {
    for (const policy of POLICIES) {
      for (const childContinues of [false, true]) {
        const which = childContinues ? " that has continued as new" : "";
        it(`a child${which} with the policy ${policy} is ${ENDS[policy]} when its parent ${way}`, async () => {
          await using app = await testLimpet({ workflows: [parent, child] });
          await app.workflows.start(parent, { id: "p", input: { policy, childContinues }, timeout: "5m" });
          await app.advance("1s");
          assert.equal((await app.workflows.get("the child").describe()).status, "running");
          await end(app);
          await app.advance("1s");
          assert.notEqual((await app.workflows.get("p").describe()).status, "running");
          assert.equal((await app.workflows.get("the child").describe()).status, ENDS[policy]);
        });
      }
    }
  }

  for (const policy of POLICIES) {
    it(`a child with the policy ${policy} is notified when its parent continues as new`, async () => {
      const once = workflow("once", async (ctx, round: number): Promise<void> => {
        if (round === 1) ctx.child(child, { id: "the child", input: false, onParentClose: policy });
        await ctx.signal("go");
        if (round === 1) ctx.continueAsNew(2);
      });
      await using app = await testLimpet({ workflows: [once, child] });
      const handle = await app.workflows.start(once, { id: "o", input: 1 });
      await app.advance("1s");
      await handle.signal("go", undefined);
      await app.advance("1s");
      assert.equal((await app.workflows.get("o").describe()).status, "running");
      assert.equal((await app.workflows.get("the child").describe()).status, ENDS[policy]);
    });
  }

  it("a parent ends its grandchildren with its children", async () => {
    const middle = workflow("middle", async (ctx): Promise<string> => {
      return ctx.child(child, { id: "grandchild", input: false });
    });
    const top = workflow("top", async (ctx): Promise<string> => ctx.child(middle, { id: "m", input: undefined }));
    await using app = await testLimpet({ workflows: [top, middle, child] });
    const handle = await app.workflows.start(top, { input: undefined });
    await app.advance("1s");
    await handle.terminate("all of it");
    await app.advance("1s");
    for (const id of ["m", "grandchild"])
      assert.equal((await app.workflows.get(id).describe()).status, "terminated", id);
  });

  it("a parent leaves a workflow alone that took over the id of its child", async () => {
    const quick = workflow("quick", async () => {});
    const one = workflow("one", async (ctx): Promise<void> => {
      await Promise.allSettled([ctx.child(quick, { id: "x", input: undefined }), ctx.signal("end")]);
    });
    await using app = await testLimpet({ workflows: [one, quick, child] });
    const handle = await app.workflows.start(one, { input: undefined });
    await app.advance("1s");
    const other = await app.workflows.start(child, { id: "x", input: false });
    await handle.terminate();
    await app.advance("1s");
    assert.equal((await other.describe()).status, "running");
  });
});

describe("ends of a child", () => {
  it("a child whose id is taken fails its parent's wait, and the other workflow continues", async () => {
    const asks = workflow("asks", async (ctx): Promise<string> => {
      try {
        return await ctx.child(child, { id: "taken", input: false });
      } catch (error) {
        return `${(error as { code?: string }).code}: ${(error as Error).message}`;
      }
    });
    await using app = await testLimpet({ workflows: [asks, child] });
    const other = await app.workflows.start(child, { id: "taken", input: false });
    const handle = await app.workflows.start(asks, { input: undefined });
    await app.advance("1s");
    assert.match(await handle.result(), /^WORKFLOW_EXISTS: there is a workflow taken already/);
    assert.equal((await other.describe()).status, "running");
  });

  it("a parent learns at once that its child's id is taken, while it does other work", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = async (): Promise<void> => promise;
    const asks = workflow("asks", async (ctx): Promise<string> => {
      const busy = ctx.activity(slow);
      const code = await ctx.child(child, { id: "taken", input: false }).catch((error) => error.code);
      await busy;
      return code;
    });
    await using app = await testLimpet({ workflows: [asks, child], activities: { slow } });
    await app.workflows.start(child, { id: "taken", input: false });
    const handle = await app.workflows.start(asks, { input: undefined });
    await app.advance("1s");
    const kinds = (await handle.history()).map(({ event }) => event.kind);
    assert.ok(kinds.includes("ChildRunFailed"), kinds.join());
    resolve();
    await app.advance("1s");
    assert.equal(await handle.result(), "WORKFLOW_EXISTS");
  });

  it("a child that is ended from outside fails its parent's wait with the reason", async () => {
    const waits = workflow("waits", async (ctx, id: string): Promise<string> => {
      return ctx.child(child, { id, input: true }).catch((error) => error.code);
    });
    await using app = await testLimpet({ workflows: [waits, child] });
    const [one, two] = [
      await app.workflows.start(waits, { input: "a" }),
      await app.workflows.start(waits, { input: "b" }),
    ];
    await app.advance("1s");
    await app.workflows.get("a").terminate();
    await app.workflows.get("b").cancel();
    await app.advance("1s");
    assert.deepEqual([await one.result(), await two.result()], ["WORKFLOW_TERMINATED", "WORKFLOW_CANCELLED"]);
  });

  it("a child may continue as new any number of times, and its parent gets the end of the last run", async () => {
    const rounds = workflow("rounds", async (ctx, n: number): Promise<number> => {
      await ctx.sleep("1m");
      return n < 3 ? ctx.continueAsNew(n + 1) : n;
    });
    const waits = workflow("waits", async (ctx): Promise<number> => ctx.child(rounds, { input: 1 }));
    await using app = await testLimpet({ workflows: [waits, rounds] });
    const handle = await app.workflows.start(waits, { input: undefined });
    await app.advance("5m");
    assert.equal(await handle.result(), 3);
  });
});

describe("terminated runs", () => {
  it("a terminated run leaves neither timers nor queued activities", async () => {
    const idle = workflow("idle", async (ctx): Promise<void> => {
      await Promise.all([ctx.sleep("30d"), ctx.activity("elsewhere", 1, { queue: "nobody" })]);
    });
    const store = new MemoryStore();
    await using app = await testLimpet({ workflows: [idle], stateStore: store });
    const handle = await app.workflows.start(idle, { input: undefined, timeout: "60d" });
    await app.advance("1s");
    const left = async (): Promise<number> => {
      return (await store.reminders.list({ namespace: "default", limit: 100 })).length;
    };
    assert.equal(await left(), 3);
    await handle.terminate();
    assert.equal(await left(), 0);
    await assert.rejects(handle.result(), hasCode("WORKFLOW_TERMINATED"));
  });
});
