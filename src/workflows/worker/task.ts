// Completes one task of a run: moves inbox messages into the history, lets the code continue, and writes its
// commands step by step, each step in one transaction. While eager activities of the run are running, the
// task stays here, and their results are further steps.
import { backoffMs } from "../../kernel/backoff.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { serializeError } from "../../kernel/serialized-error.ts";
import { readWire, toWire } from "../../kernel/values.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type {
  CompletionOutcome,
  EventBatch,
  StoredInboxMessage,
  TaskCompletion,
  TaskOutcome,
  Workflows,
} from "../../ports/store/workflows.ts";
import { isEager, runEagerly, takenOver } from "../activities/eager.ts";
import type { ActivityRunner } from "../activities/runner.ts";
import { readMessage, type Sent } from "../definition/messages.ts";
import {
  type CommandEvent,
  type ExternalEvent,
  type HistoryEvent,
  isCommandEvent,
  type RunEndEvent,
  type Started,
  type Step,
  writeEventBatch,
} from "../engine/events.ts";
import { isMeant } from "../engine/family.ts";
import { checkLength, type HistoryLimit } from "../engine/history-budget.ts";
import { checkPayload, keptError } from "../engine/payload-limits.ts";
import { keyOf } from "../inbox/inbox-messages.ts";
import type { CommandDispatcher } from "./command-dispatcher.ts";
import { CompletionBuilder, closeBy, closeWith } from "./completion.ts";
import type { Item, LoadedRun } from "./loaded-run.ts";

