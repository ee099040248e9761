// Draws the sharded types of a plan from its seed: shards, strategy, hosts and calls. These draws do not
// change any other draw from the seed.
import type { Prng } from "../../src/kernel/prng.ts";
import { CRATES } from "../application.ts";
import type { OddAdvice, OwnStrategyPlan, Plan, PlannedCall, PlannedHost, ShardedPlan } from "../plan.ts";
import { drawHow } from "./swarm-calls.ts";

/** Share of the seeds that have sharded types. */
const SHARDED = 0.35;

export interface DrawnShards {
  readonly plan: Pick<Plan, "hosts" | "sharded">;
  readonly calls: readonly PlannedCall[];
}

export function drawShards({ hosts, chaosMs }: Plan, chance: Prng): DrawnShards | undefined {
  const callers = hosts.filter(({ dedicated }) => !dedicated);
  if (!chance.chance(SHARDED) || callers.length === 0) return undefined;
  const types = chance.chance(0.6) ? CRATES.slice(0, 1) : CRATES;
  const sharded: Record<string, ShardedPlan> = Object.fromEntries(
    types.map((type) => {
      return [type, drawCode(drawRule(chance, chance.child(`lifetime ${type}`)), chance.child(`code ${type}`))];
    }),
  );
  // Some hosts only route to the type.
  const share = chance.chance(0.3) ? 0.5 : 0.9;
  const withTypes = hosts.map((host): PlannedHost => {
    const more = host.dedicated ? [] : types.filter(() => chance.chance(share));
    return { ...host, types: [...host.types, ...more] };
  });
  const hosted = types.filter((type) => withTypes.some((host) => host.types.includes(type)));
  const calls = hosted.length === 0 ? [] : drawCalls(hosted, callers, chaosMs, chance.child("calls"));
  const withRoles = drawRoles(withTypes, sharded, chance.child("roles"));
  return { plan: { hosts: withRoles, sharded }, calls: drawRegions(calls, sharded, chance.child("regions")) };
}

function drawRule(chance: Prng, lifetime: Prng): ShardedPlan {
  const strategy = chance.pick(["least", "least", "hashed", "external"] as const);
  return {
    shards: chance.pick([1, 2, 4, 8, 16, 40]),
    strategy,
    rebalance: Math.floor(chance.between(200, chance.chance(0.5) ? 1_000 : 5_000)),
    handOff: Math.floor(chance.between(100, chance.chance(0.5) ? 1_500 : 8_000)),
    ...(chance.chance(0.5) ? { movesAtOnce: 1 + chance.below(4) } : {}),
    ...(strategy === "least" ? { absoluteLimit: 1 + chance.below(20), relativeLimit: chance.pick([0.1, 0.5, 1]) } : {}),
    ...drawLifetime(lifetime),
  };
}

// ——— Application code.

const ODD: readonly OddAdvice[] = [
  ...(["late", "never", "throws", "gone", "unknown", "elsewhere", "twice", "all", "nonsense"] as const),
];

/** The rule, with application code in place of some of its settings. */
function drawCode(rule: ShardedPlan, chance: Prng): ShardedPlan {
  const [thinking, finding, reading] = [chance.child("strategy"), chance.child("extractor"), chance.child("messages")];
  const isOwn = rule.strategy !== "external" && thinking.chance(0.4);
  // A custom strategy itself decides how many shards move at once.
  const { absoluteLimit: _absolute, relativeLimit: _relative, ...unlimited } = rule;
  return {
    ...(isOwn ? { ...unlimited, strategy: drawStrategy(thinking) } : rule),
    ...(finding.chance(0.25) ? { extractor: drawExtractor(finding) } : {}),
    ...(reading.chance(0.4)
      ? { messages: { gives: reading.pick(["id", "envelope"]), oddly: reading.pick([0, 0, 0.1]) } }
      : {}),
    ...(chance.child("role").chance(0.3) ? { role: ROLE } : {}),
  };
}

