// One run of a workflow in memory: its code, suspended at what it waits for. It is told what happened, lets the code run as far as it can,
// and collects what the code decides. Told the same again, from the history, it comes to the same point: that is replay.
//
// The code is a plain async function. It runs only while something is told (`begin`, `tell`, `replay`), until every promise that could go
// on has gone on. Everything that it decides is numbered in the order in which it does; what the history has under that number must be
// the same, or the code has diverged from its history.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { SerializedError } from "../../kernel/serialized-error.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";
import { copyValue, readWire, toWire } from "../../kernel/values.ts";
import type { CodeGuards } from "../../ports/code-guards.ts";
import type { Settle } from "../../ports/settle.ts";
import type { AnyWorkflow } from "../definition/definition.ts";
import { keptError } from "./bounded-error.ts";
import { Continued } from "./continued.ts";
import { describeDecision, describeWithValues, isEqualDecision, isSameDecision, placeIn } from "./divergence.ts";
import { checkFlags } from "./engine-flags.ts";
import type { CommandEvent, End, ExternalEvent, HistoryEvent, Started, Step } from "./events.ts";
import { isCommandEvent, isEnd } from "./events.ts";
import { type Inside, runInside } from "./inside.ts";
import { checkPayload } from "./payload-size.ts";
import { RecordedDecisions } from "./recorded-commands.ts";
import { RunContext } from "./run-context.ts";
import { answerOf, RunHandlers, type Signal } from "./run-handlers.ts";
import { Stray } from "./stray.ts";
import { Waits } from "./waits.ts";

export interface ExecutionDeps {
  /** In place while the code runs. */
  readonly guards?: CodeGuards | undefined;
  readonly settle: Settle;
  readonly namespace: string;
  readonly queue: string;
  /** What it waits for is told with the line of the code, which is dear. */
  readonly knowsPlaces?: boolean | undefined;
  /** The name under which an activity's function is known. */
  nameOf(activity: object): string | undefined;
  /** Why it has none. */
  whyUnknown?(activity: object): string;
}

/** Without its number: that is given when it is decided. */
type Numbered<D> = D extends { readonly n: number } ? Omit<D, "n"> : never;
export type NewDecision = Numbered<CommandEvent>;

/** Rounds in which conditions are looked at again because the one before let some code run. */
const MOST_ROUNDS = 10_000;

export class Execution {
  readonly workflow: AnyWorkflow;
  readonly deps: ExecutionDeps;
  started!: Started;
  startedAt = 0;
  /**
   * Of the history, up to the event that the code is told of, and of the steps before that. The code may ask for them, so they are the
   * same at every replay; the worker keeps them up to date.
   */
  events = 0;
  bytes = 0;
  isCancelled = false;
  /** In tests: decisions from this number on are the same in everything that goes along with them. */
  exactFrom = Number.POSITIVE_INFINITY;
  /** What its code does when it is told or asked something. */
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
  #decided = 0;
  #fresh: CommandEvent[] = [];
  #ownFrom = Number.POSITIVE_INFINITY;
  readonly #recorded = new RecordedDecisions();
  /** Decisions of the history that were still waited for at its end. */
  #replayed: readonly CommandEvent[] = [];
  #end: End | undefined;
  #broken: LimpetError | undefined;
  #isRunning = false;
  /** Called when its code fails outside of its turn. */
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

  /** Why it is worth nothing any more. */
  get broken(): LimpetError | undefined {
    return this.#broken;
  }

  /** How much was decided so far. */
  get decided(): number {
    return this.#decided;
  }

  /** How the run ended, once its code has. */
  get end(): End | undefined {
    return this.#end;
  }

  /** Decided, and not in the history yet. */
  get fresh(): readonly CommandEvent[] {
    return this.#fresh;
  }

