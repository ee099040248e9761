// One run of a workflow in memory: its code, suspended at its waits. The execution delivers an event, lets
// the code run as far as it can, and collects the commands that the code issues. A replay delivers the events
// of the history again and reaches the same point.
//
// The code is a plain async function. It runs only during `begin`, `tell` and `replay`, until no promise can
// make progress.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { deserializeError, type SerializedError } from "../../kernel/serialized-error.ts";
import { copyValue, readWire, toWire } from "../../kernel/values.ts";
import type { CodeGuards, Settle } from "../../ports/workflow-code.ts";
import type { AnyWorkflow } from "../definition/definition.ts";
import { Commands, type NewCommand } from "./commands.ts";
import { Continued, nextRunId } from "./continued.ts";
import { describeCommand, placeIn } from "./divergence.ts";
import { checkFlags } from "./engine-flags.ts";
import {
  type CommandEvent,
  type ExternalEvent,
  type HistoryEvent,
  isCommandEvent,
  isEnd,
  type RunEndEvent,
  type Started,
  type Step,
} from "./events.ts";
import { Stray } from "./exceptions.ts";
import { type Inside, runInside } from "./inside.ts";
import { checkPayload, keptError } from "./payload-limits.ts";
import { RunContext } from "./run-context.ts";
import { answerOf, RunHandlers, type Signal } from "./run-handlers.ts";
import { Waits } from "./waits.ts";

export interface ExecutionDeps {
  /** Active while the code runs. */
  readonly guards?: CodeGuards;
  readonly settle: Settle;
  readonly namespace: string;
  readonly queue: string;
  /** Records the line of the code with each wait, which is expensive. */
  readonly knowsPlaces?: boolean;
  /** The registered name of an activity's function. */
  nameOf(activity: object): string | undefined;
  /** The reason why the function has no name. */
  whyUnknown?(activity: object): string;
}

/** Rounds of condition checks, each caused by code that the round before let run. */
const MOST_ROUNDS = 10_000;

export class Execution {
  readonly workflow: AnyWorkflow;
  readonly deps: ExecutionDeps;
  started!: Started;
  startedAt = 0;
  /**
   * Size of the history: events up to the one that the code handles, and bytes of the steps before it. The
   * code may read both, so they are the same at every replay; the worker updates them.
   */
  events = 0;
  bytes = 0;
  isCancelled = false;
  readonly commands = new Commands((problem) => {
    throw this.#break(new LimpetError("WORKFLOW_DIVERGED", `${this.#name} has diverged: ${problem}`));
  });
  /** Handlers of signals, updates and queries. */
  readonly handlers = new RunHandlers({
    name: () => this.#name,
    inside: (how) => this.inside(how),
    give: (name, input) => this.#waits.signalled(name, input),
    conclude: (decision) => this.#conclude(decision),
    endBy: (thrown) => this.#endBy(thrown),
  });
  memo: Record<string, unknown> = {};
  attributes: Record<string, unknown> = {};
  readonly #waits: Waits;
  #now = 0;
  #end: RunEndEvent | undefined;
  #broken: LimpetError | undefined;
  #isRunning = false;
  /** Called when the code fails outside of its turn. */
  strayed: () => void = () => {};

  constructor(workflow: AnyWorkflow, deps: ExecutionDeps) {
    this.workflow = workflow;
    this.deps = deps;
    const placeOf = (): string | undefined => placeIn(new LimpetError("WORKFLOW_DIVERGED", "it waits here"));
    this.#waits = new Waits((decision) => this.decide(decision), deps.knowsPlaces === true ? placeOf : () => undefined);
  }

  get now(): number {
    return this.#now;
  }

  /** The reason why this execution is unusable. */
  get broken(): LimpetError | undefined {
    return this.#broken;
  }

  /** The end of the run, once its code has ended. */
  get end(): RunEndEvent | undefined {
    return this.#end;
  }

  /** Whether the code waits for the outcome of this command. */
  isAwaited(n: number): boolean {
    return this.#waits.has(n);
  }

  /** Numbers of commands of these kinds that still lack an outcome. */
  awaited(...kinds: readonly CommandEvent["kind"][]): number[] {
    return this.#waits.of(...kinds);
  }

  /** Commands of these kinds from the replayed history that still lack an outcome. */
  recordedAwaited(...kinds: readonly CommandEvent["kind"][]): CommandEvent[] {
    return this.commands.open.filter(({ n, kind }) => kinds.includes(kind) && this.#waits.has(n));
  }

  /** The waits of the run, for display. */
  get waitsFor(): string[] {
    return this.#waits.describe();
  }

  // ——— Events.

  async begin(started: Started, at: number): Promise<void> {
    checkFlags(started);
    this.started = started;
    this.startedAt = at;
    this.events = 1;
    this.memo = { ...(readWire(started.memo ?? {}) as object) };
    this.attributes = { ...(readWire(started.attributes ?? {}) as object) };
    this.#now = at;
    await this.#run(() => {
      const context = new RunContext(this);
      void runInside(this.inside(), () => this.#main(context, readWire(started.input)));
    });
  }

