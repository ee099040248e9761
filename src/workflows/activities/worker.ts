// Runs the activities in the queue of this process: claims them, renews their leases while they run, and
// writes their outcomes. Any number of processes do this on one store.
//
// - A lease is renewed while the process lives. An activity that loses its lease is aborted through its
//   signal: its run stopped waiting, or another worker began a new attempt.
// - Heartbeat details are written soon, but at most once per `NOTE_MS`; the next attempt gets them.
// - The outcome is retried until the store accepts it or another worker has the activity.
import { backoffMs } from "../../kernel/backoff.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ReminderKey, ReminderLease, ReminderWrite } from "../../ports/store/reminders.ts";
import { activityType, type QueuedActivity } from "../definition/messages.ts";
import { failureOf } from "./failure.ts";
import { attemptMs } from "./limits.ts";
import type { ActivityRunner } from "./runner.ts";
import { ACTIVITY_RENEWALS, RunningActivity } from "./running.ts";
import type { ActivityTasks, ClaimedActivity } from "./tasks.ts";

export interface ActivityWorkerSettings {
  readonly queue: string;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
  readonly drainMs: number;
}

export interface ActivityWorkerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tasks: ActivityTasks;
  readonly runner: ActivityRunner;
  /** The store's clock. */
  now(): number;
  /** Returns the generations of the lost leases. */
  renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]>;
  /** Whether the row still exists. */
  isThere(key: ReminderKey): Promise<boolean>;
  /** Whether the run is still open. */
  isOpen(activity: QueuedActivity): Promise<boolean>;
}

