// Connects a process to workflows: the client for its code, the worker that runs them, and the delivery of
// due timers and queued activities.
import { LimpetError } from "../kernel/errors.ts";
import { serializeError } from "../kernel/serialized-error.ts";
import { fromWire, toWire } from "../kernel/values.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderTick } from "../ports/reminder-writer.ts";
import type { Settle } from "../ports/settle.ts";
import type { ReminderKey, Reminders, ReminderWrite } from "../ports/store/reminders.ts";
import type {
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  StoredRun,
  Workflows,
} from "../ports/store/workflows.ts";
import type { Timers } from "../ports/timers.ts";
import type { WorkflowAdmin } from "../ports/workflow-admin.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import { ActivityRunner, type StandIn } from "./activities/runner.ts";
import { ActivityTasks } from "./activities/tasks.ts";
import { ActivityWorker } from "./activities/worker.ts";
import { StoredWorkflows } from "./admin.ts";
import { closed, maybeDone, type StartOptions, WorkflowClient } from "./client/client.ts";
import { EndWatch, type RunEnd } from "./client/end-watch.ts";
import type { ActivityFunction } from "./definition/context.ts";
import type { AnyWorkflow } from "./definition/definition.ts";
import {
  type ActivityWatch,
  ANSWER_TYPE,
  askType,
  CLEANUP_TIMEOUT,
  type Message,
  type RunTimer,
  TIMEOUT_TYPE,
  TIMER_TYPE,
  WATCH_TYPE,
  writeError,
  writeMessage,
} from "./definition/messages.ts";
import type { Started, Wire } from "./engine/events.ts";
import { type ClaimRejections, watchExceptions } from "./engine/exceptions.ts";
import { processGuards } from "./engine/guards.ts";
import type { HttpWorkers, HttpWorkersDeps } from "./http-workers.ts";
import { type HostQuestion, HostQuestions } from "./inbox/host-questions.ts";
import { arrivalOf, sendTo } from "./inbox/inbox-messages.ts";
import { answerQuery } from "./inbox/query-elsewhere.ts";
import { UpdateWatch } from "./inbox/update-watch.ts";
import { type WorkflowInstruments, workflowInstruments } from "./instruments.ts";
import { batchActivities, batchWorkflows } from "./worker/batched-store.ts";
import { endFromOutside } from "./worker/ending.ts";
import { FewAtATime } from "./worker/few-at-a-time.ts";
import { checkQueryable } from "./worker/lost-attempts.ts";
import { mend } from "./worker/mending.ts";
import { Dispatcher } from "./worker/outgoing.ts";
import { staleAfter } from "./worker/presence.ts";
import { StickyGauges } from "./worker/sticky-gauges.ts";
import { Worker, type WorkerSettings } from "./worker/worker.ts";

/** Concurrent reads of the store for activities. */
const FEW = 8;
/** Longer histories are not replayed for display. */
const MOST_REPLAYED = 10_000;

export interface WorkflowSettings extends WorkerSettings {
  /** Leases of workers in other languages. */
  readonly httpLeaseMs: number;
  readonly httpActivityLeaseMs: number;
  readonly patienceMs: number;
  /** The timeout of HTTP callers that name none. */
  readonly callTimeoutMs: number;
}

export interface WorkflowNodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly settle: Settle;
  readonly store: Workflows;
  readonly reminders: Timers;
  readonly reminderStore: Reminders;
  readonly claimRejections: ClaimRejections;
  callActor(type: string, id: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Opens the service for workers in other languages. */
  openHttpWorkers(deps: HttpWorkersDeps): HttpWorkers;
}

export interface WorkflowDefinitions {
  readonly workflows: readonly AnyWorkflow[];
  readonly activities: Readonly<Record<string, ActivityFunction>>;
  readonly standIn?: StandIn | undefined;
}

