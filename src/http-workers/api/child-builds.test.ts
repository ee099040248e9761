// Children of runs on HTTP workers: pinned to the build of their parent when the parent's worker has their
// code.
import assert from "node:assert/strict";
import { it } from "node:test";
import { testLimpet } from "../../testing.ts";
import { Api, envelope } from "./api-kit.test.ts";

it("a child is pinned to the build of its parent if the parent's worker has its code, and otherwise to none", async () => {
  await using app = await testLimpet({ http: { port: 0 } });
  const api = new Api(app);
  await api.worker("w1", { build_id: "b1", supported_workflow_types: ["order", "part"] });
  await api.start("o-1", []);
  const child = (workflow_type: string, more: object = {}) => ({
    type: "start_child_workflow",
    workflow_type,
    arguments: envelope([]),
    ...more,
  });
  const response = await api.complete(await api.task("w1", "workflow", { build_id: "b1" }), [
    child("part"),
    child("unknown"),
    child("part", { queue: "other" }),
  ]);
  assert.equal(response.status, 200);
  const runs = await app.store.workflows.list({ namespace: "default", limit: 10 });
  const pins = runs.map(({ type, queue, pinned }) => `${type} in ${queue}: ${pinned ?? "none"}`);
  assert.deepEqual(pins.sort(), [
    "order in orders: b1",
    "part in orders: b1",
    "part in other: none",
    "unknown in orders: none",
  ]);
});
