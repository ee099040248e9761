import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import type { FailureOptions } from "../../ports/reminder-options.ts";
import { DEFAULT_POLICY, resolvePolicy, retryPause } from "./failure-policy.ts";

describe("failure policies", () => {
  it("a policy has defaults for all options", () => {
    assert.equal(resolvePolicy(undefined), DEFAULT_POLICY);
    assert.deepEqual(resolvePolicy({}), DEFAULT_POLICY);
    assert.deepEqual(resolvePolicy({ attempts: 3, pause: "2s" }), { ...DEFAULT_POLICY, attempts: 3, pauseMs: 2_000 });
    assert.deepEqual(resolvePolicy({ giveUp: "drop", longestPause: 500 }), {
      ...DEFAULT_POLICY,
      giveUp: "drop",
      longestPauseMs: 500,
    });
  });

  it("a policy may have a pause above the default longest pause", () => {
    assert.equal(resolvePolicy({ pause: "1h" }).longestPauseMs, 3_600_000);
  });

  for (const [what, options] of [
    ["no object", 7],
    ["null", null],
    ["an unknown option", { tries: 3 }],
    ["no attempt", { attempts: 0 }],
    ["half an attempt", { attempts: 1.5 }],
    ["attempts as a text", { attempts: "3" }],
    ["an unknown way to give up", { giveUp: "retry" }],
    ["an invalid pause", { pause: "soon" }],
    ["a longest pause below zero", { longestPause: -1 }],
  ] as const) {
    it(`a policy with ${what} is rejected, with the wrong part named`, () => {
      assert.throws(
        () => resolvePolicy(options as unknown as FailureOptions),
        (error) => isLimpetError(error) && error.retry === "never" && /^onFailure/.test(error.message),
      );
    });
  }
});

describe("pauses before another attempt", () => {
  const policy = { ...DEFAULT_POLICY, attempts: 6, pauseMs: 1_000, longestPauseMs: 5_000 };

  it("the pause doubles up to the longest", () => {
    const pauses = [1, 2, 3, 4, 5].map((attempt) => retryPause(attempt, policy, 0.5));
    assert.deepEqual(pauses, [1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  it("the pause is a quarter shorter or longer by chance", () => {
    assert.deepEqual([retryPause(1, policy, 0), retryPause(1, policy, 1)], [750, 1_250]);
  });

  it("no pause follows the last attempt", () => {
    assert.equal(retryPause(6, policy, 0.5), undefined);
    assert.equal(retryPause(7, policy, 0.5), undefined);
    assert.equal(retryPause(1, { ...policy, attempts: 1 }, 0.5), undefined);
  });

  it("the pause is a number after any number of attempts", () => {
    const many = { ...policy, attempts: Number.MAX_SAFE_INTEGER };
    assert.equal(retryPause(100_000, many, 0.5), 5_000);
    assert.equal(retryPause(3, { ...many, pauseMs: 0 }, 1), 0);
  });
});
