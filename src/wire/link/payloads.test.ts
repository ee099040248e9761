import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../kernel/errors.ts";
import type { Primitive } from "./messages.ts";
import { decodeArguments, decodeText, encodeArguments, encodeLinkResult, fitsFrame, isPrimitive } from "./payloads.ts";

const value = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withUnicodeString: true,
  maxDepth: 4,
});

/** Lists with holes are rejected, and fast-check makes none. */
test("arguments are decoded exactly as they were encoded", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), (args) => {
      const encoded = encodeArguments(args);
      assert.deepEqual(decodeArguments(encoded as Primitive[] | string), args);
    }),
    { numRuns: 500 },
  );
});

test("results are decoded exactly as they were encoded", () => {
  fc.assert(
    fc.property(value, (result) => {
      const back = isPrimitive(result) ? result : decodeText(encodeLinkResult(result));
      assert.deepEqual(back, result);
    }),
    { numRuns: 500 },
  );
});

test("primitives are sent unchanged, and every other value as text", () => {
  assert.deepEqual(encodeArguments([]), []);
  assert.deepEqual(encodeArguments([1, "a", null, true, -0, Number.NaN]), [1, "a", null, true, -0, Number.NaN]);
  for (const arg of [undefined, 1n, {}, [], new Date(0), "\ud800"])
    assert.equal(typeof encodeArguments([1, arg]), "string");
});

test("a change of the arguments after the call does not change the call", () => {
  const args = ["before"];
  const encoded = encodeArguments(args);
  args[0] = "after";
  assert.deepEqual(encoded, ["before"]);
});

test("an argument that cannot be encoded is named in the error", () => {
  const isRefusal = (error: unknown) =>
    isLimpetError(error, "ARGUMENT_INVALID") && error.message.includes("argument 2.deep.fn (a function)");
  assert.throws(() => encodeArguments([1, { deep: { fn() {} } }]), isRefusal);
});

test("texts that no encoder produces are rejected", () => {
  const bombs = [
    "",
    "{",
    "nope",
    '{"$":"map","v":5}',
    '{"$":"bytes","v":1e9}',
    `{"$":"bigint","v":"${"9".repeat(20_000)}"}`,
    '{"$":"nonsense"}',
    "[".repeat(100_000),
    `${"[".repeat(500)}${"]".repeat(500)}`,
  ];
  for (const text of bombs) assert.throws(() => decodeText(text), text.slice(0, 30));
  assert.throws(() => decodeArguments('{"0":1}'));
});

test("the size limit counts encoded bytes", () => {
  assert.ok(fitsFrame("ä".repeat(50), 100));
  assert.ok(!fitsFrame("ä".repeat(51), 100));
  assert.ok(fitsFrame(["a".repeat(90), 1], 110));
  assert.ok(!fitsFrame(["ä".repeat(90), 1], 110));
});
