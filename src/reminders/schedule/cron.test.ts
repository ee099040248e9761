import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countMatches, lastMatch, nextMatch, parseCron } from "./cron.ts";

const at = (text: string): number => Date.parse(text);

/** The first matches after a moment, in UTC. */
function matches(text: string, zone: string, after: string, count: number): string[] {
  const found: string[] = [];
  let last = at(after);
  for (let i = 0; i < count; i += 1) {
    const next = nextMatch(parseCron(text), zone, last);
    if (next === undefined) break;
    found.push(new Date(next).toISOString().replace(":00.000Z", "Z").replace(".000Z", "Z"));
    last = next;
  }
  return found;
}

describe("cron expressions", () => {
  const after = "2026-01-01T00:00:00Z"; // A Thursday.
  const cases: [text: string, next: string[]][] = [
    ["* * * * *", ["2026-01-01T00:01Z", "2026-01-01T00:02Z"]],
    ["*/20 * * * *", ["2026-01-01T00:20Z", "2026-01-01T00:40Z", "2026-01-01T01:00Z"]],
    ["5/20 3 * * *", ["2026-01-01T03:05Z", "2026-01-01T03:25Z", "2026-01-01T03:45Z", "2026-01-02T03:05Z"]],
    ["10-30/10 0 * * *", ["2026-01-01T00:10Z", "2026-01-01T00:20Z", "2026-01-01T00:30Z", "2026-01-02T00:10Z"]],
    ["0 9 * * MON-FRI", ["2026-01-01T09:00Z", "2026-01-02T09:00Z", "2026-01-05T09:00Z"]],
    ["0 9 * * mon,Wed", ["2026-01-05T09:00Z", "2026-01-07T09:00Z"]],
    ["0 0 * * 7", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    ["0 0 * * 0", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    ["0 0 * * 5-7", ["2026-01-02T00:00Z", "2026-01-03T00:00Z", "2026-01-04T00:00Z", "2026-01-09T00:00Z"]],
    ["0 0 * * 5/2", ["2026-01-02T00:00Z", "2026-01-09T00:00Z"]],
    ["0 0 * * SAT-SUN", ["2026-01-03T00:00Z", "2026-01-04T00:00Z", "2026-01-10T00:00Z"]],
    ["0 0 1 FEB,JUN *", ["2026-02-01T00:00Z", "2026-06-01T00:00Z", "2027-02-01T00:00Z"]],
    ["0 0 31 * *", ["2026-01-31T00:00Z", "2026-03-31T00:00Z", "2026-05-31T00:00Z"]],
    ["0 0 29 2 *", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]],
    ["30 15 10 * * *", ["2026-01-01T10:15:30Z", "2026-01-02T10:15:30Z"]],
    ["*/25 * * * * *", ["2026-01-01T00:00:25Z", "2026-01-01T00:00:50Z", "2026-01-01T00:01Z"]],
    ["@hourly", ["2026-01-01T01:00Z"]],
    ["@daily", ["2026-01-02T00:00Z"]],
    ["@midnight", ["2026-01-02T00:00Z"]],
    ["@weekly", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    ["@monthly", ["2026-02-01T00:00Z"]],
    ["@yearly", ["2027-01-01T00:00Z"]],
    ["@Annually", ["2027-01-01T00:00Z"]],
    ["  0\t 9 * *  1 ", ["2026-01-05T09:00Z"]],
  ];
  for (const [text, next] of cases) {
    it(`the expression ${JSON.stringify(text)} matches at ${next[0]}`, () => {
      assert.deepEqual(matches(text, "UTC", after, next.length), next);
    });
  }

  it("an expression with a day of the month and a day of the week matches on either", () => {
    assert.deepEqual(matches("0 0 13 * FRI", "UTC", after, 4), [
      "2026-01-02T00:00Z",
      "2026-01-09T00:00Z",
      "2026-01-13T00:00Z",
      "2026-01-16T00:00Z",
    ]);
  });

  it("an expression with a star before the step of one of them needs both, as in every cron", () => {
    assert.deepEqual(matches("0 0 */2 * FRI", "UTC", after, 3), [
      "2026-01-09T00:00Z",
      "2026-01-23T00:00Z",
      "2026-02-13T00:00Z",
    ]);
  });

  it("an expression for 29 February waits through a century that has none", () => {
    assert.deepEqual(matches("0 0 29 2 *", "UTC", "2096-01-01T00:00:00Z", 2), [
      "2096-02-29T00:00Z",
      "2104-02-29T00:00Z",
    ]);
  });

  it("an expression for a day that does not exist never matches", () => {
    for (const text of ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * * 30-31 FEB *"]) {
      assert.equal(nextMatch(parseCron(text), "Europe/Paris", at(after)), undefined);
    }
  });

  it("an expression for the rarest day, 29 February on a Sunday, matches for ever", () => {
    const years = matches("0 0 29 2 */7", "UTC", after, 60).map((match) => Number(match.slice(0, 4)));
    assert.equal(years.length, 60);
    const gaps = years.slice(1).map((year, place) => year - years[place]!);
    assert.equal(Math.max(...gaps), 40);
  });

  it("an expression never matches after the year 9999", () => {
    assert.equal(nextMatch(parseCron("@yearly"), "UTC", at("9999-06-01T00:00:00Z")), undefined);
    assert.equal(nextMatch(parseCron("0 12 31 12 *"), "UTC", at("9999-06-01T00:00:00Z")), at("9999-12-31T12:00:00Z"));
  });

  const wrong: [text: string, message: RegExp][] = [
    ["", /^cron: "" has no fields; write five fields/],
    ["* * * *", /^cron: "\* \* \* \*" has 4 fields; write five fields/],
    ["* * * * * * *", /has 7 fields/],
    ["60 * * * *", /^cron: "60" in the field for the minute is not understood; write \* or numbers from 0 to 59$/],
    ["* 24 * * *", /"24" in the field for the hour/],
    ["* * 0 * *", /"0" in the field for the day of month is not understood; write \* or numbers from 1 to 31/],
    ["* * * 13 *", /"13" in the field for the month .* numbers from 1 to 12 \(or JAN to DEC\)/],
    ["* * * * 8", /"8" in the field for the day of week .* from 0 to 7 \(or SUN to SAT\)/],
    ["61 * * * * *", /"61" in the field for the second/],
    ["* * * FOO *", /"FOO" in the field for the month/],
    ["* * MON * *", /"MON" in the field for the day of month/],
    ["* 22-2 * * *", /"22-2" in the field for the hour runs backwards; write 22-23,0-2/],
    ["*/0 * * * *", /"\*\/0" in the field for the minute has a step that is not between 1 and 59/],
    ["*/60 * * * *", /has a step that is not between 1 and 59/],
    ["1,,2 * * * *", /"" in the field for the minute/],
    ["1-2-3 * * * *", /"1-2-3" in the field for the minute is not a range/],
    ["1/2/3 * * * *", /"1\/2\/3" in the field for the minute has more than one step/],
    ["? * * * *", /"\?" in the field for the minute/],
    ["* * L * *", /"L" in the field for the day of month/],
    ["-1 * * * *", /"-1" in the field for the minute/],
    ["1.5 * * * *", /"1\.5" in the field for the minute/],
    ["@every 5m", /is an interval; give "every" instead/],
    ["@reboot", /"@reboot" is not known; write @hourly/],
    ["CRON_TZ=Europe/Paris 0 9 * * *", /"CRON_TZ=Europe\/Paris" does not belong here; give "timezone" instead/],
    ["TZ=UTC @daily", /give "timezone" instead/],
  ];
  for (const [text, message] of wrong) {
    it(`the expression ${JSON.stringify(text)} is rejected with the field and the value`, () => {
      assert.throws(() => parseCron(text), { code: "REMINDER_INVALID", message });
    });
  }

  it("an expression that is no text is rejected", () => {
    for (const value of [5, null, {}, 5n, "* ".repeat(1_000)]) {
      assert.throws(() => parseCron(value as string), { code: "REMINDER_INVALID" });
    }
  });
});

describe("cron expressions that name their hours, at changes of the clocks", () => {
  it("a skipped time matches at the first moment after the gap", () => {
    assert.deepEqual(matches("30 2 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", 2), [
      "2026-03-29T01:00Z", // 03:00
      "2026-03-30T00:30Z",
    ]);
    assert.deepEqual(matches("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2), [
      "2026-03-08T07:00Z", // 03:00
      "2026-03-09T06:30Z",
    ]);
    assert.deepEqual(matches("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", 2), [
      "2026-10-03T15:30Z", // 02:30
      "2026-10-04T15:15Z",
    ]);
  });

  it("a skipped midnight does not lose the day", () => {
    assert.deepEqual(matches("@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", 2), [
      "2018-11-04T03:00Z", // 01:00
      "2018-11-05T02:00Z",
    ]);
    assert.deepEqual(matches("@daily", "Africa/Cairo", "2026-04-23T12:00:00Z", 2), [
      "2026-04-23T22:00Z", // 01:00
      "2026-04-24T21:00Z",
    ]);
    assert.deepEqual(matches("0 0 * * SUN", "America/Sao_Paulo", "2018-11-03T12:00:00Z", 1), ["2018-11-04T03:00Z"]);
  });

  it("several skipped times match once for all of them", () => {
    assert.deepEqual(matches("0,20,40 2,3 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", 4), [
      "2026-03-29T01:00Z", // 03:00, for 02:00, 02:20, 02:40 and 03:00
      "2026-03-29T01:20Z",
      "2026-03-29T01:40Z",
      "2026-03-30T00:00Z",
    ]);
  });

  it("a time that is shown twice matches the first time only", () => {
    assert.deepEqual(matches("30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", 2), [
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ]);
    assert.deepEqual(matches("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2), [
      "2026-11-01T05:30Z",
      "2026-11-02T06:30Z",
    ]);
    assert.deepEqual(matches("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", 2), [
      "2026-04-04T14:45Z",
      "2026-04-05T15:15Z",
    ]);
    assert.deepEqual(matches("*/30 1-3 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", 7), [
      "2026-10-24T23:00Z",
      "2026-10-24T23:30Z",
      "2026-10-25T00:00Z",
      "2026-10-25T00:30Z",
      "2026-10-25T02:00Z", // 03:00; the second 02:00 and 02:30 are left out.
      "2026-10-25T02:30Z",
      "2026-10-26T00:00Z",
    ]);
  });

  it("a repeated end of the day matches midnight when the day really ends", () => {
    // At midnight the clocks go back to 23:00 of the day before.
    assert.deepEqual(matches("@daily", "America/Sao_Paulo", "2018-02-16T12:00:00Z", 3), [
      "2018-02-17T02:00Z",
      "2018-02-18T03:00Z",
      "2018-02-19T03:00Z",
    ]);
    assert.deepEqual(matches("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z", 2), [
      "2018-02-18T01:30Z",
      "2018-02-19T02:30Z",
    ]);
  });

  it("an expression names its hours as soon as one hour of the day is missing", () => {
    assert.deepEqual(matches("30 0-22 * * *", "America/New_York", "2026-11-01T04:30:00Z", 2), [
      "2026-11-01T05:30Z", // 01:30
      "2026-11-01T07:30Z", // 02:30; the second 01:30 is left out.
    ]);
  });

  it("a search in the middle of the repeated hour finds the next day", () => {
    assert.deepEqual(matches("30 2 * * *", "Europe/Paris", "2026-10-25T01:10:00Z", 1), ["2026-10-26T01:30Z"]);
  });

  it("an expression follows a zone that changes at Ramadan, and one that is always 45 minutes off", () => {
    assert.deepEqual(matches("0 9 * * *", "Africa/Casablanca", "2026-02-14T12:00:00Z", 2), [
      "2026-02-15T09:00Z",
      "2026-02-16T09:00Z",
    ]);
    assert.deepEqual(matches("0 9 * * *", "Africa/Casablanca", "2026-03-21T12:00:00Z", 2), [
      "2026-03-22T08:00Z",
      "2026-03-23T08:00Z",
    ]);
    assert.deepEqual(matches("0 9 * * *", "Asia/Kathmandu", "2026-02-14T12:00:00Z", 2), [
      "2026-02-15T03:15Z",
      "2026-02-16T03:15Z",
    ]);
  });

  it("an expression matches once for a whole day that is skipped", () => {
    assert.deepEqual(matches("0 0,12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 3), [
      "2011-12-29T22:00Z", // Noon of the 29th
      "2011-12-30T10:00Z", // Midnight of the 31st, and both of the 30th
      "2011-12-30T22:00Z",
    ]);
  });
});

describe("cron expressions that match every hour, at changes of the clocks", () => {
  it("an hourly expression follows real time through the gap", () => {
    assert.deepEqual(matches("*/30 * * * *", "Europe/Paris", "2026-03-29T00:00:00Z", 4), [
      "2026-03-29T00:30Z",
      "2026-03-29T01:00Z",
      "2026-03-29T01:30Z",
      "2026-03-29T02:00Z",
    ]);
    assert.deepEqual(matches("@hourly", "Australia/Lord_Howe", "2026-10-03T13:30:00Z", 3), [
      "2026-10-03T14:30Z", // 01:00
      "2026-10-03T16:00Z", // 03:00; there was no 02:00
      "2026-10-03T17:00Z",
    ]);
  });

  it("an hourly expression follows real time through the repeated hour", () => {
    assert.deepEqual(matches("30 * * * *", "America/New_York", "2026-11-01T04:30:00Z", 3), [
      "2026-11-01T05:30Z", // 01:30
      "2026-11-01T06:30Z", // 01:30 again
      "2026-11-01T07:30Z",
    ]);
    assert.deepEqual(matches("*/15 0-23 * * *", "Australia/Lord_Howe", "2026-04-04T14:30:00Z", 4), [
      "2026-04-04T14:45Z", // 01:45
      "2026-04-04T15:00Z", // 01:30 again
      "2026-04-04T15:15Z",
      "2026-04-04T15:30Z",
    ]);
  });

  it("an hourly expression matches only on the days it names", () => {
    // 17 February has 23:00 twice.
    assert.deepEqual(matches("0 * 17 2 *", "America/Sao_Paulo", "2018-02-18T00:30:00Z", 3), [
      "2018-02-18T01:00Z",
      "2018-02-18T02:00Z",
      "2019-02-17T03:00Z",
    ]);
  });
});

describe("counts of matches", () => {
  it("matches are counted and found backwards without a walk, over ten years of seconds", () => {
    const cron = parseCron("* * * * * *");
    const [from, to] = [at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z")];
    for (const zone of ["UTC", "Europe/Paris", "Australia/Lord_Howe"]) {
      assert.equal(countMatches(cron, zone, from, to), (to - from) / 1_000);
      assert.equal(lastMatch(cron, zone, to + 999), to);
    }
  });

  it("no match exists before the first one", () => {
    assert.equal(lastMatch(parseCron("0 0 30 2 *"), "UTC", at("2026-01-01T00:00:00Z")), undefined);
    assert.equal(countMatches(parseCron("0 0 30 2 *"), "UTC", 0, at("2026-01-01T00:00:00Z")), 0);
  });
});
