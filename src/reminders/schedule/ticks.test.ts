import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { daysInMonth } from "./calendar.ts";
import type { GridTick } from "./grid.ts";
import { type Missed, resolveSchedule, type Schedule, type ScheduleOptions } from "./schedule.ts";
import { firstTick, tickAfter, tickInstead } from "./ticks.ts";
import { zoneOf } from "./zone.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const at = (text: string): number => Date.parse(text);
const now = at("2026-01-31T12:00:00Z");
const schedule = (options: ScheduleOptions): Schedule => resolveSchedule(options, now);

/** Ticks of a schedule when every tick runs in time. */
function ticksOf(plan: Schedule, count: number): GridTick[] {
  const ticks = [firstTick(plan)];
  while (ticks.length < count) {
    const next = tickAfter(plan, ticks.at(-1)!, ticks.at(-1)!.due);
    if (next === undefined) break;
    ticks.push(next);
  }
  return ticks;
}

const dues = (plan: Schedule, count: number): string[] =>
  ticksOf(plan, count).map(({ due }) => new Date(due).toISOString().replace(":00.000Z", "Z"));

describe("punctual ticks", () => {
  it("a schedule without repetition has one tick", () => {
    assert.deepEqual(ticksOf(schedule({ due: "5m" }), 5), [{ number: 1, due: now + 5 * MINUTE }]);
  });

  it("ticks are one period apart", () => {
    assert.deepEqual(ticksOf(schedule({ every: "5m" }), 3), [
      { number: 1, due: now + 5 * MINUTE },
      { number: 2, due: now + 10 * MINUTE },
      { number: 3, due: now + 15 * MINUTE },
    ]);
  });

  it("ticks return to the day of the first one after shorter months", () => {
    assert.deepEqual(dues(schedule({ due: 0, every: "P1M" }), 5), [
      "2026-01-31T12:00Z",
      "2026-02-28T12:00Z",
      "2026-03-31T12:00Z",
      "2026-04-30T12:00Z",
      "2026-05-31T12:00Z",
    ]);
    assert.deepEqual(dues(schedule({ due: "2096-02-29T00:00:00Z", every: "P4Y" }), 3), [
      "2096-02-29T00:00Z",
      "2100-02-28T00:00Z",
      "2104-02-29T00:00Z",
    ]);
    assert.deepEqual(dues(schedule({ due: "2028-02-29T00:00:00Z", every: "P1Y" }), 5), [
      "2028-02-29T00:00Z",
      "2029-02-28T00:00Z",
      "2030-02-28T00:00Z",
      "2031-02-28T00:00Z",
      "2032-02-29T00:00Z",
    ]);
  });

  it("ticks keep their wall time when days are counted, and not when hours are", () => {
    const daily = { due: "2026-03-28T09:00", timezone: "Europe/Paris" };
    assert.deepEqual(dues(schedule({ ...daily, every: "P1D" }), 3), [
      "2026-03-28T08:00Z",
      "2026-03-29T07:00Z",
      "2026-03-30T07:00Z",
    ]);
    assert.deepEqual(dues(schedule({ ...daily, every: "24h" }), 3), [
      "2026-03-28T08:00Z",
      "2026-03-29T08:00Z",
      "2026-03-30T08:00Z",
    ]);
    assert.deepEqual(dues(schedule({ ...daily, every: "P1DT1H" }), 3), [
      "2026-03-28T08:00Z",
      "2026-03-29T08:00Z",
      "2026-03-30T09:00Z",
    ]);
  });

  it("a tick in a gap waits for its end, once, and the next day's tick is on its hour again", () => {
    assert.deepEqual(dues(schedule({ due: "2026-03-28T02:30", every: "P1D", timezone: "Europe/Paris" }), 3), [
      "2026-03-28T01:30Z",
      "2026-03-29T01:00Z",
      "2026-03-30T00:30Z",
    ]);
  });

  it("ticks begin with the first due time even if it is the second of two equal wall times", () => {
    const plan = schedule({ due: "2026-10-25T02:30:00+01:00", every: "P1D", timezone: "Europe/Paris" });
    assert.deepEqual(dues(plan, 2), ["2026-10-25T01:30Z", "2026-10-26T01:30Z"]);
    assert.deepEqual(tickInstead(plan, firstTick(plan), plan.first + HOUR), firstTick(plan));
  });

  it("ticks at the same moment, because a day is skipped, count as one", () => {
    const past = at("2011-12-01T00:00:00Z");
    const plan = resolveSchedule({ due: "2011-12-29T00:00", every: "P1D", timezone: "Pacific/Apia" }, past);
    assert.deepEqual(
      ticksOf(plan, 3).map(({ number, due }) => [number, new Date(due).toISOString()]),
      [
        [1, "2011-12-29T10:00:00.000Z"],
        [2, "2011-12-30T10:00:00.000Z"],
        [4, "2011-12-31T10:00:00.000Z"],
      ],
    );
  });

  it("ticks follow cron from the first match on", () => {
    assert.deepEqual(ticksOf(schedule({ cron: "0 9 * * MON", due: "2026-03-01T00:00:00Z" }), 2), [
      { number: 1, due: at("2026-03-02T09:00:00Z") },
      { number: 2, due: at("2026-03-09T09:00:00Z") },
    ]);
  });

  it("ticks end with the last of their times", () => {
    assert.equal(ticksOf(schedule({ every: "R5/PT10S" }), 10).length, 5);
    assert.equal(ticksOf(schedule({ cron: "@daily", times: 1 }), 10).length, 1);
  });

  it("ticks end at the end, which may itself be a tick", () => {
    assert.equal(ticksOf(schedule({ every: "10s", ttl: "30s" }), 10).length, 4);
    assert.equal(ticksOf(schedule({ every: "10s", ttl: 29_999 }), 10).length, 3);
    assert.equal(ticksOf(schedule({ cron: "@hourly", until: "2026-01-31T15:59:59Z" }), 10).length, 3);
  });

  it("ticks end with the year 9999", () => {
    const due = "9999-12-30T12:00:00Z";
    assert.equal(ticksOf(schedule({ due, every: "1d" }), 10).length, 2);
    assert.equal(ticksOf(schedule({ due, every: "P1D" }), 10).length, 2);
    assert.equal(ticksOf(schedule({ due, every: "P1000Y" }), 10).length, 1);
    assert.equal(ticksOf(schedule({ due, cron: "@daily" }), 10).length, 1);
  });
});

