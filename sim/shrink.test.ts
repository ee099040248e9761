import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SMALL_PLAN, smallHost } from "./command/small-plan.ts";
import { withoutHost } from "./command/without-host.ts";
import type { Plan, PlannedCall, PlannedFault } from "./plan.ts";
import { shrink } from "./shrink.ts";

const call = (at: number, from: string, id: string): PlannedCall => ({
  at,
  from,
  id,
  type: "Ledger",
  method: "append",
  timeoutMs: 1_000,
  how: { slowMs: 10, throws: "late" },
});

/** Many hosts, calls and faults, with the planted cause in the middle. */
const LARGE: Plan = {
  ...SMALL_PLAN,
  hosts: Array.from({ length: 6 }, (_, i) => ({
    ...smallHost(`host-${i + 1}`),
    clock: { rate: 1.001 },
    startsAt: 500,
  })),
  settings: { callTimeout: 10_000, cluster: { lease: "4s", failover: "lease" } },
  chaosMs: 60_000,
  calls: Array.from({ length: 100 }, (_, i) => call(i * 500, `host-${(i % 6) + 1}`, `actor-${i % 7}`)),
  faults: Array.from({ length: 30 }, (_, i): PlannedFault => {
    return { at: i * 1_900, fault: i % 3 === 0 ? "pause" : "crash", host: `host-${(i % 5) + 1}` };
  }),
};

describe("shrinking of a plan", () => {
  it("shrinking leaves the parts that the failure needs, and few others", async () => {
    const needs = ({ calls, faults }: Plan): boolean =>
      faults.some(({ fault, host, at }) => fault === "pause" && host === "host-3" && at > 5_000) &&
      calls.some(({ from, id, how }) => from === "host-2" && id === "actor-0" && how.throws === "late");
    assert.ok(needs(LARGE));
    let runs = 0;
    const small = await shrink(LARGE, async (plan) => {
      runs++;
      return needs(plan);
    });
    assert.ok(needs(small));
    assert.equal(small.calls.length, 1);
    assert.deepEqual(small.calls[0]!.how, { throws: "late" });
    assert.equal(small.faults.length, 1);
    assert.deepEqual(
      small.hosts.map(({ name, clock, startsAt }) => ({ name, clock, startsAt })),
      ["host-2", "host-3"].map((name) => ({ name, clock: {}, startsAt: 0 })),
    );
    assert.deepEqual(small.settings, {});
    assert.ok(small.chaosMs < LARGE.chaosMs / 2, `${small.chaosMs}`);
    assert.ok(runs < 300, `${runs} runs`);
  });

  it("shrinking keeps two distant parts that only fail together", async () => {
    const small = await shrink(LARGE, async ({ calls }) => {
      return calls.some(({ at }) => at === 2_000) && calls.some(({ at }) => at === 45_000);
    });
    assert.deepEqual(
      small.calls.map(({ at }) => at),
      [2_000, 45_000],
    );
    assert.deepEqual(small.faults, []);
  });

  it("shrinking returns the same plan when nothing can be left out", async () => {
    assert.equal(await shrink(LARGE, async () => false), LARGE);
  });

  it("shrinking stays within its number of runs and tries no plan twice", async () => {
    const tried: string[] = [];
    const fails = async (plan: Plan): Promise<boolean> => {
      tried.push(JSON.stringify(plan));
      return plan.calls.length > 3;
    };
    await shrink(LARGE, fails, { mostRuns: 40 });
    assert.equal(tried.length, 40);
    assert.equal(new Set(tried).size, 40);
  });

  it("shrinking ends with its smallest plan so far when it is interrupted", async () => {
    let runs = 0;
    const small = await shrink(LARGE, async () => true, { isOver: () => runs >= 3, onRun: () => runs++ });
    assert.equal(runs, 3);
    assert.notEqual(small, LARGE);
  });
});

describe("removal of a host from a plan", () => {
  it("a plan without a host has none of the host's calls and none of its faults", () => {
    const plan: Plan = {
      ...LARGE,
      faults: [
        { at: 1, fault: "crash", host: "host-1" },
        { at: 2, fault: "split", sides: [["host-1", "host-2"], ["host-3"]] },
        { at: 3, fault: "split", sides: [["host-1"], ["host-3"]], between: { from: "host-2" } },
        { at: 4, fault: "slow", from: { host: "host-1" } },
      ],
    };
    const without = withoutHost(plan, "host-1");
    assert.ok(!JSON.stringify(without).includes('"host-1"'));
    assert.deepEqual(
      without.faults.map(({ at }) => at),
      [2, 3],
    );
    assert.deepEqual(without.faults[0]!.sides, [["host-2"], ["host-3"]]);
    assert.equal(without.calls.length, plan.calls.filter(({ from }) => from !== "host-1").length);
  });
});