  /** Delivers an event with its time. */
  async deliver(event: ExternalEvent, at: number): Promise<void> {
    this.#now = at;
    await this.#run(() => this.#deliver(event));
  }

  /** Replays a history from its beginning. */
  async replay(steps: readonly Step[]): Promise<void> {
    this.deps.guards?.enter();
    try {
      await this.#replay(steps);
    } finally {
      this.deps.guards?.leave();
    }
  }

  async #replay(steps: readonly Step[]): Promise<void> {
    this.commands.beginReplay(steps);
    let passed = 0;
    for (const { at, events, bytes = 0 } of steps) {
      for (const event of events) {
        this.commands.pass();
        this.events = ++passed;
        await this.#pass(event, at);
        if (this.#broken !== undefined) throw this.#broken;
      }
      this.bytes += bytes;
    }
    this.commands.endReplay((n) => this.#waits.has(n));
  }

  async #pass(event: HistoryEvent, at: number): Promise<void> {
    if (event.kind === "WorkflowStarted") return this.begin(event, at);
    if (event.kind === "WorkflowTerminated" || event.kind === "WorkflowTimedOut") return;
    if (!isCommandEvent(event)) return this.deliver(event, at);
    // The code has issued the command by now, or never will.
    if (event.n > this.commands.issued) {
      const what = `the history has ${describeCommand(event)} (event ${this.events}), and the code does not decide it`;
      this.#break(
        new LimpetError("WORKFLOW_DIVERGED", `${what}; it waits for ${this.waitsFor.join(", ") || "nothing"}`),
      );
    }
  }

  async #run(fn: () => void): Promise<void> {
    this.#isRunning = true;
    this.deps.guards?.enter();
    try {
      fn();
      await this.deps.settle();
      // A true condition lets code run, which may make another condition true.
      for (let round = 0; this.#waits.hasConditions && this.#waits.lookAtConditions(); round++) {
        if (round === MOST_ROUNDS) this.#misused("its conditions never come to rest");
        await this.deps.settle();
      }
    } finally {
      this.#isRunning = false;
      this.deps.guards?.leave();
    }
    if (this.#broken === undefined && this.#end === undefined && !this.commands.isReplaying) this.#checkThatItWaits();
    if (this.#broken !== undefined) throw this.#broken;
  }

  #checkThatItWaits(): void {
    if (!this.#waits.isEmpty) return;
    this.#misused("it waits for something that does not come from ctx; use an activity, ctx.sleep or ctx.condition");
  }

  get #name(): string {
    return `${this.workflow.name} ${this.started.workflowId}`;
  }

  /** The mark under which the code runs. */
  inside(how: Partial<Inside> = {}): Inside {
    return { workflow: this.#name, isShielded: false, blame: this.#blame, ...how };
  }

  /** Within a turn, the code that awaits the end of the turn gets the failure. */
  readonly #blame = (thrown: unknown): void => {
    if (this.#broken !== undefined || this.#end !== undefined) return;
    this.#break(new Stray(this.#name, thrown));
    if (!this.#isRunning) this.strayed();
  };

  async #main(context: RunContext, input: unknown): Promise<void> {
    let end: NewCommand;
    try {
      end = { kind: "WorkflowCompleted", result: answerOf(await this.workflow.run(context, input)) };
    } catch (thrown) {
      end = this.#endBy(thrown);
    }
    this.#conclude(end);
  }

  /** No caller can handle an error here; by then the run is marked as broken. */
  #conclude(decision: NewCommand): void {
    try {
      if (this.#broken === undefined && this.#end === undefined) this.decide(decision);
    } catch (error) {
      if (this.#broken === undefined) throw error;
    }
  }

  #endBy(thrown: unknown): NewCommand {
    if (thrown instanceof Continued) {
      const { input } = thrown;
      return { kind: "WorkflowContinuedAsNew", type: this.workflow.name, input, runId: nextRunId(this.started.runId) };
    }
    // Wrong code does not end the run: after a correction the run continues.
    if (isLimpetError(thrown, "WORKFLOW_MISUSED")) this.#break(thrown);
    const error = keptError(thrown);
    const isCancel = isLimpetError(thrown, "WORKFLOW_CANCELLED") && this.isCancelled;
    return { kind: isCancel ? "WorkflowCancelled" : "WorkflowFailed", error };
  }

  #deliver(event: ExternalEvent): void {
    switch (event.kind) {
      case "ActivityCompleted":
      case "ChildRunCompleted":
        this.#waits.resolve(event.of, readWire(event.result));
        break;
      case "ActivityFailed":
      case "ActivityTimedOut":
      case "ActivityCancelled":
      case "ChildRunFailed":
        this.#waits.reject(event.of, rebuilt(event.error));
        break;
      case "TimerFired":
        this.#waits.resolve(event.of, undefined);
        break;
      case "SignalReceived":
        this.handlers.signalled({ id: event.id, name: event.name, input: readWire(event.input) });
        break;
      case "UpdateAccepted":
        this.handlers.update(event.id, event.name, readWire(event.input));
        break;
      case "CancelRequested":
        this.#cancel(event.reason);
        break;
      case "UpdateRejected":
      case "ActivityRetryScheduled":
        break;
    }
  }

  // ——— Signals.

  /** Signals without a wait or a handler. */
  get unheard(): readonly Signal[] {
    return this.handlers.unheard;
  }

  nextSignal(name: string, withinMs: number | undefined): Promise<unknown> {
    const come = this.handlers.next(name);
    return come !== undefined ? Promise.resolve(come.input) : this.#waits.forSignal(name, this.#timer(withinMs));
  }

  #timer(ms: number | undefined): number | undefined {
    return ms === undefined ? undefined : this.decide({ kind: "TimerScheduled", at: this.#now + ms });
  }

  // ——— Cancelling.

  #cancel(reason: string): void {
    this.isCancelled = true;
    this.#waits.cancel(new LimpetError("WORKFLOW_CANCELLED", reason === "" ? "the workflow was asked to end" : reason));
  }

  // ——— Commands.

  /** Issues a command and returns its number; 0: the run has ended. */
  decide(decision: NewCommand): number {
    if (this.#end !== undefined) return 0;
    this.#checkRunning(decision.kind);
    const command = this.commands.add(decision);
    if (isEnd(command)) this.#end = command;
    return command.n;
  }

  #checkRunning(what: string): void {
    if (this.#isRunning) return;
    this.#misused(`${what} outside of its turn: it has waited for something that does not come from ctx`);
  }

  #misused(what: string): never {
    throw this.#break(new LimpetError("WORKFLOW_MISUSED", `${this.#name}: ${what}`));
  }

  /** Marks the execution as unusable. The first reason counts. */
  #break(error: LimpetError): LimpetError {
    this.#broken ??= error;
    return error;
  }

  /** This worker cannot execute the command. The run does not end: another worker may continue it. */
  refuse(error: LimpetError): never {
    throw this.#break(error);
  }

  /** Issues a command and waits for its outcome. */
  ask(decision: NewCommand): Promise<unknown> {
    const n = this.decide(decision);
    return this.answerTo(n, decision.kind);
  }

  answerTo(n: number, kind: CommandEvent["kind"]): Promise<unknown> {
    return this.#waits.forAnswer(n, kind);
  }

  /** An error of the test is thrown where the code waits, also at the first check. */
  until(test: () => boolean, withinMs: number | undefined): Promise<boolean> {
    let isTrue: boolean;
    try {
      isTrue = test();
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    if (isTrue) return Promise.resolve(true);
    // The test is workflow code at every check, so the guards hold for it.
    const where = this.inside();
    return this.#waits.forCondition(() => runInside(where, test), this.#timer(withinMs));
  }

  /** Evaluates the function, or returns the recorded value. */
  sideEffect(fn: () => unknown): unknown {
    const recorded = this.commands.next;
    if (recorded?.kind === "SideEffectRecorded") {
      this.decide(recorded);
      return readWire(recorded.result);
    }
    // A command inside the function would take the number under which a replay looks for the value.
    const value = runInside(this.inside({ isLooking: true, isRecorded: true }), fn);
    // A copy: later changes of the value are not recorded.
    const result = toWire(copyValue(value, "the value", "WORKFLOW_INVALID"), "the value", "WORKFLOW_INVALID");
    checkPayload(result, "the value");
    this.decide({ kind: "SideEffectRecorded", result });
    return readWire(result);
  }

  version(change: string, min: number, max: number): number {
    const { version, isToRecord } = this.commands.version(change, min, max);
    if (version < min || version > max) {
      const message = `this run follows version ${version} of ${change}, the code knows ${min} to ${max}`;
      throw this.#break(new LimpetError("WORKFLOW_DIVERGED", `${this.#name}: ${message}`));
    }
    if (isToRecord) this.decide({ kind: "VersionMarkerRecorded", change, version });
    return version;
  }
}

function rebuilt(serialized: SerializedError): Error {
  return deserializeError(serialized) ?? new LimpetError("ACTIVITY_FAILED", "it failed, and its error cannot be read");
}
