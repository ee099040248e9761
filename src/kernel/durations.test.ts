import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { formatDuration, parseDuration } from "./durations.ts";

it("durations are read in all their notations", () => {
  const cases: [string | number, number][] = [
    ["250ms", 250],
    ["30s", 30_000],
    ["1h30m", 5_400_000],
    ["1.5s", 1_500],
    ["2d", 172_800_000],
    ["3 days", 259_200_000],
    ["1 day", 86_400_000],
    ["2 hours 5 minutes", 7_500_000],
    ["1h 30m", 5_400_000],
    ["10 seconds", 10_000],
    ["5 milliseconds", 5],
    [" 5s ", 5_000],
    [1_234, 1_234],
    ["0s", 0],
  ];
  for (const [text, ms] of cases) assert.equal(parseDuration(text, "x"), ms, String(text));
});

it("an invalid duration is rejected with the setting and an example", () => {
  for (const bad of [
    "",
    "5",
    "s",
    "5 s",
    "3 fortnights",
    "days",
    "1h30",
    "-5s",
    "5s!",
    "1e3s",
    Number.NaN,
    -1,
    Number.POSITIVE_INFINITY,
    null,
    {},
  ]) {
    assert.throws(() => parseDuration(bad as string, "idleTimeout"), {
      code: "OPTION_INVALID",
      message: /^idleTimeout: .* is not a duration; write for example "30s"/,
    });
  }
});

it("a formatted duration is parsed back to the second", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 10 ** 12 }), (ms) => {
      assert.equal(parseDuration(formatDuration(ms), "x"), Math.round(ms / 1_000) * 1_000);
    }),
  );
  assert.equal(formatDuration(999), "999ms");
});
