import assert from "node:assert/strict";
import { it } from "node:test";
import { checkWhole, mustBe, showValue } from "./check.ts";

it("any value can be shown, in a short text", () => {
  const shown = ["a\n", "x".repeat(1_000), 5, Number.NaN, null, undefined, Object.create(null), Symbol("s")].map(
    showValue,
  );
  const long = `"${"x".repeat(60)}…"`;
  const types = ["undefined", "object", "symbol"].map((type) => `a value of type ${type}`);
  assert.deepEqual(shown, ['"a\\n"', long, "5", "NaN", "null", ...types]);
});

it("the error of a broken rule names the option, the rule and the value", () => {
  assert.equal(mustBe("limit", "a whole number from 1", "5x").message, 'limit must be a whole number from 1; got "5x"');
  assert.equal(mustBe("a", "b", 1, "WORKFLOW_INVALID").code, "WORKFLOW_INVALID");
});

it("a whole number is checked against its bounds", () => {
  for (const value of [1, 7, 10]) checkWhole(value, 10, "limit");
  for (const value of [0, 11, 1.5, "7", Number.NaN, undefined]) {
    assert.throws(() => checkWhole(value, 10, "limit"), { code: "OPTION_INVALID", message: /^limit must be a whole/ });
  }
});