function drawStrategy(chance: Prng): OwnStrategyPlan {
  return {
    way: chance.chance(0.7) ? "spread" : "asker",
    thinksMs: Math.floor(chance.pick([0, 5, 50, chance.between(50, 3_000)])),
    restless: chance.chance(0.4),
    oddly: chance.pick([0, 0.05, 0.2, 0.8]),
    odd: chance.shuffle(ODD).slice(0, 1 + chance.below(ODD.length)),
  };
}

function drawExtractor(chance: Prng): NonNullable<ShardedPlan["extractor"]> {
  return {
    by: chance.pick(["number", "group"]),
    oddly: chance.pick([0, 0, 0.1, 0.5]),
    odd: chance.pick(["throws", "wavers"]),
  };
}

const ROLE = "depot";

/** Some hosts of a type lack the role that it requires. At least one host has it. */
function drawRoles(
  hosts: readonly PlannedHost[],
  sharded: Readonly<Record<string, ShardedPlan>>,
  chance: Prng,
): readonly PlannedHost[] {
  const asking = Object.keys(sharded).filter((type) => sharded[type]!.role !== undefined);
  if (asking.length === 0) return hosts;
  const able = hosts.filter(({ types }) => asking.some((type) => types.includes(type)));
  const always = able.length === 0 ? undefined : chance.pick(able);
  return hosts.map((host) => (host === always || chance.chance(0.6) ? { ...host, roles: [ROLE] } : host));
}

/** Sends some of the calls to the type instead of an actor. */
function drawRegions(
  calls: readonly PlannedCall[],
  sharded: Readonly<Record<string, ShardedPlan>>,
  chance: Prng,
): PlannedCall[] {
  const share = chance.chance(0.5) ? 0.3 : 0;
  return calls.map((call) => {
    if (!chance.chance(share)) return call;
    const carries = sharded[call.type]?.messages !== undefined && chance.chance(0.6);
    return { ...call, how: { ...call.how, region: carries ? "carried" : "envelope" } };
  });
}

// ——— Lifetime of actors.

function drawLifetime(chance: Prng): Pick<ShardedPlan, "remember" | "restartAfter" | "startsPerSecond" | "maxActive"> {
  if (chance.chance(0.15)) return { maxActive: 1 + chance.below(6) };
  if (!chance.chance(0.4)) return {};
  const startsPerSecond = chance.chance(0.3) ? { startsPerSecond: 5 + chance.below(10) } : {};
  return { remember: true, restartAfter: Math.floor(chance.between(200, 5_000)), ...startsPerSecond };
}

function drawCalls(
  types: readonly string[],
  callers: readonly PlannedHost[],
  chaosMs: number,
  chance: Prng,
): PlannedCall[] {
  const ids = Array.from({ length: 1 + chance.below(24) }, (_, i) => `box-${i}`);
  const everyMs = 1_000 / chance.between(1, 10);
  const odd = chance.chance(0.5) ? 0.15 : 0;
  const rows = chance.chance(0.5) ? 0.2 : 0;
  const calls: PlannedCall[] = [];
  for (let at = chance.exponential(everyMs); at < chaosMs; at += chance.exponential(everyMs)) {
    const [type, id, from] = [chance.pick(types), chance.pick(ids), chance.pick(callers).name];
    // Some callers make several calls to one actor without waiting for answers. These calls keep their order
    // all the same.
    const count = chance.chance(rows) ? 2 + chance.below(4) : 1;
    for (let i = 0; i < count; i++) {
      const method = chance.chance(0.85) ? "append" : chance.chance(0.8) ? "read" : "wipe";
      const how = chance.chance(odd) ? drawHow(chance, [{ passivates: true }]) : {};
      const timeoutMs = chance.pick([1_000, 5_000, 10_000]);
      calls.push({ at: Math.floor(at), from, type, id, method, how, timeoutMs });
    }
  }
  return calls;
}
