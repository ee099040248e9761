// Tests of every fault, alone in a quiet cluster: it takes effect, its draws depend only on its own chance,
// and its run can be repeated.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Prng } from "../../src/kernel/prng.ts";
import { effort } from "../../test/support/effort.ts";
import type { Plan, PlannedCall, PlannedDeed, PlannedHost } from "../plan.ts";
import { type Outcome, run } from "../run.ts";
import { FAULTS } from "./all.ts";
import { type Fault, hostNames, severity, times } from "./fault.ts";
import * as lateMoveFamily from "./network/late-moves.ts";
import * as reminderFamily from "./reminders.ts";
import * as shardFamily from "./shards/family.ts";
import * as startFamily from "./starts.ts";
import * as stickyFamily from "./sticky.ts";
import * as workflowFamily from "./workflows.ts";

/**
 * A fault may draw a case that cannot occur, such as a cut around a leader when there is none; not every
 * time.
 */
const MOST_SEEDS = 8;
const CHAOS_MS = 30_000;
const TYPES = ["Ledger", "Purse"];

const host = (name: string, startsAt: number, dedicated = false): PlannedHost => ({
  name,
  machine: `machine of ${name}`,
  namespace: "default",
  types: dedicated ? [] : TYPES,
  dedicated,
  watches: false,
  clock: {},
  startsAt,
});

/** Three hosts without faults; two more wait until a fault starts them. */
function quietPlan(seed: number): Plan {
  const chance = new Prng(`quiet ${seed}`);
  const calls = Array.from({ length: 60 }, (_, i): PlannedCall => {
    const [from, type, id] = [`host-${1 + chance.below(3)}`, chance.pick(TYPES), `actor-${chance.below(4)}`];
    return { at: 1_000 + i * 450, from, type, id, method: "append", how: {}, timeoutMs: 5_000 };
  });
  return {
    seed,
    hosts: [
      ...[host("host-1", 0), host("host-2", 20), host("host-3", 12_000)],
      ...[host("late-1", CHAOS_MS), host("late-2", CHAOS_MS)],
    ],
    settings: { idleTimeout: 5_000, callTimeout: 10_000, cluster: { replicationFactor: 10 } },
    sticky: { Purse: { lost: "reassign" } },
    latency: { leastMs: 0.2, moreMs: 0.5 },
    chaosMs: CHAOS_MS,
    calls,
    faults: [],
  };
}

const familyOf = (family: object): readonly Fault[] => FAULTS.filter((fault) => Object.values(family).includes(fault));

/** A plan in which clients set reminders that tick for a while. */
function planWithReminders(seed: number): Plan {
  const plan = quietPlan(seed);
  const calls = Array.from({ length: 12 }, (_, i): PlannedCall => {
    const [from, type] = [`host-${1 + (i % 2)}`, TYPES[i % 2]!];
    const when = { due: 300, every: 900, times: 4, missed: "all" } as const;
    // Some are set, and some are settled, together with a state.
    const remind = { name: "r", when, how: { writes: i % 3 === 0, slowMs: i * 200 } };
    const how = i % 4 < 2 ? { remind } : { remind, outside: true };
    return { at: 2_000 * (i + 1), from, type, id: `bell-${i}`, method: "remind", how, timeoutMs: 25_000 };
  });
  const settings = { ...plan.settings, reminders: { lease: 2_000, fetchAhead: 500, pollInterval: 200 } };
  return { ...plan, settings, reminders: { notifies: true }, calls: [...plan.calls, ...calls] };
}

/** A plan in which clients start and signal workflows. */
function planWithWorkflows(seed: number): Plan {
  const plan = quietPlan(seed);
  const deeds = Array.from({ length: 24 }, (_, i): PlannedDeed => {
    const steps = [
      { do: "activity", name: "work", ms: 400 },
      { do: "sleep", ms: 300 },
      { do: "activity", name: "errand", ms: 1_200 },
      { do: "signal", name: "north", within: 1_000 },
      { do: "again" },
      { do: "activity", name: "work", ms: 10 },
    ] as const;
    const deed = i % 3 < 2 ? ({ kind: "start", steps } as const) : ({ kind: "signal", name: "north" } as const);
    return { at: 1_100 * (i + 1), from: `host-${1 + (i % 2)}`, workflow: `flow-${i >> 1}`, deed };
  });
  const worker = { types: ["Script", "Sequel"], errands: true, build: "" };
  const workflows = { workers: { "host-1": worker, "host-2": { ...worker, errands: false } }, notifies: true };
  const settings = { ...plan.settings, worker: { lease: 1_500, pollInterval: 300, cacheRuns: 2 } };
  return { ...plan, settings, workflows, deeds };
}

