// Checks that an acknowledged reminder exists until it is handled, cancelled, replaced or given up, and that
// a rejected one never exists.
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Settlement, StoredReminder, Tick } from "../../../src/ports/store/reminders.ts";
import type { Operation } from "../../observer.ts";
import type { Checker, CheckerKind } from "../checker.ts";
import { type Cause, keyName, labelOfKey, lastTick, type Row, RowChecker, type RowWatcher } from "./reminder-rows.ts";

/** Ticks that are late by no more than this were not missed. */
const GRACE_MS = 1_000;
/** Drift of a fast clock since the last response of the store that still counts as correct. */
const AHEAD_MS = 250;
/** Largest lead of a process's clock over the clock of the store. */
const GAINED_MS = 4_000;

export const remindersKept: CheckerKind = {
  name: "reminders kept",
  rule: "an acknowledged reminder advances when a tick was handled, missed or given up, and exists until it is over",
  make: (stage, report) => (stage.plan.reminders === undefined ? {} : new RemindersKept(stage, report)),
};

class RemindersKept extends RowChecker implements Checker, RowWatcher {
  changed(row: Row, stored: StoredReminder | undefined, { kind }: Cause, settlement: Settlement | undefined): void {
    const { tick, plan, key } = row;
    const where = `${labelOfKey(key)} of ${row.op} at tick ${tick.number}.${tick.attempt}`;
    if (kind !== "commit" && kind !== "settle") {
      const isSame = stored !== undefined && stored.tick.number === tick.number && stored.tick.attempt === tick.attempt;
      if (!isSame) this.report(`${where} was changed by a ${kind}`);
    } else if (settlement?.kind === "dead" && stored === undefined) {
      const attempts = tick.attempt + 1;
      if (attempts < plan.policy.attempts) this.report(`${where} was given up after ${attempts} attempts`);
    } else {
      const problem = this.#problem(row, stored?.tick);
      if (problem !== undefined) this.report(`${where} ${problem}`);
    }
  }

  /** A reminder that the handler of another one sets exists only if that handler did not throw. */
  set({ op, key }: Row): void {
    const { base, number, attempt } = /^(?<base>.*)!(?<number>\d+)\.(?<attempt>\d+)$/.exec(op)?.groups ?? {};
    if (base === undefined) return;
    const isDone = this.rows.runsOf({ op: base }).some(({ run: { tick }, isDone }) => {
      return isDone && tick.number === Number(number) && tick.attempt === Number(attempt);
    });
    if (!isDone) this.report(`${labelOfKey(key)} of ${op} was stored, and the handler that set it has thrown`);
  }

  healed(): void {
    for (const operation of this.stage.operations) this.#checkOutcome(operation);
    for (const row of this.rows.current) {
      void this.stage.world.database.truth.reminders.get(row.key).then((stored) => {
        if (row.gone === undefined && stored?.generation !== row.generation)
          this.report(`${keyName(row.key)} has vanished`);
      });
    }
  }

  #checkOutcome({ call, token, outcome }: Operation): void {
    if (call.how.remind === undefined || outcome === undefined) return;
    const isStored = this.rows.setBy({ op: token }).length > 0;
    if ("value" in outcome) {
      if (!isStored) this.report(`${token} was acknowledged, and its reminder never stored`);
    } else if (isStored && isDefinite(outcome.error)) {
      this.report(`the reminder of ${token} was stored, and its caller got ${outcome.error}`);
    }
  }

  /** The reason why the row must not leave its tick for the tick `to`, or end; undefined if it may. */
  #problem(row: Row, to: Tick | undefined): string | undefined {
    const { tick, plan } = row;
    if ((to === undefined || to.number > tick.number) && !this.#isExplained(row, to)) {
      return `${to === undefined ? "came to its end" : `moved on to tick ${to.number}`}, and no handler has handled it`;
    }
    if (to === undefined) {
      const last = lastTick(plan.schedule).number;
      return this.#isTooSoon(row) ? `came to its end, and its last tick is ${last}` : undefined;
    }
    return this.#areLeftOut(row, to) ? `moved on to tick ${to.number}, and ticks between were not missed` : undefined;
  }

  /** True if a row may leave its tick, to continue with the tick `to`, or because it has ended. */
  #isExplained(row: Row, to: Tick | undefined): boolean {
    const { tick, plan } = row;
    const next = to?.number ?? Number.POSITIVE_INFINITY;
    const isHandled = this.rows
      .runsOf(row)
      .some(({ run, isDone }) => isDone && run.tick.number >= tick.number && run.tick.number < next);
    const isMissed = plan.schedule.missed === "skip" && this.#now - tick.due > GRACE_MS - AHEAD_MS;
    // The latest due tick replaces earlier ones; it has failed, and is retried.
    const isInstead = plan.schedule.missed === "once" && to !== undefined && to.due <= this.#now + GAINED_MS;
    return isHandled || isMissed || isDropped(row) || isInstead;
  }

  /** True if ticks between the one it left and the next one were skipped without being missed. */
  #areLeftOut({ tick, plan: { schedule } }: Row, to: Tick): boolean {
    if (to.number <= tick.number + 1) return false;
    return schedule.missed === "all" || to.due - schedule.every!.ms > this.#now + GAINED_MS;
  }

  /** The reminder ended before its last tick was handled, given up or, where allowed, missed. */
  #isTooSoon(row: Row): boolean {
    const last = lastTick(row.plan.schedule);
    const isTried = this.rows.runsOf(row).some(({ run }) => run.tick.number >= last.number);
    const mayBeMissed = row.plan.schedule.missed === "skip" || isDropped(row);
    return !isTried && !(mayBeMissed && last.due <= this.#now + GAINED_MS);
  }

  /** Time of the store. */
  get #now(): number {
    return this.stage.world.database.now;
  }
}

/** The last attempt has failed. Its handler may never have run, because no delivery reached it in time. */
const isDropped = ({ tick, plan: { policy } }: Row): boolean =>
  policy.giveUp === "drop" && tick.attempt + 1 >= policy.attempts;

/** The caller got a definite failure. */
const isDefinite = (error: unknown): boolean => !(error instanceof LimpetError) || error.retry !== "unknown";
