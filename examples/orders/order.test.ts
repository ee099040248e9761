// Tests of a workflow: time that passes at once, mocked activities, crashes at every point, and recorded
// histories that the current code must still match.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError, workflow } from "limpet";
import { everyCrash, replayHistory, testLimpet } from "limpet/testing";
import { approved, charge, type Order, order, refund, ship, stage } from "./order.ts";

const definitions = { workflows: [order], activities: { charge, refund, ship } };
const input: Order = { customer: "alice", items: ["tea", "milk"] };

describe("an order", () => {
  it("an approved order is shipped", async () => {
    await using app = await testLimpet(definitions);
    const shipping = app.mock(ship, ({ customer }) => ({ tracking: `to ${customer}` }));
    const handle = await app.workflows.start(order, { id: "o-1", input });
    await app.advance("1h");
    assert.equal(await handle.query(stage), "waiting for approval");
    await handle.signal(approved, true);
    assert.equal(await handle.result(), "to alice");
    assert.deepEqual(
      shipping.calls.map(({ input }) => input),
      [input],
    );
  });

  it("an order is refunded after three days without an answer", async () => {
    await using app = await testLimpet(definitions);
    app.mock(charge).returns("receipt 7");
    const refunding = app.mock(refund);
    const handle = await app.workflows.start(order, { input });
    await app.advance("3d");
    assert.equal(await handle.result(), "refunded");
    assert.equal(refunding.calls[0]?.input, "receipt 7");
  });

  it("an order is charged again when the bank was unavailable", async () => {
    await using app = await testLimpet(definitions);
    const charging = app.mock(charge).fails({ times: 2, error: new Error("the bank does not answer") });
    await app.workflows.start(order, { input });
    await app.advance("1m");
    assert.deepEqual(
      charging.calls.map(({ outcome }) => outcome),
      ["failed", "failed", "completed"],
    );
    // The bank recognises the same charge by this key.
    assert.equal(new Set(charging.calls.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
  });

  it("an order is completed wherever its process crashes", async () => {
    const crashes = await everyCrash(definitions, async (app) => {
      const charged = new Set<string>();
      app.mock(charge, (_, { idempotencyKey }) => {
        charged.add(idempotencyKey);
        return "receipt";
      });
      const handle = await app.workflows.start(order, { id: "o-1", input });
      await app.advance("1d");
      await handle.signal(approved, true);
      assert.equal(await handle.result(), "LT-1");
      // An activity runs at least once; a bank that checks the key charges once.
      assert.equal(charged.size, 1);
    });
    assert.ok(crashes > 0);
  });

  it("an order continues where it was when its process was down for two days", async () => {
    await using app = await testLimpet(definitions);
    const handle = await app.workflows.start(order, { input });
    await app.crash({ downFor: "2d" });
    await handle.signal(approved, true);
    assert.equal(await handle.result(), "LT-1");
  });
});

describe("change of workflow code", () => {
  it("changed code matches recorded histories, or the mismatch is found before deployment", async () => {
    await using app = await testLimpet(definitions);
    const handle = await app.workflows.start(order, { input });
    await app.advance("1h");
    // From production: limpet workflows o-1 --events --json > history.json
    const history = JSON.stringify({ events: await handle.history() });
    assert.deepEqual((await replayHistory(order, history)).decides, []);
    const checksFirst = workflow("order", async (ctx, input: Order) => {
      await ctx.activity("checkStock", input);
      await ctx.activity(charge, input);
    });
    await assert.rejects(replayHistory(checksFirst, history), (error) => isLimpetError(error, "WORKFLOW_DIVERGED"));
  });
});
