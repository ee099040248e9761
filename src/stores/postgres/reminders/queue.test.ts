// Numbers of types: tables contain them, so they never change.
import assert from "node:assert/strict";
import { test } from "node:test";
import { queueOf } from "./queue.ts";

test("a type always has the same number, whichever types were numbered in between", () => {
  for (let i = 0; i < 30_000; i++) queueOf("default", `${i}`);
  const expected: [string, string, number][] = [
    ["default", "Cart", 235819055792801],
    ["a", "bc", 275723333042915],
    ["ab", "c", 127857710869516],
    ["日本", "🐚", 52269314491433],
  ];
  for (let round = 0; round < 2; round++) {
    for (const [namespace, type, number] of expected) assert.equal(queueOf(namespace, type), number);
  }
});
