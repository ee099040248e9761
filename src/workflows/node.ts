// Connects a process to workflows: the client for its code, the worker that runs them, and the delivery of
// due timers and queued activities. The constructor opens the components; none of them works before `start`.
import { LimpetError } from "../kernel/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter, Timers } from "../ports/reminder-writer.ts";
import type { Reminders } from "../ports/store/reminders.ts";
import type { Workflows } from "../ports/store/workflows.ts";
import type { WorkflowAdmin } from "../ports/workflow-admin.ts";
import type { Settle } from "../ports/workflow-code.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import { ActivityRunner, type StandIn } from "./activities/runner.ts";
import { ActivityTasks } from "./activities/tasks.ts";
import { ActivityWorker } from "./activities/worker.ts";
import { StoredWorkflows } from "./admin.ts";
import { type StartOptions, WorkflowClient } from "./client/client.ts";
import { EndWatch } from "./client/end-watch.ts";
import type { ActivityFunction } from "./definition/context.ts";
import type { AnyWorkflow } from "./definition/definition.ts";
import { askType } from "./definition/messages.ts";
import { type ClaimRejections, watchExceptions } from "./engine/exceptions.ts";
import { processGuards } from "./engine/guards.ts";
import { mend } from "./history/mending.ts";
import type { HttpWorkers, HttpWorkersDeps } from "./http-workers.ts";
import { HostQuestions } from "./inbox/host-questions.ts";
import { RunQueries } from "./inbox/run-queries.ts";
import { RunRequests } from "./inbox/run-requests.ts";
import { UpdateWatch } from "./inbox/update-watch.ts";
import { type WorkflowInstruments, workflowInstruments } from "./instruments.ts";
import { Notifications } from "./notifications.ts";
import { RunTimers } from "./run-timers.ts";
import { batchActivities, batchWorkflows } from "./worker/batched-store.ts";
import { CommandDispatcher } from "./worker/command-dispatcher.ts";
import { StickyGauges } from "./worker/sticky-gauges.ts";
import { Worker, type WorkflowWorkerSettings } from "./worker/worker.ts";

export interface WorkflowSettings extends WorkflowWorkerSettings {
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
  readonly standIn?: StandIn;
}

/** The part of the dependencies that most components have in common. */
interface Common {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly namespace: string;
  readonly queue: string;
  readonly store: Workflows;
  readonly writer: ReminderWriter;
  /** The store's clock. */
  now(): number;
}

export class WorkflowNode {
  readonly client: WorkflowClient;
  readonly worker: Worker;
  /** For workers in other languages. */
  readonly remote: HttpWorkers;
  /** For display and operators. */
  readonly admin: WorkflowAdmin;
  readonly #settings: WorkflowSettings;
  readonly #deps: WorkflowNodeDeps;
  readonly #common: Common;
  readonly #dispatcher: CommandDispatcher;
  readonly #activities: ActivityRunner;
  readonly #tasks: ActivityTasks;
  readonly #activityWorker: ActivityWorker;
  readonly #instruments: WorkflowInstruments;
  readonly #gauges: StickyGauges;
  readonly #ends: EndWatch;
  readonly #updates: UpdateWatch;
  readonly #hosts: HostQuestions;
  readonly #notifications: Notifications;
  readonly #requests: RunRequests;
  readonly #queries: RunQueries;
  readonly #timers: RunTimers;
  #isStarted = false;
  #unwatch: (() => void) | undefined;
  #unwatchExceptions: (() => void) | undefined;
  #unwatchReminders: (() => void) | undefined;

