// A reminder that was acknowledged is there until it was handled, cancelled, set anew or given up; and one that was refused never was.
import { LimpetError } from "../../src/kernel/errors.ts";
import type { Tick } from "../../src/ports/reminders.ts";
import type { Operation } from "../observer.ts";
import type { CheckerKind } from "./checker.ts";
import { keyName, labelOfKey, type Row, type RowWatcher, rowsOf } from "./reminder-rows.ts";

/** Ticks that are late by no more than this were not missed. */
const GRACE_MS = 1_000;

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

    /** Whether a row may leave its tick behind, to go on with the tick `to`, or because it has come to its end. */
    function isExplained(row: Row, to: Tick | undefined): boolean {
      const { tick, plan } = row;
      const next = to?.number ?? Number.POSITIVE_INFINITY;
      const isHandled = rows
        .runsOf(row)
        .some(({ run, isDone }) => isDone && run.tick.number >= tick.number && run.tick.number < next);
      const isMissed = plan.schedule.missed === "skip" && database.now - tick.due > GRACE_MS;
      const isDropped = plan.policy.giveUp === "drop" && tick.attempt + 1 >= plan.policy.attempts;
      // The latest one that is due stands for those before it; it has failed, and is tried again.
      const isInstead = plan.schedule.missed === "once" && to !== undefined && to.due <= database.now;
      return isHandled || isMissed || isDropped || isInstead;
    }

    const changed: RowWatcher["changed"] = (row, stored, { kind }, settlement) => {
      const { tick, plan, key } = row;
      const where = `${labelOfKey(key)} of ${row.op} at tick ${tick.number}.${tick.attempt}`;
      if (kind === "fenced commit") {
        const isSame =
          stored !== undefined && stored.tick.number === tick.number && stored.tick.attempt === tick.attempt;
        if (!isSame) report(`${where} was changed by a commit that was refused`);
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
      }
    };
    rows.watchers.push({ changed });

    return {
      healed() {
        const ops = new Set([...rows.byGeneration.values()].map(({ op }) => op));
        for (const operation of stage.operations) {
          const { call, token, outcome } = operation;
          if (call.how.remind === undefined || outcome === undefined) continue;
          if ("value" in outcome && !ops.has(token)) report(`${token} was acknowledged, and its reminder never stored`);
          if (isRefused(operation) && ops.has(token)) {
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
