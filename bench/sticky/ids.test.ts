import assert from "node:assert/strict";
import { test } from "node:test";
import { idOf } from "./ids.ts";

test("ids differ and have 16 to 24 characters", () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => [idOf(i), idOf(1_000_000_000 + i)]).flat();
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.ok(id.length >= 16 && id.length <= 24, id);
});
