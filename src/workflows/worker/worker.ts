// Claims tasks of runs from the store and completes them, several at a time. Resting runs stay in memory, so
// that their next task continues where the last one ended; all other runs are replayed from their history
// first.
//
// The store alone decides which writes of a task are valid: a worker that lost its lease writes nothing.
// Everything here may therefore be late, happen twice, or stop midway.
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type {
  ClaimedTask,
  InboxMessage,
  ReplayMode,
  RunStart,
  StartOutcome,
  StoredRun,
  TaskLease,
  TypeClaim,
  WorkerRow,
} from "../../ports/store/workflows.ts";
import type { CodeGuards, Settle } from "../../ports/workflow-code.ts";
import { type AnyWorkflow, fingerprintOf } from "../definition/definition.ts";
import { mayContinue, type RunPinning, readPin, typeClaim, type WorkerCode } from "../definition/pins.ts";
import type { Started, Step } from "../engine/events.ts";
import type { HistoryLimit } from "../engine/history-budget.ts";
import type { WorkflowInstruments } from "../instruments.ts";
import { returnBlocked } from "./blocked-task.ts";
import type { LoadedRun } from "./loaded-run.ts";
import { LoadedRuns } from "./loaded-runs.ts";
import { LocalStarts } from "./local-starts.ts";
import { checkAttempts, Suspects } from "./lost-attempts.ts";
import { MinuteCounts } from "./minute-counts.ts";
import { type PresenceDeps, staleAfter, WorkerPresence } from "./presence.ts";
import { Replayer } from "./replayer.ts";
import { RunCache } from "./run-cache.ts";
import { RunLoader } from "./run-loader.ts";
import { type TaskDeps, workOn } from "./task.ts";

export interface WorkflowWorkerSettings {
  readonly namespace: string;
  readonly workerId: string;
  readonly queue: string;
  /** Empty: the worker has no build, and pins no run to one. */
  readonly build: string;
  /** Other builds whose runs it continues. */
  readonly compatible: readonly string[];
  /** Whether a run is also pinned to the definition of its workflow. */
  readonly pinning: RunPinning;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
  /** Runs kept in memory between tasks; 0: none, and every task is replayed. */
  readonly cacheRuns: number;
  readonly cacheBytes: number;
  readonly isSticky: boolean;
  readonly stickyMs: number;
  readonly drainMs: number;
  readonly historyLimit: HistoryLimit;
  /** A run is parked after this many lost attempts in a row. */
  readonly maxLostAttempts: number;
  /** Replays every step before it is written; a run with non-deterministic code fails. For tests. */
  readonly isChecked?: boolean;
}

export interface WorkerDeps
  extends PresenceDeps,
    Omit<TaskDeps, "queue" | "leaseMs" | "historyLimit" | "affinity" | "isDraining"> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settle: Settle;
  readonly instruments: WorkflowInstruments;
  /** Active while runs are in memory. */
  readonly guards?: CodeGuards;
  /** Called after these writes are durable. */
  reminded(reminders: readonly ReminderWrite[]): void;
  /** This worker released the run, which may still be open. */
  left(ref: number): void;
}

/** Tasks in one claim. */
const MOST_CLAIMED = 200;

export class Worker {
  readonly #settings: WorkflowWorkerSettings;
  readonly #deps: WorkerDeps;
  readonly #task: TaskDeps;
  readonly #code: WorkerCode;
  readonly #types: readonly TypeClaim[];
  /** Loads runs, for this worker and for queries. */
  readonly replayer: Replayer;
  readonly cache: RunCache;
  /** Replay modes of recent claims; part of every heartbeat. */
  readonly #minute: MinuteCounts<ReplayMode | "miss">;
  readonly #held: LoadedRuns;
  readonly #presence: WorkerPresence;
  readonly #suspects: Suspects;
  readonly #loader: RunLoader;
  readonly #starts: LocalStarts;
  readonly #working = new Set<Promise<void>>();
  #isOpen = false;
  #isClaiming = false;
  #isNudged = false;
  #isGuarded = false;
  #starting = 0;
  #poll: Timer | undefined;