/** A plan with a sharded type: one host after the other has it, so that its shards move. */
function planWithShards(fault: Fault, seed: number): Plan {
  const plan = quietPlan(seed);
  const hosts = plan.hosts.map((one) => ({ ...one, types: [...one.types, "Crate"] }));
  const calls = Array.from({ length: 60 }, (_, i): PlannedCall => {
    const [from, id] = [`host-${1 + (i % 2)}`, `box-${i % 11}`];
    return { at: 1_000 + i * 450, from, type: "Crate", id, method: "append", how: {}, timeoutMs: 5_000 };
  });
  const rule = { shards: 8, rebalance: 500, handOff: 1_000, remember: true, restartAfter: 500 } as const;
  const strategy = fault === shardFamily.assignedElsewhere ? "external" : "least";
  return { ...plan, hosts, sharded: { Crate: { ...rule, strategy } }, calls: [...plan.calls, ...calls] };
}

function planOf(fault: Fault, seed: number): Plan {
  if ([shardFamily, lateMoveFamily].some((family) => familyOf(family).includes(fault)))
    return planWithShards(fault, seed);
  if (familyOf(workflowFamily).includes(fault)) return planWithWorkflows(seed);
  if (familyOf(startFamily).includes(fault)) return planWithWorkflows(seed);
  return familyOf(reminderFamily).includes(fault) ? planWithReminders(seed) : quietPlan(seed);
}

function planWith(fault: Fault, seed: number): Plan {
  const plan = planOf(fault, seed);
  return { ...plan, faults: fault.draw(new Prng(`${fault.name} ${seed}`), plan) };
}

/** The first run in which the fault takes effect. */
async function struck(fault: Fault): Promise<{ readonly plan: Plan; readonly outcome: Outcome } | undefined> {
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const plan = planWith(fault, seed);
    const outcome = await run(plan);
    if (outcome.faults.has(fault.name)) return { plan, outcome };
  }
  return undefined;
}

describe("the faults", () => {
  it("every fault has its own name and description", () => {
    assert.ok(FAULTS.length >= 36, `${FAULTS.length}`);
    assert.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length);
    assert.equal(new Set(FAULTS.map(({ summary }) => summary)).size, FAULTS.length);
  });

  it("a plan without faults has none", async () => {
    const { faults } = await run(quietPlan(1));
    assert.deepEqual([...faults.keys()], []);
  });

  it("faults of sticky actors, reminders, workflows and shards are not drawn where there are none", () => {
    const { sticky: _, ...plan } = quietPlan(1);
    for (const family of [stickyFamily, reminderFamily, workflowFamily, shardFamily]) {
      const faults = familyOf(family);
      assert.ok(faults.length >= 10, `${faults.length}`);
      for (const fault of faults) {
        assert.deepEqual(fault.draw(new Prng(fault.name), plan), []);
        assert.notDeepEqual(fault.draw(new Prng(fault.name), planOf(fault, 1)), []);
      }
    }
  });

  for (const [i, fault] of FAULTS.entries()) {
    // Drawn seeds contain all faults; here the usual run tests some, and the long one all.
    if (i % effort(3, 1) > 0) continue;
    describe(fault.name, () => {
      it(`${fault.name}: equal chances draw equal plain data within the chaos`, () => {
        for (let seed = 1; seed <= MOST_SEEDS; seed++) {
          const { faults } = planWith(fault, seed);
          assert.deepEqual(faults, planWith(fault, seed).faults);
          assert.deepEqual(JSON.parse(JSON.stringify(faults)), faults);
          for (const one of faults) {
            assert.equal(one.fault, fault.name);
            assert.ok(one.at >= 0 && one.at < CHAOS_MS, `${one.at}`);
          }
        }
      });

      it(`${fault.name}: the fault takes effect, and the run repeats in the same way`, async () => {
        const first = await struck(fault);
        assert.ok(first !== undefined, `${fault.name} did not happen in ${MOST_SEEDS} seeds`);
        assert.deepEqual(first.outcome.violations, []);
        // Drawn seeds also prove that whole runs repeat.
        if (i % effort(12, 1) > 0) return;
        const { trace, steps, faults } = await run(first.plan);
        assert.deepEqual([trace, steps], [first.outcome.trace, first.outcome.steps]);
        assert.deepEqual([...faults], [...first.outcome.faults]);
      });
    });
  }
});

describe("draws of faults", () => {
  it("the severity is mild for some seeds and extreme for others", () => {
    const largest = (seed: number): number => {
      const draw = severity(new Prng(seed), 1, 1_000);
      return Math.max(...Array.from({ length: 50 }, draw));
    };
    const all = Array.from({ length: 100 }, (_, seed) => largest(seed));
    assert.ok(all.every((most) => most >= 1 && most <= 1_000));
    assert.ok(all.some((most) => most < 10));
    assert.ok(all.some((most) => most > 500));
  });

  it("the times of a fault are in order", () => {
    const drawn = times(new Prng(1), quietPlan(1), 20, () => ({}));
    const moments = drawn.map(({ at }) => at);
    assert.deepEqual(
      moments,
      moments.toSorted((a, b) => a - b),
    );
  });

  it("a host that starts after the chaos is not a target", () => {
    assert.deepEqual(hostNames(quietPlan(1)), ["host-1", "host-2", "host-3"]);
  });
});