describe("missed ticks", () => {
  const hourly = (missed: Missed, more: ScheduleOptions = {}): Schedule =>
    schedule({ due: 0, every: "1h", missed, ...more });
  const last = { number: 1, due: now };

  it("missed ticks run one after the other with all", () => {
    const plan = hourly("all");
    assert.deepEqual(tickAfter(plan, last, now + 10 * HOUR), { number: 2, due: now + HOUR });
  });

  it("missed ticks run once with once, as the latest of them, and the grid continues in the future", () => {
    const plan = hourly("once");
    const late = tickAfter(plan, last, now + 10 * HOUR + 5);
    assert.deepEqual(late, { number: 11, due: now + 10 * HOUR });
    assert.deepEqual(tickAfter(plan, late!, now + 10 * HOUR + 5), { number: 12, due: now + 11 * HOUR });
  });

  it("missed ticks do not run with skip", () => {
    const plan = hourly("skip");
    assert.deepEqual(tickAfter(plan, last, now + 10 * HOUR + 5), { number: 12, due: now + 11 * HOUR });
    assert.deepEqual(tickAfter(plan, last, now + 10 * HOUR - 5), { number: 11, due: now + 10 * HOUR });
  });

  it("missed ticks do not include the one that is due at this very moment", () => {
    for (const missed of ["once", "skip"] as const) {
      assert.deepEqual(tickAfter(hourly(missed), last, now + 10 * HOUR), { number: 11, due: now + 10 * HOUR });
    }
  });

  it("missed ticks do not include the very next one at its very moment, for every kind of repetition", () => {
    for (const options of [{ every: "1h" }, { every: "P1M" }, { cron: "@daily" }]) {
      for (const missed of ["once", "all", "skip"] as const) {
        const plan = schedule({ ...options, missed });
        const [first, second] = ticksOf(plan, 2);
        assert.deepEqual(tickAfter(plan, first!, second!.due), second);
      }
    }
  });

  it("missed ticks count for the times: once runs the last of them, skip none, all each", () => {
    const more = { times: 5 };
    assert.deepEqual(tickAfter(hourly("once", more), last, now + 10 * HOUR), { number: 5, due: now + 4 * HOUR });
    assert.equal(tickAfter(hourly("once", more), { number: 5, due: now + 4 * HOUR }, now + 10 * HOUR), undefined);
    assert.equal(tickAfter(hourly("skip", more), last, now + 10 * HOUR), undefined);
    assert.deepEqual(tickAfter(hourly("all", more), last, now + 10 * HOUR), { number: 2, due: now + HOUR });
  });

  it("missed ticks count for the times of a cron expression too", () => {
    const plan = schedule({ cron: "@hourly", times: 5 });
    assert.deepEqual(tickAfter(plan, firstTick(plan), now + 100 * DAY), { number: 5, due: now + 5 * HOUR });
  });

  it("missed ticks are not later than the end: once runs the last before it, skip none", () => {
    const more = { until: new Date(now + 4 * HOUR + 1) };
    assert.deepEqual(tickAfter(hourly("once", more), last, now + 10 * HOUR), { number: 5, due: now + 4 * HOUR });
    assert.equal(tickAfter(hourly("skip", more), last, now + 10 * HOUR), undefined);
  });

  it("missed ticks are passed without a walk", () => {
    const later = now + 365 * 10 * DAY;
    const plans: ScheduleOptions[] = [
      { due: 0, every: 1 },
      { due: 0, every: "P1D", timezone: "Europe/Paris" },
      { due: 0, cron: "* * * * * *", timezone: "America/New_York" },
    ];
    for (const options of plans) {
      const plan = schedule(options);
      const late = tickAfter(plan, firstTick(plan), later)!;
      assert.ok(late.due <= later && late.due > later - DAY - HOUR);
      assert.ok(tickAfter({ ...plan, missed: "skip" }, firstTick(plan), later + 1)!.due > later);
    }
    const seconds = schedule({ cron: "* * * * * *", timezone: "America/New_York", times: 100_000_000 });
    const capped = tickAfter(seconds, firstTick(seconds), later)!;
    assert.deepEqual(capped, { number: 100_000_000, due: now + 100_000_000 * SECOND });
  });
});

