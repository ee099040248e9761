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
  const rebuilt = travel(thrown);
  assert.deepEqual([rebuilt.name, rebuilt.message, rebuilt.code], ["RangeError", "too far", 42]);
  const cause = rebuilt.cause as typeof rebuilt;
  assert.deepEqual([cause.name, cause.message, cause.code, cause.cause], ["TypeError", "no disk", "EIO", undefined]);
  assert.deepEqual(Object.keys(rebuilt), ["code"]);
});

test("a LimpetError is restored as one, with its code and its cause", () => {
  const rebuilt = travel(new LimpetError("STORE_UNAVAILABLE", "gone", { cause: new Error("ECONNREFUSED") }));
  assert.ok(rebuilt instanceof LimpetError);
  assert.equal(rebuilt.retry, "later");
  assert.deepEqual([rebuilt.code, rebuilt.message], ["STORE_UNAVAILABLE", "gone"]);
  assert.equal((rebuilt.cause as Error).message, "ECONNREFUSED");
});

test("an error that only a newer process knows keeps its code and its verdict", () => {
  const rebuilt = deserializeError({ errorCode: "BRAND_NEW", message: "hm", retry: "later" });
  assert.ok(rebuilt !== undefined && !(rebuilt instanceof LimpetError));
  assert.deepEqual({ ...rebuilt, name: rebuilt.name }, { code: "BRAND_NEW", retry: "later", name: "LimpetError" });
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
