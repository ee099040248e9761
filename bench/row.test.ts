import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchCase } from "./case.ts";
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

test("what was not measured is null", () => {
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

test("where less is better the target is an upper bound", () => {
  const memory: BenchCase = { ...benchCase, better: "lower", unit: "bytes/actor", peers: [], goals: { ours: 1500 } };
  assert.equal(rowsOf("actors", memory, samples([1500], [100], {}))[0]!.met, true);
  assert.equal(rowsOf("actors", memory, samples([1501], [100], {}))[0]!.met, false);
  assert.equal(rowsOf("actors", memory, samples([1], [100], {}))[0]!.target, "≤ 1,500 bytes/actor");
});
