import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError, LimpetError } from "./errors.ts";
import { serializeError } from "./serialized-error.ts";

/** The same module again, as in a process with two copies of the package. */
const another = (await import(new URL("./errors.ts?another", import.meta.url).href)) as typeof import("./errors.ts");

test("an error of another copy of the package is an error of Limpet, with its code", () => {
  const error: unknown = new another.LimpetError("FENCED", "taken by another host");
  assert.ok(!(error instanceof LimpetError), "the test has only one copy");
  assert.ok(isLimpetError(error));
  assert.ok(isLimpetError(error, "FENCED"));
  assert.ok(!isLimpetError(error, "NO_HOST"));
  assert.ok(another.isLimpetError(new LimpetError("FENCED", ""), "FENCED"));
  assert.deepEqual(serializeError(error), { errorCode: "FENCED", message: "taken by another host", retry: "now" });
});

test("a value that only looks like an error of Limpet is not one", () => {
  const lookalike = Object.assign(new Error("no"), { name: "LimpetError", code: "FENCED", retry: "now" });
  for (const value of [lookalike, undefined, null, "FENCED", 5, {}, () => {}]) assert.ok(!isLimpetError(value));
});

test("the brand of an error is not among its own properties", () => {
  assert.deepEqual(
    Reflect.ownKeys(new LimpetError("FENCED", "")).filter((key) => typeof key === "symbol"),
    [],
  );
});
