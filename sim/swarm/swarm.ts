// Draws a plan from a seed: hosts, calls, and the kinds of faults. Every seed turns most faults off, because
// faults hide each other. In a world where everything fails all the time, no run gets far enough to fail in a
// new way.
import { Prng } from "../../src/kernel/prng.ts";
import { CALL_TIMEOUT_MS, LEDGERS, PLAIN } from "../application.ts";
import { FAULTS } from "../faults/all.ts";
import { herd } from "../faults/control-plane.ts";
import type { Fault } from "../faults/fault.ts";
import type { Plan, PlannedHost, StickyRule } from "../plan.ts";
import { drawCalls } from "./swarm-calls.ts";
import { drawReminders } from "./swarm-reminders.ts";
import { drawShards } from "./swarm-shards.ts";
import { drawWorkflows } from "./swarm-workflows.ts";

/** Probability that a kind of fault is on. */
const FEWEST_ON = 0.02;
const MOST_ON = 0.4;
/** Share of the seeds with the fault "herd" that really have one: it is expensive. */
const HERDS = 0.15;
const HERD = 50;
/** Share of the seeds that have sticky types. */
const STICKY = 0.4;
const SHORTEST_CHAOS_MS = 20_000;
const LONGEST_CHAOS_MS = 90_000;

export function drawPlan(seed: number): Plan {
  const chance = new Prng(`swarm ${seed}`);
  // Mostly few kinds, sometimes many: each further kind leaves less time for the others.
  const on = FEWEST_ON * (MOST_ON / FEWEST_ON) ** chance.number();
  // The draws of a kind do not depend on the presence of other kinds.
  const isOn = ({ name }: Fault): boolean => chance.child(`on ${name}`).chance(on);
  const shape = drawShape(seed, chance.child("shape"));
  const waiting = isOn(herd) && chance.child("herd").chance(HERDS) ? drawHerd(shape) : [];
  const crates = drawShards({ ...shape, hosts: [...shape.hosts, ...waiting] }, chance.child("shards"));
  const hosts = crates?.plan.hosts ?? [...shape.hosts, ...waiting];
  const calls = drawCalls(shape, chance.child("calls"));
  const drawn = drawReminders({ ...shape, calls }, chance.child("reminders"));
  const flows = drawWorkflows({ ...shape, calls }, chance.child("workflows"));
  const settings = { ...shape.settings, ...drawn?.settings, ...flows?.settings };
  const plan = { ...shape, ...crates?.plan, hosts, calls, ...drawn?.plan, ...flows?.plan, settings };
  const faults = FAULTS.filter(isOn).flatMap((fault) => fault.draw(chance.child(fault.name), plan));
  // Faults that pick from the calls pick the same ones with and without reminders, workflows and shards.
  return {
    ...plan,
    calls: [...calls, ...(drawn?.calls ?? []), ...(flows?.calls ?? []), ...(crates?.calls ?? [])],
    faults: faults.sort((a, b) => a.at - b.at),
  };
}

/** Hosts that start only by a fault or at the start of healing. */
function drawHerd({ hosts, chaosMs }: Plan): PlannedHost[] {
  const types = [...new Set(hosts.flatMap((host) => host.types))];
  return Array.from({ length: HERD }, (_, i) => {
    const name = `herd-${i + 1}`;
    const here = { name, machine: name, namespace: "default", types, startsAt: chaosMs };
    return { ...here, dedicated: false, watches: false, clock: {} };
  });
}

function drawShape(seed: number, chance: Prng): Plan {
  const namespaces = chance.chance(0.2) ? ["default", "other"] : ["default"];
  const types = [
    ...chance.shuffle(LEDGERS).slice(0, 1 + chance.below(LEDGERS.length)),
    ...(chance.chance(0.4) ? [PLAIN] : []),
  ];
  const dedicated = chance.chance(0.25) ? 1 + chance.below(2) : 0;
  const count = 2 + chance.below(5);
  const machines = chance.chance(0.3) ? 2 : Number.POSITIVE_INFINITY;
  const clocks = chance.chance(0.3);
  const together = chance.chance(0.5);
  const hosts: PlannedHost[] = [];
  for (let i = 0; i < count + dedicated; i++) {
    const isDedicated = i < dedicated;
    hosts.push({
      name: isDedicated ? `sched-${i + 1}` : `host-${i - dedicated + 1}`,
      machine: `machine-${i % machines}`,
      namespace: isDedicated ? "default" : namespaces[i % namespaces.length]!,
      types: isDedicated || chance.chance(0.1) ? [] : types.filter(() => chance.chance(0.85)),
      dedicated: isDedicated,
      watches: dedicated > 0 && !isDedicated && chance.chance(0.7),
      clock: clocks ? { rate: chance.between(0.995, 1.005), offsetMs: chance.between(-5_000, 5_000) } : {},
      // Not later than the chaos: the end of the run stops all hosts and expects no further start.
      startsAt: Math.min(SHORTEST_CHAOS_MS - 1, Math.floor(chance.exponential(together ? 100 : 5_000))),
    });
  }
  const sticky = drawSticky(types, chance.child("sticky"));
  const quick = chance.chance(0.3);
  return {
    seed,
    hosts,
    settings: {
      idleTimeout: Math.floor(chance.between(2_000, 60_000)),
      callTimeout: CALL_TIMEOUT_MS,
      // With a short store timeout, callers get unknown outcomes.
      ...(chance.chance(0.25) ? { storeTimeout: "1500ms" } : {}),
      ...(chance.chance(0.15) ? { mailboxLimit: 2 } : {}),
      cluster: {
        replicationFactor: 10,
        ...(quick ? { lease: "4s", leaderLease: "1500ms", roundTimeout: "3s" } : {}),
        failover: chance.chance(0.6) ? "auto" : "lease",
      },
    },
    ...(sticky === undefined ? {} : { sticky, ...drawChunk(chance.child("sticky chunk")) }),
    latency: chance.chance(0.7) ? { leastMs: 0.2, moreMs: 0.5 } : { leastMs: 1, moreMs: chance.between(5, 60) },
    chaosMs: Math.floor(chance.between(SHORTEST_CHAOS_MS, LONGEST_CHAOS_MS)),
    calls: [],
    faults: [],
  };
}

const drawChunk = (chance: Prng): Pick<Plan, "stickyChunk"> =>
  chance.chance(0.4) ? { stickyChunk: 1 + chance.below(2) } : {};

function drawSticky(types: readonly string[], chance: Prng): Plan["sticky"] {
  if (!chance.chance(STICKY)) return undefined;
  const some = types.filter(() => chance.chance(0.7));
  const rule = (): StickyRule => ({
    lost: chance.pick(["reassign", "reassign", "never", { after: Math.floor(chance.between(100, 30_000)) }] as const),
    ...(chance.chance(0.2) ? { limit: 1 + chance.below(3) } : {}),
  });
  return Object.fromEntries(some.map((type) => [type, rule()]));
}
