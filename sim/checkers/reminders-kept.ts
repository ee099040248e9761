// A reminder that was acknowledged is there until it was handled, cancelled, set anew or given up; and one that was refused never was.
import { LimpetError } from "../../src/kernel/errors.ts";
import type { Tick } from "../../src/ports/reminders.ts";
import type { Operation } from "../observer.ts";
import type { CheckerKind } from "./checker.ts";
import { keyName, labelOfKey, lastTick, type Row, type RowWatcher, rowsOf } from "./reminder-rows.ts";

/** Ticks that are late by no more than this were not missed. */
const GRACE_MS = 1_000;
/** Since the last word of the store a clock that goes too fast may have gained so much, and nobody would call it wrong. */
const AHEAD_MS = 250;
/** What the clock of a process may have gained on that of the store. */
const GAINED_MS = 4_000;

/** Whoever asked was told for certain that nothing of it is left. */
function isRefused({ outcome }: Operation): boolean {
  if (outcome === undefined || !("error" in outcome)) return false;
  return !(outcome.error instanceof LimpetError) || outcome.error.retry !== "unknown";
}

export const remindersKept: CheckerKind = {
  name: "reminders kept",
  rule: "an acknowledged reminder moves on when a tick was handled, missed or given up, and is there until it is over",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    const { database } = stage.world;

    /** It has failed for the last time. Perhaps its handler was never called, because nobody got that far in time. */
    const isDropped = ({ tick, plan: { policy } }: Row): boolean =>
      policy.giveUp === "drop" && tick.attempt + 1 >= policy.attempts;

    /** Whether a row may leave its tick behind, to go on with the tick `to`, or because it has come to its end. */
    function isExplained(row: Row, to: Tick | undefined): boolean {
      const { tick, plan } = row;
      const next = to?.number ?? Number.POSITIVE_INFINITY;
      const isHandled = rows
        .runsOf(row)
        .some(({ run, isDone }) => isDone && run.tick.number >= tick.number && run.tick.number < next);
      const isMissed = plan.schedule.missed === "skip" && database.now - tick.due > GRACE_MS - AHEAD_MS;
      // The latest one that is due stands for those before it; it has failed, and is tried again.
      const isInstead = plan.schedule.missed === "once" && to !== undefined && to.due <= database.now + GAINED_MS;
      return isHandled || isMissed || isDropped(row) || isInstead;
    }

    /** Ticks between the one it has left and the one it goes on with that were not missed. */
    function areLeftOut({ tick, plan: { schedule } }: Row, to: Tick): boolean {
      if (to.number <= tick.number + 1) return false;
      return schedule.missed === "all" || to.due - schedule.every!.ms > database.now + GAINED_MS;
    }

    /** It is over before its last tick was handled, given up or, where that is allowed, missed. */
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

    /** What the handler of another one has set is there only if that has not thrown. */
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
