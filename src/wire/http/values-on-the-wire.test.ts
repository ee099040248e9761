import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../kernel/errors.ts";
import { encodeValue } from "../../kernel/values.ts";
import { isDeeperThan } from "../exact.ts";
import { parseCallArguments } from "./body.ts";
import { plainJson } from "./plain-json.ts";

const plain = (value: unknown) => {
  const text = plainJson(value);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
};

test("a value that JSON lacks becomes the nearest JSON value", () => {
  assert.equal(plain(new Date(0)), "1970-01-01T00:00:00.000Z");
  assert.equal(plain(new Date(Number.NaN)), null);
  assert.equal(plain(7n), 7);
  assert.equal(plain(2n ** 53n), "9007199254740992");
  assert.equal(plain(-(2n ** 80n)), "-1208925819614629174706176");
  assert.deepEqual(plain(new Map([["a", new Map([["b", 1n]])]])), { a: { b: 1 } });
  assert.deepEqual(
    plain(
      new Map<unknown, unknown>([
        ["a", 1],
        [2, new Set([3])],
      ]),
    ),
    [
      ["a", 1],
      [2, [3]],
    ],
  );
  assert.deepEqual(plain(new Map()), {});
  assert.equal(plain(new Uint8Array([1, 2, 255])), "AQL/");
  assert.equal(plain(Buffer.from("hi")), "aGk=");
  assert.equal(plain(new Uint16Array([1]).buffer), "AQA=");
  assert.deepEqual(plain([Number.NaN, Number.POSITIVE_INFINITY, -0, undefined]), [null, null, 0, null]);
  assert.deepEqual(plain({ a: undefined, b: { toJSON: () => new Date(0) }, c: () => 1 }), {
    b: "1970-01-01T00:00:00.000Z",
  });
  assert.equal(plain(undefined), undefined);
});

test("a key called __proto__ stays a key, in objects and in maps", () => {
  const text = '{"__proto__":{"a":1}}';
  assert.equal(plainJson(JSON.parse(text)), text);
  assert.equal(plainJson(new Map([["__proto__", { a: 1 }]])), text);
});

test("the same object twice is not a cycle", () => {
  const shared = { a: 1 };
  assert.deepEqual(plain([shared, [shared]]), [{ a: 1 }, [{ a: 1 }]]);
});

test("cycles and bottomless values are RESULT_INVALID", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = new Map([["a", cycle]]);
  const bottomless = { toJSON: (): unknown => ({ ...bottomless }) };
  let deep: unknown = 1;
  for (let i = 0; i < 10_000; i++) deep = [deep];
  for (const value of [cycle, bottomless, deep]) {
    assert.throws(
      () => plainJson(value),
      (error) => isLimpetError(error, "RESULT_INVALID"),
    );
  }
});

test("JSON values become the plain JSON that JSON.stringify writes", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.equal(plainJson(value), JSON.stringify(value))));
});

const leaf = fc.oneof(
  fc.string(),
  fc.double(),
  fc.boolean(),
  fc.bigInt(),
  fc.date(),
  fc.uint8Array(),
  fc.constantFrom(null, undefined, Number.NaN, -0),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 5 }, leaf, tie("array"), tie("object"), tie("map"), tie("set")),
  array: fc.array(tie("tree")),
  object: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("$", "v", "__proto__")), tie("tree")),
  map: fc.array(fc.tuple(leaf, tie("tree"))).map((entries) => new Map(entries)),
  set: fc.array(leaf).map((items) => new Set(items)),
}));

test("every value that can be encoded exactly passes the server exactly", () => {
  fc.assert(
    fc.property(fc.array(tree), (args) => {
      const back = parseCallArguments(Buffer.from(encodeValue(args)), true);
      assert.equal(encodeValue(back), encodeValue(args));
      assert.deepStrictEqual(back, args);
    }),
  );
});

test("values as deep as the limit pass the server, in each of their encodings", () => {
  const nest = (depth: number, wrap: (value: unknown) => unknown) => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = wrap(value);
    return value;
  };
  for (const [depth, wrap] of [
    [199, (value: unknown) => [value]],
    [199, (value: unknown) => ({ $: value })],
    [199, (value: unknown) => Object.assign(Object.create(null), { a: value })],
    [99, (value: unknown) => new Map([[1, value]])],
    [199, (value: unknown) => new Set([value])],
  ] as [number, (value: unknown) => unknown][]) {
    const text = encodeValue([nest(depth, wrap)]);
    assert.equal(encodeValue(parseCallArguments(Buffer.from(text), true)), text);
  }
});

test("the depth of a text is the depth of its value", () => {
  const depthOf = (value: unknown): number =>
    typeof value !== "object" || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf));
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: "large" }), fc.nat({ max: 8 }), (value, limit) => {
      assert.equal(isDeeperThan(JSON.stringify(value), limit), depthOf(value) > limit);
    }),
  );
});

test("a text that is not JSON in UTF-8 is BODY_INVALID, in both encodings", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.boolean(), (bytes, exact) => {
      try {
        parseCallArguments(Buffer.from(bytes), exact);
      } catch (error) {
        assert.ok(isLimpetError(error, "BODY_INVALID"));
      }
    }),
  );
});
