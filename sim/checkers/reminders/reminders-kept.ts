// Checks that an acknowledged reminder exists until it is handled, cancelled, replaced or given up, and that
// a rejected one never exists.
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Tick } from "../../../src/ports/store/reminders.ts";
import type { Operation } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { keyName, labelOfKey, lastTick, type Row, type RowWatcher, rowsOf } from "./reminder-rows.ts";

/** Ticks that are late by no more than this were not missed. */
const GRACE_MS = 1_000;
/** Drift of a fast clock since the last response of the store that still counts as correct. */
const AHEAD_MS = 250;
/** Largest lead of a process's clock over the clock of the store. */
const GAINED_MS = 4_000;

/** The caller got a definite failure. */
function isRefused({ outcome }: Operation): boolean {
  if (outcome === undefined || !("error" in outcome)) return false;
  return !(outcome.error instanceof LimpetError) || outcome.error.retry !== "unknown";
}

export const remindersKept: CheckerKind = {
  name: "reminders kept",
  rule: "an acknowledged reminder advances when a tick was handled, missed or given up, and exists until it is over",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    const { database } = stage.world;

    /**
     * The last attempt has failed. Its handler may never have run, because no delivery reached it in time.
     */
    const isDropped = ({ tick, plan: { policy } }: Row): boolean =>
      policy.giveUp === "drop" && tick.attempt + 1 >= policy.attempts;

    /** True if a row may leave its tick, to continue with the tick `to`, or because it has ended. */
    function isExplained(row: Row, to: Tick | undefined): boolean {
      const { tick, plan } = row;
      const next = to?.number ?? Number.POSITIVE_INFINITY;
      const isHandled = rows
        .runsOf(row)
        .some(({ run, isDone }) => isDone && run.tick.number >= tick.number && run.tick.number < next);
      const isMissed = plan.schedule.missed === "skip" && database.now - tick.due > GRACE_MS - AHEAD_MS;
      // The latest due tick replaces earlier ones; it has failed, and is retried.
      const isInstead = plan.schedule.missed === "once" && to !== undefined && to.due <= database.now + GAINED_MS;
      return isHandled || isMissed || isDropped(row) || isInstead;
    }

    /** True if ticks between the one it left and the next one were skipped without being missed. */
    function areLeftOut({ tick, plan: { schedule } }: Row, to: Tick): boolean {
      if (to.number <= tick.number + 1) return false;
      return schedule.missed === "all" || to.due - schedule.every!.ms > database.now + GAINED_MS;
    }

    /** The reminder ended before its last tick was handled, given up or, where allowed, missed. */
    function isTooSoon(row: Row): boolean {
      const { missed } = row.plan.schedule;
      const last = lastTick(row.plan.schedule);
      const isTried = rows.runsOf(row).some(({ run }) => run.tick.number >= last.number);
      const mayBeMissed = missed === "skip" || isDropped(row);
      return !isTried && !(mayBeMissed && last.due <= database.now + GAINED_MS);
    }

    const changed: RowWatcher["changed"] = (row, stored, { kind }, settlement) => {
      const { tick, plan, key } = row;
      const where = `${labelOfKey(key)} of ${row.op} at tick ${tick.number}.${tick.attempt}`;
      if (kind !== "commit" && kind !== "settle") {
        const isSame =
          stored !== undefined && stored.tick.number === tick.number && stored.tick.attempt === tick.attempt;
        if (!isSame) report(`${where} was changed by a ${kind}`);
        return;
      }
      if (settlement?.kind === "dead" && stored === undefined) {
        if (tick.attempt + 1 < plan.policy.attempts) report(`${where} was given up after ${tick.attempt + 1} attempts`);
        return;
      }
      const isMoved = stored === undefined || stored.tick.number > tick.number;
      if (isMoved && !isExplained(row, stored?.tick)) {
        const to = stored === undefined ? "came to its end" : `moved on to tick ${stored.tick.number}`;
        report(`${where} ${to}, and nobody has handled it`);
      } else if (stored === undefined && isTooSoon(row)) {
        report(`${where} came to its end, and its last tick is ${lastTick(plan.schedule).number}`);
      } else if (stored !== undefined && areLeftOut(row, stored.tick)) {
        report(`${where} moved on to tick ${stored.tick.number}, and those between were not missed`);
      }
    };

    /** A reminder that the handler of another one sets exists only if that handler did not throw. */
    function isSet({ op, key }: Row): void {
      const { base, number, attempt } = /^(?<base>.*)!(?<number>\d+)\.(?<attempt>\d+)$/.exec(op)?.groups ?? {};
      if (base === undefined) return;
      const isDone = rows.runsOf({ op: base }).some(({ run: { tick }, isDone }) => {
        return isDone && tick.number === Number(number) && tick.attempt === Number(attempt);
      });
      if (!isDone) report(`${labelOfKey(key)} of ${op} was stored, and whoever set it has thrown`);
    }
    rows.watchers.push({ changed, set: isSet });

    return {
      healed() {
        for (const operation of stage.operations) {
          const { call, token, outcome } = operation;
          if (call.how.remind === undefined || outcome === undefined) continue;
          const isStored = rows.setBy({ op: token }).length > 0;
          if ("value" in outcome && !isStored) report(`${token} was acknowledged, and its reminder never stored`);
          if (isRefused(operation) && isStored) {
            report(
              `the reminder of ${token} was stored, and its caller was told ${(outcome as { error: unknown }).error}`,
            );
          }
        }
        for (const row of rows.current) {
          void database.truth.reminders.get(row.key).then((stored) => {
            if (row.gone === undefined && stored?.generation !== row.generation)
              report(`${keyName(row.key)} has vanished`);
          });
        }
      },
    };
  },
};
