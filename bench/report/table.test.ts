import assert from "node:assert/strict";
import { test } from "node:test";
import type { Row } from "./row.ts";
import { show, showSpread, tableOf } from "./table.ts";

const row: Row = {
  area: "actors",
  case: "call",
  unit: "calls/s",
  ours: { median: 1_012_000, min: 990_000, max: 1_100_000 },
  floor: { median: 9_000_000, min: 9_000_000, max: 9_000_000 },
  peer: undefined,
  peerName: undefined,
  ratioFloor: 0.1124,
  ratioPeer: undefined,
  target: "≥ 0.1× floor",
  met: true,
  notes: [],
};

test("the columns of every line begin at the same place", () => {
  const lines = tableOf([row, { ...row, case: "a case with a long name", ours: undefined, met: false }])
    .trimEnd()
    .split("\n");
  assert.equal(lines.length, 4);
  const unit = lines[0]!.indexOf("unit");
  assert.equal(lines[2]!.indexOf("calls/s"), unit);
  assert.equal(lines[3]!.indexOf("calls/s"), unit);
  const target = lines[0]!.indexOf("target");
  assert.equal(lines[2]!.slice(target), "≥ 0.1× floor: met");
  assert.equal(lines[3]!.slice(target), "≥ 0.1× floor: missed");
});

test("a spread is shown around its median, and only when there is one", () => {
  assert.equal(showSpread(row.ours), "1.01M (990k..1.10M)");
  assert.equal(showSpread(row.floor), "9.00M");
  assert.equal(showSpread(undefined), "–");
});

test("numbers are short but keep three digits", () => {
  assert.deepEqual([0.1234, 12.345, 123.4, 9_990, 9_999, 12_345, 999_700].map(show), [
    "0.123",
    "12.3",
    "123",
    "9,990",
    "10.0k",
    "12.3k",
    "1.00M",
  ]);
});