  constructor(definitions: readonly AnyWorkflow[], settings: WorkflowWorkerSettings, deps: WorkerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.replayer = new Replayer(definitions, settings, deps);
    const { build, compatible, pinning } = settings;
    const prints = Object.fromEntries(definitions.map((each) => [each.name, fingerprintOf(each)]));
    this.#code = { build, compatible, definitions: prints };
    this.#types = this.types.map((type) => typeClaim(type, this.#code, pinning));
    this.#minute = new MinuteCounts(deps.clock);
    this.cache = new RunCache(settings.isSticky ? settings.cacheRuns : 0, settings.cacheBytes);
    this.#loader = new RunLoader(this.cache, this.replayer, this.#minute);
    const { queue, leaseMs, historyLimit, workerId, stickyMs } = settings;
    this.#held = new LoadedRuns(leaseMs, deps);
    this.#suspects = new Suspects(settings.maxLostAttempts, deps);
    this.#presence = new WorkerPresence(leaseMs, () => this.#row(), deps);
    this.#presence.resumed = () => this.nudge();
    const affinity = this.cache.isOn ? { worker: workerId, ms: stickyMs } : undefined;
    const check =
      settings.isChecked === true ? (run: LoadedRun, step: Step) => this.replayer.check(run, step) : undefined;
    this.#task = {
      ...deps,
      queue,
      leaseMs,
      historyLimit,
      check,
      affinity: () => (this.#isOpen && !this.#presence.isDrained ? affinity : undefined),
      isDraining: () => !this.#isOpen,
      written: (completion, outcome, runId) => {
        this.#suspects.passed(workerId, completion.ref);
        deps.written(completion, outcome, runId);
      },
    };
    this.#starts = new LocalStarts({
      ...deps,
      queue,
      types: this.#types,
      task: this.#task,
      replayer: this.replayer,
      loader: this.#loader,
      lease: () => this.#lease(),
      begin: (task, run) => this.#begin(this.#workOn(task, run)),
    });
  }

  get types(): string[] {
    return this.replayer.types;
  }

  get working(): number {
    return this.#working.size;
  }

  has(type: string): boolean {
    return this.replayer.has(type);
  }

  async start(): Promise<void> {
    await this.#presence.begin();
    this.#isOpen = true;
    this.nudge();
  }

  /**
   * Claims no more tasks, waits for running activities, returns unfinished tasks, and drops all runs from
   * memory.
   */
  async stop(): Promise<void> {
    if (!this.#isOpen) {
      await this.#presence.withdraw();
      return;
    }
    this.#isOpen = false;
    this.#poll?.cancel();
    await this.#presence.leave();
    await this.#drained();
    await this.#held.giveBackAll(new LimpetError("STOPPING", "the worker stops"));
    await Promise.allSettled([...this.#working]);
    this.#held.stop();
    this.cache.clear();
    this.#guard();
    await this.#presence.end();
  }

  /** Waits until no task is in progress, or the drain time is over. */
  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.clock.after(this.#settings.drainMs, resolve);
    await Promise.race([Promise.allSettled([...this.#working]), promise]);
    timer.cancel();
  }

  /** The row of this worker. */
  #row(): Omit<WorkerRow, "isDraining"> {
    const { namespace, workerId: worker, queue, build, compatible, isSticky } = this.#settings;
    const { capacity, numbers } = this.cache;
    const fingerprints = this.#code.definitions;
    const about = {
      runtime: "typescript",
      types: this.types,
      compatible,
      fingerprints,
      capacity,
      ...numbers,
      working: this.working,
      minute: this.#minute.all,
    };
    return { namespace, worker, queue, build, isSticky: isSticky && this.cache.isOn, about: JSON.stringify(about) };
  }

  // ——— Claiming.

  /** The queue may hold tasks. */
  nudge(): void {
    this.#isNudged = true;
    if (!this.#isClaiming && this.#isOpen) void this.#claim();
  }

  /** Whether this worker has the task of the run. */
  holds(ref: number): boolean {
    return this.#held.has(ref);
  }

  /** A message may have arrived for a loaded run; true: the run is here. */
  nudgeRun(ref: number): boolean {
    return this.#held.nudge(ref);
  }

  /** The queue may hold tasks, and loaded runs may have received these messages. */
  nudgeReceivers(messages: readonly InboxMessage[]): void {
    if (messages.length > 0) this.#held.nudgeReceivers(messages);
    this.nudge();
  }

  nudgeAll(): void {
    this.#held.nudgeAll();
    this.nudge();
  }

  get #capacity(): number {
    return this.#settings.concurrency - this.#working.size;
  }

  get hasRoom(): boolean {
    return this.#isOpen && !this.#presence.isDrained && this.#capacity > 0;
  }

  #lease(): TaskLease {
    return { token: this.#deps.random.id(), worker: this.#settings.workerId, leaseMs: this.#settings.leaseMs };
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    this.#poll?.cancel();
    let pauseMs = this.#settings.pollMs;
    try {
      while (this.#isNudged && this.hasRoom && this.#types.length > 0) {
        this.#isNudged = false;
        const { namespace, queue, leaseMs, workerId } = this.#settings;
        const claims = await this.#deps.store.claim({
          namespace,
          queue,
          types: this.#types,
          limit: Math.min(this.#capacity, MOST_CLAIMED),
          lease: this.#lease(),
          isSticky: this.cache.isOn,
          staleMs: staleAfter(leaseMs),
        });
        for (const task of await this.#suspects.admit(workerId, claims.tasks)) {
          this.#deps.instruments.claimed(task.mode);
          this.#minute.add(task.mode);
          this.#begin(this.#workOn(task));
        }
        if (claims.tasks.length > 0) this.#isNudged = true;
        if (claims.next !== undefined) pauseMs = Math.max(0, Math.min(pauseMs, claims.next - claims.now));
      }
    } catch (err) {
      this.#deps.log.warn("workflow.claim.failed", { err });
    } finally {
      this.#isClaiming = false;
    }
    if (!this.#isOpen) return;
    // A task that ends triggers the next claim itself.
    this.#poll = this.#deps.clock.after(Math.max(pauseMs, 10), () => this.nudge());
  }

  #begin(work: Promise<void>): void {
    this.#working.add(work);
    this.#guard();
    void work.finally(() => {
      this.#working.delete(work);
      this.#guard();
      if (this.#isNudged && this.#isOpen && !this.#isClaiming) void this.#claim();
    });
  }

  /** Callbacks of a run may run at any time while it is in memory. */
  #guard(): void {
    const isNeeded = this.#starting > 0 || this.#working.size > 0 || this.cache.size > 0;
    if (isNeeded === this.#isGuarded) return;
    this.#isGuarded = isNeeded;
    if (isNeeded) this.#deps.guards?.enter();
    else this.#deps.guards?.leave();
  }

  // ——— Working.

  /** `begun`: the run, if its code has run here up to the last event. */
  async #workOn(task: ClaimedTask, begun?: LoadedRun): Promise<void> {
    let run = begun;
    try {
      checkAttempts(task, this.#settings.maxLostAttempts);
      run ??= await this.#loader.load(task);
      run.token = task.token;
      run.attempt = task.attempt;
      run.pinned = task.pinned;
      await this.#hold(run, task.delivered);
    } catch (error) {
      const { last, taken } = run ?? task;
      await returnBlocked({ ...task, last, taken }, error, this.#deps);
    } finally {
      this.#suspects.passed(this.#settings.workerId, task.ref);
    }
  }

  async #hold(run: LoadedRun, delivered: number): Promise<void> {
    this.#held.add(run);
    run.execution.strayed = () => this.#strayed(run);
    try {
      const end = await workOn(run, delivered, this.#task);
      run.token = undefined;
      if (end === "rests" && this.#isOpen) {
        this.cache.put(run);
      } else {
        run.abandon(() => new LimpetError("LEASE_LOST", "the run is over, or another worker has it"));
      }
    } catch (error) {
      run.abandon(() => error);
      throw error;
    } finally {
      this.#held.remove(run);
      // The run may have failed after the last check.
      if (run.execution.broken !== undefined) this.#strayed(run);
      this.#deps.left(run.ref);
    }
  }

  /**
   * The code failed outside of its turn. This worker records the failure if the run is still in its memory.
   */
  #strayed(run: LoadedRun): void {
    const { namespace } = this.#settings;
    const { ref, workflowId } = run;
    if (this.#held.nudge(ref) || this.cache.peek(ref) !== run) return;
    this.#deps.store.wake({ namespace, workflowId }).then(
      () => this.nudge(),
      (err: unknown) => this.#deps.log.warn("workflow.wake.failed", { workflow: workflowId, err }),
    );
  }

  /** Starts a run and its first task here. Undefined: no capacity, or this worker lacks the code. */
  async startHere(start: RunStart, started: Started, at: number): Promise<StartOutcome | undefined> {
    const pin = this.#starts.pinOf(start);
    if (pin === undefined || !this.hasRoom) return undefined;
    this.#starting++;
    this.#guard();
    try {
      // Without a stored start, a first step that crashes the process would leave no trace.
      if (!this.#loader.isProven(start.type)) return await this.#starts.storeFirst(start, pin);
      return await this.#starts.withFirstStep(start, started, at, pin);
    } finally {
      this.#starting--;
      this.#guard();
    }
  }

  /** Whether this worker has the code that the run is pinned to. */
  hasCodeOf({ type, queue, pinned }: Pick<StoredRun, "type" | "queue" | "pinned">): boolean {
    return this.has(type) && queue === this.#settings.queue && mayContinue(readPin(pinned), type, this.#code);
  }
}
