// Explains the state of a run, its waits and their causes, from the rows of the store. Pure.

import { formatDuration, isoMoment } from "../../kernel/durations.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { StoredRun, StoredTask } from "../../ports/store/workflows.ts";
import type { AwaitedThing, WorkerSummary } from "../../ports/workflow-admin.ts";
import { mayContinue, readPin, type WorkerCode } from "../definition/pins.ts";
import { isParkedByLosses } from "../worker/lost-attempts.ts";
import { isParked } from "./history-budget.ts";
import { type PendingStep, storedErrorText } from "./timeline.ts";

/** A task that waits for longer than this without a worker is stuck. A claim takes a moment. */
export const STUCK_MS = 10_000;
/** Waits that one sentence lists. */
const LISTED = 3;
/** Characters of a fingerprint that are displayed. */
const SHOWN = 12;

/** The queue entry of an activity. */
export interface QueuedPlace {
  readonly at: number;
  readonly attempts: number;
  readonly leasedUntil: number | undefined;
}

export interface RunFacts {
  readonly run: StoredRun;
  readonly now: number;
  readonly pending: readonly PendingStep[];
  /**
   * Queued activities by number. An activity without an entry is done, and its result is on its way to the
   * run.
   */
  readonly queued: ReadonlyMap<number, QueuedPlace>;
  /** Further waits of the code; undefined: the code is not in this process. */
  readonly code: readonly string[] | undefined;
  readonly workers: readonly WorkerSummary[];
}

const NOTHING = { since: undefined, due: undefined, failures: 0, error: undefined, why: undefined, isStuck: false };

export function awaitedBy(facts: RunFacts): AwaitedThing[] {
  const { run, pending, code = [] } = facts;
  if (run.status !== "running") return [];
  const forWorker = isUnclaimed(run.task, facts.now) ? [awaitedWorker(facts)] : [];
  const known = pending.map((step) => awaitedStep(step, facts));
  const fromCode = code
    .filter((what) => what === "condition" || what.startsWith("signal "))
    .map((what): AwaitedThing => {
      const isSignal = what !== "condition";
      return {
        ...NOTHING,
        kind: isSignal ? "signal" : "condition",
        what: isSignal ? what.slice("signal ".length) : "",
      };
    });
  return [...forWorker, ...known, ...fromCode];
}

const isUnclaimed = (task: StoredTask | undefined, now: number): boolean =>
  task !== undefined && (task.state === "ready" ? (task.at ?? 0) <= now : task.state === "leased" && isLost(task, now));

const hasUnreadMessages = (task: StoredTask | undefined): boolean => task !== undefined && task.arrived > task.taken;

const isLost = ({ at }: StoredTask, now: number): boolean => at !== undefined && at < now;

function awaitedStep(step: PendingStep, facts: RunFacts): AwaitedThing {
  const { kind, what, at: since, due, failures, error } = step;
  const thing = { kind, what, since, due, failures, error, why: undefined, isStuck: false };
  if (kind === "activity" && step.isQueued) return { ...thing, ...queuedActivity(step, facts) };
  if (kind === "activity" || kind === "actor") return { ...thing, why: holderText(facts) };
  const isLate = kind === "timer" && due !== undefined && facts.now - due > STUCK_MS;
  if (!isLate) return thing;
  // The timer may be in the inbox already; the entry of the task explains the delay.
  if (hasUnreadMessages(facts.run.task)) return { ...thing, why: "it has fired, and the run has not handled it yet" };
  return { ...thing, why: "it is overdue: no process delivers timers", isStuck: true };
}

function holderText({ run: { task }, now }: RunFacts): string {
  if (task?.state === "leased" && !isLost(task, now)) return `worker ${task.worker} has it`;
  return "its worker is gone; the next worker of the run repeats it";
}

function queuedActivity(step: PendingStep, { run, queued, now, workers }: RunFacts): Partial<AwaitedThing> {
  const place = step.n === undefined ? undefined : queued.get(step.n);
  if (place === undefined) return { due: undefined, why: "it is done, and the run gets its result next" };
  const { at, attempts, leasedUntil } = place;
  const failures = Math.max(step.failures, attempts);
  if (leasedUntil !== undefined && leasedUntil > now) return { failures, due: undefined, why: "a worker has it" };
  if (at > now) return { failures, due: at, why: "it is tried again after a pause" };
  const queue = step.queue ?? run.queue;
  if (now - at <= STUCK_MS) return { failures, due: undefined, why: `it waits in queue ${queue} for a worker` };
  const isThere = workers.some((each) => each.isLive && each.queue === queue);
  const why = isThere
    ? `no worker claims it from queue ${queue}: the workers there have no such activity, or are behind`
    : `no worker claims it from queue ${queue}: no live worker is there`;
  return { failures, due: undefined, why, isStuck: true };
}

function awaitedWorker(facts: RunFacts): AwaitedThing {
  const { run, now } = facts;
  const { why, isStuck } = whyNoWorker(facts);
  const at = run.task?.at;
  const what = `${run.type} in queue ${run.queue}`;
  return { ...NOTHING, kind: "worker", what, since: at, why, isStuck: isStuck && now - (at ?? now) > STUCK_MS };
}

