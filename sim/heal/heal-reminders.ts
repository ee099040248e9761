// Reminders after the chaos: overdue reminders are delivered, and new reminders fire in time, each tick once.
import { OPTIONS } from "../../src/config/options.ts";
import type { Duration } from "../../src/kernel/durations.ts";
import { parseDuration } from "../../src/kernel/durations.ts";
import type { StoredReminder } from "../../src/ports/store/reminders.ts";
import { makeCall } from "../callers.ts";
import { isHostOf } from "../checkers/looks.ts";
import { rowsOf } from "../checkers/reminders/reminder-rows.ts";
import type { Operation } from "../observer.ts";
import type { Plan, PlannedReminder } from "../plan.ts";
import type { Stage } from "../stage.ts";

type Until = (ms: number, isDone?: () => boolean) => Promise<void>;

const LOOK_MS = 500;
const PAGE = 100_000;
/** A process polls at least this often, even if the store notifies it of changes. */
const REST_MS = 30_000;
/** Longest time of a delivery in calm times, without the wait for the next poll. */
const LATE_MS = 3_000;
/**
 * An actor has no home while the custom strategy decides, and each tick may have to wait for that decision.
 */
const STRATEGY_MS = 20_000;
/** With less capacity, hanging handlers delay other reminders. */
const ENOUGH = 20;
/** Batches that a process holds at once. */
const ROOM = 4;
/** Slower handlers are left out of the check: their deliveries are cut off. */
const LONGEST_MS = 8_000;

interface Times {
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Reminders that a process delivers and holds at once. */
  readonly room: number;
}

export async function demandReminders(stage: Stage, until: Until): Promise<void> {
  if (stage.plan.reminders === undefined) return;
  const times = timesOf(stage.plan);
  await workedOff(stage, until, times);
  // With capacity for few actors, slow actors cause the host to reject others.
  const isTight = stage.faults.has("memory pressure") || times.room < ENOUGH;
  if (stage.violations.length === 0 && !isTight) await inTime(stage, until, times);
}

function timesOf({ settings }: Plan): Times {
  const { lease, pollInterval, concurrency, batchSize } =
    typeof settings.reminders === "object" ? settings.reminders : {};
  return {
    leaseMs: parseDuration(lease ?? (OPTIONS.reminderLease.default as Duration), "lease"),
    pollMs: parseDuration(pollInterval ?? (OPTIONS.reminderPollInterval.default as Duration), "pollInterval"),
    room: Math.min(
      concurrency ?? Number(OPTIONS.reminderConcurrency.default),
      ROOM * (batchSize ?? Number(OPTIONS.reminderBatchSize.default)),
    ),
  };
}

const namespacesOf = ({ plan }: Stage): Set<string> => new Set(plan.hosts.map(({ namespace }) => namespace));

/** True if a host of the namespace can handle reminders of the type. */
const isHosted = (stage: Stage, namespace: string, type: string): boolean =>
  type.startsWith("$") ||
  stage.players.some((player) => player.planned.namespace === namespace && isHostOf(stage.plan, player, type));

/** Every overdue reminder has been attempted, or is gone, within a bound. */
async function workedOff(stage: Stage, until: Until, { leaseMs, pollMs }: Times): Promise<void> {
  const { database } = stage.world;
  const store = database.truth.reminders;
  const overdue: StoredReminder[] = [];
  for (const namespace of namespacesOf(stage)) {
    const all = await store.list({ namespace, limit: PAGE });
    overdue.push(...all.filter(({ tick, key }) => tick.at < database.now && isHosted(stage, namespace, key.type)));
  }
  const deadline = stage.now + stage.boundMs + leaseMs + Math.max(pollMs, REST_MS);
  let left = overdue;
  while (left.length > 0 && stage.now < deadline) {
    await until(stage.now + LOOK_MS);
    const now = await Promise.all(left.map(({ key }) => store.get(key)));
    left = left.filter(({ generation, tick }, i) => now[i]?.generation === generation && now[i].tick.at === tick.at);
  }
  for (const { key, tick } of left) {
    const what = `${key.type}/${key.id} ${key.name} of ${key.namespace}, tick ${tick.number}.${tick.attempt}`;
    stage.violation("progress", `${what}, is still overdue after healing`);
  }
}

interface Probe {
  readonly op: string;
  readonly ticks: number;
  /** Latest time of the last tick. */
  readonly until: number;
}

/** Reminders that are set in calm times fire in time, and each tick once. */
async function inTime(stage: Stage, until: Until, { leaseMs, pollMs }: Times): Promise<void> {
  const asked: Promise<Operation | undefined>[] = [];
  const probes: Probe[] = [];
  let number = 0;
  const probe = (from: string, type: string, outside: boolean, remind: PlannedReminder, lastMs: number): void => {
    const name = `timely-${++number}`;
    const { planned } = stage.player(from);
    const how = { remind, ...(outside ? { outside } : {}) };
    const call = { at: stage.now, from, type, id: name, method: "remind", how, timeoutMs: 25_000 };
    asked.push(makeCall(stage, call, name));
    const { times: ticks = 1 } = remind.when;
    const lateMs = typeof stage.plan.sharded?.[type]?.strategy === "object" ? LATE_MS + STRATEGY_MS : LATE_MS;
    probes.push({ op: `${planned.namespace}:${name}`, ticks, until: stage.now + lastMs + pollMs + lateMs });
  };
  const slowMs = Math.ceil(leaseMs * 1.4);
  for (const { planned } of stage.players) {
    const { name: from, namespace, dedicated } = planned;
    // A type with a limit of actors per host may reject some of them.
    const hasRoom = (type: string): boolean => stage.plan.sticky?.[type]?.limit === undefined;
    const types = new Set(
      stage.players
        .flatMap((player) => player.types)
        .filter((type) => isHosted(stage, namespace, type) && hasRoom(type)),
    );
    for (const type of dedicated ? [] : types) {
      probe(from, type, true, { name: "once", when: { due: 400 }, how: { writes: true } }, 400);
      const often = { every: 700, times: 3, missed: "all" } as const;
      probe(from, type, false, { name: "often", when: often, how: { writes: true } }, 2_100);
      // A handler that takes longer than the hand-off of its shard is cut off and retried.
      const handOffMs = stage.plan.sharded?.[type]?.handOff ?? LONGEST_MS;
      if (slowMs < Math.min(LONGEST_MS, handOffMs))
        probe(from, type, true, { name: "slow", when: { due: 0 }, how: { slowMs } }, slowMs);
    }
  }
  const rows = rowsOf(stage);
  const isOver = ({ op, ticks }: Probe): boolean => rows.runsOf({ op }).filter(({ isDone }) => isDone).length >= ticks;
  await until(Math.max(...probes.map((one) => one.until), stage.now), () => probes.every(isOver));
  // Long enough for a second delivery of a slow tick.
  await until(stage.now + LATE_MS);
  for (const operation of await Promise.all(asked)) {
    const { outcome, token } = operation ?? {};
    if (outcome === undefined || "error" in outcome) {
      stage.violation(
        "progress",
        `${token} could not set a reminder after healing: ${(outcome as { error?: unknown })?.error}`,
      );
    }
  }
  for (const { op, ticks } of probes) {
    const handled = rows.runsOf({ op }).length;
    if (handled < ticks) stage.violation("in time", `${handled} of ${ticks} ticks of ${op} came in time after healing`);
    if (handled > ticks)
      stage.violation("in time", `${op} was handled ${handled} times after healing, and ticks ${ticks} times`);
  }
}
