// Cron against an independent scanner: it reads every minute of some days around a change of the clocks from
// Intl, and applies the rules one minute at a time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { countMatches, lastMatch, matchAhead, nextMatch, parseCron } from "./schedule/cron.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Zones and days with and without a change of their clocks. */
const PLACES: [zone: string, day: string][] = [
  ["UTC", "2026-02-28"],
  ["Europe/Paris", "2026-03-29"],
  ["Europe/Paris", "2026-10-25"],
  ["America/New_York", "2026-03-08"],
  ["America/New_York", "2026-11-01"],
  ["Australia/Lord_Howe", "2026-04-04"],
  ["Australia/Lord_Howe", "2026-10-03"],
  ["Asia/Kathmandu", "1985-12-31"],
  ["Asia/Kathmandu", "2026-03-01"],
  ["America/Sao_Paulo", "2018-02-18"],
  ["America/Sao_Paulo", "2018-11-04"],
  ["Africa/Casablanca", "2026-02-15"],
  ["Africa/Casablanca", "2026-03-22"],
  ["Africa/Cairo", "2026-04-23"],
  ["Africa/Cairo", "2026-10-29"],
  ["America/Havana", "2026-11-01"],
  ["Antarctica/Troll", "2026-03-29"],
  ["Antarctica/Troll", "2026-10-25"],
  ["Europe/Dublin", "2026-10-25"],
  ["Pacific/Apia", "2011-12-30"],
];

interface Minute {
  readonly at: number;
  /** The time on the wall clock, as if it were UTC. */
  readonly wall: number;
}

const walks = new Map<string, Minute[]>();

/** Every minute from two days before to two days after. */
function walk(zone: string, day: string): Minute[] {
  const known = walks.get(zone + day);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  const start = Date.parse(day) - 2 * DAY;
  const minutes = Array.from({ length: (5 * DAY) / MINUTE }, (_, index) => {
    const at = start + index * MINUTE;
    return { at, wall: Date.parse(`${format.format(at).replace(" ", "T")}Z`) };
  });
  walks.set(zone + day, minutes);
  return minutes;
}

interface DrawnField {
  readonly text: string;
  readonly allows: (value: number) => boolean;
}

/** A field as text, and its allowed values, computed apart from the code under test. */
function field(min: number, max: number): fc.Arbitrary<DrawnField> {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const step = fc.integer({ min: 1, max: Math.min(max, 20) });
  const item = fc.oneof(
    value.map((n) => ({ text: `${n}`, allows: (v: number) => v === n })),
    range.map(([a, b]) => ({ text: `${a}-${b}`, allows: (v: number) => v >= a && v <= b })),
    fc.tuple(range, step).map(([[a, b], s]) => ({
      text: `${a}-${b}/${s}`,
      allows: (v: number) => v >= a && v <= b && (v - a) % s === 0,
    })),
  );
  const list = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map(({ text }) => text).join(","),
    allows: (v: number) => items.some(({ allows }) => allows(v)),
  }));
  const every = step.map((s) => ({ text: s === 1 ? "*" : `*/${s}`, allows: (v: number) => (v - min) % s === 0 }));
  return fc.oneof(fc.constant<DrawnField>({ text: "*", allows: () => true }), every, list);
}

interface Drawn {
  readonly text: string;
  readonly everyHour: boolean;
  readonly allows: (wall: number) => boolean;
}

const expression: fc.Arbitrary<Drawn> = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6))
  .map((fields) => {
    const [minute, hour, day, month, weekday] = fields;
    const both = !day.text.startsWith("*") && !weekday.text.startsWith("*");
    return {
      text: fields.map(({ text }) => text).join(" "),
      everyHour: isEveryHour(hour),
      allows: (wall) => {
        const date = new Date(wall);
        const [byDay, byWeekday] = [day.allows(date.getUTCDate()), weekday.allows(date.getUTCDay())];
        const onDay = both ? byDay || byWeekday : byDay && byWeekday;
        const inMonth = month.allows(date.getUTCMonth() + 1);
        return onDay && inMonth && hour.allows(date.getUTCHours()) && minute.allows(date.getUTCMinutes());
      },
    };
  });

const isEveryHour = (hour: DrawnField): boolean => Array.from({ length: 24 }, (_, h) => h).every(hour.allows);

/** Most months and days exclude the scanned days, so here they are not restricted. */
const busy = fc.tuple(field(0, 59), field(0, 23)).map(
  ([minute, hour]): Drawn => ({
    text: `${minute.text} ${hour.text} * * *`,
    everyHour: isEveryHour(hour),
    allows: (wall) => hour.allows(new Date(wall).getUTCHours()) && minute.allows(new Date(wall).getUTCMinutes()),
  }),
);

