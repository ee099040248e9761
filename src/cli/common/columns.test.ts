import assert from "node:assert/strict";
import { test } from "node:test";
import { columns, filledColumns, widthOf } from "./columns.ts";

test("columns are as wide as their widest cell, numbers are aligned to the right, and lines have no trailing spaces", () => {
  assert.deepEqual(
    columns(
      [{ title: "NAME" }, { title: "SIZE", align: "right" }, { title: "NOTE" }],
      [
        ["a", "1", ""],
        ["long name", "1000", "x"],
      ],
    ),
    ["NAME       SIZE  NOTE", "a             1", "long name  1000  x"],
  );
  assert.deepEqual(columns([{}, {}], [["a", "b"]]), ["a  b"]);
});

test("the width of text ignores colours and counts wide characters twice", () => {
  assert.equal(widthOf("\u001b[31mred\u001b[39m"), 3);
  assert.equal(widthOf("茶"), 2);
  assert.equal(widthOf("🐚"), 2);
  assert.equal(widthOf("👩‍👩‍👧"), 2);
  assert.equal(widthOf("é"), 1);
  assert.equal(widthOf("e\u0301"), 1);
  const [first, second] = columns(
    [{}, {}],
    [
      ["茶", "x"],
      ["ab", "x"],
    ],
  );
  assert.equal(first, "茶  x");
  assert.equal(second, "ab  x");
});

test("empty columns are left out, except for the first", () => {
  const shape = [{ title: "A" }, { title: "B" }, { title: "C" }];
  assert.deepEqual(
    filledColumns(shape, [
      ["-", "-", "1"],
      ["-", "-", "-"],
    ]),
    ["A  C", "-  1", "-  -"],
  );
  assert.deepEqual(filledColumns(shape, []), []);
});
