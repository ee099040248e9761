import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../kernel/errors.ts";
import { resolveSchedule, type Schedule, type ScheduleOptions } from "./schedule.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const at = (text: string): number => Date.parse(text);
const now = at("2026-01-31T12:00:00Z");
const exact = (ms: number) => ({ months: 0, days: 0, ms });

describe("schedules", () => {
  const cases: [name: string, options: ScheduleOptions, schedule: Schedule][] = [
    ["once, after a while", { due: "10m" }, { first: now + 10 * MINUTE, missed: "once" }],
    ["once, after milliseconds", { due: 250 }, { first: now + 250, missed: "once" }],
    ["once, in a hundred years", { due: "36525d" }, { first: now + 36_525 * DAY, missed: "once" }],
    ["once, now", { due: 0 }, { first: now, missed: "once" }],
    ["once, in an ISO 8601 duration", { due: "PT1H30M" }, { first: now + 90 * MINUTE, missed: "once" }],
    ["once, in a month of the calendar", { due: "P1M" }, { first: at("2026-02-28T12:00:00Z"), missed: "once" }],
    ["once, at a Date", { due: new Date(now + 5) }, { first: now + 5, missed: "once" }],
    ["once, at a moment", { due: "2026-02-01T09:00:00Z" }, { first: at("2026-02-01T09:00:00Z"), missed: "once" }],
    [
      "once, with an offset",
      { due: "2026-02-01T09:00:00.250+05:45" },
      { first: at("2026-02-01T03:15:00.250Z"), missed: "once" },
    ],
    [
      "once, at a time on the wall",
      { due: "2026-07-01T09:00", timezone: "Europe/Paris" },
      { first: at("2026-07-01T07:00:00Z"), missed: "once" },
    ],
    [
      "once, never early",
      { due: "2026-02-01T09:00:00.0001Z" },
      { first: at("2026-02-01T09:00:00.001Z"), missed: "once" },
    ],
    ["once, in the past: now", { due: "2020-01-01T00:00:00Z" }, { first: now, missed: "once" }],
    ["once, in the last year", { due: "9999-12-31T23:59:59.999Z" }, { first: END_OF_TIME, missed: "once" }],
    [
      "again and again, first after one period",
      { every: "15m" },
      { first: now + 15 * MINUTE, every: exact(15 * MINUTE), missed: "once" },
    ],
    ["every millisecond", { every: 1 }, { first: now + 1, every: exact(1), missed: "once" }],
    [
      "again and again, from a past moment: from now on",
      { due: "2020-01-01T00:00:00Z", every: "1h" },
      { first: now, every: exact(HOUR), missed: "once" },
    ],
    [
      "every month of the calendar, in UTC by default",
      { due: 0, every: "P1M" },
      { first: now, every: { months: 1, days: 0, ms: 0 }, timezone: "UTC", missed: "once" },
    ],
    [
      "all units of ISO 8601",
      { due: 0, every: "P1Y2M3W4DT5H6M7.089S", timezone: "Asia/Kathmandu" },
      {
        first: now,
        every: { months: 14, days: 25, ms: 5 * HOUR + 6 * MINUTE + 7_089 },
        timezone: "Asia/Kathmandu",
        missed: "once",
      },
    ],
    [
      "five times",
      { every: "R5/PT10S" },
      { first: now + 10 * SECOND, every: exact(10 * SECOND), times: 5, missed: "once" },
    ],
    [
      "five times, given twice",
      { every: "R5/PT10S", times: 5 },
      { first: now + 10 * SECOND, every: exact(10 * SECOND), times: 5, missed: "once" },
    ],
    [
      "by cron",
      { cron: "0 9 * * MON", timezone: "Europe/Paris", missed: "all" },
      { first: at("2026-02-02T08:00:00Z"), cron: "0 9 * * MON", timezone: "Europe/Paris", missed: "all" },
    ],
    [
      "by cron, from a day on",
      { cron: "@daily", due: "2026-03-01T00:00:00Z" },
      { first: at("2026-03-01T00:00:00Z"), cron: "@daily", timezone: "UTC", missed: "once" },
    ],
    [
      "by cron, from the past on",
      { cron: "0 12 * * *", due: "2020-03-01T00:00:00Z" },
      { first: now, cron: "0 12 * * *", timezone: "UTC", missed: "once" },
    ],
    [
      "by cron, which matches now: next time",
      { cron: "0 12 * * *" },
      { first: now + DAY, cron: "0 12 * * *", timezone: "UTC", missed: "once" },
    ],
    [
      "for a time that begins with the first tick",
      { due: "1h", every: "1m", ttl: "10m" },
      { first: now + HOUR, every: exact(MINUTE), until: now + HOUR + 10 * MINUTE, missed: "once" },
    ],
    [
      "for a month that begins with the first tick",
      { due: 0, every: "1h", ttl: "P1M" },
      { first: now, every: exact(HOUR), until: at("2026-02-28T12:00:00Z"), missed: "once" },
    ],
    [
      "until a moment, which may be the first tick",
      { due: "1h", every: "1h", until: new Date(now + HOUR), missed: "skip" },
      { first: now + HOUR, every: exact(HOUR), until: now + HOUR, missed: "skip" },
    ],
    [
      "until a time on the wall",
      { every: "1h", until: "2026-07-01T09:00", timezone: "America/New_York" },
      { first: now + HOUR, every: exact(HOUR), until: at("2026-07-01T13:00:00Z"), missed: "once" },
    ],
    [
      "not later than its end, however fine it is said",
      { every: "1h", until: "2026-07-01T09:00:00.0009Z" },
      { first: now + HOUR, every: exact(HOUR), until: at("2026-07-01T09:00:00Z"), missed: "once" },
    ],
  ];
  for (const [name, options, schedule] of cases) {
    it(`a schedule can be: ${name}`, () => {
      const resolved = resolveSchedule(options, now);
      assert.deepEqual(resolved, schedule);
      assert.deepEqual(JSON.parse(JSON.stringify(resolved)), resolved);
    });
  }

  const wrong: [options: unknown, message: RegExp][] = [
    [{}, /^schedule: has neither a due time nor a repetition; give "due", "every" or "cron"$/],
    [{ times: 3 }, /^schedule: has neither/],
    [undefined, /^schedule: a value of type undefined is not an object; write for example \{ every: "15m" \}/],
    [null, /^schedule: null is not an object/],
    ["15m", /^schedule: "15m" is not an object/],
    [{ due: "tomorrow" }, /^due: "tomorrow" is not understood; write for example "15m", .*"2026-03-01T09:00:00Z"$/],
    [{ due: "" }, /^due: "" is not understood/],
    [{ due: "-5m" }, /^due: "-5m" is not understood/],
    [{ due: -1 }, /^due: -1 is not understood/],
    [{ due: Number.NaN }, /^due: NaN is not understood/],
    [{ due: Number.POSITIVE_INFINITY }, /^due: Infinity is not understood/],
    [
      { due: now },
      /^due: 1769860800000 looks like a moment; write new Date\(1769860800000\), or a length of time as text/,
    ],
    [{ every: "5m", ttl: now }, /^ttl: 1769860800000 looks like a moment/],
    [{ due: 5n }, /^due: a value of type bigint is not a text; write for example/],
    [{ due: {} }, /^due: a value of type object is not a text/],
    [{ due: null }, /^due: null is not a text/],
    [{ due: new Date(Number.NaN) }, /^due: is an invalid Date; write for example/],
    [{ due: new Date(-1) }, /^due: is before 1970; write a moment between 1970 and 9999/],
    [{ due: new Date(END_OF_TIME + 1) }, /^due: is after the year 9999/],
    [{ due: "0000-01-01T00:00:00Z" }, /^due: is before 1970/],
    [{ due: "0001-01-01T00:00:00Z" }, /^due: is before 1970/],
    [{ due: "10000-01-01T00:00:00Z" }, /^due: "10000-01-01T00:00:00Z" is not a moment; write a Date or/],
    [{ due: "9999-12-31T23:59:59.9999Z" }, /^due: is after the year 9999/],
    [{ due: "2026-02-30T00:00:00Z" }, /^due: "2026-02-30T00:00:00Z" is not a moment/],
    [{ due: "2026-02-01T24:00:00Z" }, /is not a moment/],
    [{ due: "2026-02-01T00:60:00Z" }, /is not a moment/],
    [{ due: "2026-02-01T00:00:60Z" }, /is not a moment/],
    [{ due: "2026-02-01T00:00:00+24:00" }, /is not a moment/],
    [{ due: "2026-02-01" }, /^due: "2026-02-01" is not a moment/],
    [
      { due: "2026-02-01T09:00:00" },
      /^due: .* does not say where; add Z or an offset like \+01:00 to it, or give timezone/,
    ],
    [{ due: "P9000Y" }, /^due: is after the year 9999/],
    [{ due: "P99999999Y" }, /^due: is after the year 9999/],
    [{ due: "P9999999999Y" }, /^due: .* is not understood/],
    [{ due: "R5/PT10S" }, /^due: "R5\/PT10S" repeats, and what is due is due once; move it to every/],
    [{ due: "9".repeat(500) }, /^due: "9{60}…" is longer than 200 characters; write for example/],
    [{ every: "0s" }, /^every: must be longer than nothing; write at least 1 millisecond/],
    [{ every: 0 }, /^every: must be longer than nothing/],
    [{ every: "PT0S" }, /^every: must be longer than nothing/],
    [{ every: "P0M" }, /^every: must be longer than nothing/],
    [{ every: "P" }, /^every: "P" is not understood; write for example/],
    [{ every: "P1DT" }, /^every: "P1DT" is not understood/],
    [{ every: "p1d" }, /^every: "p1d" is not understood/],
    [{ every: "-P1D" }, /^every: "-P1D" is not understood/],
    [{ every: "P1.5D" }, /^every: "P1.5D" is not understood/],
    [{ every: "PT0.0001S" }, /^every: "PT0.0001S" is not understood/],
    [{ every: "R5" }, /^every: "R5" has a count and no period; write for example "R5\/PT10S"/],
    [{ every: "R/PT1S" }, /^every: "R\/PT1S" is not understood/],
    [{ every: "R0/PT1S" }, /^every: "R0\/PT1S" never ticks; write R1 or more/],
    [{ every: "R-1/PT1S" }, /^every: "R-1\/PT1S" is not understood/],
    [{ every: "2026-02-01T09:00:00Z" }, /^every: .* is a moment; write a length of time/],
    [{ every: new Date(5) }, /^every: 1970-01-01T00:00:00.005Z is not a text/],
    [{ every: "P7990Y" }, /^every: is after the year 9999/],
    [{ due: 0, every: "P9000Y" }, /^every: is longer than there is time until the year 9999; write less/],
    [{ due: 0, every: "PT999999999H" }, /^every: is longer than there is time/],
    [{ every: "5m", cron: "* * * * *" }, /^cron: excludes every; give one of them/],
    [{ every: "R5/PT1S", times: 6 }, /^times: 6 is not the number in every: "R5\/PT1S"; leave one of them out/],
    [{ cron: "61 * * * *" }, /^cron: "61" in the field for the minute/],
    [{ cron: 5 }, /^cron: 5 is not a text; write five fields/],
    [{ cron: "0 0 30 2 *" }, /^cron: "0 0 30 2 \*" never matches; write a day that exists/],
    [{ cron: "@daily", timezone: "Mars" }, /^timezone: "Mars" is not a time zone; write for example "Europe\/Paris"/],
    [{ cron: "@daily", timezone: 5 }, /^timezone: 5 is not a text; write for example "Europe\/Paris"/],
    [{ every: "1d", timezone: "Europe/Paris" }, /^timezone: nothing here depends on it; .* \("P1D" and not "1d"\)/],
    [{ every: "5m", ttl: "1h", until: new Date(now) }, /^until: excludes ttl; give one of them/],
    [
      { due: "5m", ttl: "1h" },
      /^ttl: is about repetition, and nothing repeats; give "every" or "cron", or leave it out/,
    ],
    [{ due: "5m", until: new Date(now + DAY) }, /^until: is about repetition/],
    [{ due: "5m", times: 1 }, /^times: is about repetition/],
    [{ due: "5m", missed: "all" }, /^missed: is about repetition/],
    [{ every: "5m", ttl: "-1s" }, /^ttl: "-1s" is not understood/],
    [{ every: "5m", ttl: new Date(now) }, /^ttl: .* is a moment; give it as until/],
    [{ every: "5m", ttl: "2027-01-01T00:00:00Z" }, /^ttl: .* is a moment; give it as until/],
    [{ every: "5m", ttl: "R2/PT1S" }, /^ttl: "R2\/PT1S" repeats; write it without R2\//],
    [{ every: "5m", ttl: "P9000Y" }, /^ttl: is after the year 9999/],
    [{ every: "5m", until: "1h" }, /^until: "1h" is not a moment; write a Date or .*, or give a length of time as ttl/],
    [{ every: "5m", until: now + DAY }, /^until: \d+ is not a moment/],
    [
      { every: "5m", until: new Date(now + MINUTE) },
      /^until: 2026-01-31T12:01:00.000Z is before the first tick at 2026-01-31T12:05:00.000Z; write a later one/,
    ],
    [{ due: "1d", every: "5m", until: "2026-01-31T13:00:00Z" }, /^until: .* is before the first tick/],
    [{ every: "5m", until: new Date(Number.NaN) }, /^until: is an invalid Date/],
    [{ every: "5m", times: 0 }, /^times: 0 is not a number of ticks; write a whole number from 1/],
    [{ every: "5m", times: 1.5 }, /^times: 1.5 is not/],
    [{ every: "5m", times: "3" }, /^times: "3" is not/],
    [{ every: "5m", times: Number.POSITIVE_INFINITY }, /^times: Infinity is not/],
    [{ every: "5m", missed: "some" }, /^missed: "some" is not known; write "once", "all" or "skip"/],
  ];
  for (const [options, message] of wrong) {
    const name =
      JSON.stringify(options, (_, value) => (typeof value === "bigint" ? `${value}n` : value)) ?? "undefined";
    it(`a schedule cannot be ${name.slice(0, 80)}`, () => {
      assert.throws(() => resolveSchedule(options as ScheduleOptions, now), { code: "REMINDER_INVALID", message });
    });
  }

  it("a skipped wall time is due after the gap, and a repeated one the first time", () => {
    const due = (text: string) => resolveSchedule({ due: text, timezone: "Europe/Paris" }, now).first;
    assert.equal(due("2026-03-29T02:30"), at("2026-03-29T01:00:00Z"));
    assert.equal(due("2026-10-25T02:30"), at("2026-10-25T00:30:00Z"));
  });

  it("a schedule needs the time in whole milliseconds", () => {
    for (const time of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
      assert.throws(() => resolveSchedule({ due: 5 }, time), { code: "INVARIANT" });
    }
  });
});

/** Nearly valid texts break more than noise does. */
const nearlyRight = fc
  .tuple(
    fc.constantFrom(
      "15m",
      "P1DT12H",
      "R5/PT10S",
      "2026-03-29T02:30:00Z",
      "*/5 0-23 1,15 JAN MON",
      "@daily",
      "Europe/Paris",
    ),
    fc.nat(25),
    fc.nat(3),
    fc.oneof(
      fc.string({ maxLength: 3 }),
      fc.constantFrom("0", "9", "-", "/", ",", " ", "R", "P", "T", ".", "*", "99999999"),
    ),
  )
  .map(([text, place, cut, put]) => text.slice(0, place) + put + text.slice(place + cut));

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ minLength: 200, maxLength: 300 }),
  nearlyRight,
);
const anyValue = fc.oneof(
  { weight: 4, arbitrary: anyText },
  { weight: 1, arbitrary: fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }) },
  { weight: 1, arbitrary: fc.oneof(fc.double(), fc.date({ noInvalidDate: false }), fc.integer()) },
);

