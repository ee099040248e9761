import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchCase } from "../case.ts";
import { jsonOf, rowsOf, type Samples } from "./row.ts";

const contender = { module: "x.ts", make: "x" };
const benchCase: BenchCase = {
  name: "call",
  unit: "calls/s",
  better: "higher",
  ours: contender,
  floor: contender,
  peers: [{ ...contender, name: "Effect Cluster" }],
  goals: { floor: 0.1, peer: 30 },
};
const samples = (ours: number[], floor: number[], peers: Record<string, number[]>): Samples => ({
  ours,
  floor,
  peers: new Map(Object.entries(peers)),
  notes: [],
});

test("a JSON line has exactly the promised fields, in order, with medians and ratios of medians", () => {
  const [row] = rowsOf("actors", benchCase, samples([90, 100, 110], [500, 400, 600], { "Effect Cluster": [2, 3, 4] }));
  assert.equal(
    jsonOf(row!),
    '{"area":"actors","case":"call","unit":"calls/s","ours":100,"floor":500,"peer":3,"ratio_floor":0.2,"ratio_peer":33.33}',
  );
});

test("an unmeasured figure is null", () => {
  const [row] = rowsOf("actors", { ...benchCase, floor: undefined, peers: undefined }, samples([100], [], {}));
  assert.deepEqual(JSON.parse(jsonOf(row!)), {
    area: "actors",
    case: "call",
    unit: "calls/s",
    ours: 100,
    floor: null,
    peer: null,
    ratio_floor: null,
    ratio_peer: null,
  });
  assert.equal(row!.met, undefined);
});

test("several peers make a row each, with the peer in the name", () => {
  const two = { ...benchCase, peers: ["A", "B"].map((name) => ({ ...contender, name })) };
  const rows = rowsOf("actors", two, samples([100], [50], { A: [10], B: [20] }));
  assert.deepEqual(
    rows.map((row) => [row.case, row.ratioFloor, row.ratioPeer]),
    [
      ["call, against A", 2, 10],
      ["call, against B", 2, 5],
    ],
  );
});

test("a target is met only when all of its parts are", () => {
  const met = (ours: number, floor: number, peer: number) =>
    rowsOf("actors", benchCase, samples([ours], [floor], { "Effect Cluster": [peer] }))[0]!.met;
  assert.equal(met(100, 1000, 1), true);
  assert.equal(met(100, 1001, 1), false);
  assert.equal(met(100, 1000, 4), false);
});

test("a target is an upper bound where less is better", () => {
  const memory: BenchCase = { ...benchCase, better: "lower", unit: "bytes/actor", peers: [], goals: { ours: 1500 } };
  assert.equal(rowsOf("actors", memory, samples([1500], [100], {}))[0]!.met, true);
  assert.equal(rowsOf("actors", memory, samples([1501], [100], {}))[0]!.met, false);
  assert.equal(rowsOf("actors", memory, samples([1], [100], {}))[0]!.target, "≤ 1,500 bytes/actor");
});

test("a case with several figures has a row for each, with its own unit, target and ratio", () => {
  const gaps: BenchCase = {
    name: "a host leaves",
    ours: contender,
    peers: [{ ...contender, name: "Effect Cluster" }],
    figures: {
      "longest gap": { unit: "ms", better: "lower", goals: { ours: 100 } },
      "failed calls": { unit: "calls", better: "lower" },
    },
  };
  const rows = rowsOf("cluster", gaps, {
    ours: [
      { "longest gap": 40, "failed calls": 0 },
      { "longest gap": 60, "failed calls": 2 },
    ],
    floor: [],
    peers: new Map([["Effect Cluster", [{ "longest gap": 400, "failed calls": 4 }]]]),
    notes: ["something was left out"],
  });
  assert.deepEqual(
    rows.map(({ case: name, unit, ours, ratioPeer, met, notes }) => [name, unit, ours?.median, ratioPeer, met, notes]),
    [
      ["a host leaves: longest gap", "ms", 50, 0.125, true, ["something was left out"]],
      ["a host leaves: failed calls", "calls", 1, 0.25, undefined, []],
    ],
  );
});

test("a figure that a contender left out is no figure", () => {
  const one: BenchCase = { name: "x", ours: contender, figures: { gap: { unit: "ms", better: "lower" } } };
  const measured = (ours: Samples["ours"]): Samples => ({ ours, floor: [], peers: new Map(), notes: [] });
  assert.throws(() => rowsOf("cluster", one, measured([{}])), /no number was measured for "gap"/);
  assert.throws(() => rowsOf("cluster", one, measured([7])), /no number was measured for "gap"/);
});
