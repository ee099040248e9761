import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DAY } from "./calendar.ts";
import { zoneOf } from "./zone.ts";

const HOUR = 3_600_000;
const at = (text: string): number => Date.parse(text);

/** The wall time from the fields of Intl: slow, and independent of the code under test. */
function wallByIntl(name: string, moment: number): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
  const { year, month, day, hour, minute, second } = parts as Record<string, number>;
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) + (((moment % 1_000) + 1_000) % 1_000);
}

const NAMES = [
  "UTC",
  "+05:30",
  "Europe/Paris",
  "Europe/Dublin",
  "America/New_York",
  "America/Sao_Paulo",
  "America/St_Johns",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Africa/Monrovia",
  "Australia/Lord_Howe",
  "Antarctica/Troll",
  "Asia/Kathmandu",
  "Asia/Gaza",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Pacific/Kiritimati",
];

describe("time zones", () => {
  it("a zone shows the same time as Intl, at any moment from 1970 to 9999", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...NAMES),
        fc.oneof(
          fc.integer({ min: 0, max: at("2100-01-01T00:00:00Z") }),
          fc.integer({ min: 0, max: 253_402_300_799_999 }),
        ),
        (name, moment) => {
          assert.equal(zoneOf(name).wallAt(moment), wallByIntl(name, moment));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("a zone finds each change of its clocks to the millisecond", () => {
    const changes = (name: string, from: string, to: string) =>
      zoneOf(name)
        .changes(at(from), at(to))
        .map((change) => [new Date(change.at).toISOString(), (change.after - change.before) / HOUR]);
    assert.deepEqual(changes("Europe/Paris", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"), [
      ["2026-03-29T01:00:00.000Z", 1],
      ["2026-10-25T01:00:00.000Z", -1],
    ]);
    assert.deepEqual(changes("Australia/Lord_Howe", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"), [
      ["2026-04-04T15:00:00.000Z", -0.5],
      ["2026-10-03T15:30:00.000Z", 0.5],
    ]);
    assert.deepEqual(changes("Pacific/Apia", "2011-12-01T00:00:00Z", "2012-01-31T00:00:00Z"), [
      ["2011-12-30T10:00:00.000Z", 24],
    ]);
    assert.deepEqual(changes("Asia/Kathmandu", "1980-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), [
      ["1985-12-31T18:30:00.000Z", 0.25],
    ]);
    // Twelve days, and in 2000 even seven: the closest two changes since 1970.
    assert.deepEqual(changes("America/Noronha", "2000-10-01T00:00:00Z", "2000-10-31T00:00:00Z"), [
      ["2000-10-08T02:00:00.000Z", 1],
      ["2000-10-15T01:00:00.000Z", -1],
    ]);
    assert.deepEqual(changes("UTC", "1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z"), []);
  });

  it("a zone counts a change from its first moment on", () => {
    const paris = zoneOf("Europe/Paris");
    const change = at("2026-03-29T01:00:00Z");
    assert.equal(paris.changes(change - 1, change).length, 1);
    assert.equal(paris.changes(change, change + DAY).length, 0);
    assert.equal(paris.offsetAt(change - 1), HOUR);
    assert.equal(paris.offsetAt(change), 2 * HOUR);
  });

  it("a zone finds the first moment of a wall time: after the gap, and the first of two", () => {
    const paris = zoneOf("Europe/Paris");
    const moment = (wall: string) => new Date(paris.firstMomentOf(at(wall))).toISOString();
    assert.equal(moment("2026-03-29T01:59:59.999Z"), "2026-03-29T00:59:59.999Z");
    assert.equal(moment("2026-03-29T02:00:00Z"), "2026-03-29T01:00:00.000Z");
    assert.equal(moment("2026-03-29T02:59:00Z"), "2026-03-29T01:00:00.000Z");
    assert.equal(moment("2026-03-29T03:00:00Z"), "2026-03-29T01:00:00.000Z");
    assert.equal(moment("2026-03-29T03:01:00Z"), "2026-03-29T01:01:00.000Z");
    assert.equal(moment("2026-10-25T02:30:00Z"), "2026-10-25T00:30:00.000Z");
    assert.equal(moment("2026-10-25T03:00:00Z"), "2026-10-25T02:00:00.000Z");
  });

  it("a zone reaches a wall time at its first moment and not before, in any zone", () => {
    const wall = fc.integer({ min: at("1990-01-01T00:00:00Z"), max: at("2040-01-01T00:00:00Z") });
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), wall, (name, time) => {
        const zone = zoneOf(name);
        const moment = zone.firstMomentOf(time);
        assert.ok(zone.highestWallAt(moment) >= time);
        assert.ok(zone.highestWallAt(moment - 1) < time);
      }),
      { numRuns: 2_000 },
    );
  });

  it("an unknown zone is rejected with an example", () => {
    for (const name of ["Mars/Olympus", "", "Europe", "UTC ", "GMT+25", "\u0000"]) {
      assert.throws(() => zoneOf(name), { code: "REMINDER_INVALID", message: /is not a time zone; write for example/ });
    }
  });
});
