import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchCase, Contender } from "../case.ts";
import { measure, type Plan } from "./rounds.ts";

const contender = (make: string): Contender => ({ module: "x.ts", make });
const benchCase: BenchCase = {
  name: "call",
  unit: "calls/s",
  better: "higher",
  ours: contender("ours"),
  floor: contender("floor"),
  peers: [{ ...contender("peer"), name: "Peer" }],
};

/** Contenders that record all requests and measure 1, 2, 3 … */
function world(behaviour: { fail?: (what: string) => boolean } = {}) {
  const seen: string[] = [];
  const counts = new Map<string, number>();
  const step = (what: string) => {
    seen.push(what);
    if (behaviour.fail?.(what)) throw new Error("broken");
  };
  const plan = (rounds: number, restart = false): Plan => ({
    rounds,
    restart,
    progress: () => {},
    start: async ({ make }) => {
      step(`start ${make}`);
      return {
        run: async () => {
          step(`run ${make}`);
          counts.set(make, (counts.get(make) ?? 0) + 1);
          return counts.get(make)!;
        },
        close: async () => step(`close ${make}`),
      };
    },
  });
  return { seen, plan };
}

test("rounds are interleaved: every contender runs once before any runs twice", async () => {
  const { seen, plan } = world();
  const measured = await measure(benchCase, plan(2));
  assert.deepEqual(
    seen.filter((what) => what.startsWith("run")),
    ["run ours", "run floor", "run peer", "run ours", "run floor", "run peer"],
  );
  assert.deepEqual(measured.ours, [1, 2]);
  assert.deepEqual(measured.floor, [1, 2]);
  assert.deepEqual(measured.peers.get("Peer"), [1, 2]);
  assert.equal(measured.oursFailed, false);
});

test("every contender starts once and closes once, or once per round when restarted", async () => {
  for (const [restart, times] of [
    [false, 1],
    [true, 3],
  ] as const) {
    const { seen, plan } = world();
    await measure(benchCase, plan(3, restart));
    for (const make of ["ours", "floor", "peer"]) {
      assert.equal(seen.filter((what) => what === `start ${make}`).length, times);
      assert.equal(seen.filter((what) => what === `close ${make}`).length, times);
    }
  }
});

test("a failing peer leaves nothing behind but a note, and the others continue", async () => {
  let runs = 0;
  const { seen, plan } = world({ fail: (what) => what === "run peer" && ++runs === 2 });
  const measured = await measure(benchCase, plan(3));
  assert.deepEqual(measured.peers.get("Peer"), []);
  assert.deepEqual(measured.ours, [1, 2, 3]);
  assert.equal(measured.oursFailed, false);
  assert.match(measured.notes.join(), /^Peer: failed, broken$/);
  assert.ok(seen.includes("close peer"));
});

test("a wrong result at the end counts as a failure of ours", async () => {
  const { plan } = world({ fail: (what) => what === "close ours" });
  const measured = await measure(benchCase, plan(1));
  assert.deepEqual(measured.ours, []);
  assert.equal(measured.oursFailed, true);
});

test("a missing peer is left out with its reason, and is no failure", async () => {
  const { seen, plan } = world();
  const measured = await measure({ ...benchCase, unavailable: () => "it is not written" }, plan(1));
  assert.deepEqual(measured.notes, ["ours: left out, it is not written"]);
  assert.equal(measured.oursFailed, false);
  assert.ok(!seen.includes("start ours"));
  assert.deepEqual(measured.floor, [1]);
});
