// Golden examples come from workers in other languages: their payloads must be read, and written again byte
// for byte.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { fromWire } from "../kernel/values.ts";
import { decodeAvro, encodeAvro } from "./avro-value.ts";

const GOLDEN: readonly [what: string, blob: string, wire: unknown][] = [
  ["null", "wwHioz3/VYAiNwA=", null],
  ["true", "wwHioz3/VYAiNwIB", true],
  ["a whole number", "wwHioz3/VYAiNwQO", 7],
  ["a double that is whole", "wwHioz3/VYAiNwYAAAAAAAAcQA==", { $: "number", v: "7.0" }],
  ["a text", "wwHioz3/VYAiNwoMaMOpbGxv", "héllo"],
  ["an empty map", "wwHioz3/VYAiNw4A", {}],
];

const raw = (hex: string): string => Buffer.from(`c301e2a33dff55802237${hex}`, "hex").toString("base64");
const refused = (word: string) => (error: unknown) =>
  isLimpetError(error, "ARGUMENT_INVALID") && error.message.startsWith(`${word}:`);

describe("values in Avro", () => {
  for (const [what, blob, wire] of GOLDEN) {
    it(`the codec reads and writes ${what} as other languages do`, () => {
      assert.deepEqual(decodeAvro(blob), wire);
      assert.equal(encodeAvro(wire), blob);
    });
  }

  it("the codec keeps a whole double apart from a long, although both are the same number in code", () => {
    assert.equal(fromWire(decodeAvro("wwHioz3/VYAiNwYAAAAAAAAcQA==")), 7);
    assert.notEqual(encodeAvro(decodeAvro("wwHioz3/VYAiNwYAAAAAAAAcQA==")), encodeAvro(7));
  });

  const VALUES: readonly unknown[] = [
    [1, -1, 0, 63, 64, -64, -65, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    { $: "bigint", v: "9223372036854775807" },
    { $: "bigint", v: "-9223372036854775808" },
    [0.5, -1.25, 1e-300, { $: "number", v: "-0" }, { $: "number", v: "1e+300" }],
    { a: [{ b: null }, [], [[]]], "": false },
    { $: "object", v: [['"', 1]] },
    { $: "object", v: { $: "date", v: 0 } },
    { $: "bytes", v: "AAEC/w==" },
    "\u{1f600} and \u0000",
  ];
  for (const value of VALUES) {
    it(`the value ${JSON.stringify(value).slice(0, 60)} survives a round trip`, () => {
      assert.deepEqual(decodeAvro(encodeAvro(value)), value);
    });
  }

  it("a value that only JavaScript has is encoded as the nearest available type", () => {
    assert.equal(decodeAvro(encodeAvro({ $: "undefined" })), null);
    assert.equal(decodeAvro(encodeAvro({ $: "date", v: 0 })), "1970-01-01T00:00:00.000Z");
    assert.deepEqual(decodeAvro(encodeAvro({ $: "set", v: [1, 2] })), [1, 2]);
    assert.deepEqual(decodeAvro(encodeAvro({ $: "map", v: [["a", 1]] })), { a: 1 });
  });

  it("a value without a place in the schema is rejected", () => {
    assert.throws(() => encodeAvro({ $: "bigint", v: "9223372036854775808" }), refused("integer_overflow"));
    assert.throws(() => encodeAvro({ $: "number", v: "NaN" }), refused("non_finite_float"));
    assert.throws(() => encodeAvro({ $: "map", v: [[1, 2]] }), refused("invalid_map_key"));
    let deep: unknown = 1;
    for (let i = 0; i < 300; i++) deep = [deep];
    assert.throws(() => encodeAvro(deep), refused("unsupported_value_type"));
  });

  it("a payload that is cut off, too long, of another schema or no base64 is rejected", () => {
    for (const blob of ["", "!", "wwHioz3/VYAi", raw("00ff"), raw("0a10"), raw("10"), raw("0c02"), raw("0204")]) {
      assert.throws(() => decodeAvro(blob), refused("invalid_payload_framing"), blob);
    }
    assert.throws(() => decodeAvro(Buffer.from("c3010000000000000000", "hex").toString("base64")), {
      message: /^unsupported_payload_schema/,
    });
    assert.throws(() => decodeAvro(raw("04ffffffffffffffffffff01")), refused("integer_overflow"));
    assert.throws(() => decodeAvro(raw("06000000000000f87f")), refused("non_finite_float"));
    // Ten thousand levels of lists must not overrun the stack.
    assert.throws(() => decodeAvro(raw("0c02".repeat(10_000))), refused("unsupported_value_type"));
  });

  it("the codec reads lists in several blocks, also blocks with byte counts", () => {
    assert.deepEqual(decodeAvro(raw("0c02040202040400")), [1, 2]);
    assert.deepEqual(decodeAvro(raw("0c0104040200")), [1]);
  });
});