describe("overdue ticks", () => {
  const planned = { number: 3, due: now + 2 * HOUR };
  const hourly = (missed: Missed): Schedule => schedule({ due: 0, every: "1h", missed });

  it("an overdue tick is replaced by the latest with once, so that not both run", () => {
    const instead = tickInstead(hourly("once"), planned, now + 10 * HOUR + 5);
    assert.deepEqual(instead, { number: 11, due: now + 10 * HOUR });
    assert.deepEqual(tickInstead(hourly("once"), planned, now + 2 * HOUR + 5), planned);
  });

  it("an overdue tick runs with all", () => {
    assert.deepEqual(tickInstead(hourly("all"), planned, now + 10 * HOUR), planned);
  });

  it("an overdue tick runs with skip only if it is late by no more than the grace", () => {
    assert.deepEqual(tickInstead(hourly("skip"), planned, planned.due + 1_000, 1_000), planned);
    assert.deepEqual(tickInstead(hourly("skip"), planned, planned.due + 1_001, 1_000), {
      number: 4,
      due: now + 3 * HOUR,
    });
    assert.deepEqual(tickInstead(hourly("skip"), planned, now + 10 * HOUR + 500, 1_000), {
      number: 11,
      due: now + 10 * HOUR,
    });
  });

  it("an overdue tick runs however late it is, without repetition", () => {
    const once = schedule({ due: "1h" });
    assert.deepEqual(tickInstead(once, firstTick(once), now + 1_000 * DAY), firstTick(once));
  });

  it("no tick is left for skip after the last one", () => {
    const plan = schedule({ due: 0, every: "1h", times: 3, missed: "skip" });
    assert.equal(tickInstead(plan, planned, now + DAY, 1_000), undefined);
  });
});