  takeFresh(): CommandEvent[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  get isReplaying(): boolean {
    return this.#recorded.isReplaying;
  }

  /** What a result or a timer would be told to; false: nobody waits for it any more. */
  isAwaited(n: number): boolean {
    return this.#waits.has(n);
  }

  /** Decisions of this kind that are still waited for. */
  awaited(...kinds: readonly CommandEvent["kind"][]): number[] {
    return this.#waits.of(...kinds);
  }

  /** Those of them that were in the history when it was replayed. */
  recordedAwaited(...kinds: readonly CommandEvent["kind"][]): CommandEvent[] {
    return this.#replayed.filter(({ n, kind }) => kinds.includes(kind) && this.#waits.has(n));
  }

  /** What it waits for, for people. */
  get waitsFor(): string[] {
    return this.#waits.describe();
  }

  // ——— What it is told.

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

  /** Something happened, at that moment. */
  async tell(news: ExternalEvent, at: number): Promise<void> {
    this.#now = at;
    await this.#run(() => this.#deliver(news));
  }

  /** Goes through a history from its beginning. */
  async replay(steps: readonly Step[]): Promise<void> {
    this.deps.guards?.enter();
    try {
      await this.#replay(steps);
    } finally {
      this.deps.guards?.leave();
    }
  }

  async #replay(steps: readonly Step[]): Promise<void> {
    this.#recorded.begin(steps);
    let passed = 0;
    for (const { at, events, bytes = 0 } of steps) {
      for (const event of events) {
        this.#recorded.pass();
        this.events = ++passed;
        await this.#pass(event, at);
        if (this.#broken !== undefined) throw this.#broken;
      }
      this.bytes += bytes;
    }
    this.#replayed = this.#recorded.end(({ n }) => this.#waits.has(n));
  }

  async #pass(event: HistoryEvent, at: number): Promise<void> {
    if (event.kind === "WorkflowStarted") return this.begin(event, at);
    if (event.kind === "WorkflowTerminated" || event.kind === "WorkflowTimedOut") return;
    if (!isCommandEvent(event)) return this.tell(event, at);
    // Decided by now, or never.
    if (event.n > this.#decided) {
      const what = `the history has ${describeDecision(event)} (event ${this.events}), and the code does not decide it`;
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
      // A condition that is true lets code run, and that may make another one true.
      for (let round = 0; this.#waits.hasConditions && this.#waits.lookAtConditions(); round++) {
        if (round === MOST_ROUNDS) this.#misused("its conditions never come to rest");
        await this.deps.settle();
      }
    } finally {
      this.#isRunning = false;
      this.deps.guards?.leave();
    }
    if (this.#broken === undefined && this.#end === undefined && !this.isReplaying) this.#checkThatItWaits();
    if (this.#broken !== undefined) throw this.#broken;
  }

  #checkThatItWaits(): void {
    if (!this.#waits.isEmpty) return;
    this.#misused("it waits for something that does not come from ctx; use an activity, ctx.sleep or ctx.condition");
  }

  get #name(): string {
    return `${this.workflow.name} ${this.started.workflowId}`;
  }

  /** As what its code runs. */
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
    let end: NewDecision;
    try {
      end = { kind: "WorkflowCompleted", result: answerOf(await this.workflow.run(context, input)) };
    } catch (thrown) {
      end = this.#endBy(thrown);
    }
    this.#conclude(end);
  }

  /** Nobody is there to hear what it throws; that the run is broken is known by then. */
  #conclude(decision: NewDecision): void {
    try {
      if (this.#broken === undefined && this.#end === undefined) this.decide(decision);
    } catch (error) {
      if (this.#broken === undefined) throw error;
    }
  }

  #endBy(thrown: unknown): NewDecision {
    if (thrown instanceof Continued) {
      const { input } = thrown;
      return { kind: "WorkflowContinuedAsNew", type: this.workflow.name, input, runId: nextRunId(this.started.runId) };
    }
    // Wrong code is no end of the run: it can be mended, and the run goes on.
    if (isLimpetError(thrown, "WORKFLOW_MISUSED")) this.#break(thrown);
    const error = keptError(thrown);
    const isCancel = isLimpetError(thrown, "WORKFLOW_CANCELLED") && this.isCancelled;
    return { kind: isCancel ? "WorkflowCancelled" : "WorkflowFailed", error };
  }

