// Coverage of reminders: situations that a long run must reach; see coverage.ts.
import { isLimpetError } from "../../src/kernel/errors.ts";
import { type Row, rowsOf } from "../checkers/reminders/reminder-rows.ts";
import type { Observer, Operation, ReminderRun } from "../observer.ts";
import type { Stage } from "../stage.ts";

export const REMINDER_COVERAGE = {
  "reminder: set in a turn": "a reminder was stored with the commit of a turn",
  "reminder: set from outside": "a reminder was set without a turn of its actor",
  "reminder: stored with a lease": "a reminder was stored for the process that set it to deliver",
  "reminder: handled elsewhere": "a tick was handled in another process than the one that had claimed it",
  "reminder: settled by a commit": "a tick was settled with the commit of its handler",
  "reminder: settled on its own": "a tick was settled by the delivering process",
  "reminder: picked up after a lease": "a reminder was claimed whose lease had run out",
  "reminder: held by an ended process": "a process ended that had leases on reminders",
  "reminder: released": "a process released a reminder that had not begun",
  "reminder: replaced while it was held": "a reminder was replaced while it was leased",
  "reminder: cancelled while it was held": "a reminder was cancelled while it was leased",
  "reminder: changed while it was handled": "a reminder was replaced or cancelled while its handler ran",
  "reminder: settled too late": "a settlement of a reminder came too late to count",
  "reminder: tried again": "a tick was handled that had failed before",
  "reminder: passed on": "a tick did not reach its actor, and that counted as no attempt",
  "reminder: given up and kept": "a tick failed for the last time, and was kept for operators",
  "reminder: given up and dropped": "a tick failed for the last time, and the next one came",
  "reminder: latest for all": "a tick was handled that replaces missed ones",
  "reminder: one after another": "a tick was handled long after its moment because all were wanted",
  "reminder: skipped": "ticks were skipped because their time was over",
  "reminder: handled twice": "an attempt at a tick was handled once more in another lease",
  "reminder: fenced": "a handler had completed, and its actor had been taken over",
  "reminder: void": "a handler had completed, and its reminder was replaced, cancelled or leased by another process",
  "reminder: at its end": "a reminder came to its end because its time was over",
  "reminder: set by a handler": "a handler of a reminder set another one, or replaced its own",
  "reminder: unknown whether set": "a caller got an unknown outcome for setting a reminder",
  "reminder: job handled": "a job ran",
} as const satisfies Record<string, string>;

/** A tick that is later than this was not just delayed. */
const LONG_MS = 3_000;

export class ReminderCoverage implements Observer {
  readonly #stage: Stage;
  readonly #handled = new Set<string>();
  readonly #numbers = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
    if (stage.plan.reminders === undefined) return;
    rowsOf(stage).watchers.push({
      set: (row, _stored, write) => {
        if (write.lease !== undefined) this.#stage.reach("reminder: stored with a lease");
        if (row.op.includes("!")) this.#stage.reach("reminder: set by a handler");
      },
      voided: (row) => this.#voided(row),
      claimed: ({ holder }) => {
        if (holder !== undefined) this.#stage.reach("reminder: picked up after a lease");
      },
      changed: (row, stored, { kind, counted }, settlement) => {
        if (counted === false) this.#stage.reach("reminder: settled too late");
        if (kind === "fenced commit") this.#stage.reach("reminder: fenced");
        if (kind === "void commit") this.#stage.reach("reminder: void");
        if (settlement === undefined || (kind !== "commit" && counted !== true)) return;
        if (settlement.kind === "release") this.#stage.reach("reminder: released");
        else this.#stage.reach(kind === "commit" ? "reminder: settled by a commit" : "reminder: settled on its own");
        if (settlement.kind === "dead") this.#stage.reach("reminder: given up and kept");
        const { until } = row.plan.schedule;
        if (settlement.kind === "done" && until !== undefined) this.#stage.reach("reminder: at its end");
        if (settlement.kind === "next") this.#moved(row, stored?.tick.number ?? 0, settlement.tick.attempt);
      },
    });
  }

  #voided(row: Row): void {
    const isCancelled = row.gone?.how === "cancelled";
    if (row.holder !== undefined) {
      this.#stage.reach(isCancelled ? "reminder: cancelled while it was held" : "reminder: replaced while it was held");
    }
    const isRunning = rowsOf(this.#stage)
      .runsOf(row)
      .some(({ endedAt }) => endedAt === undefined);
    if (isRunning) this.#stage.reach("reminder: changed while it was handled");
  }

  #moved({ tick, plan }: Row, number: number, attempt: number): void {
    const { giveUp, attempts } = plan.policy;
    const isSame = number === tick.number;
    if (isSame && attempt === tick.attempt) this.#stage.reach("reminder: passed on");
    if (!isSame && giveUp === "drop" && attempts > 1 && tick.attempt + 1 >= attempts) {
      this.#stage.reach("reminder: given up and dropped");
    }
    if (plan.schedule.missed === "skip" && number > tick.number + 1) this.#stage.reach("reminder: skipped");
  }

  reminderBegan({ op, tick, type, process }: ReminderRun): void {
    const attempt = `${op} ${tick.number}.${tick.attempt}`;
    if (this.#handled.has(attempt)) this.#stage.reach("reminder: handled twice");
    this.#handled.add(attempt);
    if (tick.attempt > 1) this.#stage.reach("reminder: tried again");
    if (type.startsWith("$")) this.#stage.reach("reminder: job handled");
    const row = rowsOf(this.#stage).setBy({ op }).at(-1);
    if (row?.holder !== undefined && row.holder.process !== process) this.#stage.reach("reminder: handled elsewhere");
    const before = this.#numbers.get(op) ?? 0;
    this.#numbers.set(op, tick.number);
    const { missed } = row?.plan.schedule ?? {};
    if (missed === "once" && tick.number > before + 1) this.#stage.reach("reminder: latest for all");
    const late = this.#stage.world.database.now - tick.due;
    if (missed === "all" && tick.attempt === 1 && late > LONG_MS) this.#stage.reach("reminder: one after another");
  }

  answered({ call, outcome }: Operation): void {
    if (call.how.remind === undefined || outcome === undefined) return;
    if ("value" in outcome)
      this.#stage.reach(call.how.outside ? "reminder: set from outside" : "reminder: set in a turn");
    else if (isLimpetError(outcome.error, "COMMIT_UNKNOWN")) this.#stage.reach("reminder: unknown whether set");
  }

  gone(_host: unknown, process: unknown): void {
    if (this.#stage.plan.reminders === undefined) return;
    for (const { holder } of rowsOf(this.#stage).current) {
      if (holder?.process === process) this.#stage.reach("reminder: held by an ended process");
    }
  }
}
