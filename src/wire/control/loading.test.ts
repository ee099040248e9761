import assert from "node:assert/strict";
import { test } from "node:test";
import { loadInPortions } from "./loading.ts";

test("everything that a control stream needs can be loaded bit by bit, and others have their turn in between", async () => {
  let turns = 0;
  const others = setInterval(() => turns++, 1);
  await loadInPortions();
  clearInterval(others);
  assert.ok(turns > 1, `${turns} turns of others`);
});
