import assert from "node:assert/strict";
import { test } from "node:test";
import { LimpetError } from "./errors.ts";
import { deserializeError, serializeError } from "./serialized-error.ts";

/** Serializes through JSON text, as on the wire. */
const travel = (thrown: unknown): Error & { code?: unknown; cause?: unknown } => {
  const rebuilt = deserializeError(JSON.parse(JSON.stringify(serializeError(thrown))));
  assert.ok(rebuilt !== undefined);
  return rebuilt;
};

test("an error keeps its name, message, code and causes", () => {
  const root = Object.assign(new TypeError("no disk"), { code: "EIO" });
  const thrown = Object.assign(new RangeError("too far", { cause: root }), { code: 42 });
  const told = travel(thrown);
  assert.deepEqual([told.name, told.message, told.code], ["RangeError", "too far", 42]);
  const cause = told.cause as typeof told;
  assert.deepEqual([cause.name, cause.message, cause.code, cause.cause], ["TypeError", "no disk", "EIO", undefined]);
  assert.deepEqual(Object.keys(told), ["code"]);
});

test("a LimpetError is restored as one, with its code and its cause", () => {
  const told = travel(new LimpetError("STORE_UNAVAILABLE", "gone", { cause: new Error("ECONNREFUSED") }));
  assert.ok(told instanceof LimpetError);
  assert.equal(told.retry, "later");
  assert.deepEqual([told.code, told.message], ["STORE_UNAVAILABLE", "gone"]);
  assert.equal((told.cause as Error).message, "ECONNREFUSED");
});

test("an error that only a newer process knows keeps its code and its verdict", () => {
  const told = deserializeError({ errorCode: "BRAND_NEW", message: "hm", retry: "later" });
  assert.ok(told !== undefined && !(told instanceof LimpetError));
  assert.deepEqual({ ...told, name: told.name }, { code: "BRAND_NEW", retry: "later", name: "LimpetError" });
});

test("any thrown value is serialized", () => {
  const trap = {
    get message(): string {
      throw new RangeError("gotcha");
    },
  };
  assert.equal(travel("words").message, "words");
  assert.equal(travel(undefined).message, "a value of type undefined was thrown");
  assert.equal(travel(null).message, "a value of type object was thrown");
  assert.equal(travel(trap).message, "a value of type object was thrown");
});

test("a cycle of causes ends", () => {
  const error = new Error("round");
  error.cause = error;
  let depth = 0;
  for (let at: unknown = travel(error); at instanceof Error; at = at.cause) depth++;
  assert.equal(depth, 6);
});

test("a value that is not a serialized error is not restored as one", () => {
  for (const other of [undefined, null, 1, "text", [], {}, { errorCode: "FENCED" }, { message: "m" }]) {
    assert.equal(deserializeError(other), undefined);
  }
});