/** The shortest lease: a shorter one would expire before its renewal. */
const LEAST_LEASE_MS = 1_000;
/** The shortest pause between two writes of heartbeat details. */
const HEARTBEAT_WRITE_MS = 1_000;
/** The largest number of activities in one claim. */
const LARGEST_CLAIM = 200;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export class ActivityWorker {
  readonly #settings: ActivityWorkerSettings;
  readonly #deps: ActivityWorkerDeps;
  readonly #types: ReadonlySet<string>;
  readonly #running = new Map<number, RunningActivity>();
  readonly #working = new Set<Promise<void>>();
  #isOpen = false;
  #isClaiming = false;
  #claiming: Promise<void> | undefined;
  #isNudged = false;
  #poll: Timer | undefined;
  #renewal: Timer | undefined;
  #renewalAt = 0;

  constructor(settings: ActivityWorkerSettings, deps: ActivityWorkerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#types = new Set(deps.runner.names.map((name) => activityType(settings.queue, name)));
  }

  start(): void {
    if (this.#types.size === 0) return;
    this.#isOpen = true;
    this.nudge();
  }

  /** Claims no more, waits for running activities, and returns the unfinished ones to the queue. */
  async stop(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#poll?.cancel();
    const late = Promise.withResolvers<void>();
    const timer = this.#deps.clock.after(this.#settings.drainMs, late.resolve);
    await Promise.race([Promise.allSettled([...this.#working, this.#claiming]), late.promise]);
    timer.cancel();
    for (const one of this.#running.values()) one.stop.abort(new LimpetError("STOPPING", "the worker stops"));
    await Promise.allSettled([...this.#working]);
    this.#renewal?.cancel();
  }

  // ——— Claiming.

  /** The queue may hold activities. */
  nudge(): void {
    this.#isNudged = true;
    if (!this.#isClaiming && this.#isOpen) this.#claiming = this.#claim();
  }

  /**
   * Called after these writes are durable. Some may add activities; some may cancel activities that run here.
   */
  written(writes: readonly ReminderWrite[]): void {
    if (writes.length === 0 || !this.#isOpen) return;
    if (writes.some(({ kind, key }) => kind === "set" && this.#types.has(key.type))) this.nudge();
    if (this.#running.size === 0) return;
    for (const write of writes) if (write.kind === "cancel") this.#cancelled(write.key);
  }

  #cancelled({ type, id, name }: ReminderKey): void {
    for (const one of this.#running.values()) {
      const { key } = one.claimed;
      if (key.id === id && key.name === name && key.type === type) one.lose(unwanted());
    }
  }

  /** An activity of this queue is due at that moment. */
  expect(at: number): void {
    const ms = at - this.#deps.now();
    if (ms <= 0) this.nudge();
    else if (ms < this.#settings.pollMs && this.#isOpen) this.#deps.clock.after(Math.ceil(ms), () => this.nudge());
  }

  get #capacity(): number {
    return this.#settings.concurrency - this.#running.size;
  }

  readonly #leaseOf = ({ options }: QueuedActivity): number =>
    Math.min(this.#settings.leaseMs, Math.max(options?.heartbeat ?? Number.POSITIVE_INFINITY, LEAST_LEASE_MS));

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    this.#poll?.cancel();
    let pauseMs = this.#settings.pollMs;
    try {
      while (this.#isNudged && this.#isOpen && this.#capacity > 0) {
        this.#isNudged = false;
        const request = { types: [...this.#types], limit: Math.min(this.#capacity, LARGEST_CLAIM) };
        const { claimed, nextMs } = await this.#deps.tasks.claim({
          ...request,
          token: this.#deps.random.id(),
          leaseOf: this.#leaseOf,
        });
        // The worker stopped during the claim, so the activities go back to the queue.
        if (!this.#isOpen) await Promise.all(claimed.map((one) => this.#deps.tasks.release(one)));
        else for (const one of claimed) this.#begin(one);
        if (claimed.length > 0 || nextMs === 0) this.#isNudged = true;
        if (nextMs !== undefined) pauseMs = Math.max(0, Math.min(pauseMs, nextMs));
      }
    } catch (err) {
      this.#deps.log.warn("activity.claim.failed", { err });
    } finally {
      this.#isClaiming = false;
    }
    if (!this.#isOpen) return;
    // An activity that ends triggers the next claim itself.
    this.#poll = this.#deps.clock.after(Math.max(Math.ceil(pauseMs), 10), () => this.nudge());
  }

  #begin(held: ClaimedActivity): void {
    const before = this.#running.get(held.generation);
    // A store restored from a backup assigns generations again, so the same generation may be another
    // activity.
    if (before !== undefined && !sameActivity(before.claimed, held)) before.lose(unwanted());
    if (before !== undefined && !before.isLost) {
      // The lease expired unnoticed and this worker claimed the activity again: the running attempt
      // continues.
      before.claimed = held;
      return;
    }
    const one = new RunningActivity(held, this.#leaseOf(held.activity), this.#deps.clock.monotonic());
    this.#running.set(held.generation, one);
    this.#renewBy(one.renewAt);
    const work = this.#run(one)
      .catch((err) => this.#deps.log.error("activity.lost", { ...held.key, err }))
      .finally(() => {
        if (this.#running.get(held.generation) === one) this.#running.delete(held.generation);
        this.#working.delete(work);
        this.nudge();
      });
    this.#working.add(work);
  }

  // ——— Running.

  async #run(one: RunningActivity): Promise<void> {
    const { tasks, runner, now } = this.#deps;
    const { activity, attempt } = one.claimed;
    let end: () => Promise<unknown>;
    try {
      const result = await runner.run({
        ...activity,
        options: activity.options,
        attempt,
        signal: one.stop.signal,
        limitMs: () => attemptMs(activity, now()),
        lastHeartbeat: activity.heartbeat,
        heartbeat: (details) => {
          one.details = details;
          this.#recordHeartbeat(one);
        },
      });
      end = () => tasks.complete(one.claimed, result);
    } catch (thrown) {
      const failure = failureOf(thrown);
      const isStopped = one.stop.signal.aborted && isLimpetError(one.stop.signal.reason, "STOPPING");
      end = () => (isStopped ? tasks.release(one.claimed) : tasks.fail(this.#withDetails(one), failure));
    }
    one.isEnding = true;
    await this.#writeOutcome(one, end);
  }

  /** The next attempt gets the last heartbeat of this one, written or not. */
  #withDetails({ claimed, details }: RunningActivity): ClaimedActivity {
    return details === undefined ? claimed : { ...claimed, activity: { ...claimed.activity, heartbeat: details } };
  }

  async #writeOutcome(one: RunningActivity, end: () => Promise<unknown>): Promise<void> {
    const { clock, log } = this.#deps;
    for (let failures = 0; !one.isLost; failures++) {
      try {
        await end();
        return;
      } catch (err) {
        if (isLimpetError(err, "LEASE_LOST")) return;
        log.warn("activity.end.failed", { ...one.claimed.key, err });
        // A write that the store always rejects is not retried, nor is any write of a stopping worker. The
        // lease expires instead.
        const isHopeless = !isLimpetError(err) || err.retry === "never";
        if (isHopeless || (!this.#isOpen && one.stop.signal.aborted)) return;
      }
      const ms = backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      await new Promise<void>((resolve) => clock.after(ms, resolve));
    }
  }

  // ——— Heartbeats.

  #recordHeartbeat(one: RunningActivity): void {
    if (one.isWriting || one.isLost || one.isEnding) return;
    one.isWriting = true;
    void this.#writeHeartbeat(one);
  }

  async #writeHeartbeat(one: RunningActivity): Promise<void> {
    const { clock, tasks, log } = this.#deps;
    const { details } = one;
    const pause = new Promise<void>((resolve) => clock.after(HEARTBEAT_WRITE_MS, resolve, "background"));
    try {
      const { activity, leaseUntil } = await tasks.recordHeartbeat(one.claimed, details, one.leaseMs);
      one.claimed = { ...one.claimed, activity, leaseUntil };
      one.renewAt = clock.monotonic() + one.leaseMs / ACTIVITY_RENEWALS;
    } catch (err) {
      if (isLimpetError(err, "LEASE_LOST")) return this.#lost(one);
      log.warn("activity.heartbeat.failed", { ...one.claimed.key, err });
    }
    await pause;
    one.isWriting = false;
    if (one.details !== details) this.#recordHeartbeat(one);
  }

  // ——— Leases.

  /** One timer, for the earliest renewal. */
  #renewBy(at: number): void {
    if (this.#renewal !== undefined && this.#renewalAt <= at) return;
    const { clock } = this.#deps;
    this.#renewal?.cancel();
    this.#renewalAt = at;
    this.#renewal = clock.after(Math.max(Math.ceil(at - clock.monotonic()), 1), () => {
      this.#renewal = undefined;
      void this.#renew().finally(() => {
        let first = Number.POSITIVE_INFINITY;
        for (const { renewAt } of this.#running.values()) first = Math.min(first, renewAt);
        if (first < Number.POSITIVE_INFINITY) this.#renewBy(first);
      });
    });
  }

  async #renew(): Promise<void> {
    const { clock, log } = this.#deps;
    const now = clock.monotonic();
    const due = [...this.#running.values()].filter(({ renewAt, isLost }) => renewAt <= now && !isLost);
    for (const one of this.#running.values())
      if (one.renewAt <= now) one.renewAt = now + one.leaseMs / ACTIVITY_RENEWALS;
    try {
      for (const [leaseMs, some] of Map.groupBy(due, (one) => one.leaseMs)) await this.#renewSome(some, leaseMs);
      await this.#checkRuns(due);
    } catch (err) {
      log.warn("activity.renewal.failed", { err });
    }
  }

  async #renewSome(some: readonly RunningActivity[], leaseMs: number): Promise<void> {
    const leaseUntil = this.#deps.now() + leaseMs;
    const gone = new Set(await this.#deps.renew(claimsOf(some), leaseMs));
    for (const one of some) {
      if (gone.has(one.claimed.generation)) await this.#lost(one);
      else one.claimed = { ...one.claimed, leaseUntil };
    }
  }

  /** A run that was ended from outside does not delete its activities, so the worker checks. */
  async #checkRuns(some: readonly RunningActivity[]): Promise<void> {
    for (const ones of Map.groupBy(some, ({ claimed }) => claimed.activity.runId).values()) {
      if (await this.#deps.isOpen(ones[0]!.claimed.activity)) continue;
      for (const one of ones) one.lose(unwanted());
    }
  }

  async #lost(one: RunningActivity): Promise<void> {
    if (one.isLost || one.isEnding) return;
    const isThere = await this.#deps.isThere(one.claimed.key).catch(() => true);
    one.lose(isThere ? new LimpetError("LEASE_LOST", "another worker may have the activity") : unwanted());
  }
}

const sameActivity = ({ key: a }: ClaimedActivity, { key: b }: ClaimedActivity): boolean =>
  a.type === b.type && a.id === b.id && a.name === b.name;

const claimsOf = (some: readonly RunningActivity[]): ReminderLease[] =>
  some.map(({ claimed: { generation, token } }) => ({ generation, token }));

const unwanted = (): LimpetError =>
  new LimpetError("WORKFLOW_CANCELLED", "the workflow does not wait for the activity any more");
