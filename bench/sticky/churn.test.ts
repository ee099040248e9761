import assert from "node:assert/strict";
import { test } from "node:test";
import { drainedIn } from "./ours-churn.ts";

const SMALL = { hosts: 3, guests: 2, actors: 60, born: 30 };

test("actors placed by hash leave hosts that stay; sticky ones leave only hosts that go", async () => {
  const hash = await drainedIn({ ...SMALL, placement: "hash" });
  assert.ok(hash.byStaying > 0 && hash.byLeaving > 0);
  const sticky = await drainedIn({ ...SMALL, placement: "sticky" });
  assert.equal(sticky.byStaying, 0);
  assert.ok(sticky.byLeaving > 0 && sticky.byLeaving < 60);
});