  constructor(
    { workflows, activities, standIn }: WorkflowDefinitions,
    settings: WorkflowSettings,
    deps: WorkflowNodeDeps,
  ) {
    const { clock, random, log, meter, reminders: timers, reminderStore } = deps;
    const { namespace, queue, concurrency, workerId, leaseMs } = settings;
    const { writer } = timers;
    const store = batchWorkflows(deps.store, clock, settings.patienceMs);
    const now = (): number => Math.floor(timers.storeNow());
    const common = { clock, random, log, namespace, queue, store, writer: writer, now };
    this.#settings = settings;
    this.#deps = deps;
    this.#common = common;
    const instruments = workflowInstruments(meter, namespace);
    this.#instruments = instruments;
    this.#activities = new ActivityRunner(clock, activities, instruments.activity, standIn, concurrency);
    this.#dispatcher = new CommandDispatcher({
      namespace,
      queue,
      writer: writer,
      hasType: (type) => this.worker.has(type),
    });
    this.#ends = new EndWatch(clock, store, (ref) => this.worker.holds(ref));
    this.#updates = new UpdateWatch(clock);
    this.#hosts = new HostQuestions({ ...common, store: reminderStore });
    const notifications = new Notifications({ instruments, writer: writer, ends: this.#ends, updates: this.#updates });
    this.#notifications = notifications;
    const requests = new RunRequests({
      ...common,
      notifications,
      starting: () => this.#isStarted && this.#timers.serve(),
      startHere: (start, started, at) => this.worker.startHere(start, started, at),
    });
    this.#requests = requests;
    this.#tasks = this.#openTasks();
    this.#activityWorker = this.#openActivityWorker();
    this.worker = this.#openWorker(workflows);
    this.client = this.#openClient();
    this.remote = this.#openHttpWorkers();
    notifications.open({ worker: this.worker, activityWorker: this.#activityWorker, httpWorkers: this.remote });
    const { worker, remote: httpWorkers } = this;
    const [hosts, tasks, dispatcher] = [this.#hosts, this.#tasks, this.#dispatcher];
    this.#queries = new RunQueries({ ...common, worker, workerId, leaseMs, hosts, httpWorkers });
    this.#timers = new RunTimers({ ...common, timers, dispatcher, tasks, hosts, requests, notifications });
    this.#gauges = new StickyGauges({ clock, meter, namespace, figures: () => httpWorkers.figures() });
    this.admin = this.#openAdmin();
  }

  #openTasks(): ActivityTasks {
    const { clock, reminderStore } = this.#deps;
    const { writer } = this.#common;
    return new ActivityTasks({
      ...this.#common,
      ...batchActivities(reminderStore, clock, this.#settings.patienceMs),
      store: reminderStore,
      isOpen: (run) => this.#requests.isOpen(run),
      cancel: (key) => writer.write({ kind: "cancel", key }),
      report: (run, key, data) => this.#requests.reportText(run, key, data),
      freed: (at) => this.#notifications.activityFreed(at),
    });
  }

  #openActivityWorker(): ActivityWorker {
    const { reminderStore } = this.#deps;
    return new ActivityWorker(this.#settings, {
      ...this.#common,
      tasks: this.#tasks,
      runner: this.#activities,
      isOpen: (run) => this.#requests.isOpen(run),
      renew: (claims, leaseMs) => reminderStore.renew(claims, leaseMs),
      isThere: async (key) => (await reminderStore.get(key)) !== undefined,
    });
  }

  #openWorker(workflows: readonly AnyWorkflow[]): Worker {
    const notifications = this.#notifications;
    return new Worker(workflows, this.#settings, {
      ...this.#common,
      settle: this.#deps.settle,
      dispatcher: this.#dispatcher,
      activities: this.#activities,
      instruments: this.#instruments,
      guards: processGuards,
      callActor: this.#deps.callActor,
      reminded: (writes) => notifications.reminded(writes),
      left: (ref) => this.#ends.left(ref),
      isDrained: (queue, build) => this.remote.workers.isDrained(queue, build),
      written: (completion, outcome, runId) => notifications.completed(completion, outcome, runId),
    });
  }

  #openClient(): WorkflowClient {
    return new WorkflowClient({
      ...this.#common,
      dispatcher: this.#dispatcher,
      ends: this.#ends,
      updates: this.#updates,
      ended: (ref, runId, end, messages) => this.#notifications.endedFromOutside(ref, runId, end, messages),
      start: (start, started, at) => this.#requests.start(start, started, at),
      deliver: (message) => this.#requests.deliver(message),
      query: (run, name, input) => this.#queries.ask(run, name, input),
      isHere: (ref) => this.worker.holds(ref),
    });
  }

  #openHttpWorkers(): HttpWorkers {
    const { workerId, isSticky, stickyMs, pinning, historyLimit, maxLostAttempts } = this.#settings;
    return this.#deps.openHttpWorkers({
      ...this.#common,
      reminders: this.#deps.reminderStore,
      client: this.client,
      activityTasks: this.#tasks,
      host: workerId,
      isSticky,
      stickyMs,
      pinning,
      historyLimit,
      maxLostAttempts,
      taskLeaseMs: this.#settings.httpLeaseMs,
      activityLeaseMs: this.#settings.httpActivityLeaseMs,
      start: (start, started, at) => this.#requests.start(start, started, at),
      deliver: (message) => this.#requests.deliver(message),
      hasType: (type) => this.worker.has(type),
      query: (run, name, input) => this.#queries.askWire(run, name, input),
      ended: (ref, runId, end) => this.#notifications.ended(ref, runId, end),
      nudge: (messages) => this.#notifications.completedByHttp(messages),
      serve: () => {
        this.#timers.serve();
        this.#watchReminders();
      },
      claimed: (mode) => this.#instruments.claimed(mode),
    });
  }

  #openAdmin(): WorkflowAdmin {
    const { reminderStore: reminders } = this.#deps;
    const { isSticky, stickyMs, historyLimit, callTimeoutMs } = this.#settings;
    const mendingDeps = { ...this.#common, reminders, dispatcher: this.#dispatcher };
    return new StoredWorkflows({
      ...this.#common,
      isSticky,
      stickyMs,
      historyLimit,
      callTimeoutMs,
      reminders,
      client: this.client,
      httpWorkers: this.remote,
      waitsOf: (run) => this.#queries.waitsOf(run),
      mend: (run) => mend(run, mendingDeps),
      woken: () => this.worker.nudgeAll(),
    });
  }

  /** Updates the gauges; called when the metrics are read. */
  measure(): void {
    this.#instruments.measure(this.worker.cache, this.worker.working);
    this.#gauges.measure();
  }

  /** The writer of workflows for actors. */
  get writer(): WorkflowWriter {
    const { client, worker } = this;
    const { store } = this.#common;
    return {
      start: (type, options) =>
        client.prepare(type, { ...options, input: options.input } as StartOptions<unknown>).start,
      signal: (workflowId, name, input) => client.signalTo(workflowId, undefined, name, input),
      cancel: (workflowId, reason) => client.cancelTo(workflowId, undefined, reason),
      write: async (starts, messages) => {
        await Promise.all([store.start(starts), store.deliver(messages)]);
        worker.nudgeAll();
      },
      written: () => worker.nudgeAll(),
    };
  }

  /** May be repeated after a failure: the store did not answer. */
  async start(): Promise<void> {
    const { store, namespace } = this.#common;
    this.remote.workers.keepTidy();
    if (this.worker.types.length > 0) {
      this.#unwatchExceptions ??= watchExceptions(this.#deps.claimRejections);
      this.#timers.serve();
      this.#deps.reminders.serve(askType(this.#settings.workerId), (data) =>
        this.#hosts.answer(data, (question) => this.#queries.answer(question)),
      );
      await this.worker.start();
    }
    if (this.#activities.names.length > 0) {
      this.#timers.serve();
      this.#activityWorker.start();
      this.#watchReminders();
    }
    this.#isStarted = true;
    // All workers may be elsewhere or gone, so this process serves timeouts as soon as runs exist.
    const isAny = await store.count({ namespace, status: "running", limit: 1 }).catch(() => 0);
    if (isAny > 0) this.#timers.serve();
    this.#unwatch = store.watch(namespace, () => this.#notifications.changedElsewhere());
  }

  /** Watches for activities that other processes queue. */
  #watchReminders(): void {
    const { namespace } = this.#settings;
    this.#unwatchReminders ??= this.#deps.reminderStore.watch(namespace, () => this.#notifications.queuedElsewhere());
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
    for (const part of [this.#requests, this.#ends, this.#updates, this.#hosts]) part.stop(stopping);
  }
}
