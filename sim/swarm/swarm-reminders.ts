// Draws the reminders of a plan from its seed: their callers, their ticks, and the behaviour of their
// handlers. These draws do not change any other draw from the seed.
import type { ReminderProcessing } from "../../src/config/limpet-settings.ts";
import type { Prng } from "../../src/kernel/prng.ts";
import type { Plan, PlannedCall, PlannedReminder, ReminderPlan, RemindHow } from "../plan.ts";

/** Share of the seeds that have reminders. */
const REMINDERS = 0.35;
const MISSED = ["once", "all", "skip"] as const;

export interface DrawnReminders {
  readonly plan: { readonly reminders: ReminderPlan };
  readonly settings: { readonly reminders: ReminderProcessing };
  readonly calls: readonly PlannedCall[];
}

export function drawReminders({ hosts, calls, chaosMs, sticky }: Plan, chance: Prng): DrawnReminders | undefined {
  const callers = hosts.filter(({ dedicated }) => !dedicated);
  const types = [...new Set(callers.flatMap((host) => host.types))];
  if (!chance.chance(REMINDERS) || types.length === 0) return undefined;
  // Some actors that other calls use, and some that only reminders use.
  const actors = Array.from({ length: 1 + chance.below(6) }, (_, i) => {
    const known = calls.length > 0 && chance.chance(0.5) ? chance.pick(calls) : undefined;
    return { type: known?.type ?? chance.pick(types), id: known?.id ?? `bell-${i}` };
  });
  const names = Array.from({ length: 1 + chance.below(4) }, (_, i) => `r${i}`);
  const draw = { chance, names, odd: chance.chance(0.6) ? 0.4 : 0.05, far: chance.chance(0.5) ? 40_000 : 4_000 };
  const everyMs = chance.between(300, 4_000);
  const drawn: PlannedCall[] = [];
  for (let at = chance.exponential(everyMs); at < chaosMs; at += chance.exponential(everyMs)) {
    const { type, id } = chance.pick(actors);
    const outside = chance.chance(0.4);
    const isTight = sticky?.[type]?.limit !== undefined;
    const what = chance.chance(0.2) ? { forget: chance.pick(names) } : { remind: drawReminder(draw, isTight) };
    const how = {
      ...what,
      ...(outside ? { outside } : {}),
      ...(!outside && chance.chance(0.1) ? drawTurn(chance) : {}),
    };
    const from = chance.pick(callers).name;
    // The store alone measures the time of a change without a turn, so the client waits longer.
    drawn.push({ at: Math.floor(at), from, type, id, method: "remind", how, timeoutMs: outside ? 25_000 : 10_000 });
  }
  const every = Math.floor(chance.between(300, 8_000));
  const job = { every, missed: chance.pick(MISSED), slowMs: Math.floor(chance.exponential(200)) };
  const plan = { reminders: { notifies: chance.chance(0.5), ...(chance.chance(0.4) ? { job } : {}) } };
  return { plan, settings: { reminders: drawSettings(chance) }, calls: drawn };
}

/** A turn that throws, or is slow. */
const drawTurn = (chance: Prng): { slowMs?: number; throws?: "late" } =>
  chance.chance(0.5) ? { throws: "late" } : { slowMs: Math.floor(chance.exponential(500)) };

function drawSettings(chance: Prng): ReminderProcessing {
  if (chance.chance(0.25)) return {};
  const lease = Math.floor(chance.between(1_500, chance.chance(0.5) ? 8_000 : 60_000));
  const fetchAhead = Math.floor(chance.between(100, lease / 3));
  return {
    lease,
    fetchAhead,
    pollInterval: Math.floor(chance.between(50, fetchAhead)),
    batchSize: chance.pick([1, 5, 10, 500]),
    concurrency: chance.pick([1, 3, 20, 1_000]),
    direct: chance.chance(0.7),
  };
}

interface Draw {
  readonly chance: Prng;
  readonly names: readonly string[];
  /** Share of faulty handlers. */
  readonly odd: number;
  /** Most distant first tick, in milliseconds. */
  readonly far: number;
}

/** `isTight`: there is capacity for few actors, so that a slow one keeps all others out. */
function drawReminder({ chance, names, odd, far }: Draw, isTight: boolean): PlannedReminder {
  const due = chance.chance(0.2) ? 0 : Math.floor(chance.between(0, far));
  const every = Math.floor(chance.between(100, far / 2));
  const times = 1 + chance.below(12);
  const missed = chance.pick(MISSED);
  const kinds: (() => PlannedReminder["when"])[] = [
    () => ({ due }),
    () => ({ due }),
    () => ({ every, times, missed }),
    () => ({ due, every, times, missed }),
    () => ({ every, missed }),
    () => ({ due, every, ttl: due + every * times - Math.floor(every / 2), missed }),
  ];
  const attempts = 1 + chance.below(4);
  const pause = Math.floor(chance.between(0, 2_000));
  const giveUp = chance.chance(0.5) ? "keep" : "drop";
  const { slowMs, hangs, ...quick } = chance.chance(odd) ? drawHow(chance, names) : {};
  const how = isTight ? quick : { ...quick, ...(slowMs === undefined ? {} : { slowMs }), ...(hangs ? { hangs } : {}) };
  return {
    name: chance.pick(names),
    when: chance.pick(kinds)(),
    ...(chance.chance(0.5) ? { onFailure: { attempts, pause, giveUp } as const } : {}),
    how: { ...(chance.chance(0.5) ? { writes: true } : {}), ...how },
  };
}

function drawHow(chance: Prng, names: readonly string[]): RemindHow {
  const hows: (() => RemindHow)[] = [
    () => ({ slowMs: Math.floor(chance.exponential(800)) }),
    () => ({ slowMs: Math.floor(chance.between(1_000, 12_000)) }),
    () => ({ fails: 1 + chance.below(2) }),
    () => ({ fails: 1_000 }),
    () => ({ hangs: true }),
    () => ({ sets: { name: chance.pick(names), due: Math.floor(chance.exponential(2_000)) }, fails: chance.below(2) }),
    () => ({ cancels: chance.pick(names), slowMs: Math.floor(chance.exponential(100)) }),
  ];
  return chance.pick(hows)();
}
