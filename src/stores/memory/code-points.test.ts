import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { byCodePoint } from "./code-points.ts";

test("names are ordered like their UTF-8 bytes", () => {
  const name = fc.string({ unit: "binary", maxLength: 6 });
  fc.assert(
    fc.property(name, name, (a, b) => {
      assert.equal(Math.sign(byCodePoint(a, b)), Buffer.from(a).compare(Buffer.from(b)));
    }),
  );
});

test("a character outside the basic plane comes after every character inside it", () => {
  assert.ok(byCodePoint("\u{1f41a}", "\uff5e") > 0);
  assert.ok(byCodePoint("a", "ab") < 0);
  assert.equal(byCodePoint("a\u{1f41a}", "a\u{1f41a}"), 0);
});