function whyNoWorker({ run, workers, now }: RunFacts): { readonly why: string; readonly isStuck: boolean } {
  const { type, queue, stickyWorker, stickyUntil } = run;
  const pin = readPin(run.pinned);
  const live = workers.filter(({ isLive, isDraining }) => isLive && !isDraining);
  const withType = live.filter(({ types }) => types.includes(type));
  const there = withType.filter((each) => each.queue === queue);
  const fitting = there.filter((each) => mayContinue(pin, type, codeOfSummary(each)));
  const owner = live.find(({ worker }) => worker === stickyWorker);
  if (fitting.length > 0 && owner !== undefined && stickyUntil !== undefined && stickyUntil > now) {
    const left = formatDuration(stickyUntil - now);
    return {
      why: `it is kept for worker ${owner.worker}, which has it in memory, for another ${left}`,
      isStuck: false,
    };
  }
  if (fitting.length > 0) return { why: `${fitting.length} of its workers are there, and busy`, isStuck: false };
  if (there.length > 0) {
    const { build } = pin;
    const ofBuild = there.filter((each) => mayContinue({ build, definition: undefined }, type, codeOfSummary(each)));
    if (ofBuild.length > 0) return { why: otherDefinitions(pin.definition!), isStuck: true };
    const builds = [...new Set(there.map((each) => each.build || "none"))].join(", ");
    return { why: `it is pinned to build ${build}, and its workers are of build ${builds}`, isStuck: true };
  }
  if (withType.length > 0) {
    const queues = [...new Set(withType.map((each) => each.queue))].join(", ");
    return { why: `no live worker of queue ${queue} has ${type}; those of queue ${queues} do`, isStuck: true };
  }
  const guess = didYouMean(type, new Set(live.flatMap(({ types }) => types)), String);
  return { why: `no live worker has a workflow ${type}${guess}`, isStuck: true };
}

function otherDefinitions(definition: string): string {
  const begun = definition.length > SHOWN ? `${definition.slice(0, SHOWN)}…` : definition;
  return `it is pinned to definition ${begun}, and its workers have others; start one with the code that it was begun with, or end it`;
}

/** Older hosts leave out these fields. */
export const codeOfSummary = ({ build, compatible = [], definitions = {} }: WorkerSummary): WorkerCode => ({
  build,
  compatible,
  definitions,
});

// ——— Summary in one sentence.

export function summaryOf(facts: RunFacts, waitsFor: readonly AwaitedThing[]): string {
  const { run, now } = facts;
  const name = `${run.type} ${run.workflowId}`;
  if (run.status !== "running") return `${name} ${endText(run)}`;
  const { task } = run;
  if (task === undefined) return `${name} is running`;
  const isWorkedOn = task.state === "leased" && !isLost(task, now);
  if (task.problem !== undefined && !isWorkedOn) {
    const pause = task.at !== undefined && task.at > now ? `in ${formatDuration(task.at - now)}` : "now";
    const tries = task.attempt === 1 ? "once" : `${task.attempt} times`;
    if (isParked(task.problem))
      return `${name} is parked: its history has no room for more; it is tried again ${pause}`;
    if (isParkedByLosses(task.problem)) {
      return `${name} is parked: ${task.lost} attempts in a row ended with their process; it continues after a wake`;
    }
    return `${name} is blocked: its code could not go on, tried ${tries}, and it is tried again ${pause}`;
  }
  if (isWorkedOn) return `${name} is worked on by ${task.worker}${withSteps(waitsFor)}`;
  if (task.state === "ready" && task.at !== undefined && task.at > now) {
    return `${name} ${run.events === 1 ? "begins" : "goes on"} in ${formatDuration(task.at - now)}`;
  }
  const [first] = waitsFor;
  if (first?.kind === "worker") return `${name} waits for a worker: ${first.why}`;
  if (waitsFor.length === 0) {
    const unknown = facts.code === undefined ? ", which its code knows, and no worker of it was asked" : "";
    return `${name} waits for a signal, an update or a condition${unknown}`;
  }
  return `${name} waits for ${listed(waitsFor)}`;
}

const withSteps = (waitsFor: readonly AwaitedThing[]): string =>
  waitsFor.length === 0 ? "" : `, and waits for ${listed(waitsFor)}`;

function listed(things: readonly AwaitedThing[]): string {
  const words = things.slice(0, LISTED).map(wordsOf);
  const more = things.length - words.length;
  if (more > 0) words.push(`${more} more`);
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

export function wordsOf({ kind, what, due }: Pick<AwaitedThing, "kind" | "what" | "due">): string {
  switch (kind) {
    case "timer":
      return due === undefined ? "a timer" : `a timer at ${isoMoment(due)}`;
    case "condition":
      return "a condition";
    case "wait":
      return what;
    case "worker":
      return `a worker for ${what}`;
    case "actor":
      return `a call of ${what}`;
    case "child":
      return `child workflow ${what}`;
    default:
      return `${kind} ${what}`;
  }
}

function endText({ status, startedAt, closedAt, result }: StoredRun): string {
  const took = closedAt === undefined ? "" : ` after ${formatDuration(Math.max(0, closedAt - startedAt))}`;
  const { error } = JSON.parse(result ?? "{}") as { error?: unknown };
  const why = error === undefined ? "" : `: ${storedErrorText(error).split("\n")[0]}`;
  const words = status === "continued" ? "continued as a new run" : status;
  const is = status === "cancelled" || status === "terminated" ? "was " : "";
  return `${is}${words}${took}${why}`;
}