export interface TaskDeps {
  readonly clock: Clock;
  readonly store: Workflows;
  readonly dispatcher: CommandDispatcher;
  readonly activities: ActivityRunner;
  readonly queue: string;
  readonly leaseMs: number;
  readonly historyLimit: HistoryLimit;
  /** The store's clock. */
  now(): number;
  /** The worker begins no new activities. */
  isDraining(): boolean;
  /** The affinity that a resting run gets; undefined: the worker is not sticky, or claims no more. */
  affinity(): TaskCompletion["affinity"];
  callActor(type: string, id: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /**
   * In tests: throws when a replay of the history with these events fails or reaches another state. The first
   * test that runs non-deterministic code fails.
   */
  readonly check?: (run: LoadedRun, step: Step) => Promise<void>;
  /** Called after the write is durable. */
  written(completion: TaskCompletion, outcome: Extract<CompletionOutcome, { kind: "done" }>, runId: string): void;
}

/** Inbox messages in one step. */
const STEP = 500;
/** Pauses between attempts to call an actor that is unreachable. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/** `rests`: the run waits for events. `lost`: another worker has the task. */
export type TaskEnd = "rests" | "closed" | "lost";

export async function workOn(run: LoadedRun, delivered: number, deps: TaskDeps): Promise<TaskEnd> {
  resume(run, deps);
  for (let known = delivered; ; ) {
    if (run.execution.broken !== undefined) throw run.execution.broken;
    const step = new TaskStep(run, deps);
    if (known > run.taken) await step.takeAll(await deps.store.inbox(run.ref, run.taken, STEP));
    for (const item of run.items.splice(0)) await step.receive(item);
    known = 0;
    if (step.isWorthWriting) {
      const outcome = await step.write();
      if (outcome.kind === "lost") return "lost";
      known = outcome.delivered;
      if (step.outcome.kind === "close") return "closed";
      if (step.outcome.kind === "rest") return "rests";
      step.startActivities();
      // The notification of a rejected start arrived with this very step.
      if (outcome.starts.some(({ isNew }) => !isNew)) known = Number.MAX_SAFE_INTEGER;
      if (run.leftover.size > 0 && run.running.size === 0 && run.items.length === 0) return giveBack(run, deps);
    }
    if (known <= run.taken && run.items.length === 0) {
      await run.nudged();
      if (run.isAbandoned) return "lost";
      // A nudge does not tell whether a message arrived, so the inbox is read.
      if (run.items.length === 0) known = Number.MAX_SAFE_INTEGER;
    }
  }
}

async function giveBack({ ref, token }: LoadedRun, { store }: TaskDeps): Promise<TaskEnd> {
  await store.giveBack([{ ref, token: token!, pauseMs: 0, problem: undefined }]);
  return "lost";
}

/**
 * The first step of a run that starts here: its first commands are written together with its start.
 * `isSimple`: the commands are only activities, calls and timers.
 */
export function firstStep(
  run: LoadedRun,
  started: Started,
  at: number,
  deps: TaskDeps,
): { readonly batch: EventBatch; readonly reminders: readonly ReminderWrite[]; readonly isSimple: boolean } {
  const events: HistoryEvent[] = [started];
  for (const decision of run.execution.commands.fresh) {
    const isHere = decision.kind === "ActivityScheduled" && isEager(decision, deps);
    events.push(isHere ? { ...decision, eager: true } : decision);
  }
  const decisions = events.filter(isCommandEvent);
  const isSimple = run.execution.end === undefined && !decisions.some(({ kind }) => !SIMPLE.has(kind));
  if (!isSimple) return { batch: { count: 0, data: "" }, reminders: [], isSimple };
  run.execution.commands.takeFresh();
  for (const event of events) run.note(event);
  run.first = decisions;
  const step = new CompletionBuilder(run, deps.dispatcher);
  step.dispatch(decisions, at);
  return { batch: writeEventBatch({ at, events }), reminders: step.reminders, isSimple };
}

const SIMPLE: ReadonlySet<string> = new Set<CommandEvent["kind"]>([
  "ActivityScheduled",
  "ActorCalled",
  "TimerScheduled",
]);

/** Runs eager activities again whose results are not in the history: their worker is gone. */
function resume(run: LoadedRun, deps: TaskDeps): void {
  const { execution, first } = run;
  run.first = [];
  const isActivity = ({ kind, n }: CommandEvent): boolean =>
    (kind === "ActivityScheduled" || kind === "ActorCalled") && execution.isAwaited(n);
  for (const decision of [
    ...execution.recordedAwaited("ActivityScheduled", "ActorCalled"),
    ...first.filter(isActivity),
  ]) {
    if (run.running.has(decision.n) || run.queued.has(decision.n)) continue;
    const item = decision.kind === "ActivityScheduled" ? takenOver(run, decision, deps) : undefined;
    if (item === undefined) startActivity(run, decision, deps);
    else run.items.push(item);
  }
}

/** One step of the run: the messages that it takes, and the commands of the code. */
class TaskStep {
  readonly #run: LoadedRun;
  readonly #deps: TaskDeps;
  readonly #completion: CompletionBuilder;
  readonly #events: HistoryEvent[];
  readonly #eager: CommandEvent[] = [];
  #at: number;
  #taken: number;
  #terminated: string | undefined;
  #diverged: unknown;
  outcome: TaskOutcome = { kind: "rest" };

  constructor(run: LoadedRun, deps: TaskDeps) {
    this.#run = run;
    this.#deps = deps;
    this.#completion = new CompletionBuilder(run, deps.dispatcher);
    this.#events = this.#completion.events;
    this.#at = Math.max(run.at, deps.now());
    this.#taken = run.taken;
    this.#collect();
  }

