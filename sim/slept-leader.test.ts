// Plays small clusters with processes that hang for longer than a lease, also all at once. The swarm rarely
// draws such plans: a process that leads and hosts wakes up, and maybe no other scheduler has led meanwhile.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Prng } from "../src/kernel/prng.ts";
import { withoutHost } from "./command/without-host.ts";
import type { Plan, PlannedFault } from "./plan.ts";
import { run } from "./run.ts";
import { drawPlan } from "./swarm/swarm.ts";

/** The last five find the bug slept-leader-trusts-its-old-term. */
const SEEDS = [
  ...[131_500_000, 131_500_001, 131_500_002],
  ...[131_500_016, 131_500_099, 131_500_175, 131_500_180, 131_500_187],
];
const PAUSES = 4;

/** The drawn plan with one to three hosts, and long pauses instead of its faults. */
function smallPlan(seed: number): Plan {
  const chance = new Prng(`slept leader ${seed}`);
  let plan = drawPlan(seed);
  while (plan.hosts.length > 1 + (seed % 3)) {
    const dispensable = plan.hosts.find(({ dedicated, types }) => dedicated || types.length === 0);
    plan = withoutHost(plan, (dispensable ?? plan.hosts.at(-1)!).name);
  }
  const { hosts, chaosMs } = plan;
  const pause = (): number => chance.between(4_000, 16_000);
  const faults = Array.from({ length: PAUSES }, (): PlannedFault => {
    const at = Math.floor(chance.between(1_000, chaosMs));
    if (chance.chance(0.5)) return { at, fault: "paused together", ms: hosts.map(pause) };
    return { at, fault: "pause", host: chance.pick(hosts).name, ms: pause() };
  });
  return { ...plan, faults: faults.sort((a, b) => a.at - b.at) };
}

describe("processes that hang for longer than a lease", () => {
  it(`a small cluster keeps its promises in ${SEEDS.length} plans, and hosts that slept with their leader keep their leases`, async () => {
    const marks = new Set<string>();
    for (const seed of SEEDS) {
      const outcome = await run(smallPlan(seed));
      for (const mark of outcome.reached) marks.add(mark);
      assert.deepEqual(outcome.violations, [], `seed ${seed}`);
    }
    assert.ok(marks.has("lease kept after a sleep"));
    assert.ok(marks.has("lease lost"));
  });
});
