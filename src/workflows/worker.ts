// Takes tasks of runs from the store and brings them to an end, several at a time. Runs that rest stay in memory, so that their next task
// goes on where the last one ended; every other one is replayed from its history first.
//
// What a task may write is decided by the store alone: a worker that lost its lease writes nothing. So everything here is allowed to be
// late, to happen twice, or to stop in the middle.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWrite } from "../ports/reminders.ts";
import type { Settle } from "../ports/settle.ts";
import type { ClaimedTask, ReplayMode, RunStart, StartOutcome, TaskLease, WorkerRow } from "../ports/workflows.ts";
import type { AnyWorkflow } from "./definition.ts";
import { fingerprintOf } from "./definition.ts";
import { endOfBroken } from "./ending.ts";
import type { Started, Step } from "./events.ts";
import { HeldRun } from "./held-run.ts";
import type { WorkflowInstruments } from "./instruments.ts";
import { MinuteCounts } from "./minute-counts.ts";
import { Replayer } from "./replayer.ts";
import { RunCache } from "./run-cache.ts";
import { firstStep, type TaskWorld, workOn } from "./task.ts";

export interface WorkerSettings {
  readonly namespace: string;
  readonly workerId: string;
  readonly queue: string;
  readonly build: string;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
  /** Runs that rest in memory; 0: none, and every task is replayed. */
  readonly cacheRuns: number;
  readonly cacheBytes: number;
  readonly isSticky: boolean;
  readonly stickyMs: number;
  readonly drainMs: number;
  /** Every step is replayed before it is written, and a run whose code does not do the same again fails. For tests. */
  readonly isChecked?: boolean | undefined;
}

export interface WorkerWorld extends Omit<TaskWorld, "queue" | "leaseMs" | "affinity" | "isDraining"> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settle: Settle;
  readonly instruments: WorkflowInstruments;
  /** These are durable now. */
  reminded(reminders: readonly ReminderWrite[]): void;
  /** A run is not worked on here any more, and may not be over. */
  left(ref: number): void;
}

/** A worker that was not seen for so many heartbeats has nothing in memory any more, as far as others are concerned. */
const STALE_HEARTBEATS = 3;
/** Heartbeats in the time of one lease. */
const HEARTBEATS = 6;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A run whose history is full waits for people. */
const PARKED_MS = 24 * 3_600_000;

export class Worker {
  readonly #settings: WorkerSettings;
  readonly #world: WorkerWorld;
  readonly #task: TaskWorld;
  readonly #definitions: readonly AnyWorkflow[];
  /** Brings runs into memory, for this worker and for whoever asks about them. */
  readonly replayer: Replayer;
  readonly cache: RunCache;
  /** How tasks came here lately; told with every heartbeat. */
  readonly #minute: MinuteCounts<ReplayMode | "miss">;
  /** Runs whose task is here. */
  readonly #held = new Map<number, HeldRun>();
  readonly #working = new Set<Promise<void>>();
  #isOpen = false;
  #isClaiming = false;
  #isNudged = false;
  #poll: Timer | undefined;
  #renewal: Timer | undefined;
  #heartbeat: Timer | undefined;

  constructor(definitions: readonly AnyWorkflow[], settings: WorkerSettings, world: WorkerWorld) {
    this.#settings = settings;
    this.#world = world;
    this.#definitions = definitions;
    this.replayer = new Replayer(definitions, settings, world);
    this.#minute = new MinuteCounts(world.clock);
    this.cache = new RunCache(settings.isSticky ? settings.cacheRuns : 0, settings.cacheBytes);
    const { queue, leaseMs, workerId, stickyMs } = settings;
    const affinity = this.cache.isOn ? { worker: workerId, ms: stickyMs } : undefined;
    const check =
      settings.isChecked === true ? (run: HeldRun, step: Step) => this.replayer.check(run, step) : undefined;
    this.#task = { ...world, queue, leaseMs, affinity, check, isDraining: () => !this.#isOpen };
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
    await this.#seen(false);
    this.#isOpen = true;
    this.#beat();
    this.nudge();
  }

