import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseDuration } from "../../kernel/durations.ts";
import { isLimpetError } from "../../kernel/errors.ts";
import { nearest } from "../../kernel/nearest.ts";
import { parseCron } from "./cron.ts";
import { formatGoDuration, parseGoDuration } from "./go-duration.ts";
import { parseInstant } from "./instant.ts";
import { formatIsoDuration, parseIsoDuration } from "./period.ts";
import { resolveSchedule, type Schedule } from "./schedule.ts";
import { scheduleFromWire, scheduleToWire, type WireSchedule } from "./wire-formats.ts";
import { zoneOf } from "./zone.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const at = (text: string): number => Date.parse(text);
const now = at("2026-01-31T12:00:00Z");
const exact = (ms: number) => ({ months: 0, days: 0, ms });

describe("schedules of the HTTP API", () => {
  const cases: [name: string, wire: WireSchedule, schedule: Schedule][] = [
    ["due in a Go duration", { dueTime: "1h30m" }, { first: now + 90 * MINUTE, missed: "once" }],
    ["due in a fraction", { dueTime: "1.5s" }, { first: now + 1_500, missed: "once" }],
    ["due in milliseconds", { dueTime: "100ms" }, { first: now + 100, missed: "once" }],
    ["due now", { dueTime: "0s" }, { first: now, missed: "once" }],
    ["due now, in short", { dueTime: "0" }, { first: now, missed: "once" }],
    ["due in microseconds, rounded up", { dueTime: "1500us" }, { first: now + 2, missed: "once" }],
    ["due in an ISO 8601 duration", { dueTime: "PT90M" }, { first: now + 90 * MINUTE, missed: "once" }],
    ["due in a month", { dueTime: "P1M" }, { first: at("2026-02-28T12:00:00Z"), missed: "once" }],
    ["due at a moment", { dueTime: "2026-02-01T09:00:00Z" }, { first: at("2026-02-01T09:00:00Z"), missed: "once" }],
    ["due at a moment in the past", { dueTime: "2020-02-01T09:00:00+01:00" }, { first: now, missed: "once" }],
    [
      "with a period only, first after one period",
      { period: "10s" },
      { first: now + 10 * SECOND, every: exact(10 * SECOND), missed: "once" },
    ],
    [
      "with a period and all the rest empty",
      { dueTime: "", period: "10s", ttl: "" },
      { first: now + 10 * SECOND, every: exact(10 * SECOND), missed: "once" },
    ],
    [
      "with a period and all the rest null",
      { dueTime: null, period: "10s", ttl: null },
      { first: now + 10 * SECOND, every: exact(10 * SECOND), missed: "once" },
    ],
    ["due now and then again", { dueTime: "0s", period: "1h" }, { first: now, every: exact(HOUR), missed: "once" }],
    ["with a period of nothing, once", { dueTime: "5s", period: "0s" }, { first: now + 5 * SECOND, missed: "once" }],
    [
      "five times in all",
      { period: "R5/PT10S" },
      { first: now + 10 * SECOND, every: exact(10 * SECOND), times: 5, missed: "once" },
    ],
    [
      "with a period of the calendar",
      { dueTime: "0s", period: "P1M" },
      { first: now, every: { months: 1, days: 0, ms: 0 }, timezone: "UTC", missed: "once" },
    ],
    [
      "with a period as it is answered",
      { period: "@every 1m30s" },
      { first: now + 90 * SECOND, every: exact(90 * SECOND), missed: "once" },
    ],
    [
      "with a ttl that counts from the first tick",
      { dueTime: "1h", period: "1m", ttl: "10m" },
      { first: now + HOUR, every: exact(MINUTE), until: now + HOUR + 10 * MINUTE, missed: "once" },
    ],
    [
      "with a ttl that is a moment",
      { period: "1m", ttl: "2026-02-01T09:00:00Z" },
      { first: now + MINUTE, every: exact(MINUTE), until: at("2026-02-01T09:00:00Z"), missed: "once" },
    ],
    [
      "with a ttl in microseconds, rounded down",
      { period: "1ms", ttl: "1500us" },
      { first: now + 1, every: exact(1), until: now + 2, missed: "once" },
    ],
    [
      "with a ttl of days",
      { period: "1m", ttl: "P2D" },
      { first: now + MINUTE, every: exact(MINUTE), until: now + MINUTE + 48 * HOUR, missed: "once" },
    ],
  ];
  for (const [name, wire, schedule] of cases) {
    it(`a wire schedule can be ${name}`, () => assert.deepEqual(scheduleFromWire(wire, now), schedule));
  }

  it("a repeating wire schedule takes the policy for missed ticks from its caller", () => {
    assert.equal(scheduleFromWire({ period: "1s" }, now, "all").missed, "all");
    assert.equal(scheduleFromWire({ dueTime: "1s" }, now, "all").missed, "once");
  });

  const wrong: [wire: unknown, message: RegExp][] = [
    [{}, /^reminder: has neither a due time nor a repetition; give "dueTime", "period"$/],
    [{ dueTime: "", period: "" }, /^reminder: has neither/],
    [{ period: "0s" }, /^reminder: has neither/],
    [{ dueTime: "1us" }, /^dueTime: "1us" is less than a millisecond; write at least "1ms"/],
    [{ period: "999999ns" }, /^period: "999999ns" is less than a millisecond/],
    [{ dueTime: "5" }, /^dueTime: "5" is not a duration; write for example "1h30m", .* or "2026-03-01T09:00:00Z"/],
    [{ dueTime: "-5s" }, /^dueTime: "-5s" is not a duration/],
    [{ dueTime: "1d" }, /^dueTime: "1d" is not a duration/],
    [{ dueTime: "p1d" }, /^dueTime: "p1d" is not a duration/],
    [{ dueTime: "s" }, /^dueTime: "s" is not a duration/],
    [{ dueTime: ".s" }, /^dueTime: ".s" is not a duration/],
    [{ dueTime: "1h 30m" }, /^dueTime: "1h 30m" is not a duration/],
    [{ dueTime: 5 }, /^dueTime: 5 is not a text; write for example/],
    [{ dueTime: "2026-02-30T09:00:00Z" }, /^dueTime: .* is not a moment of RFC 3339; write for example/],
    [{ dueTime: "2026-02-01T09:00:00" }, /^dueTime: .* is not a moment of RFC 3339/],
    [{ dueTime: "0001-01-01T00:00:00Z" }, /^dueTime: is before 1970/],
    [{ dueTime: "99999999999h" }, /^dueTime: is after the year 9999/],
    [{ dueTime: "R5/PT1S" }, /^dueTime: "R5\/PT1S" repeats; only a period may begin with R5\//],
    [{ period: "R0/PT1S" }, /^period: "R0\/PT1S" never ticks; write R1 or more/],
    [{ period: "R5/PT0S" }, /^period: "R5\/PT0S" has nothing between the ticks/],
    [{ period: "R5" }, /^period: "R5" is not a duration; write for example .* or "R5\/PT10S" for five times/],
    [{ period: "2026-02-01T09:00:00Z" }, /^period: .* is not a duration/],
    [{ period: "* * * * *" }, /^period: .* is not a duration/],
    [{ dueTime: "1s", ttl: "1h" }, /^ttl: is about repetition, and nothing repeats; give "period", or leave it out/],
    [{ period: "1m", ttl: "2026-01-31T12:00:30Z" }, /^ttl: .* is before the first tick/],
    [{ dueTime: "P1D", period: "1m", ttl: "2026-02-01T11:59:59Z" }, /^ttl: .* is before the first tick/],
    [{ period: "1m", ttl: "R2/PT1S" }, /^ttl: .* repeats; only a period may/],
  ];
  for (const [wire, message] of wrong) {
    it(`a wire schedule cannot be ${JSON.stringify(wire)}`, () => {
      assert.throws(() => scheduleFromWire(wire as WireSchedule, now), { code: "REMINDER_INVALID", message });
    });
  }

  it("a wire schedule is answered with moments, and with periods that it can parse itself", () => {
    const answer = (options: Parameters<typeof resolveSchedule>[0]) => {
      const schedule = resolveSchedule(options, now);
      return scheduleToWire(schedule, schedule.first);
    };
    assert.deepEqual(answer({ due: "1h" }), { dueTime: "2026-01-31T13:00:00.000Z" });
    assert.deepEqual(answer({ every: "1s", ttl: "1h" }), {
      dueTime: "2026-01-31T12:00:01.000Z",
      period: "@every 1s",
      ttl: "2026-01-31T13:00:01.000Z",
    });
    assert.equal(answer({ every: "90m" }).period, "@every 1h30m0s");
    assert.equal(answer({ every: "P1Y2M1W3DT1M" }).period, "P1Y2M10DT60S");
    assert.equal(answer({ cron: "0 9 * * MON" }).period, "0 9 * * MON");
  });

  it("a wire schedule repeats as before when it is sent back as it was answered", () => {
    const period = fc.record({ months: fc.nat(1_000), days: fc.nat(1_000), ms: fc.nat() }, { noNullPrototype: true });
    const repeating = fc.oneof(period, fc.integer({ min: 1, max: 1e12 }).map(exact));
    fc.assert(
      fc.property(repeating, (every) => {
        fc.pre(every.months + every.days + every.ms > 0);
        const wire = scheduleToWire({ first: now, every, missed: "once" }, now);
        const back = scheduleFromWire(wire, now);
        assert.deepEqual(back.every, every);
        assert.equal(back.first, now);
      }),
    );
  });
});

describe("Go durations", () => {
  it("Go durations are read to the nanosecond, as Go does", () => {
    const cases: [string, bigint][] = [
      ["0", 0n],
      ["+5s", 5_000_000_000n],
      ["5.s", 5_000_000_000n],
      [".5s", 500_000_000n],
      ["1.1s", 1_100_000_000n],
      ["0.000000001s", 1n],
      ["0.0000000019s", 1n],
      ["3h30m0.5s", 12_600_500_000_000n],
      ["1h1m1s1ms1us1ns", 3_661_001_001_001n],
      ["1\u00b5s1\u03bcs", 2_000n],
      ["10m5m", 900_000_000_000n],
    ];
    for (const [text, nanoseconds] of cases) assert.equal(parseGoDuration(text), nanoseconds, text);
    for (const text of ["", "+", "-1s", "1", "1x", "s", ".s", "1s ", " 1s", "1..5s", "1e3s", "1S", "s1", "00"]) {
      assert.equal(parseGoDuration(text), undefined, text);
    }
  });

  it("Go durations are written as Go writes them", () => {
    const cases: [number, string][] = [
      [0, "0s"],
      [1, "1ms"],
      [1_000, "1s"],
      [1_500, "1.5s"],
      [60_000, "1m0s"],
      [61_001, "1m1.001s"],
      [5_400_000, "1h30m0s"],
      [3_600_000, "1h0m0s"],
      [172_800_000, "48h0m0s"],
    ];
    for (const [ms, text] of cases) assert.equal(formatGoDuration(ms), text);
  });

  it("written Go durations are read back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e14 }), (ms) => {
        assert.equal(parseGoDuration(formatGoDuration(ms)), BigInt(ms) * 1_000_000n);
      }),
    );
  });
});

