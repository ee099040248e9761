// Tests of the list of checkers.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CHECKERS } from "./all.ts";

describe("the list of checkers", () => {
  it("every checker has its own name and a rule in one sentence", () => {
    const names = CHECKERS.map(({ name }) => name);
    assert.deepEqual([...new Set(names)], names);
    for (const { rule } of CHECKERS) assert.match(rule, /^[a-z].+[^.]$/);
  });
});