  #deliver(news: ExternalEvent): void {
    switch (news.kind) {
      case "ActivityCompleted":
      case "ChildRunCompleted":
        this.#waits.resolve(news.of, readWire(news.result));
        break;
      case "ActivityFailed":
      case "ActivityTimedOut":
      case "ActivityCancelled":
      case "ChildRunFailed":
        this.#waits.reject(news.of, rebuilt(news.error));
        break;
      case "TimerFired":
        this.#waits.resolve(news.of, undefined);
        break;
      case "SignalReceived":
        this.handlers.signalled({ id: news.id, name: news.name, input: readWire(news.input) });
        break;
      case "UpdateAccepted":
        this.handlers.update(news.id, news.name, readWire(news.input));
        break;
      case "CancelRequested":
        this.#cancel(news.reason);
        break;
      case "UpdateRejected":
      case "ActivityRetryScheduled":
        break;
    }
  }

  // ——— Signals.

  /** Those that nobody has waited for. */
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

  // ——— What the code does.

  /** Numbers it, and holds it against the history. */
  decide(decision: NewDecision): number {
    if (this.#end !== undefined) return 0;
    this.#checkRunning(decision.kind);
    const n = ++this.#decided;
    const numbered = { ...decision, n } as CommandEvent;
    const recorded = this.#recorded.at(n);
    const last = this.isReplaying && isEnd(numbered) ? this.#recorded.beyond(n) : undefined;
    if (recorded === undefined && last !== undefined) this.#diverge(numbered, last, describeDecision);
    if (recorded === undefined) this.#addFresh(numbered);
    else if (!isSameDecision(recorded, numbered)) this.#diverge(numbered, recorded, describeDecision);
    else if (n >= this.exactFrom && !isEqualDecision(recorded, numbered)) {
      this.#diverge(numbered, recorded, describeWithValues);
    }
    if (isEnd(numbered)) this.#end = numbered;
    return n;
  }

  #addFresh(decision: CommandEvent): void {
    this.#ownFrom = Math.min(this.#ownFrom, decision.n);
    this.#fresh.push(decision);
  }

  /** The number of the first decision that was not in the history before. */
  get ownFrom(): number {
    return this.#ownFrom;
  }

  #diverge(code: CommandEvent, history: CommandEvent, tell: (decision: CommandEvent) => string): never {
    const said = `the history has ${tell(history)}, the code now decides ${tell(code)}`;
    // What the code decides at its end is not decided at a place.
    const place = isEnd(code) ? undefined : placeIn(new LimpetError("WORKFLOW_DIVERGED", said));
    const where = place === undefined ? "" : ` at ${place}`;
    throw this.#break(new LimpetError("WORKFLOW_DIVERGED", `${this.#name} has diverged: ${said}${where}`));
  }

  #checkRunning(what: string): void {
    if (this.#isRunning) return;
    this.#misused(`${what} outside of its turn: it has waited for something that does not come from ctx`);
  }

  #misused(what: string): never {
    throw this.#break(new LimpetError("WORKFLOW_MISUSED", `${this.#name}: ${what}`));
  }

  /** The run in memory is worth nothing any more. The first reason counts. */
  #break(error: LimpetError): LimpetError {
    this.#broken ??= error;
    return error;
  }

  /** The code wants what this worker cannot do. That is no end of the run: whoever can goes on with it. */
  refuse(error: LimpetError): never {
    throw this.#break(error);
  }

  /** Decides, and waits for what comes of it. */
  ask(decision: NewDecision): Promise<unknown> {
    const n = this.decide(decision);
    return this.answerTo(n, decision.kind);
  }

  answerTo(n: number, kind: CommandEvent["kind"]): Promise<unknown> {
    return this.#waits.forAnswer(n, kind);
  }

  /** What the test throws is thrown where it is waited for, also when it is looked at for the first time. */
  until(test: () => boolean, withinMs: number | undefined): Promise<boolean> {
    let isTrue: boolean;
    try {
      isTrue = test();
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    if (isTrue) return Promise.resolve(true);
    // It is part of the code whenever it is looked at: what is out of bounds there is so in here.
    const where = this.inside();
    return this.#waits.forCondition(() => runInside(where, test), this.#timer(withinMs));
  }

  /** Worked out now, or as it was recorded. */
  sideEffect(fn: () => unknown): unknown {
    const recorded = this.#recorded.at(this.#decided + 1);
    if (recorded?.kind === "SideEffectRecorded") {
      this.decide(recorded);
      return readWire(recorded.result);
    }
    // A decision in there would have the number that a replay looks for the value under.
    const value = runInside(this.inside({ isLooking: true, isRecorded: true }), fn);
    // As it is now: whatever the code does with it afterwards is not recorded.
    const result = toWire(copyValue(value, "the value", "WORKFLOW_INVALID"), "the value", "WORKFLOW_INVALID");
    checkPayload(result, "the value");
    this.decide({ kind: "SideEffectRecorded", result });
    return readWire(result);
  }

  version(change: string, min: number, max: number): number {
    const { version, isToRecord } = this.#recorded.version(change, min, max);
    if (version < min || version > max) {
      const said = `this run follows version ${version} of ${change}, the code knows ${min} to ${max}`;
      throw this.#break(new LimpetError("WORKFLOW_DIVERGED", `${this.#name}: ${said}`));
    }
    if (isToRecord) this.decide({ kind: "VersionMarkerRecorded", change, version });
    return version;
  }
}

/** The same at every replay, so that it is started once. */
function nextRunId(runId: string): string {
  const [, root, number] = /^(.*?)(?:\.(\d+))?$/.exec(runId)!;
  return `${root}.${Number(number ?? 1) + 1}`;
}

function rebuilt(told: SerializedError): Error {
  return deserializeError(told) ?? new LimpetError("ACTIVITY_FAILED", "it failed, and what it said cannot be read");
}
