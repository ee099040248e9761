import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { hasCode } from "../host/faults-kit.test.ts";
import { testLimpet } from "../testing.ts";
import { update, workflow } from "./definition/definition.ts";

class Cart extends Actor<{ items: number }> {
  initial() {
    return { items: 0 };
  }
  add() {
    return ++this.state.items;
  }
}

describe("ids of updates", () => {
  const add = update<string, number>("add");
  const adds = workflow("adds", async (ctx) => {
    ctx.onUpdate(add, (n) => {
      // The run continues after the answer.
      void ctx.actor(Cart, "alice").add();
      return `added ${n}`;
    });
    await ctx.sleep("1d");
  });

  it("an update may have any id, also the key of another message, and no message is lost", async () => {
    await using app = await testLimpet({ workflows: [adds], actors: [Cart] });
    const handle = await app.workflows.start(adds, { id: "a", delay: "1h" });
    const answer = handle.update(add, 1, { id: "cancel" });
    await app.advance("1s");
    // The run has handled neither when the other arrives.
    await handle.cancel();
    await app.advance("1h");
    assert.equal(await answer, "added 1");
    await assert.rejects(handle.result(), hasCode("WORKFLOW_CANCELLED"));
  });

  it("an update may have the id of an actor that the run calls", async () => {
    await using app = await testLimpet({ workflows: [adds], actors: [Cart] });
    const handle = await app.workflows.start(adds, { id: "a" });
    assert.equal(await handle.update(add, 1, { id: "alice" }), "added 1");
  });

  it("an update id that some store cannot keep is rejected before any effect", async () => {
    await using app = await testLimpet({ workflows: [adds], actors: [Cart] });
    const handle = await app.workflows.start(adds, { id: "a" });
    for (const id of ["", 5, {}, "x".repeat(513), "a\u0000b", "\ud800"]) {
      await assert.rejects(handle.update(add, 1, { id } as never), hasCode("NAME_INVALID", /update id must/));
    }
    assert.equal(await handle.update(add, 1, { id: "orders/17?#" }), "added 1");
    assert.equal((await handle.describe()).status, "running");
  });
});
