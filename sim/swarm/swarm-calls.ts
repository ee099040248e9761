// Draws the calls of a plan to actors without shards, and the odd ways in which actors handle some calls.
import type { Prng } from "../../src/kernel/prng.ts";
import { PLAIN } from "../application.ts";
import type { CallHow, Plan, PlannedCall } from "../plan.ts";

export function drawCalls({ hosts, chaosMs }: Plan, chance: Prng): PlannedCall[] {
  const callers = hosts.filter(({ dedicated }) => !dedicated);
  const types = [...new Set(callers.flatMap((host) => host.types))];
  if (types.length === 0) return [];
  const ids = Array.from({ length: 1 + chance.below(12) }, (_, i) => `actor-${i}`);
  const perSecond = chance.between(1, 12);
  const calls: PlannedCall[] = [];
  const odd = chance.chance(0.5) ? 0.15 : 0;
  const chains = chance.chance(0.3) ? 0.1 : 0;
  const wipes = chance.chance(0.25) ? 0.05 : 0;
  const crowds = chance.chance(0.2) ? 0.1 : 0;
  // In some worlds most actors clear their state: a delete must be fenced like every other write.
  const forgetting = chance.child("forgetting");
  const forgets = forgetting.chance(0.25) ? 0.5 : 0;
  for (let at = chance.exponential(1_000 / perSecond); at < chaosMs; at += chance.exponential(1_000 / perSecond)) {
    const type = chance.pick(types);
    const id = chance.pick(ids);
    // Several callers call one actor at the same moment.
    for (let left = chance.chance(crowds) ? 2 + chance.below(6) : 1; left > 0; left--) {
      const usual =
        type === PLAIN || !chance.chance(0.15 + wipes) ? "append" : chance.chance(wipes * 4) ? "wipe" : "read";
      const method = type !== PLAIN && forgetting.chance(forgets) ? "wipe" : usual;
      calls.push({
        at: Math.floor(at),
        from: chance.pick(callers).name,
        type,
        id,
        method,
        how: chance.chance(odd) ? drawHow(chance) : chance.chance(chains) ? drawChain(chance, types, ids) : {},
        timeoutMs: chance.pick([1_000, 5_000, 10_000]),
      });
    }
  }
  return calls;
}

/** A call out of the ordinary. `more`: ways that only some types have. */
export function drawHow(chance: Prng, more: readonly CallHow[] = []): CallHow {
  const hows: (() => CallHow)[] = [
    () => ({ slowMs: Math.floor(chance.exponential(800)) }),
    () => ({ slowMs: Math.floor(chance.exponential(200)), throws: "late" }),
    () => ({ throws: "early" }),
    () => ({ hangs: true }),
    () => ({ leaves: true }),
    ...more.map((how) => () => how),
    () => ({ slowMs: 500, cancelMs: Math.floor(chance.between(0, 1_000)) }),
  ];
  return chance.pick(hows)();
}

/** Each actor once: two entries of one call in the same ledger could not be distinguished. */
function drawChain(chance: Prng, types: readonly string[], ids: readonly string[]): CallHow {
  const drawn = Array.from({ length: 1 + chance.below(2) }, () => ({ type: chance.pick(types), id: chance.pick(ids) }));
  return { via: [...new Map(drawn.map((one) => [`${one.type}/${one.id}`, one])).values()] };
}