describe("ISO 8601 durations", () => {
  it("written ISO durations are read back", () => {
    const period = fc.record(
      { months: fc.nat(100_000), days: fc.nat(100_000), ms: fc.integer({ min: 0, max: 1e14 }) },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(period, (given) => assert.deepEqual(parseIsoDuration(formatIsoDuration(given)), { period: given })),
    );
  });
});

describe("arbitrary texts from outside", () => {
  const nearlyRight = fc
    .tuple(
      fc.constantFrom("1h30m", "P1DT12H", "R5/PT10S", "2026-03-29T02:30:00.5+01:00", "@every 1s"),
      fc.nat(25),
      fc.nat(3),
      fc.string(),
    )
    .map(([text, place, cut, put]) => text.slice(0, place) + put + text.slice(place + cut));
  const anyText = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.string({ minLength: 200 }), nearlyRight);

  it("any text is a schedule, or is rejected with a valid alternative", () => {
    const wire = fc.record({ dueTime: anyText, period: anyText, ttl: anyText }, { requiredKeys: [] });
    let accepted = 0;
    fc.assert(
      fc.property(wire, (given) => {
        try {
          const schedule = scheduleFromWire(given, now);
          assert.ok(schedule.first >= now);
          assert.deepEqual(JSON.parse(JSON.stringify(schedule)), schedule);
          accepted += 1;
        } catch (error) {
          assert.ok(isLimpetError(error, "REMINDER_INVALID"), String(error));
          assert.ok(error.message.length < 500);
        }
      }),
      { numRuns: 5_000 },
    );
    assert.ok(accepted > 0);
  });
});