const zone = fc.constantFrom("UTC", "Europe/Paris", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca");
const missed = fc.constantFrom<Missed>("once", "all", "skip");
const start = fc.integer({ min: at("2010-01-01T00:00:00Z"), max: at("2040-01-01T00:00:00Z") });
const exactOptions = fc.integer({ min: 1, max: 1_000_000 }).map((every): ScheduleOptions => ({ every }));
const calendarOptions = fc
  .tuple(fc.constantFrom("P1D", "P1M", "P1Y", "P2W", "P1M1D", "P1DT12H", "P3DT0.001S", "P11M30DT23H"), zone)
  .map(([every, timezone]): ScheduleOptions => ({ every, timezone }));
const cronOptions = fc
  .tuple(
    fc.constantFrom("* * * * * *", "*/7 * * * *", "30 2 * * *", "0 0 * * 1-5", "0 0 1 * MON", "0 12 29 2 *", "@hourly"),
    zone,
  )
  .map(([cron, timezone]): ScheduleOptions => ({ cron, timezone }));
const anyOptions = fc.oneof(exactOptions, calendarOptions, cronOptions);

/** An end of either kind, or none, as a share of some ticks. */
const limits = fc.record(
  { times: fc.integer({ min: 1, max: 60 }), until: fc.double({ min: 0, max: 1, noNaN: true }) },
  { requiredKeys: [] },
);

describe("properties of ticks", () => {
  it("ticks of an exact period lie on the grid of the first, at any time", () => {
    const gap = fc.integer({ min: 0, max: 400 * DAY });
    fc.assert(
      fc.property(exactOptions, start, missed, fc.array(gap, { maxLength: 10 }), (options, from, policy, gaps) => {
        const plan = resolveSchedule({ ...options, missed: policy }, from);
        let [last, time] = [firstTick(plan), plan.first];
        for (const step of gaps) {
          time += step;
          const next = tickAfter(plan, last, time)!;
          assert.equal(next.due, plan.first + (next.number - 1) * (options.every as number));
          assert.ok(next.due > last.due && next.number > last.number);
          last = next;
        }
      }),
    );
  });

  it("ticks of a calendar period have the day and the wall time of the first one, or the nearest possible", () => {
    const HOURS = 3 * HOUR;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), zone, start, (months, timezone, from) => {
        const plan = resolveSchedule({ due: 0, every: `P${months}M`, timezone }, from);
        const place = zoneOf(timezone);
        const origin = new Date(place.wallAt(from));
        for (const { number, due } of ticksOf(plan, 30).slice(1)) {
          const wall = place.wallAt(due);
          const month = origin.getUTCMonth() + months * (number - 1);
          const day = Math.min(origin.getUTCDate(), daysInMonth(origin.getUTCFullYear(), month));
          const wanted = Date.UTC(origin.getUTCFullYear(), month, day) + (origin.getTime() % DAY);
          // Not earlier, and later only by a gap.
          assert.ok(wall >= wanted && wall - wanted < HOURS);
          assert.ok(wall === wanted || place.changes(due - 1, due).length === 1);
        }
      }),
    );
  });

  it("ticks rise, number by number, and end where they should", () => {
    fc.assert(
      fc.property(anyOptions, start, limits, (options, from, { times, until }) => {
        const endless = ticksOf(resolveSchedule({ ...options, missed: "all" }, from), 50);
        endless.forEach(({ number, due }, place) => {
          assert.equal(number, place + 1);
          assert.ok(place === 0 || due > endless[place - 1]!.due);
        });
        const [first, final] = [endless[0]!.due, endless.at(-1)!.due];
        const end = until === undefined ? undefined : first + Math.floor((final - first) * until);
        const plan = resolveSchedule(
          { ...options, ...(times && { times }), ...(end && { until: new Date(end) }) },
          from,
        );
        const expected = endless.filter(({ number, due }) => number <= (times ?? 50) && due <= (end ?? final));
        assert.deepEqual(ticksOf(plan, 50), expected);
      }),
      { numRuns: 200 },
    );
  });

  it("ticks equal the choice of a simple model, with each policy", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    // Some time between ticks, or within a millisecond of one, where mistakes are likely.
    const moment = fc.oneof(
      share.map(
        (part) => (from: number, ticks: readonly GridTick[]) => from + Math.floor((ticks.at(-1)!.due - from) * part),
      ),
      fc.tuple(fc.nat(59), fc.integer({ min: -1, max: 1 })).map(
        ([place, off]) =>
          (from: number, ticks: readonly GridTick[]) =>
            Math.max(from, (ticks[place] ?? ticks.at(-1)!).due + off),
      ),
    );
    fc.assert(
      fc.property(
        anyOptions,
        start,
        missed,
        limits,
        fc.nat(20),
        moment,
        (options, from, policy, bounds, place, when) => {
          const endless = ticksOf(resolveSchedule({ ...options, missed: "all" }, from), 60);
          const [first, final] = [endless[0]!.due, endless.at(-1)!.due];
          const end = bounds.until === undefined ? final : first + Math.floor((final - first) * bounds.until);
          const { times = 60 } = bounds;
          const plan = resolveSchedule({ ...options, missed: policy, times, until: new Date(end) }, from);
          const last = endless[Math.min(place, endless.length - 1)]!;
          const time = when(last.due, endless);
          const left = endless.filter((tick) => tick.number > last.number && tick.number <= times && tick.due <= end);
          const over = left.filter(({ due }) => due <= time);
          const models: Record<Missed, GridTick | undefined> = {
            all: left[0],
            once: over.at(-1) ?? left[0],
            skip: left.find(({ due }) => due >= time),
          };
          assert.deepEqual(tickAfter(plan, last, time), models[policy]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("ticks are the same after a round trip through JSON", () => {
    fc.assert(
      fc.property(anyOptions, start, missed, fc.integer({ min: 0, max: 100 * DAY }), (options, from, policy, gap) => {
        const plan = resolveSchedule({ ...options, missed: policy }, from);
        const copy = JSON.parse(JSON.stringify(plan)) as Schedule;
        assert.deepEqual(copy, plan);
        const last = firstTick(plan);
        assert.deepEqual(tickAfter(copy, last, plan.first + gap), tickAfter(plan, last, plan.first + gap));
      }),
      { numRuns: 200 },
    );
  });

  it("ticks with once and skip continue after years of sleep, and agree on the grid", () => {
    const years = fc.integer({ min: 0, max: 30 * 365 * DAY });
    fc.assert(
      fc.property(anyOptions, start, years, (options, from, gap) => {
        const once = resolveSchedule({ ...options, missed: "once" }, from);
        const skip: Schedule = { ...once, missed: "skip" };
        const first = firstTick(once);
        const time = once.first + gap;
        const late = tickAfter(once, first, time)!;
        const coming = tickAfter(skip, first, time)!;
        // Either the next tick is still to come for both, or the late one comes right before the coming one.
        if (late.due >= time) assert.deepEqual(late, coming);
        else assert.deepEqual(tickAfter(once, late, time), coming);
      }),
      { numRuns: 300 },
    );
  });
});
