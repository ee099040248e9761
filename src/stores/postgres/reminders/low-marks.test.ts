// Low marks: claims start at the beginning, or further on while there are many dead rows, and overlook no row
// for long.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Connections, Statement } from "../connection/connections.ts";
import { isLongAgo, LowMarks, type Mark } from "./low-marks.ts";

const NOW = 1_000_000;

const at = (moment: number, generation = 0): Mark => ({ at: moment, generation });
const NONE = at(Number.MIN_SAFE_INTEGER);

/** A table with this many dead rows, and the rows that a sweep finds below the marks. */
class Table {
  dead = 0;
  isAway = false;
  first = new Map<string, number>();
  asked: string[] = [];

  readonly connections = {
    during: <T>(work: () => Promise<T>) => work(),
    run: async ({ name }: Statement) => {
      this.asked.push(name);
      if (this.isAway) throw new Error("away");
      if (name === "limpet_count_dead_rows") return [[this.dead]];
      return [...this.first];
    },
  } as unknown as Connections;
}

describe("low marks", () => {
  async function crowded(table = new Table()): Promise<{ table: Table; lows: LowMarks }> {
    table.dead = 50_000;
    const lows = new LowMarks(table.connections, `"limpet"`);
    await lows.look();
    return { table, lows };
  }

  const marks = (lows: LowMarks, ...types: string[]) => lows.of("n", types).marks;

  test("claims start at the beginning while few rows are dead, whichever rows they saw", async () => {
    const table = new Table();
    const lows = new LowMarks(table.connections, `"limpet"`);
    const asked = lows.of("n", ["A", "B"]);
    assert.deepEqual(asked, { areUsed: false, marks: [NONE, NONE], stragglers: 0 });
    lows.saw("n", "A", at(NOW - 9_000, 7), NOW, asked);
    await lows.look();
    assert.deepEqual(marks(lows, "A", "B"), [NONE, NONE]);
  });

  test("a claim starts at the first live row that the previous claim of its type saw while many rows are dead", async () => {
    const { lows } = await crowded();
    const asked = lows.of("n", ["A", "B"]);
    assert.deepEqual(asked, { areUsed: true, marks: [NONE, NONE], stragglers: 0 });
    lows.saw("n", "A", at(NOW - 9_000, 7), NOW, asked);
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 9_000, 7), NONE]);
    assert.deepEqual(lows.of("other", ["A"]).marks, [NONE]);
  });

  test("a mark stays behind the clock, for rows whose transaction is in progress", async () => {
    const { lows } = await crowded();
    const asked = lows.of("n", ["A", "B"]);
    lows.saw("n", "A", undefined, NOW, asked);
    lows.saw("n", "B", at(NOW + 50_000, 7), NOW, asked);
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 2_000), at(NOW - 2_000)]);
    assert.deepEqual([isLongAgo(NOW - 2_000, NOW), isLongAgo(NOW - 2_001, NOW)], [false, true]);
  });

  test("a claim that saw less does not lower the mark", async () => {
    const { lows } = await crowded();
    const asked = lows.of("n", ["A"]);
    lows.saw("n", "A", at(NOW - 3_000, 7), NOW, asked);
    lows.saw("n", "A", at(NOW - 8_000, 7), NOW, asked);
    assert.deepEqual(marks(lows, "A"), [at(NOW - 3_000, 7)]);
  });

  test("a claim starts at the first live one among rows of the same millisecond", async () => {
    const { lows } = await crowded();
    const asked = lows.of("n", ["A"]);
    lows.saw("n", "A", at(NOW - 3_000, 50), NOW, asked);
    lows.saw("n", "A", at(NOW - 3_000, 90), NOW, asked);
    lows.saw("n", "A", at(NOW - 3_000, 70), NOW, asked);
    assert.deepEqual(marks(lows, "A"), [at(NOW - 3_000, 90)]);
    // The notification does not identify the new row.
    lows.straggler("n", "A", NOW - 3_000);
    assert.deepEqual(marks(lows, "A"), [at(NOW - 3_000)]);
  });

  test("a row that was due long ago lowers the mark of its type, or of all types", async () => {
    const { lows } = await crowded();
    const asked = lows.of("n", ["A", "B"]);
    for (const type of ["A", "B"]) lows.saw("n", type, at(NOW - 3_000, 7), NOW, asked);
    lows.straggler("n", "A", NOW - 60_000);
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 60_000), at(NOW - 3_000, 7)]);
    lows.straggler("n", undefined, NOW - 70_000);
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 70_000), at(NOW - 70_000)]);
    lows.straggler("other", undefined, NOW - 90_000);
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 70_000), at(NOW - 70_000)]);
  });

  test("a claim that began before a row of long ago was written does not hide it", async () => {
    const { lows } = await crowded();
    const asked = lows.of("n", ["A"]);
    lows.straggler("n", "A", NOW - 60_000);
    lows.saw("n", "A", at(NOW - 3_000, 7), NOW, asked);
    assert.deepEqual(marks(lows, "A"), [NONE]);
  });

  test("a sweep finds a row without a notification", async () => {
    const { table, lows } = await crowded();
    const asked = lows.of("n", ["A", "B"]);
    for (const type of ["A", "B"]) lows.saw("n", type, at(NOW - 3_000, 7), NOW, asked);
    table.first.set("B", NOW - 60_000);
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 3_000, 7), at(NOW - 3_000, 7)]);
    await lows.sweep();
    assert.deepEqual(marks(lows, "A", "B"), [at(NOW - 3_000, 7), at(NOW - 60_000)]);
  });

  test("marks are no longer used once the dead rows are gone", async () => {
    const { table, lows } = await crowded();
    lows.saw("n", "A", at(NOW - 3_000, 7), NOW, lows.of("n", ["A"]));
    table.dead = 0;
    await lows.look();
    assert.deepEqual(lows.of("n", ["A"]), { areUsed: false, marks: [NONE], stragglers: 0 });
  });

  test("a store that does not respond changes no mark", async () => {
    const { table, lows } = await crowded();
    lows.saw("n", "A", at(NOW - 3_000, 7), NOW, lows.of("n", ["A"]));
    table.isAway = true;
    await lows.look();
    assert.deepEqual(marks(lows, "A"), [at(NOW - 3_000, 7)]);
  });

  test("claims trigger the count of dead rows, but not each of them", async () => {
    const table = new Table();
    const lows = new LowMarks(table.connections, `"limpet"`);
    for (let i = 0; i < 100; i++) lows.of("n", ["A"]);
    await lows.look();
    assert.ok(table.asked.length <= 2, `${table.asked.length}`);
  });
});