it("a text of millions of digits is rejected before it is parsed as a number, a duration, a moment or a zone", () => {
  const digits = "9".repeat(4_000_000);
  assert.equal(parseGoDuration(`${digits}s`), undefined);
  assert.equal(parseGoDuration(`0.${digits}s`), undefined);
  assert.equal(parseIsoDuration(`PT0.5${"0".repeat(4_000_000)}S`), undefined);
  assert.equal(parseInstant(`2026-03-01T09:00:00.${digits}Z`, undefined, "up"), undefined);
  for (const wish of [{ dueTime: `${digits}s` }, { period: `R${digits}/PT1S` }, { ttl: `${digits}h` }]) {
    assert.throws(() => scheduleFromWire(wish, 0), { code: "REMINDER_INVALID" });
  }
  assert.throws(() => zoneOf(digits), { code: "REMINDER_INVALID" });
  assert.throws(() => parseCron(`${digits} * * * *`), { code: "REMINDER_INVALID" });
  assert.throws(
    () => parseDuration(`${digits}ms`, "timeout"),
    (error: Error) => error.message.length < 200,
  );
  assert.throws(() => parseDuration(`0.${digits}ms`, "timeout"), { code: "OPTION_INVALID" });
  assert.equal(nearest(digits, ["9".repeat(4_000_000)]), undefined);
});
