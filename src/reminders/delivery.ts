// Delivers a due tick: decides whether it runs, calls its handler, and derives the outcome from the result.
// The processor writes the outcome.
import { isLimpetError } from "../kernel/errors.ts";
import type { ClaimedReminder, Settlement, Tick, TickOutcome } from "../ports/store/reminders.ts";
import type { ClaimedEntry } from "./claimed.ts";
import { afterTick, type Decision, deadLetterText, decideTick, isUndelivered } from "./decision.ts";
import type { FairCapacity } from "./fair-capacity.ts";
import type { ReminderPorts } from "./reminder-ports.ts";
import { retryPause } from "./schedule/failure-policy.ts";
import type { Plan } from "./schedule/plan.ts";

/** One tick on its way to its actor. */
export interface TickDelivery {
  readonly reminder: ClaimedReminder;
  readonly tick: Tick;
  readonly plan: Plan;
  /** The settlement after a success: stored with the changes of the turn, or afterwards. */
  readonly settlement: Settlement;
}

/**
 * Resolves when the tick was handled; true: its outcome is stored already. Rejects when the handler failed.
 */
export type Deliver = (delivery: TickDelivery) => Promise<boolean>;

export interface DelivererDeps extends ReminderPorts {
  /** Concurrent checks and deliveries. */
  readonly slots: FairCapacity;
  readonly deliver: Deliver;
  readonly results: DeliveryResults;
}

/** Receives the result of each delivery. */
export interface DeliveryResults {
  /** The outcome is to be written, and ends the claim. */
  settle(entry: ClaimedEntry, outcome: TickOutcome): void;
  /** The next tick or a retry is to be written. `mayStay`: this process may keep the claim. */
  proceed(entry: ClaimedEntry, tick: Tick, mayStay?: boolean): void;
  /** The claim is over; nothing is to be written. `next`: the next tick, if it is stored already. */
  drop(entry: ClaimedEntry, next?: Tick): void;
  slotFreed(): void;
}

/** The pause before a tick that did not reach its actor is free for any process. */
const PASS_MS = 1_000;

export class Deliverer {
  readonly #deps: DelivererDeps;
  #running = 0;

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
  }

  get running(): number {
    return this.#running;
  }

  begin(entry: ClaimedEntry, now: number): void {
    const { log, instruments, results } = this.#deps;
    let decision: Decision;
    try {
      decision = decideTick(entry, now);
    } catch (err) {
      // A damaged row must not end the process that reads it.
      log.error("reminder.damaged", { ...entry.reminder.key, err });
      instruments.failed(1);
      decision = { kind: "settle", outcome: { kind: "dead", tick: entry.tick, error: deadLetterText(err) } };
    }
    if (decision.kind === "settle") results.settle(entry, decision.outcome);
    else if (decision.kind === "later") results.proceed(entry, decision.tick);
    else this.#run(entry, decision, now);
  }

  #run(entry: ClaimedEntry, { plan, tick, outcome }: Extract<Decision, { kind: "deliver" }>, now: number): void {
    const { instruments, slots, deliver, results } = this.#deps;
    const { reminder, token } = entry;
    const { type } = reminder.key;
    entry.state = "running";
    this.#running++;
    slots.take(type);
    // A failing handler is no measure of punctuality, so only first attempts are measured.
    if (tick.attempt === 1) instruments.late((now - tick.due) / 1_000);
    const ended = (): void => {
      this.#running--;
      slots.free(type);
    };
    deliver({ reminder, tick, plan, settlement: { generation: reminder.generation, token, ...outcome } }).then(
      (isSettled) => {
        ended();
        instruments.fired(1);
        if (isSettled) results.drop(entry, outcome.kind === "next" ? outcome.tick : undefined);
        else if (outcome.kind === "next") results.proceed(entry, outcome.tick);
        else results.settle(entry, outcome);
        results.slotFreed();
      },
      (error: unknown) => {
        ended();
        this.#failed(entry, plan, tick, error);
        results.slotFreed();
      },
    );
  }

  #failed(entry: ClaimedEntry, plan: Plan, tick: Tick, error: unknown): void {
    const { storeClock, random, instruments, log, results } = this.#deps;
    const { key } = entry.reminder;
    if (isLimpetError(error, "REMINDER_VOID")) {
      // The store rejected the changes of the handler. The current claim or the replacement continues the
      // reminder.
      log.debug("reminder.void", { ...key, attempt: tick.attempt });
      instruments.replaced(1);
      results.drop(entry);
      return;
    }
    if (isLimpetError(error, "REMINDER_DAMAGED")) {
      log.error("reminder.damaged", { ...key, err: error });
      instruments.failed(1);
      results.settle(entry, { kind: "dead", tick, error: deadLetterText(error) });
      return;
    }
    if (isUndelivered(error)) {
      // The tick did not reach its actor, so the attempt does not count. Another process may reach it.
      instruments.retried(1);
      const at = Math.ceil(storeClock.now() + PASS_MS * (0.5 + random.number()));
      results.proceed(entry, { ...tick, at, attempt: tick.attempt - 1 }, false);
      return;
    }
    const pause = retryPause(tick.attempt, plan.policy, random.number());
    log.warn("reminder.failed", { ...key, attempt: tick.attempt, again: pause !== undefined, err: error });
    if (pause !== undefined) {
      instruments.retried(1);
      results.proceed(entry, { ...tick, at: Math.ceil(storeClock.now() + pause) });
      return;
    }
    instruments.failed(1);
    if (plan.policy.giveUp === "keep") {
      results.settle(entry, { kind: "dead", tick, error: deadLetterText(error) });
      return;
    }
    const after = afterTick(plan, tick, storeClock.now());
    if (after.kind === "next") results.proceed(entry, after.tick);
    else results.settle(entry, after);
  }
}
