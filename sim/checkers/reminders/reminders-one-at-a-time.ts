// Checks that only the holder of the lease delivers a reminder, and delivers each attempt once. All of this
// is visible at the store, on its own clock, so no sleep excuses a violation: a process that sleeps through
// its lease loses it to a visible claim.
import type { ReminderRun } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOfKey, type Row, rowsOf } from "./reminder-rows.ts";

/** Faults that change the clock of a process. */
const JUMPS = ["wall clock jump", "suspend", "sleeps before settling", "clock drift"];

/** Longest time of a delivery in flight. */
const UNDER_WAY_MS = 30_000;

export const remindersOneAtATime: CheckerKind = {
  name: "one delivery at a time",
  rule: "one process at a time has the lease of a reminder, and each attempt is handled once in a lease",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    const { database } = stage.world;
    /** Each of several rows of one operation has its own leases and ticks. */
    const isAlone = (one: { readonly op: string }): boolean => rows.setBy(one).length === 1;
    const tokens = new WeakMap<Row, Set<string>>();
    /** A late request from an earlier lease must not take effect in the new one. */
    function isKnown(row: Row, token: string): boolean {
      const known = tokens.get(row) ?? new Set();
      tokens.set(row, known);
      return known.size === known.add(token).size;
    }
    rows.watchers.push({
      claimed(row, process, { token }, now) {
        const { key, op, holder } = row;
        if (isKnown(row, token)) report(`${labelOfKey(key)} of ${op} is leased a second time under the same token`);
        if (holder === undefined || holder.until <= now) return;
        const left = Math.round(holder.until - now);
        const whose = `process ${holder.process.number} has it for ${left} ms more`;
        report(`${labelOfKey(key)} of ${op} is leased to process ${process.number}, and ${whose}`);
      },
      set(row, stored, write) {
        const { key, op } = row;
        if (write.lease !== undefined) isKnown(row, write.lease.token);
        const isLeased = stored?.leasedUntil !== undefined;
        if (isLeased && write.lease === undefined)
          report(`${labelOfKey(key)} of ${op} was set, and is leased from before`);
      },
      changed(row, stored, { counted, process }, settlement) {
        const isChanged = stored?.tick.at !== row.tick.at || stored.leasedUntil === undefined;
        // The response to a commit is not visible, so the row alone shows whether it took effect.
        const hasCounted = counted ?? (isChanged && row.holder !== undefined && row.holder.until > database.now);
        if (settlement !== undefined && hasCounted && settlement.token !== row.holder?.token) {
          const whose = `${labelOfKey(row.key)} of ${row.op}`;
          report(`process ${process.number} settled ${whose}, and process ${row.holder?.process.number} has it`);
        }
        if (counted !== true || settlement?.kind !== "next" || !isAlone(row)) return;
        const { tick } = settlement;
        const later = rows.runsOf(row).find(({ run }) => {
          const isLater =
            run.tick.number > tick.number || (run.tick.number === tick.number && run.tick.attempt > tick.attempt);
          // An attempt that did not reach the handler is retried with a later time.
          return isLater && tick.at <= database.now - (stage.now - run.beganAt);
        });
        if (later === undefined) return;
        const { number, attempt } = later.run.tick;
        const what = `${labelOfKey(row.key)} of ${row.op} was told to go on with ${tick.number}.${tick.attempt}`;
        report(`${what} when ${number}.${attempt} was delivered already`);
      },
    });
    /**
     * True for two concurrent runs in one lease or in one process, for handlers that are not turns of an
     * actor.
     */
    function isUnderWay(one: ReminderRun): boolean {
      if (!one.type.startsWith("$")) return false;
      return rows.runsOf(one).some(({ run, endedAt }) => {
        if (run === one || endedAt !== undefined || run.process.hasEnded) return false;
        return run.process === one.process || newLeases(one, run.beganAt) === 0;
      });
    }

    const newLeases = (one: ReminderRun, since: number): number =>
      rows.leasesOf(one).filter(({ at }) => at > since).length;

    /**
     * The tick is handled more often than it was leased since its first delivery. A delivery may have waited
     * since.
     */
    function isOnceTooOften(one: ReminderRun): boolean {
      const { tick } = one;
      const same = rows.runsOf(one).filter(({ run }) => {
        return run.tick.number === tick.number && run.tick.attempt === tick.attempt;
      });
      // A delivery over a cut line was sent before the cut, under the lease of that time.
      const sentAt = Math.min(...same.map(({ run }) => run.sentAt));
      return isAlone(one) && same.length > Math.max(1 + newLeases(one, sentAt), newLeases(one, sentAt - UNDER_WAY_MS));
    }

    return {
      reminderBegan(run) {
        const { op, tick } = run;
        const attempt = `${op} ${tick.number}.${tick.attempt}`;
        if (rows.leasesOf(run).length === 0) report(`${attempt} is handled, and nobody has ever had a lease on it`);
        // For a process whose clock was set, the time of a delivery is unknown.
        else if (!JUMPS.some((name) => stage.faults.has(name)) && isOnceTooOften(run)) {
          report(`${attempt} is handled twice in one lease`);
        }
        if (isUnderWay(run)) report(`${attempt} begins while another tick is handled`);
      },
    };
  },
};
