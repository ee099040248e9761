// The comparison of assert statements between two versions of the tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertChanges, assertsIn } from "../scripts/assert-changes.ts";

// Written in parts, so that the script does not read them as statements of this file.
const A = "assert";

const compare = (before: string, after: string, path = "a.test.ts") => {
  const { changes, unchanged, added } = assertChanges(new Map([["a.test.ts", before]]), new Map([[path, after]]));
  return { kinds: changes.map(({ kind }) => kind), unchanged, added };
};

test("a statement is read to its closing bracket, across lines, texts and regular expressions", () => {
  const source = `${A}.match(\n  told(")"),\n  /a\\)[/)]b/,\n);\n${A}.ok(x);\n// ${A}ions`;
  assert.deepEqual(assertsIn(source), [`${A}.match(told(")"), /a\\)[/)]b/)`, `${A}.ok(x)`]);
});

test("a moved or reformatted statement is unchanged", () => {
  const after = `${A}.deepEqual(\n  all,\n  [1, 2],\n);`;
  assert.deepEqual(compare(`${A}.deepEqual(all, [1, 2]);`, after, "b.test.ts"), { kinds: [], unchanged: 1, added: 0 });
});

test("a changed statement is classified by its greatest difference", () => {
  const before = `${A}.equal(told.code, "LOST", "the caller was told");`;
  for (const [after, kind] of [
    [`${A}.equal(answer.code, "LOST", "the caller was told");`, "names"],
    [`${A}.equal(answer.code, "LOST", "the caller got the answer");`, "texts"],
    [`${A}.equal(answer.code, "GONE", "the caller was told");`, "changed"],
    [`${A}.equal(told.code, true, "the caller was told");`, "changed"],
    [`${A}.ok(other);`, "removed"],
  ] as const) {
    assert.deepEqual(compare(before, after).kinds, [kind]);
  }
});

test("a statement that occurs less often is removed, and a new one is added", () => {
  const twice = `${A}.ok(one);\n${A}.ok(one);`;
  assert.deepEqual(compare(twice, `${A}.ok(one);`), { kinds: ["removed"], unchanged: 1, added: 0 });
  assert.deepEqual(compare(`${A}.ok(one);`, twice), { kinds: [], unchanged: 1, added: 1 });
});