describe("arbitrary input", () => {
  it("any value is a valid schedule, or is rejected with a valid alternative", () => {
    const sensible = fc.constantFrom<ScheduleOptions>(
      {},
      { due: "10m" },
      { every: "15m", ttl: "1h" },
      { due: new Date(now + DAY), every: "P1M", timezone: "Europe/Paris", times: 3 },
      { cron: "0 9 * * MON", timezone: "America/New_York", until: "2027-01-01T00:00:00Z", missed: "skip" },
    );
    const keys = ["due", "every", "cron", "timezone", "ttl", "until", "times", "missed"];
    const hostile = fc.dictionary(fc.constantFrom(...keys), anyValue, { maxKeys: 2 });
    const options = fc.tuple(sensible, hostile).map(([good, bad]) => ({ ...good, ...bad }));
    let accepted = 0;
    fc.assert(
      fc.property(options, (given) => {
        let schedule: Schedule;
        try {
          schedule = resolveSchedule(given as ScheduleOptions, now);
        } catch (error) {
          assert.ok(isLimpetError(error, "REMINDER_INVALID"), String(error));
          assert.match(error.message, /; (?:write|give|leave|move|add|only)|write/);
          assert.ok(error.message.length < 500);
          return;
        }
        accepted += 1;
        assert.ok(Number.isSafeInteger(schedule.first) && schedule.first >= now && schedule.first <= END_OF_TIME);
        assert.ok(schedule.until === undefined || schedule.until >= schedule.first);
        assert.ok(schedule.times === undefined || schedule.times >= 1);
        assert.deepEqual(JSON.parse(JSON.stringify(schedule)), schedule);
      }),
      { numRuns: 5_000 },
    );
    assert.ok(accepted > 100, `${accepted} were accepted`);
  });
});
