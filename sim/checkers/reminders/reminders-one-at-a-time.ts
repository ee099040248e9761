// Checks that only the holder of the lease delivers a reminder, and delivers each attempt once. All of this
// is visible at the store, on its own clock, so no sleep excuses a violation: a process that sleeps through
// its lease loses it to a visible claim.
import type { ClaimRequest, Settlement, StoredReminder, Tick } from "../../../src/ports/store/reminders.ts";
import type { Process } from "../../../src/world/process.ts";
import type { ReminderRun } from "../../observer.ts";
import type { Stage } from "../../stage.ts";
import type { Checker, CheckerKind, ReportViolation } from "../checker.ts";
import {
  type Cause,
  labelOfKey,
  type ReminderRows,
  type Row,
  RowChecker,
  type RowWatcher,
  rowsOf,
} from "./reminder-rows.ts";

/** Faults that change the clock of a process. */
const JUMPS = ["wall clock jump", "suspend", "sleeps before settling", "clock drift"];

/** Longest time of a delivery in flight. */
const IN_FLIGHT_MS = 30_000;

export const remindersOneAtATime: CheckerKind = {
  name: "one delivery at a time",
  rule: "one process at a time has the lease of a reminder, and each attempt is handled once in a lease",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    rowsOf(stage).watchers.push(new Leases(stage, report));
    return new Deliveries(stage, report);
  },
};

/** Each of several rows of one operation has its own leases and ticks. */
const isAlone = (rows: ReminderRows, one: { readonly op: string }): boolean => rows.setBy(one).length === 1;

/** Checks leases and settlements at the store. */
class Leases implements RowWatcher {
  readonly #stage: Stage;
  readonly #report: ReportViolation;
  readonly #rows: ReminderRows;
  readonly #tokens = new WeakMap<Row, Set<string>>();

  constructor(stage: Stage, report: ReportViolation) {
    this.#stage = stage;
    this.#report = report;
    this.#rows = rowsOf(stage);
  }

  claimed(row: Row, process: Process, { token }: ClaimRequest, now: number): void {
    const { key, op, holder } = row;
    if (this.#isKnown(row, token)) {
      this.#report(`${labelOfKey(key)} of ${op} is leased a second time under the same token`);
    }
    if (holder === undefined || holder.until <= now) return;
    const left = Math.round(holder.until - now);
    const other = `process ${holder.process.number} has it for ${left} ms more`;
    this.#report(`${labelOfKey(key)} of ${op} is leased to process ${process.number}, and ${other}`);
  }

  set(row: Row, stored: StoredReminder | undefined, { lease }: { readonly lease?: { readonly token: string } }): void {
    if (lease !== undefined) this.#isKnown(row, lease.token);
    else if (stored?.leasedUntil !== undefined) {
      this.#report(`${labelOfKey(row.key)} of ${row.op} was set, and is leased from before`);
    }
  }

  changed(
    row: Row,
    stored: StoredReminder | undefined,
    { counted, process }: Cause,
    settlement: Settlement | undefined,
  ): void {
    const isChanged = stored?.tick.at !== row.tick.at || stored.leasedUntil === undefined;
    const isHeld = row.holder !== undefined && row.holder.until > this.#stage.world.database.now;
    // The response to a commit is not visible, so the row alone shows whether it took effect.
    const hasCounted = counted ?? (isChanged && isHeld);
    if (settlement !== undefined && hasCounted && settlement.token !== row.holder?.token) {
      const label = `${labelOfKey(row.key)} of ${row.op}`;
      this.#report(`process ${process.number} settled ${label}, and process ${row.holder?.process.number} has it`);
    }
    if (counted === true && settlement?.kind === "next" && isAlone(this.#rows, row)) {
      this.#checkNext(row, settlement.tick);
    }
  }

  /** No later attempt was delivered before the store gets the next one. */
  #checkNext(row: Row, next: Tick): void {
    const { world, now } = this.#stage;
    const later = this.#rows.runsOf(row).find(({ run: { tick, beganAt } }) => {
      const isLater = tick.number > next.number || (tick.number === next.number && tick.attempt > next.attempt);
      // An attempt that did not reach the handler is retried with a later time.
      return isLater && next.at <= world.database.now - (now - beganAt);
    });
    if (later === undefined) return;
    const { number, attempt } = later.run.tick;
    const label = `${labelOfKey(row.key)} of ${row.op}`;
    this.#report(`${label} was set to ${next.number}.${next.attempt} when ${number}.${attempt} was delivered already`);
  }

  /** Adds the token. A late request from an earlier lease must not take effect in the new one. */
  #isKnown(row: Row, token: string): boolean {
    const known = this.#tokens.get(row) ?? new Set();
    this.#tokens.set(row, known);
    return known.size === known.add(token).size;
  }
}

/** Checks the runs of handlers. */
class Deliveries extends RowChecker implements Checker {
  reminderBegan(run: ReminderRun): void {
    const attempt = `${run.op} ${run.tick.number}.${run.tick.attempt}`;
    if (this.rows.leasesOf(run).length === 0) {
      this.report(`${attempt} is handled, and no process has ever had a lease on it`);
    }
    // For a process whose clock was set, the time of a delivery is unknown.
    else if (!JUMPS.some((name) => this.stage.faults.has(name)) && this.#isOnceTooOften(run)) {
      this.report(`${attempt} is handled twice in one lease`);
    }
    if (this.#isInProgress(run)) this.report(`${attempt} begins while another tick is handled`);
  }

  /**
   * True for two concurrent runs in one lease or in one process, for handlers that are not turns of an actor.
   */
  #isInProgress(one: ReminderRun): boolean {
    if (!one.type.startsWith("$")) return false;
    return this.rows.runsOf(one).some(({ run, endedAt }) => {
      if (run === one || endedAt !== undefined || run.process.hasEnded) return false;
      return run.process === one.process || this.#newLeases(one, run.beganAt) === 0;
    });
  }

  /**
   * The tick is handled more often than it was leased since its first delivery. A delivery may have waited
   * since.
   */
  #isOnceTooOften(one: ReminderRun): boolean {
    const { tick } = one;
    const same = this.rows.runsOf(one).filter(({ run }) => {
      return run.tick.number === tick.number && run.tick.attempt === tick.attempt;
    });
    // A delivery over a cut line was sent before the cut, under the lease of that time.
    const sentAt = Math.min(...same.map(({ run }) => run.sentAt));
    const leases = Math.max(1 + this.#newLeases(one, sentAt), this.#newLeases(one, sentAt - IN_FLIGHT_MS));
    return isAlone(this.rows, one) && same.length > leases;
  }

  #newLeases(one: ReminderRun, since: number): number {
    return this.rows.leasesOf(one).filter(({ at }) => at > since).length;
  }
}
