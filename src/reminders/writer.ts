// Writes reminders for actors and the HTTP API: converts options to rows, and rows to descriptions.

import { KeyedBatcher } from "../kernel/batch/keyed-batcher.ts";
import { showValue } from "../kernel/check.ts";
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import { didYouMean } from "../kernel/nearest.ts";
import { encodeValue } from "../kernel/values.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import {
  type ReminderInfo,
  type ReminderWriter,
  readData,
  type SentReminders,
  type SetReminder,
} from "../ports/reminder-writer.ts";
import {
  type ClaimedReminder,
  isLastPage,
  type OwnLease,
  type ReminderContent,
  type ReminderKey,
  type ReminderOutcome,
  type ReminderQuery,
  type ReminderWrite,
  type StoredReminder,
  type Tick,
} from "../ports/store/reminders.ts";
import type { ReminderPorts } from "./reminder-ports.ts";
import { resolvePolicy } from "./schedule/failure-policy.ts";
import { decodePlan, encodePlan } from "./schedule/plan.ts";
import { reject } from "./schedule/rejection.ts";
import { resolveSchedule, type Schedule } from "./schedule/schedule.ts";
import { LeasedReminders } from "./sent-reminders.ts";

export interface ReminderWriterDeps extends Omit<ReminderPorts, "log" | "instruments"> {
  /** The time for retries of a write when the store does not answer. */
  readonly patienceMs: number;
  /** A lease for a reminder of that type and due time, if this process is to deliver it itself. */
  ownLease(type: string, at: number): OwnLease | undefined;
  /** The write was answered, so its reserved place is free. */
  unreserve(type: string): void;
  /** The reminder was written with such a lease, at `askedAt` of the monotonic clock or later. */
  adopt(reminder: ClaimedReminder, lease: OwnLease, askedAt: number): void;
  /** A reminder is due at that time. */
  expect(at: number): void;
  /** The reminder was replaced or cancelled: a process that delivers it must verify it again. */
  invalidate(key: ReminderKey): void;
}

const OPTIONS = ["due", "every", "cron", "timezone", "ttl", "until", "times", "missed", "data", "onFailure"];

export class BatchedReminderWriter implements ReminderWriter {
  readonly #deps: ReminderWriterDeps;
  readonly #writing: KeyedBatcher<ReminderWrite, ReminderOutcome>;
  readonly #looking: KeyedBatcher<ReminderKey, StoredReminder | undefined>;

