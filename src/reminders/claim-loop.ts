// Claims due reminders, as the claim plan decides. Claims run when a reminder is known to be due soon, when
// the store notifies of writes by others, when this process gains types, and periodically.
import { backoffMs } from "../kernel/backoff.ts";
import type { Timer } from "../ports/clock.ts";
import type { ClaimedReminder } from "../ports/store/reminders.ts";
import { ClaimPlan, type ClaimSettings } from "./claim-plan.ts";
import type { FairCapacity } from "./fair-capacity.ts";
import type { ReminderPorts } from "./reminder-ports.ts";

export interface ClaimLoopDeps extends Omit<ReminderPorts, "instruments"> {
  /** The capacity for claimed reminders. */
  readonly capacity: FairCapacity;
  /** Types whose reminders this process can deliver now. */
  types(): readonly string[];
  /** `leaseUntil` is on the monotonic clock. */
  claimed(reminder: ClaimedReminder, token: string, leaseUntil: number): void;
}

const FIRST_PAUSE_MS = 50;

export class ClaimLoop {
  readonly #settings: ClaimSettings;
  readonly #deps: ClaimLoopDeps;
  readonly #plan: ClaimPlan;
  #polling: Promise<void> | undefined;
  #again = false;
  #failures = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /** The time of the next claim, on the monotonic clock. */
  #claimAt = Number.POSITIVE_INFINITY;
  /** The types of this process at the last claim. */
  #types = "";
  #unwatch: (() => void) | undefined;
  #isRunning = false;

  constructor(settings: ClaimSettings, deps: ClaimLoopDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#plan = new ClaimPlan(settings, deps.capacity);
  }

  /** The claim horizon: reminders due within this time may be claimed now. */
  get horizonMs(): number {
    return this.#plan.horizonMs;
  }

  start(): void {
    this.#isRunning = true;
    this.#unwatch = this.#deps.store.watch(this.#settings.namespace, () => this.#claimIn(0));
    if (this.#unwatch !== undefined) this.#plan.notified();
    this.#claimIn(0);
  }

  /** Resolves when no claim is in progress any more. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#unwatch?.();
    await this.#polling;
  }

  /** A reminder without a lease is due at that time of the store's clock. */
  expect(at: number): void {
    const pauseMs = this.#plan.pauseUntilDue(at - this.#deps.storeClock.now());
    if (pauseMs !== undefined) this.#claimIn(pauseMs);
  }

  /** A claimed reminder is done. */
  capacityFreed(): void {
    if (this.#plan.capacityFreed()) this.#claimIn(0);
  }

  #claimIn(ms: number): void {
    this.#claimAt = Math.min(this.#claimAt, this.#deps.clock.monotonic() + ms);
    this.#arm();
  }

  /**
   * Types change without a notification, so they are checked as often as a store without notifications is
   * polled.
   */
  #arm(): void {
    const { clock } = this.#deps;
    const at = Math.min(this.#claimAt, clock.monotonic() + this.#settings.pollMs);
    if (!this.#isRunning || at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    const ms = at - clock.monotonic();
    this.#timer = ms > 0 ? clock.after(ms, () => this.#poll(), "background") : undefined;
    // Even the shortest timer takes a millisecond.
    if (ms <= 0) clock.soon(() => this.#poll());
  }

  #poll(): void {
    if (!this.#isRunning) return;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const isTime = this.#deps.clock.monotonic() >= this.#claimAt;
    if (!isTime && this.#deps.types().join() === this.#types) {
      this.#arm();
      return;
    }
    this.#claimAt = Number.POSITIVE_INFINITY;
    if (this.#polling !== undefined) {
      this.#again = true;
      return;
    }
    this.#polling = this.#claimAll().finally(() => {
      this.#polling = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.#claimIn(0);
    });
  }

  async #claimAll(): Promise<void> {
    const { log, random } = this.#deps;
    try {
      this.#claimIn(await this.#claimWhileFull());
      this.#failures = 0;
    } catch (err) {
      log[this.#failures === 0 ? "warn" : "debug"]("reminder.claim.failed", { err });
      const pauseMs = backoffMs(this.#failures++, FIRST_PAUSE_MS, this.#settings.pollMs);
      this.#claimIn(pauseMs * (0.5 + random.number()));
    } finally {
      this.#plan.ended();
    }
  }

  /** Returns the time until more reminders may be due. */
  async #claimWhileFull(): Promise<number> {
    const { pollMs, namespace, leaseMs } = this.#settings;
    const { store, storeClock, clock, claimed } = this.#deps;
    while (this.#isRunning) {
      const types = this.#deps.types();
      this.#types = types.join();
      const scope = this.#plan.next(types);
      if (scope === undefined) return types.length === 0 ? this.askTime() : pollMs;
      // A new token for each claim: a late write for an earlier claim of the row must not count for this one.
      const token = `${this.#deps.random.id()}${store.tokenMark?.() ?? ""}`;
      const askedAt = clock.monotonic();
      const { now, reminders, next } = await store.claim({ namespace, ...scope, leaseMs, token });
      storeClock.observe(now, askedAt);
      for (const reminder of reminders) claimed(reminder, token, askedAt + leaseMs);
      if (this.#plan.claimed(scope, reminders)) continue;
      return this.#plan.pauseMs((next ?? Number.POSITIVE_INFINITY) - now);
    }
    return pollMs;
  }

  /** Learns the store's time, by which reminders are due, in a process that delivers none. */
  async askTime(): Promise<number> {
    const { namespace, aheadMs, leaseMs } = this.#settings;
    const { store, storeClock, clock, random } = this.#deps;
    const askedAt = clock.monotonic();
    const nothing = { types: [], limit: 1, token: random.id() };
    const { now } = await store.claim({ namespace, aheadMs, leaseMs, ...nothing });
    storeClock.observe(now, askedAt);
    return this.#plan.restMs;
  }
}
