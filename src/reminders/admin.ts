// Serves reminders to the HTTP API and the command line: converts wire texts to rows, and rows to summaries.
// An unreadable row must not hide the others.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import { checkId, checkNoJob, checkReminderName, checkType } from "../kernel/names.ts";
import {
  type DeadReminderSummary,
  MOST_COUNTED,
  type NewReminder,
  type ReminderAdmin,
  type ReminderFound,
  type ReminderName,
  type ReminderPage,
  type ReminderPageQuery,
  type ReminderSummary,
} from "../ports/reminder-admin.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import { readData } from "../ports/reminder-writer.ts";
import type {
  DeadReminder,
  ReminderCounts,
  ReminderKey,
  ReminderQuery,
  Reminders,
  StoredReminder,
} from "../ports/store/reminders.ts";
import { decodePlan, encodePlan } from "./schedule/plan.ts";
import { scheduleFromWire, scheduleToWire } from "./schedule/wire-formats.ts";
import { showSchedule, UNREADABLE } from "./writer.ts";

export interface ReminderAdminDeps {
  readonly namespace: string;
  readonly store: Reminders;
  readonly writer: ReminderWriter;
  /** Throws when no host can have the type. */
  checkHosted(type: string): void;
}

export class StoredReminders implements ReminderAdmin {
  readonly #deps: ReminderAdminDeps;

  constructor(deps: ReminderAdminDeps) {
    this.#deps = deps;
  }

  async set(name: ReminderName, { data, onFailure, isNew, ...texts }: NewReminder): Promise<boolean> {
    const key = this.#keyOf(name);
    checkNoJob(key.type);
    this.#checkHosted(key.type);
    const { writer } = this.#deps;
    // The writer checks data and failure policy; only the times come in another format.
    const write = writer.set(key, { due: 0, data, onFailure }, isNew);
    const plan = decodePlan(write.content.schedule);
    const schedule = scheduleFromWire(texts, writer.now());
    const content = { schedule: encodePlan({ ...plan, schedule }), data: write.content.data };
    return writer.write({ ...write, tick: { ...write.tick, at: schedule.first, due: schedule.first }, content });
  }

  #checkHosted(type: string): void {
    try {
      this.#deps.checkHosted(type);
    } catch (error) {
      if (!isLimpetError(error, "ACTOR_TYPE_UNKNOWN")) throw error;
      throw new LimpetError("REMINDER_NOT_HOSTED", `no host would receive this reminder: ${error.message}`);
    }
  }

  async get(name: ReminderName): Promise<ReminderFound | undefined> {
    const stored = await this.#deps.store.get(this.#keyOf(name));
    if (stored === undefined) return undefined;
    const { dueTime, ...rest } = scheduleToWire(
      decodePlan(stored.schedule).schedule,
      stored.tick.at,
      stored.tick.number,
    );
    return { dueTime: dueTime as string, ...rest, data: readData(stored.data) };
  }

  async cancel(name: ReminderName): Promise<void> {
    await this.#deps.writer.write({ kind: "cancel", key: this.#keyOf(name) });
  }

  async list(query: ReminderPageQuery): Promise<ReminderPage<ReminderSummary>> {
    const { rows, next } = await this.#page(query, (asked) => this.#deps.store.list(asked));
    const now = this.#deps.writer.now();
    return { now, reminders: rows.map((row) => summaryOf(row, now)), next };
  }

  async listDead(query: ReminderPageQuery): Promise<ReminderPage<DeadReminderSummary>> {
    const { rows, next } = await this.#page(query, (asked) => this.#deps.store.listDead(asked));
    return { now: this.#deps.writer.now(), reminders: rows.map(deadSummaryOf), next };
  }

  count(): Promise<ReminderCounts> {
    return this.#deps.store.count(this.#deps.namespace, MOST_COUNTED);
  }

  async retry(name: ReminderName): Promise<boolean> {
    const { store, writer } = this.#deps;
    const key = this.#keyOf(name);
    const isRevived = await store.revive(key);
    // The reminder is due at once, so a process that has its type need not wait for the next poll.
    if (isRevived) writer.written([writer.set(key, { due: 0 })]);
    return isRevived;
  }

  drop(name: ReminderName): Promise<boolean> {
    return this.#deps.store.forget(this.#keyOf(name));
  }

  #keyOf({ type, id, name }: ReminderName): ReminderKey {
    checkType(type);
    checkId(id);
    checkReminderName(name);
    return { namespace: this.#deps.namespace, type, id, name };
  }

  /** One row more than shown means that another page exists. */
  async #page<Row extends { readonly key: ReminderKey }>(
    { type, id, after, limit }: ReminderPageQuery,
    ask: (query: ReminderQuery) => Promise<readonly Row[]>,
  ): Promise<{ readonly rows: readonly Row[]; readonly next: ReminderName | undefined }> {
    const most = Math.min(limit, LIMITS.listPage);
    const found = await ask({ namespace: this.#deps.namespace, type, id, after, limit: most + 1, isBrief: true });
    const rows = found.slice(0, most);
    const last = rows.at(-1);
    return { rows, next: found.length > most && last !== undefined ? nameOf(last.key) : undefined };
  }
}

const nameOf = ({ type, id, name }: ReminderKey): ReminderName => ({ type, id, name });

function summaryOf({ key, tick, leasedUntil, schedule, bytes }: StoredReminder, now: number): ReminderSummary {
  const { at, due, number, attempt } = tick;
  const overdue = at < now && (leasedUntil === undefined || leasedUntil <= now);
  return {
    ...nameOf(key),
    next: at,
    due,
    number,
    attempt,
    leasedUntil,
    overdue,
    schedule: scheduleText(schedule),
    bytes,
  };
}

function deadSummaryOf({ key, tick, error, diedAt, schedule, bytes }: DeadReminder): DeadReminderSummary {
  const { due, number, attempt } = tick;
  return { ...nameOf(key), due, number, attempt, error, diedAt, schedule: scheduleText(schedule), bytes };
}

function scheduleText(stored: string): string {
  try {
    return showSchedule(decodePlan(stored).schedule);
  } catch {
    return UNREADABLE;
  }
}