export class WorkflowNode {
  readonly client: WorkflowClient;
  readonly worker: Worker;
  /** For workers in other languages. */
  readonly remote: HttpWorkers;
  /** For display and operators. */
  readonly door: WorkflowAdmin;
  readonly #settings: WorkflowSettings;
  readonly #deps: WorkflowNodeDeps;
  readonly #store: Workflows;
  readonly #dispatcher: Dispatcher;
  readonly #activities: ActivityRunner;
  readonly #tasks: ActivityTasks;
  readonly #activityWorker: ActivityWorker;
  readonly #finding = new FewAtATime(FEW);
  readonly #looking = new FewAtATime(FEW);
  readonly #instruments: WorkflowInstruments;
  readonly #gauges: StickyGauges;
  readonly #ends: EndWatch;
  readonly #questions: HostQuestions;
  readonly #updates: UpdateWatch;
  #servesTimers = false;
  #isStarted = false;
  /** Set at the stop: the store closes next, so no request is retried. */
  #stopped: LimpetError | undefined;
  #unwatch: (() => void) | undefined;
  #unwatchExceptions: (() => void) | undefined;
  #unwatchReminders: (() => void) | undefined;

  constructor(
    { workflows, activities, standIn }: WorkflowDefinitions,
    settings: WorkflowSettings,
    deps: WorkflowNodeDeps,
  ) {
    const { clock, random, log, settle, reminders } = deps;
    this.#instruments = workflowInstruments(deps.meter, settings.namespace);
    const { namespace, queue, concurrency } = settings;
    this.#settings = settings;
    this.#deps = deps;
    this.#store = batchWorkflows(deps.store, clock, settings.patienceMs);
    const counted = (outcome: "completed" | "failed"): void => this.#instruments.activity(outcome);
    this.#activities = new ActivityRunner(clock, activities, counted, standIn, concurrency);
    const book = reminders.writer;
    this.#dispatcher = new Dispatcher({ namespace, queue, book, hasType: (type) => this.worker.has(type) });
    this.#ends = new EndWatch(clock, this.#store, (ref) => this.worker.holds(ref));
    this.#updates = new UpdateWatch(clock);
    const now = this.#now;
    const { reminderStore } = deps;
    this.#questions = new HostQuestions({ clock, random, store: reminderStore, book, namespace, now });
    const isOpen = (run: { readonly workflowId: string; readonly runId: string }) => this.#isOpen(run);
    this.#tasks = new ActivityTasks({
      store: reminderStore,
      namespace,
      now,
      isOpen,
      cancel: (key: ReminderKey) => book.write({ kind: "cancel", key }),
      ...batchActivities(reminderStore, clock, settings.patienceMs),
      tell: (run, key, data) => this.#tellText(run, key, data),
      freed: (at) => {
        this.#activityWorker.expect(at);
        this.remote.nudge();
      },
    });
    this.#activityWorker = new ActivityWorker(settings, {
      clock,
      random,
      log,
      now,
      isOpen,
      tasks: this.#tasks,
      runner: this.#activities,
      renew: (claims, leaseMs) => reminderStore.renew(claims, leaseMs),
      isThere: async (key) => (await reminderStore.get(key)) !== undefined,
    });
    this.worker = new Worker(workflows, settings, {
      clock,
      random,
      log,
      settle,
      store: this.#store,
      dispatcher: this.#dispatcher,
      activities: this.#activities,
      now,
      callActor: (type, id, method, args) => deps.callActor(type, id, method, args),
      instruments: this.#instruments,
      guards: processGuards,
      reminded: (writes) => this.#reminded(writes),
      left: (ref) => this.#ends.left(ref),
      isDrained: (of, build) => this.remote.workers.isDrained(of, build),
      written: (append, outcome, runId) => {
        this.#reminded(append.reminders);
        const { fate } = append;
        this.#instruments.step();
        this.#updates.written(append);
        if (fate.kind === "close") this.#ended(append.ref, runId, fate);
        if (append.starts.length > 0 || append.arrivals.length > 0 || outcome.arrived > append.taken)
          this.worker.nudge();
        this.remote.nudge();
      },
    });
    this.client = new WorkflowClient({
      clock,
      random,
      namespace,
      queue,
      store: this.#store,
      dispatcher: this.#dispatcher,
      ends: this.#ends,
      now,
      updates: this.#updates,
      ended: (ref, runId, end) => this.#ended(ref, runId, end),
      start: (start, started, at) => this.#start(start, started, at),
      arrive: (arrival) => this.#arrive(arrival),
      query: (run, name, input) => this.#queryByCode(run, name, input),
      isHere: (ref) => this.worker.holds(ref),
    });
    const {
      isSticky,
      stickyMs,
      pinning,
      historyLimit,
      maxLostAttempts,
      httpLeaseMs: taskLeaseMs,
      httpActivityLeaseMs: activityLeaseMs,
    } = settings;
    this.remote = deps.openHttpWorkers({
      clock,
      random,
      log,
      store: this.#store,
      reminders: reminderStore,
      book,
      client: this.client,
      activityTasks: this.#tasks,
      host: settings.workerId,
      namespace,
      queue,
      isSticky,
      stickyMs,
      pinning,
      historyLimit,
      maxLostAttempts,
      taskLeaseMs,
      activityLeaseMs,
      now,
      start: (start, started, at) => this.#start(start, started, at),
      arrive: (arrival) => this.#arrive(arrival),
      hasType: (type) => this.worker.has(type),
      query: (run, name, input) => this.#query(run, name, input),
      ended: (ref, runId, end) => this.#ended(ref, runId, end),
      nudge: () => {
        this.worker.nudge();
        this.#activityWorker.nudge();
      },
      serve: () => this.#serveElsewhere(),
      claimed: (mode) => this.#instruments.claimed(mode),
    });
    this.#gauges = new StickyGauges({ clock, meter: deps.meter, namespace, figures: () => this.remote.figures() });
    this.door = new StoredWorkflows({
      namespace,
      isSticky,
      stickyMs,
      historyLimit,
      now,
      client: this.client,
      httpWorkers: this.remote,
      store: this.#store,
      reminders: reminderStore,
      clock,
      callTimeoutMs: settings.callTimeoutMs,
      waitsOf: (run) => this.waitsOf(run),
      mend: (run) =>
        mend(run, { store: this.#store, reminders: reminderStore, book, dispatcher: this.#dispatcher, now }),
      woken: () => this.worker.nudgeAll(),
    });
  }

  /** Updates the gauges; called when the metrics are read. */
  measure(): void {
    this.#instruments.measure(this.worker.cache, this.worker.working);
    this.#gauges.measure();
  }

  /** The writer of workflows for actors. */
  get book(): WorkflowWriter {
    const { client } = this;
    return {
      start: (type, options) =>
        client.prepare(type, { ...options, input: options.input } as StartOptions<unknown>).start,
      signal: (workflowId, name, input) => client.signalTo(workflowId, undefined, name, input),
      cancel: (workflowId, reason) => client.cancelTo(workflowId, undefined, reason),
      write: async (starts, arrivals) => {
        await Promise.all([this.#store.start(starts), this.#store.arrive(arrivals)]);
        this.worker.nudgeAll();
      },
      written: () => this.worker.nudgeAll(),
    };
  }

  readonly #now = (): number => Math.floor(this.#deps.reminders.storeNow());

  /** May be repeated after a failure: the store did not answer. */
  async start(): Promise<void> {
    this.remote.workers.keepTidy();
    const { namespace } = this.#settings;
    if (this.worker.types.length > 0) {
      this.#unwatchExceptions ??= watchExceptions(this.#deps.claimRejections);
      this.#serveTimers();
      this.#deps.reminders.serve(askType(this.#settings.workerId), (data) =>
        this.#questions.answer(data, (question) => this.#answer(question)),
      );
      await this.worker.start();
    }
    if (this.#activities.names.length > 0) {
      this.#serveTimers();
      this.#activityWorker.start();
      this.#hearOfReminders();
    }
    this.#isStarted = true;
    // All workers may be elsewhere or gone, so this process serves timeouts as soon as runs exist.
    const isAny = await this.#store.count({ namespace, status: "running", limit: 1 }).catch(() => 0);
    if (isAny > 0) this.#serveTimers();
    this.#unwatch = this.#store.watch(namespace, () => {
      this.worker.nudgeAll();
      this.#ends.nudge();
      this.remote.nudge();
    });
  }

  /** A remote worker polls this process. */
  #serveElsewhere(): void {
    this.#serveTimers();
    this.#hearOfReminders();
  }

  /** Watches for activities that other processes queue. */
  #hearOfReminders(): void {
    const { reminderStore } = this.#deps;
    this.#unwatchReminders ??= reminderStore.watch(this.#settings.namespace, () => {
      this.#activityWorker.nudge();
      this.remote.nudge();
    });
  }

  /** This process, or a remote worker through it, ended a run. */
  #ended(ref: number, runId: string, end: RunEnd): void {
    if (end.status !== "running") this.#instruments.ended(end.status);
    this.#ends.ended(ref, runId, end);
    this.#updates.ended(ref);
  }

  /** Called after this process wrote these reminders. */
  #reminded(writes: readonly ReminderWrite[]): void {
    this.#deps.reminders.writer.written(writes);
    this.#activityWorker.written(writes);
  }

  /** Delivers timers of all runs, with or without their code in this process. */
  #serveTimers(): void {
    if (this.#servesTimers) return;
    this.#servesTimers = true;
    const { reminders } = this.#deps;
    reminders.serve(TIMER_TYPE, (data, tick) => this.#timerFired(data as RunTimer, tick));
    reminders.serve(TIMEOUT_TYPE, (data) => this.#timedOut(data as RunTimer));
    reminders.serve(WATCH_TYPE, (data) => this.#lookAfter(data as ActivityWatch));
    reminders.serve(ANSWER_TYPE, (data) => this.#questions.outlived(data));
  }

  async stop(): Promise<void> {
    this.#unwatch?.();
    this.#unwatchReminders?.();
    await this.remote.stop();
    await Promise.all([this.worker.stop(), this.#activityWorker.stop()]);
    this.#unwatchExceptions?.();
    const stopping = new LimpetError(
      "STOPPING",
      "this process stops; the workflow goes on, and another one can be asked",
    );
    this.#stopped = stopping;
    this.#ends.stop(stopping);
    this.#updates.stop(stopping);
    this.#questions.stop(stopping);
  }

  async #start(start: RunStart, started: Started, at: number): Promise<StartOutcome> {
    if (this.#stopped !== undefined) throw this.#stopped;
    if (this.#isStarted) this.#serveTimers();
    const here = await this.worker.startHere(start, started, at);
    const outcome = here ?? (await this.#store.start([start]))[0]!;
    this.#reminded(start.reminders);
    if (here === undefined) {
      this.worker.nudge();
      this.remote.nudge();
    }
    return outcome;
  }

  async #arrive(arrival: InboxMessage): Promise<{ readonly ref: number; readonly runId: string }> {
    const outcome = await this.#send(arrival);
    if (outcome.kind === "arrived") return outcome;
    const refusal = closed(arrival.workflowId, outcome.status);
    throw outcome.isInDoubt ? maybeDone(refusal.message) : refusal;
  }

  async #send(arrival: InboxMessage): Promise<DeliveryOutcome> {
    if (this.#stopped !== undefined) throw this.#stopped;
    const outcome = await sendTo(this.#store, arrival);
    if (outcome.kind === "arrived" && !this.worker.nudgeRun(outcome.ref)) {
      this.worker.nudge();
      this.remote.nudge();
    }
    return outcome;
  }

  /** Delivers a due event to the inbox of a run; a closed run ignores it. */
  async #tell(
    { workflowId, runId }: { workflowId: string; runId: string },
    key: string,
    message: Message,
    notBefore?: number,
  ): Promise<void> {
    await this.#tellText({ workflowId, runId }, key, writeMessage(message, { notBefore }));
  }

  async #tellText(
    { workflowId, runId }: { workflowId: string; runId: string },
    key: string,
    data: string,
  ): Promise<void> {
    const { namespace } = this.#settings;
    await this.#send({ namespace, workflowId, runId, key, data, goesAlong: false });
  }

  async #timerFired(timer: RunTimer, tick: ReminderTick): Promise<void> {
    await this.#tell(timer, `timer ${timer.n}`, { kind: "TimerFired", of: timer.n }, tick.due);
  }

  async #timedOut({ workflowId, runId, n }: RunTimer): Promise<void> {
    const { namespace } = this.#settings;
    if (n === CLEANUP_TIMEOUT) {
      const message = { kind: "CancelRequested", reason: "the time to clean up is over" } as const;
      await this.#send(arrivalOf({ namespace, workflowId, runId, key: "cleanup is over" }, message));
      return;
    }
    const run = await this.#store.find({ namespace, workflowId, runId });
    if (run === undefined || run.status !== "running") return;
    const error = serializeError(new LimpetError("WORKFLOW_TIMED_OUT", `workflow ${workflowId} took too long`));
    const world = { store: this.#store, dispatcher: this.#dispatcher, now: this.#now };
    if (!(await endFromOutside(run, "timed out", error, world))) return;
    const result = writeError(error);
    this.#ended(run.ref, run.runId, { status: "timed out", result });
  }

  /** Checks the limits of an activity that may have no workers. */
  async #lookAfter(watch: ActivityWatch): Promise<void> {
    const again = await this.#looking.run(() => this.#tasks.lookAfter(watch));
    if (again !== undefined) await this.#deps.reminders.writer.write(this.#dispatcher.watch(watch, again));
  }

  #isOpen({ workflowId, runId }: { readonly workflowId: string; readonly runId: string }): Promise<boolean> {
    return this.#finding.share(runId, async () => {
      const run = await this.#store.find({ namespace: this.#settings.namespace, workflowId, runId });
      return run?.status === "running";
    });
  }

  /** The current waits of a run's code; undefined: the code is not here, or the replay is refused. */
  async waitsOf(run: StoredRun): Promise<readonly string[] | undefined> {
    if (!this.worker.hasCodeOf(run) || run.events > MOST_REPLAYED) return undefined;
    const warm = this.worker.cache.peek(run.ref);
    if (warm !== undefined && warm.last === run.events) return warm.execution.waitsFor;
    // A replay of code that crashed other processes may crash this one.
    if (run.task !== undefined && run.task.lost > 0) return undefined;
    try {
      const cold = await this.worker.replayer.replay({ ref: run.ref, type: run.type, last: run.events, taken: 0 });
      return cold.execution.waitsFor;
    } catch {
      // The task of the run records the error once a worker has tried it.
      return undefined;
    }
  }

  async #queryByCode(run: StoredRun, name: string, input: unknown): Promise<unknown> {
    const wire = toWire(input, "the input", "ARGUMENT_INVALID");
    const answer = await this.#query(run, name, wire).catch((error: unknown) => {
      throw this.remote.plainError(error);
    });
    return fromWire(answer);
  }

  #query(run: StoredRun, name: string, input: Wire): Promise<Wire> {
    const { workers } = this.remote;
    const { workerId: worker, leaseMs } = this.#settings;
    return answerQuery(run, name, input, {
      clock: this.#deps.clock,
      worker,
      hasType: (type) => this.worker.has(type),
      hasCodeOf: (of) => this.worker.hasCodeOf(of),
      here: async (...[of, what, asked]) => {
        const result = await this.#queryHere(of, what, fromWire(structuredClone(asked)));
        return toWire(result, "the result", "RESULT_INVALID");
      },
      askHost: (...question) => this.#questions.ask(...question),
      askHttpWorkers: (...question) => this.remote.query(...question),
      workers: () => workers.rows(),
      // With long leases workers send heartbeats less often.
      isLive: (row) => workers.isLive(row) || row.seenAt + staleAfter(leaseMs) > this.#now(),
    });
  }

  /** Answers a query of another process that does not have the code. */
  async #answer({ workflowId, runId, name, input }: HostQuestion): Promise<unknown> {
    const run = await this.#store.find({ namespace: this.#settings.namespace, workflowId, runId });
    if (run === undefined) throw closed(workflowId, undefined);
    checkQueryable(run);
    return this.#queryHere(run, name, input);
  }

  /** Answers from durable events: with the run in memory if it is up to date, otherwise with a replay. */
  async #queryHere(run: StoredRun, name: string, input: unknown): Promise<unknown> {
    const warm = this.worker.cache.peek(run.ref);
    if (warm !== undefined && warm.last === run.events) return warm.execution.handlers.query(name, input);
    const cold = await this.worker.replayer.replay({ ref: run.ref, type: run.type, last: run.events, taken: 0 });
    return cold.execution.handlers.query(name, input);
  }
}