  constructor(deps: ReminderWriterDeps) {
    this.#deps = deps;
    const { clock, store } = deps;
    this.#writing = new KeyedBatcher({
      clock,
      send: (batch) => store.write(batch),
      keyOf: ({ key }) => showKey(key),
      late: "COMMIT_UNKNOWN",
      resolveAmbiguous: (write, outcome) => this.#cleared(write, outcome),
    });
    this.#looking = new KeyedBatcher({
      clock,
      send: (keys) => Promise.all(keys.map((key) => store.get(key))),
      late: "STORE_UNAVAILABLE",
    });
  }

  now(): number {
    return Math.round(this.#deps.storeClock.now());
  }

  set(key: ReminderKey, options: ReminderOptions, isNew = false): SetReminder {
    const { data, onFailure, ...when } = options ?? {};
    if (typeof (options ?? {}) !== "object") {
      reject("reminder", `${showValue(options)} is no object; write for example { due: "10m" }`);
    }
    for (const word of Object.keys(options ?? {})) {
      if (!OPTIONS.includes(word)) reject("reminder", `there is no option "${word}"${didYouMean(word, OPTIONS)}`);
    }
    const schedule = resolveSchedule(when, this.now());
    const policy = resolvePolicy(onFailure);
    const text = data === undefined ? undefined : encodeValue(data, "data", "REMINDER_INVALID");
    const bytes = text === undefined ? 0 : Buffer.byteLength(text);
    if (bytes > LIMITS.reminderBytes) reject("data", `is ${bytes} bytes; the limit is ${LIMITS.reminderBytes}`);
    const mark = isNew ? this.#deps.random.id() : undefined;
    const tick = { at: schedule.first, due: schedule.first, number: 1, attempt: 0 };
    const content = { schedule: encodePlan({ schedule, policy, mark }), data: text };
    return { kind: "set", key, tick, content, lease: undefined, isNew };
  }

  async write(write: ReminderWrite): Promise<boolean> {
    const { ownLease, unreserve, adopt, expect, invalidate } = this.#deps;
    const lease = write.kind === "set" ? ownLease(write.key.type, write.tick.at) : undefined;
    const askedAt = this.#deps.clock.monotonic();
    const outcome = await this.#ask(lease === undefined ? write : ({ ...write, lease } as SetReminder)).finally(() => {
      if (lease !== undefined) unreserve(write.key.type);
    });
    if (outcome.kind === "exists") return false;
    invalidate(write.key);
    if (outcome.kind === "set" && write.kind === "set") {
      const { key, tick, content } = write;
      if (lease === undefined) expect(tick.at);
      else adopt({ generation: outcome.generation, key, tick, ...content }, lease, askedAt);
    }
    return true;
  }

  #ask(write: ReminderWrite): Promise<ReminderOutcome> {
    return this.#writing.ask(write, this.#deps.clock.monotonic() + this.#deps.patienceMs);
  }

  /** The write was sent twice. An existing reminder may be from the first attempt. */
  async #cleared(write: ReminderWrite, outcome: ReminderOutcome): Promise<ReminderOutcome> {
    if (write.kind !== "set" || outcome.kind !== "exists") return outcome;
    const stored = await this.#deps.store.get(write.key).catch(() => undefined);
    if (stored?.schedule === write.content.schedule) return { kind: "set", generation: stored.generation };
    const why = "an answer of the store was lost, and there is another reminder of that name now";
    throw new LimpetError("COMMIT_UNKNOWN", `${why}; whether this one was set before it cannot be known`);
  }

  send(writes: readonly ReminderWrite[]): SentReminders {
    const { clock, patienceMs } = this.#deps;
    return new LeasedReminders(writes, this.#deps, (key) => this.#looking.ask(key, clock.monotonic() + patienceMs));
  }

  written(writes: readonly ReminderWrite[]): void {
    let first = Number.POSITIVE_INFINITY;
    for (const write of writes) {
      this.#deps.invalidate(write.key);
      if (write.kind === "set") first = Math.min(first, write.tick.at);
    }
    if (first < Number.POSITIVE_INFINITY) this.#deps.expect(first);
  }

  async get(key: ReminderKey): Promise<ReminderInfo | undefined> {
    const stored = await this.#deps.store.get(key);
    return stored && infoOf(stored.key.name, stored.tick, stored);
  }

  async list(actor: { namespace: string; type: string; id: string }): Promise<ReminderInfo[]> {
    const all: ReminderInfo[] = [];
    for (let after: ReminderKey | undefined; ; ) {
      const query: ReminderQuery = { ...actor, after, limit: LIMITS.listPage };
      const rows = await this.#deps.store.list(query);
      for (const row of rows) all.push(infoOf(row.key.name, row.tick, row));
      after = rows.at(-1)?.key;
      if (isLastPage(rows, query)) return all;
    }
  }

  shown({ key, tick, content }: SetReminder): ReminderInfo {
    return infoOf(key.name, tick, content);
  }
}

/** An unreadable reminder is shown as such, so that it does not hide the others. */
function infoOf(name: string, { at, number, attempt }: Tick, content: ReminderContent): ReminderInfo {
  const info = { name, next: at, number, attempt };
  try {
    const { schedule } = decodePlan(content.schedule);
    return { ...info, data: readData(content.data), schedule: showSchedule(schedule) };
  } catch (error) {
    return { ...info, data: undefined, schedule: UNREADABLE, damaged: (error as Error).message };
  }
}

/** Shown in place of a schedule. */
export const UNREADABLE = "cannot be read";

/** For display. */
export function showSchedule({ every, cron, timezone, until, times }: Schedule): string {
  const zone = timezone === undefined ? "" : ` (${timezone})`;
  const end = until === undefined ? "" : ` until ${new Date(until).toISOString()}`;
  const count = times === undefined ? "" : `, ${times} times`;
  if (cron !== undefined) return `cron ${cron}${zone}${count}${end}`;
  if (every === undefined) return "once";
  const { months = 0, days = 0, ms = 0 } = every;
  const parts = [
    months > 0 ? counted(months, "month") : "",
    days > 0 ? counted(days, "day") : "",
    ms > 0 ? formatDuration(ms) : "",
  ];
  return `every ${parts.filter((part) => part !== "").join(" ")}${zone}${count}${end}`;
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

const showKey = ({ namespace, type, id, name }: ReminderKey): string => JSON.stringify([namespace, type, id, name]);
