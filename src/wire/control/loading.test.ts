import assert from "node:assert/strict";
import { test } from "node:test";
import { loadInPortions } from "./loading.ts";

test("the modules of a control stream load in portions, and other work runs in between", async () => {
  let turns = 0;
  const others = setInterval(() => turns++, 1);
  await loadInPortions();
  clearInterval(others);
  assert.ok(turns > 1, `${turns} turns of others`);
});
