// Explains why an actor waits: describes the state of an activation in words. It only reads.
import { formatDuration } from "../../kernel/durations.ts";
import type { Explanation } from "../../ports/host-admin.ts";
import type { StoredActor } from "../../ports/store/store.ts";
import type { Activation } from "../activation/activation.ts";
import type { Turn } from "../activation/turn.ts";

/** `now` is monotonic, `wall` the same moment for display. */
export function explain(
  type: string,
  id: string,
  activation: Activation | undefined,
  stored: StoredActor | undefined,
  now: number,
  wall: number,
): Explanation {
  const when = (monotonic: number): number => Math.round(wall - (now - monotonic));
  const phase = phaseOf(activation);
  const running = activation === undefined ? [] : [...turnsOf(activation)].map((turn) => describeTurn(turn, now));
  const queued = [...(activation?.queued ?? [])].map(({ method, queuedAt }) => ({ method, forMs: now - queuedAt }));
  const active = phase === "idle" || phase === "running" || phase === "deactivating" ? activation : undefined;
  const explanation = {
    type,
    id,
    phase,
    activeSince: active && when(active.activeSince),
    lastUsed: active && active.lastUsed > 0 ? when(active.lastUsed) : undefined,
    running,
    queued,
    timers: activation?.life?.timerNames ?? [],
    stored: stored && {
      epoch: stored.epoch,
      version: stored.version,
      bytes: stored.bytes,
      owner: stored.owner,
      committedAt: stored.committedAt,
    },
  };
  const fenced = `another process has taken ${type}/${id}; this one stands back for a moment before it takes it back`;
  return { ...explanation, summary: activation?.phase === "fenced" ? fenced : summarise(explanation, wall) };
}

function phaseOf(activation: Activation | undefined): Explanation["phase"] {
  switch (activation?.phase) {
    case undefined:
    case "cold":
      return "not active";
    case "active":
      return activation!.running === undefined ? "idle" : "running";
    case "fenced":
      return "activating";
    case "activating":
    case "deactivating":
      return activation!.phase as "activating" | "deactivating";
  }
}

/** Outermost first. */
function turnsOf(activation: Activation): Turn[] {
  const turns: Turn[] = [];
  for (let turn = activation.running; turn !== undefined; turn = turn.outer) turns.unshift(turn);
  return turns;
}

function describeTurn(turn: Turn, now: number): Explanation["running"][number] {
  const calls = [...(turn.pending ?? [])].map((call) => call.label);
  let waitsFor = "its own code";
  if (turn.phase === "committing") waitsFor = "the store to commit it";
  else if (calls.length > 0) waitsFor = calls.join(", ");
  return { method: turn.method, forMs: now - turn.startedAt, waitsFor };
}

function summarise(it: Omit<Explanation, "summary">, wall: number): string {
  const name = `${it.type}/${it.id}`;
  const behind = it.queued.length === 0 ? "" : `; ${it.queued.length} more wait behind it`;
  const turn = it.running.at(-1);
  switch (it.phase) {
    case "not active":
      return it.stored === undefined
        ? `${name} is not in memory and has never been stored; the first call creates it`
        : `${name} is not in memory; the next call brings it back from the store`;
    case "activating":
      return turn === undefined
        ? `${name} is being read from the store; ${it.queued.length} calls wait for it`
        : `${name} is being activated: ${turn.method} has run for ${formatDuration(turn.forMs)}; ${it.queued.length} calls wait`;
    case "deactivating":
      return `${name} is leaving memory; calls that come now reach its next activation`;
    case "running":
      return `${name} has been running ${turn!.method} for ${formatDuration(turn!.forMs)}, waiting for ${turn!.waitsFor}${behind}`;
    case "idle":
      return `${name} is in memory and idle since ${formatDuration(wall - (it.lastUsed ?? it.activeSince ?? wall))}`;
  }
}