function scan(minutes: readonly Minute[], drawn: Drawn): number[] {
  const found: number[] = [];
  let highest = minutes[0]!.wall;
  for (const { at, wall } of minutes.slice(1)) {
    let matches = drawn.everyHour && drawn.allows(wall);
    for (let passed = highest + MINUTE; passed <= wall; passed += MINUTE) {
      if (!drawn.everyHour && drawn.allows(passed)) matches = true;
    }
    highest = Math.max(highest, wall);
    if (matches) found.push(at);
  }
  return found;
}

describe("cron expressions against a scanner", () => {
  const place = fc.constantFrom(...PLACES);

  it("a cron expression matches at the minutes that a scanner finds", () => {
    fc.assert(
      fc.property(place, fc.oneof(expression, busy), ([zone, day], drawn) => {
        const minutes = walk(zone, day);
        const [from, to] = [minutes[0]!.at, minutes.at(-1)!.at];
        const cron = parseCron(drawn.text);
        const found: number[] = [];
        for (let last = nextMatch(cron, zone, from); last !== undefined && last <= to; ) {
          found.push(last);
          last = nextMatch(cron, zone, last);
        }
        assert.deepEqual(found, scan(minutes, drawn));
      }),
      { numRuns: 400 },
    );
  });

  it("a cron expression finds previous matches, counts and numbers as a scanner does", () => {
    const share = fc.integer({ min: 0, max: 5 * DAY - MINUTE - 1 });
    fc.assert(
      fc.property(place, fc.oneof(expression, busy), share, share, ([zone, day], drawn, one, other) => {
        const minutes = walk(zone, day);
        const from = minutes[0]!.at + Math.min(one, other);
        const to = minutes[0]!.at + Math.max(one, other);
        const cron = parseCron(drawn.text);
        const expected = scan(minutes, drawn).filter((at) => at > from && at <= to);
        assert.equal(countMatches(cron, zone, from, to), expected.length);
        if (expected.length === 0) return;
        assert.equal(lastMatch(cron, zone, to), expected.at(-1));
        const number = 1 + (one % expected.length);
        assert.equal(matchAhead(cron, zone, from, number, to), expected[number - 1]);
      }),
      { numRuns: 400 },
    );
  });

  it("a cron expression with seconds matches at each of them within its minutes", () => {
    const second = field(0, 59);
    fc.assert(
      fc.property(place, second, busy, ([zone, day], seconds, drawn) => {
        const minutes = walk(zone, day).slice(DAY / MINUTE, (1.5 * DAY) / MINUTE);
        const [from, to] = [minutes[0]!.at, minutes.at(-1)!.at];
        const cron = parseCron(`${seconds.text} ${drawn.text}`);
        const allowed = Array.from({ length: 60 }, (_, s) => s).filter(seconds.allows);
        // Away from changes of the clocks, which the other tests cover.
        if (minutes.some(({ at, wall }) => wall - at !== minutes[0]!.wall - from)) return;
        const expected = minutes
          .filter(({ wall }) => drawn.allows(wall))
          .flatMap(({ at }) => allowed.map((s) => at + s * 1_000))
          .filter((at) => at > from && at <= to);
        assert.equal(countMatches(cron, zone, from, to), expected.length);
        let last = from;
        for (const at of expected.slice(0, 500)) {
          last = nextMatch(cron, zone, last)!;
          assert.equal(last, at);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("a cron expression has as many matches over years as a walk finds", () => {
    const rare = fc
      .tuple(field(0, 23), field(1, 31), field(1, 12))
      .map(([h, d, m]) => `7 ${h.text} ${d.text} ${m.text} *`);
    fc.assert(
      fc.property(place, rare, fc.integer({ min: 1, max: 400 }), ([zone, day], text, steps) => {
        const cron = parseCron(text);
        const from = Date.parse(day);
        let last = from;
        for (let step = 1; step <= steps; step += 1) {
          const next = nextMatch(cron, zone, last);
          if (next === undefined) return;
          assert.ok(next > last);
          assert.equal(lastMatch(cron, zone, next), next);
          if (step > 1) assert.equal(lastMatch(cron, zone, next - 1), last);
          last = next;
        }
        assert.equal(countMatches(cron, zone, from, last), steps);
      }),
      { numRuns: 100 },
    );
  });
});
