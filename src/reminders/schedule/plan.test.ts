import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { isSchedule } from "./plan.ts";
import { resolveSchedule, type ScheduleOptions } from "./schedule.ts";
import { firstTick, tickAfter } from "./ticks.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
const OPTIONS: ScheduleOptions[] = [
  { due: "10m" },
  { every: "15m", ttl: "1h" },
  { due: 0, every: "P1M", timezone: "Europe/Paris", times: 3, missed: "all" },
  { cron: "0 9 * * MON", timezone: "America/New_York", until: "2027-01-01T00:00:00Z", missed: "skip" },
];

it("a resolved schedule is a schedule when it is read back", () => {
  for (const options of OPTIONS) assert.ok(isSchedule(JSON.parse(JSON.stringify(resolveSchedule(options, now)))));
});

it("a damaged schedule is rejected", () => {
  const [once, exact, monthly, weekly] = OPTIONS.map((options) => resolveSchedule(options, now));
  const damaged: unknown[] = [
    undefined,
    null,
    5,
    "x",
    {},
    { ...once, first: "5" },
    { ...once, first: -1 },
    { ...once, first: 0.5 },
    { ...once, missed: undefined },
    { ...once, timezone: "UTC" },
    { ...exact, every: { months: 0, days: 0, ms: 0 } },
    { ...exact, every: { months: 0, days: 0, ms: -5 } },
    { ...exact, every: { ms: 5 } },
    { ...exact, every: 5 },
    { ...exact, every: null },
    { ...exact, until: now - 1 },
    { ...exact, times: 0 },
    { ...exact, cron: "* * * * *" },
    { ...monthly, every: { months: 0, days: -1, ms: 5 } },
    { ...monthly, timezone: "Mars" },
    { ...monthly, timezone: undefined },
    { ...weekly, cron: "61 * * * *" },
    { ...weekly, cron: null },
    { ...weekly, timezone: ["UTC"] },
  ];
  for (const value of damaged) assert.equal(isSchedule(value), false, JSON.stringify(value));
});

it("any accepted schedule has a later next tick, or none", () => {
  const value = fc.oneof(
    fc.anything(),
    fc.integer(),
    fc.constantFrom("UTC", "once", "* * * * *", { months: 1, days: 0, ms: 7 }),
  );
  const damage = fc.dictionary(
    fc.constantFrom("first", "every", "cron", "timezone", "until", "times", "missed"),
    value,
    {
      maxKeys: 2,
    },
  );
  fc.assert(
    fc.property(fc.constantFrom(...OPTIONS), damage, fc.integer({ min: 0, max: 2 * now }), (options, changes, time) => {
      const schedule: unknown = { ...resolveSchedule(options, now), ...changes };
      if (!isSchedule(schedule)) return;
      const next = tickAfter(schedule, firstTick(schedule), time);
      assert.ok(next === undefined || next.due > schedule.first);
    }),
    { numRuns: 2_000 },
  );
});