  /** All messages of a step have the time of the step, because a replay knows no other. */
  async takeAll(messages: readonly StoredInboxMessage[]): Promise<void> {
    const all = messages.map(({ number, data }) => ({ number, sent: readMessage(data) }));
    for (const { sent } of all) this.#at = Math.max(this.#at, sent.notBefore ?? 0);
    for (const { number, sent } of all) {
      // Messages after the end are not taken: they move to the run that continues this one.
      if (this.#run.execution.end !== undefined || this.#terminated !== undefined) break;
      await this.#take(number, sent);
    }
  }

  async #take(number: number, sent: Sent): Promise<void> {
    this.#taken = number;
    const { message } = sent;
    if (message.kind === "LookAgain" || !isMeant(this.#run.execution.started, sent)) return;
    if (message.kind === "TerminateRequested") {
      this.#terminated ??= message.reason;
      return;
    }
    const event = message.kind === "UpdateRequested" ? this.#accept(message) : message;
    await this.receive({ event });
  }

  /** The validator of the workflow accepts or rejects the update. */
  #accept({ id, name, input }: { readonly id: string; readonly name: string; readonly input: unknown }): ExternalEvent {
    const { execution, workflowId } = this.#run;
    try {
      if (execution.handlers.validate(name, readWire(input))) return { kind: "UpdateAccepted", id, name, input };
      throw new LimpetError("UPDATE_UNKNOWN", `workflow ${workflowId} has no update called ${name}`);
    } catch (thrown) {
      return { kind: "UpdateRejected", id, name, error: keptError(thrown) };
    }
  }

  async receive({ event, reminders }: Item): Promise<void> {
    const run = this.#run;
    if (run.execution.end !== undefined || !isWanted(run, event)) return;
    if (reminders !== undefined) this.#completion.reminders.push(...reminders);
    this.#completion.receive(event);
    run.note(event, this.#at);
    run.execution.events = run.last + this.#events.length;
    await run.execution.deliver(event, this.#at);
    this.#collect();
  }

  #collect(): void {
    const run = this.#run;
    for (const decision of run.execution.commands.takeFresh()) {
      const isHere = decision.kind === "ActivityScheduled" && isEager(decision, this.#deps);
      const event = isHere ? ({ ...decision, eager: true } as const) : decision;
      this.#events.push(event);
      run.note(event, this.#at);
      if (isHere || event.kind === "ActorCalled") this.#eager.push(event);
    }
  }

  /** False: the step is empty, and the task stays here. */
  get isWorthWriting(): boolean {
    const { running, taken } = this.#run;
    return this.#events.length > 0 || this.#taken > taken || running.size === 0;
  }

  async write(): Promise<CompletionOutcome> {
    const run = this.#run;
    await this.#check();
    const completion = this.#complete();
    const [outcome] = await this.#deps.store.complete([completion]);
    if (outcome!.kind === "lost") return outcome!;
    run.last += this.#events.length;
    run.taken = this.#taken;
    run.at = this.#at;
    run.execution.events = run.last;
    run.execution.bytes += completion.batch?.data.length ?? 0;
    for (const event of this.#events) if (event.kind === "ActivityCancelRequested") this.#abort(event.of);
    this.#deps.written(completion, outcome!, this.#run.runId);
    return outcome!;
  }

  async #check(): Promise<void> {
    try {
      await this.#deps.check?.(this.#run, { at: this.#at, events: this.#events });
    } catch (thrown) {
      this.#diverged = thrown;
    }
  }

  #complete(): TaskCompletion {
    const { ref, token, last } = this.#run;
    this.#completion.dispatch(this.#events.filter(isCommandEvent), this.#at);
    const outcome = this.#outcomeOf(this.#run.execution.end);
    this.outcome = outcome;
    const affinity = outcome.kind === "close" ? undefined : this.#deps.affinity();
    return this.#completion.build({ ref, token: token!, last, taken: this.#taken, outcome, affinity }, this.#at);
  }

  #outcomeOf(end: RunEndEvent | undefined): TaskOutcome {
    const run = this.#run;
    if (this.#diverged !== undefined) {
      const error = keptError(this.#diverged);
      const failed = { kind: "WorkflowFailed", n: run.execution.commands.issued + 1, error } as const;
      if (end === undefined) this.#events.push(failed);
      this.#completion.end(failed, this.#at);
      return closeWith("failed", error);
    }
    if (end === undefined && this.#terminated !== undefined) {
      const reason = this.#terminated;
      this.#events.push({ kind: "WorkflowTerminated", reason });
      const error = serializeError(new LimpetError("WORKFLOW_TERMINATED", reason));
      this.#completion.end({ kind: "WorkflowFailed", n: 0, error }, this.#at);
      return closeWith("terminated", error);
    }
    if (end === undefined) {
      const size = { events: run.last + this.#events.length, bytes: run.execution.bytes };
      checkLength(size, this.#deps.historyLimit);
      const isBusy = this.#eager.length > 0 || run.running.size > 0 || run.items.length > 0;
      // A run that rests with unstarted activities would rest for ever.
      return isBusy || run.leftover.size > 0 || run.isAbandoned
        ? { kind: "keep", leaseMs: this.#deps.leaseMs }
        : { kind: "rest" };
    }
    this.#completion.end(end, this.#at);
    return closeBy(end);
  }

  #abort(n: number): void {
    const { running } = this.#run;
    running.get(n)?.abort(new LimpetError("WORKFLOW_CANCELLED", "the workflow does not wait for it any more"));
    running.delete(n);
  }

  /** Starts eager activities; their commands are durable now. */
  startActivities(): void {
    const run = this.#run;
    for (const decision of this.#eager) {
      if (!run.execution.isAwaited(decision.n)) continue;
      // Another worker begins the activities that a stopping worker does not.
      if (this.#deps.isDraining()) run.leftover.add(decision.n);
      else startActivity(run, decision, this.#deps);
    }
  }
}

/** Drops late results and repeated messages. */
function isWanted({ execution, seen }: LoadedRun, event: ExternalEvent): boolean {
  if ("of" in event) return execution.isAwaited(event.of);
  if (event.kind === "CancelRequested") return !execution.isCancelled;
  const key = keyOf(event);
  return key === undefined || !seen.has(key);
}

function startActivity(run: LoadedRun, decision: CommandEvent, deps: TaskDeps): void {
  const controller = new AbortController();
  run.running.set(decision.n, controller);
  const done =
    decision.kind === "ActorCalled"
      ? callActor(decision, controller.signal, deps)
      : runEagerly(run, decision as Extract<CommandEvent, { kind: "ActivityScheduled" }>, controller.signal, deps);
  void done.then((item) => {
    if (run.running.get(decision.n) !== controller) return;
    run.running.delete(decision.n);
    if (item === undefined) run.leftover.add(decision.n);
    else run.items.push(item);
    run.nudge();
  });
}

/**
 * Calls an actor and records its result or error. An unreachable actor or a lost answer is no result: the
 * call is retried. Undefined: this worker stops, and another one makes the call.
 */
async function callActor(
  { n, type, id, method, input }: Extract<CommandEvent, { kind: "ActorCalled" }>,
  signal: AbortSignal,
  deps: TaskDeps,
): Promise<Item | undefined> {
  for (let failures = 0; ; failures++) {
    try {
      const result = await deps.callActor(type, id, method, readWire(input) as unknown[]);
      const wire = toWire(result, "the result", "RESULT_INVALID");
      checkPayload(wire, "the result");
      return itemOf({ kind: "ActivityCompleted", of: n, result: wire });
    } catch (thrown) {
      const isAnswer = !isLimpetError(thrown) || thrown.retry === "never";
      if (isAnswer) return itemOf({ kind: "ActivityFailed", of: n, error: keptError(thrown), attempts: 1 });
    }
    if (!deps.isDraining()) await pause(backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), signal, deps.clock);
    if (signal.aborted || deps.isDraining()) return undefined;
  }
}

const itemOf = (event: ExternalEvent): Item => ({ event });

/** Ends early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const timer = clock.after(ms, end);
  signal.addEventListener("abort", end);
  await promise;
  timer.cancel();
  signal.removeEventListener("abort", end);
}
