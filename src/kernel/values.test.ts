import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { copyValue, decodeValue, encodeValue, readWire, toWire } from "./values.ts";

/** Every storable value, nested. */
const storable: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("$", "__proto__", "\ud800", "\u0000"),
    fc.double(),
    fc.integer(),
    fc.bigInt(),
    fc.boolean(),
    fc.constantFrom(null, undefined, -0),
    fc.date({ noInvalidDate: false }),
    fc.uint8Array(),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  ),
  key: fc.oneof(fc.string(), fc.constantFrom("$", "v", "__proto__", "constructor", "toString")),
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    fc.array(tie("node"), { maxLength: 5 }),
    fc.dictionary(tie("key") as fc.Arbitrary<string>, tie("node"), { maxKeys: 5 }),
    fc.array(fc.tuple(tie("node"), tie("node")), { maxLength: 4 }).map((pairs) => new Map(pairs)),
    fc.array(tie("node"), { maxLength: 4 }).map((items) => new Set(items)),
  ),
})).node;

describe("value encoding", () => {
  it("values keep keys that JSON must escape, whatever objects of the same shape were read before", () => {
    for (const other of ['"', "\n", "\u0000", "\ud800", "\\", 'a"']) {
      const first = `${other.slice(0, -1)}\\`;
      decodeValue(encodeValue([{ shape: other, [first]: 1 }]));
      JSON.parse(`[{"shape":1,${JSON.stringify(first)}:2}]`);
      assert.deepEqual(decodeValue(encodeValue({ shape: 1, [other]: 2 })), { shape: 1, [other]: 2 });
      const bare = Object.assign(Object.create(null), { shape: 1, [other]: new Date(0) });
      assert.deepEqual(decodeValue(encodeValue(bare)), bare);
    }
  });

  it("values are decoded from text exactly as they were encoded", () => {
    fc.assert(
      fc.property(storable, (value) => {
        assert.deepStrictEqual(decodeValue(encodeValue(value)), value);
      }),
      { numRuns: 1_000 },
    );
  });

  it("values are equal to their copy, which shares no object with them", () => {
    fc.assert(
      fc.property(storable, (value) => {
        const copied = copyValue(value, "value", "ARGUMENT_INVALID");
        assert.deepStrictEqual(copied, value);
        if (typeof value === "object" && value !== null) assert.notEqual(copied, value);
      }),
    );
  });

  it("values that are read from their JSON-ready form share nothing with it", () => {
    const value = {
      at: new Date(5),
      list: [{ n: 1n }, new Map([["k", [new Set([1])]]])],
      none: undefined,
      $: { a: [1] },
    };
    const wire = toWire(value, "value", "ARGUMENT_INVALID");
    const text = JSON.stringify(wire);
    const read = readWire(wire) as typeof value;
    assert.deepStrictEqual(read, value);
    read.at.setTime(9);
    (read.list[1] as Map<string, unknown[]>).get("k")!.push("more");
    read.$.a.push(2);
    read.list.pop();
    assert.equal(JSON.stringify(wire), text);
    assert.deepStrictEqual(readWire(wire), value);
  });

  it("plain JSON values are encoded as plain JSON", () => {
    const value = { items: ["tea", { qty: 2 }], total: 1.5, open: true, note: null };
    assert.equal(encodeValue(value), JSON.stringify(value));
  });

  it("values keep keys with a meaning in JavaScript as plain keys", () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
    const back = decodeValue(encodeValue(value)) as object;
    assert.deepStrictEqual(Object.keys(back), ["__proto__", "constructor"]);
    assert.equal(Object.getPrototypeOf(back), Object.prototype);
  });

  class Money {}
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const cases: [string, unknown, RegExp][] = [
    ["a function", { on: { change: () => 1 } }, /^state\.on\.change \(a function\) cannot be stored$/],
    ["a symbol", [1, Symbol("x")], /^state\[1\] \(a symbol\)/],
    ["a symbol as a key", { a: { [Symbol("x")]: 1 } }, /^state\.a\[Symbol\(x\)\] \(a symbol as a key\)/],
    ["a class instance", { "unit price": new Money() }, /^state\["unit price"\] \(an instance of Money\)/],
    [
      "a class instance inside a Map",
      new Map([["k", [new Money()]]]),
      /^state\.get\("k"\)\[0\] \(an instance of Money\)/,
    ],
    ["a class instance inside a Set", new Set([new Money()]), /^state, a member \(an instance of Money\)/],
    ["a hole", { list: Object.assign([1], { 2: 3 }) }, /^state\.list\[1\] \(a hole in an array\)/],
    ["a cycle", cycle, /nested deeper than 200, or a cycle/],
    ["a promise", { later: Promise.resolve(1) }, /^state\.later \(an instance of Promise\)/],
  ];
  for (const [name, value, message] of cases) {
    it(`values that hold ${name} are rejected with the place in the message`, () => {
      assert.throws(() => encodeValue(value, "state", "STATE_INVALID"), { code: "STATE_INVALID", message });
      assert.throws(() => copyValue(value, "state", "STATE_INVALID"), { code: "STATE_INVALID", message });
    });
  }
});