  /** Takes no more tasks, lets activities that run come to their end, gives back what is not done then, and forgets what it remembers. */
  async stop(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#poll?.cancel();
    this.#heartbeat?.cancel();
    await this.#seen(true).catch(() => {});
    await this.#drained();
    for (const run of this.#held.values()) run.abandon(new LimpetError("STOPPING", "the worker stops"));
    await this.#giveBackAll();
    await Promise.allSettled([...this.#working]);
    this.#renewal?.cancel();
    this.cache.clear();
    const { namespace, workerId } = this.#settings;
    await this.#world.store.forgetWorker(namespace, workerId).catch(() => {});
  }

  /** Until nothing is worked on, or it has taken too long. */
  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#world.clock.after(this.#settings.drainMs, resolve);
    await Promise.race([Promise.allSettled([...this.#working]), promise]);
    timer.cancel();
  }

  async #giveBackAll(): Promise<void> {
    const returns = [...this.#held.values()].map(({ ref, token }) => ({
      ref,
      token: token!,
      pauseMs: 0,
      problem: undefined,
    }));
    if (returns.length > 0) await this.#world.store.giveBack(returns).catch(() => {});
    for (const run of this.#held.values()) run.nudge();
  }

  // ——— Being there.

  #row(isDraining: boolean): WorkerRow {
    const { namespace, workerId: worker, queue, build, isSticky } = this.#settings;
    const { capacity, numbers } = this.cache;
    const fingerprints = Object.fromEntries(this.#definitions.map((each) => [each.name, fingerprintOf(each)]));
    const about = {
      runtime: "typescript",
      types: this.types,
      fingerprints,
      capacity,
      ...numbers,
      working: this.working,
      minute: this.#minute.all,
    };
    return {
      namespace,
      worker,
      queue,
      build,
      isSticky: isSticky && this.cache.isOn,
      isDraining,
      about: JSON.stringify(about),
    };
  }

  #seen(isDraining: boolean): Promise<void> {
    return this.#world.store.seen(this.#row(isDraining));
  }

  #beat(): void {
    this.#heartbeat = this.#world.clock.after(this.#settings.leaseMs / HEARTBEATS, () => {
      void this.#seen(false)
        .catch((err) => this.#world.log.warn("workflow.heartbeat.failed", { err }))
        .finally(() => {
          if (this.#isOpen) this.#beat();
        });
    });
  }

  // ——— Getting tasks.

  /** There may be tasks. */
  nudge(): void {
    this.#isNudged = true;
    if (!this.#isClaiming && this.#isOpen) void this.#claim();
  }

  /** Whether its task is here. */
  holds(ref: number): boolean {
    return this.#held.has(ref);
  }

  /** Something may have arrived at a run that is here; true: it is. */
  nudgeRun(ref: number): boolean {
    const run = this.#held.get(ref);
    run?.nudge();
    return run !== undefined;
  }

  nudgeAll(): void {
    for (const run of this.#held.values()) run.nudge();
    this.nudge();
  }

  get #room(): number {
    return this.#settings.concurrency - this.#working.size;
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.#room > 0;
  }

  #lease(): TaskLease {
    return { token: this.#world.random.id(), worker: this.#settings.workerId, leaseMs: this.#settings.leaseMs };
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    this.#poll?.cancel();
    let pauseMs = this.#settings.pollMs;
    try {
      while (this.#isNudged && this.#isOpen && this.#room > 0 && this.#definitions.length > 0) {
        this.#isNudged = false;
        const { namespace, queue, build } = this.#settings;
        const claims = await this.#world.store.claim({
          ...{ namespace, queue, build, types: this.types, compatible: [], binds: false },
          limit: Math.min(this.#room, 200),
          lease: this.#lease(),
          isSticky: this.cache.isOn,
          staleMs: (this.#settings.leaseMs / HEARTBEATS) * STALE_HEARTBEATS,
        });
        for (const task of claims.tasks) {
          this.#world.instruments.claimed(task.mode);
          this.#minute.add(task.mode);
          this.#begin(this.#workOn(task));
        }
        if (claims.tasks.length > 0) this.#isNudged = true;
        if (claims.next !== undefined) pauseMs = Math.max(0, Math.min(pauseMs, claims.next - claims.now));
      }
    } catch (err) {
      this.#world.log.warn("workflow.claim.failed", { err });
    } finally {
      this.#isClaiming = false;
    }
    if (!this.#isOpen) return;
    // One that became free meanwhile says so itself.
    this.#poll = this.#world.clock.after(Math.max(pauseMs, 10), () => this.nudge());
  }

  #begin(work: Promise<void>): void {
    this.#working.add(work);
    void work.finally(() => {
      this.#working.delete(work);
      if (this.#isNudged && this.#isOpen && !this.#isClaiming) void this.#claim();
    });
  }

  /** Leases get longer while somebody works on their runs. */
  #renew(): void {
    if (this.#renewal !== undefined || this.#held.size === 0) return;
    this.#renewal = this.#world.clock.after(this.#settings.leaseMs / 3, () => {
      void this.#renewAll()
        .catch((err) => this.#world.log.warn("workflow.renewal.failed", { err }))
        .finally(() => {
          this.#renewal = undefined;
          this.#renew();
        });
    });
  }

  async #renewAll(): Promise<void> {
    const tasks = [...this.#held.values()].map(({ ref, token }) => ({ ref, token: token! }));
    if (tasks.length === 0) return;
    const lost = await this.#world.store.renew(tasks, this.#settings.leaseMs);
    for (const ref of lost) {
      const run = this.#held.get(ref);
      run?.abandon(new LimpetError("LEASE_LOST", "somebody else may work on the run"));
      run?.nudge();
    }
    // What arrived from elsewhere without being told.
    for (const run of this.#held.values()) run.nudge();
  }

  // ——— Working on them.

  async #workOn(task: ClaimedTask): Promise<void> {
    let run: HeldRun | undefined;
    try {
      run = await this.#runOf(task);
      run.token = task.token;
      run.attempt = task.attempt;
      await this.#hold(run, task.arrived);
    } catch (error) {
      await this.#failed(task, error);
    }
  }

  async #hold(run: HeldRun, arrived: number): Promise<void> {
    this.#held.set(run.ref, run);
    this.#renew();
    try {
      const end = await workOn(run, arrived, this.#task);
      run.token = undefined;
      if (end === "rests" && this.#isOpen) {
        this.cache.put(run);
      } else {
        run.abandon(new LimpetError("LEASE_LOST", "the run is over, or somebody else's"));
      }
    } catch (error) {
      run.abandon(error);
      throw error;
    } finally {
      this.#held.delete(run.ref);
      this.#world.left(run.ref);
    }
  }

  async #runOf(task: ClaimedTask): Promise<HeldRun> {
    const warm = this.cache.take(task.ref);
    if (warm !== undefined && warm.last === task.last && warm.taken === task.taken) {
      this.cache.hits++;
      return warm;
    }
    if (task.mode === "sticky_hit_expected") {
      this.cache.misses++;
      this.#minute.add("miss");
    }
    if (task.mode === "forced_cold_replay") this.cache.forced++;
    return this.replayer.replay(task);
  }

  /** The task is given back with what was wrong. Whoever can do better may have it, after a while. */
  async #failed(task: ClaimedTask, error: unknown): Promise<void> {
    const { store, log } = this.#world;
    if (isLimpetError(error, "STORE_UNAVAILABLE") || isLimpetError(error, "COMMIT_UNKNOWN")) return;
    const problem = error instanceof Error ? error.message : String(error);
    this.#world.instruments.blocked();
    log.warn("workflow.blocked", { workflow: task.workflowId, type: task.type, attempt: task.attempt, err: error });
    try {
      if (await this.#endBroken(task)) return;
      const isFull = isLimpetError(error, "WORKFLOW_TOO_LARGE");
      const pauseMs = isFull
        ? PARKED_MS
        : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(task.attempt - 1, 20), LONGEST_PAUSE_MS);
      await store.giveBack([{ ref: task.ref, token: task.token, pauseMs, problem }]);
    } catch (err) {
      log.warn("workflow.return.failed", { err });
    }
  }

  /** A run whose code cannot go on can still be asked to end. */
  async #endBroken(task: ClaimedTask): Promise<boolean> {
    const end = await endOfBroken(task, this.#world);
    if (end === undefined) return false;
    const [outcome] = await this.#world.store.append([end]);
    if (outcome!.kind === "done") this.#world.written(end, outcome!);
    return outcome!.kind === "done";
  }

  /** Starts a run and its first task in one step, here. Undefined: there is no room, or this worker does not know it. */
  async startHere(start: RunStart, started: Started, at: number): Promise<StartOutcome | undefined> {
    const isMine = this.has(start.type) && start.delayMs === 0 && start.queue === this.#settings.queue;
    if (!isMine || !this.hasRoom) return undefined;
    const { store } = this.#world;
    const execution = this.replayer.execution(start.type);
    const run = new HeldRun(0, execution, 0, 0);
    run.at = at;
    try {
      await execution.begin(started, at);
    } catch {
      // It is started all the same; what is wrong with its code is told of its task.
      return undefined;
    }
    const { page, reminders, isSimple } = firstStep(run, started, at, this.#task);
    // What more it brings about is written with its first step.
    if (!isSimple) return undefined;
    const lease = this.#lease();
    const [outcome] = await store.start([
      { ...start, first: page, lease, reminders: [...start.reminders, ...reminders] },
    ]);
    this.#world.reminded(reminders);
    if (outcome!.isNew && outcome!.runId === start.runId && outcome!.status === "running") {
      this.#begin(this.#goOnHere(run.as(outcome!.ref, page.count), lease.token, page.data.length, start));
    }
    return outcome!;
  }

  async #goOnHere(
    run: HeldRun,
    token: string,
    bytes: number,
    { namespace, workflowId, runId, type }: RunStart,
  ): Promise<void> {
    run.token = token;
    run.execution.events = run.last;
    run.execution.bytes = bytes;
    try {
      await this.#hold(run, 0);
    } catch (error) {
      const { ref, last, taken } = run;
      const nothing = { attempt: 1, mode: "cold_replay", arrived: taken } as const;
      await this.#failed({ namespace, workflowId, runId, type, ref, token, last, taken, ...nothing }, error);
    }
  }
}
