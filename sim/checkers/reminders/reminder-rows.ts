// The reminders of a run as the store has them, followed from change to change, with the runs of their
// handlers. Several checkers use it. It does not model the store: after every event that may have changed a
// row, it reads the row.
import { decodeValue } from "../../../src/kernel/values.ts";
import type {
  ClaimRequest,
  ReminderKey,
  ReminderWrite,
  Settlement,
  StoredReminder,
  Tick,
} from "../../../src/ports/store/reminders.ts";
import type { Commit, CommitVerdict } from "../../../src/ports/store/store.ts";
import { decodePlan, type Plan as ReminderPlan } from "../../../src/reminders/schedule/plan.ts";
import type { Schedule } from "../../../src/reminders/schedule/schedule.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Observer, ReminderRun } from "../../observer.ts";
import type { Carried } from "../../reminding.ts";
import type { Stage } from "../../stage.ts";
import type { ReportViolation } from "../checker.ts";

/** One reminder, from its creation to its replacement, cancellation or end. */
export interface Row {
  readonly generation: number;
  readonly key: ReminderKey;
  readonly op: string;
  readonly carried: Carried;
  readonly plan: ReminderPlan;
  tick: Tick;
  /** The visible holder of its lease, and the earliest end of the lease on the clock of the store. */
  holder: { readonly process: Process; readonly token: string; until: number } | undefined;
  gone: { readonly at: number; readonly how: Gone } | undefined;
}

export type Gone = "replaced" | "cancelled" | "settled" | "dead";

/** Time and holder of a lease of a row. */
export interface Leased {
  readonly at: number;
  readonly process: Process;
}

export interface RunRecord {
  readonly run: ReminderRun;
  endedAt: number | undefined;
  isDone: boolean;
}

/** A request that may have changed a row. */
export interface Cause {
  readonly process: Process;
  /** A commit that is repeated or rejected may have no effect. */
  readonly kind: "settle" | "commit" | "commit again" | "fenced commit" | "void commit";
  /** Undefined if the request has no response. */
  readonly counted: boolean | undefined;
}

export interface RowWatcher {
  set?(row: Row, stored: StoredReminder | undefined, write: Extract<ReminderWrite, { kind: "set" }>): void;
  /** The reminder was cancelled or replaced; `stored` is the row after that. */
  voided?(row: Row, stored: StoredReminder | undefined): void;
  /** Called before the holder of each row changes. */
  claimed?(row: Row, process: Process, request: ClaimRequest, now: number): void;
  /** `stored` is undefined if the row is gone. `row` still has the earlier values. */
  changed?(row: Row, stored: StoredReminder | undefined, cause: Cause, settlement: Settlement | undefined): void;
}

export const keyName = ({ namespace, type, id, name }: ReminderKey): string => `${namespace}/${type}/${id}/${name}`;

/** Number and time of the last tick of a schedule. Schedules of runs have no calendar. */
export function lastTick({ first, every, times, until }: Schedule): { readonly number: number; readonly due: number } {
  if (every === undefined) return { number: 1, due: first };
  const within = until === undefined ? Number.POSITIVE_INFINITY : Math.floor((until - first) / every.ms) + 1;
  const number = Math.min(times ?? Number.POSITIVE_INFINITY, within);
  return { number, due: first + (number - 1) * every.ms };
}

/** For display: `Ledger/actor-1 r0`. */
export const labelOfKey = ({ type, id, name }: ReminderKey): string => `${type}/${id} ${name}`;

const known = new WeakMap<Stage, ReminderRows>();

export function rowsOf(stage: Stage): ReminderRows {
  const found = known.get(stage);
  if (found !== undefined) return found;
  const rows = new ReminderRows(stage);
  known.set(stage, rows);
  stage.observers.push(rows);
  return rows;
}

export class ReminderRows implements Observer {
  readonly #stage: Stage;
  readonly watchers: RowWatcher[] = [];
  readonly byGeneration = new Map<number, Row>();
  readonly #byOp = new Map<string, Row[]>();
  readonly #current = new Map<string, Row>();
  /** By the operation that set the reminder. */
  readonly runs = new Map<string, RunRecord[]>();
  /** Leases of the rows of an operation. */
  readonly #leases = new Map<string, Leased[]>();
  readonly #commits = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Rows that an operation has set: several if it was repeated because its first response was lost. */
  setBy({ op }: { readonly op: string }): readonly Row[] {
    return this.#byOp.get(op) ?? [];
  }

  leasesOf({ op }: { readonly op: string }): readonly Leased[] {
    return this.#leases.get(op) ?? [];
  }

  runsOf({ op }: { readonly op: string }): readonly RunRecord[] {
    return this.runs.get(op) ?? [];
  }

  #look(key: ReminderKey): Promise<StoredReminder | undefined> {
    return this.#stage.world.database.truth.reminders.get(key);
  }

  // ——— Handlers.

  reminderBegan(run: ReminderRun): void {
    const runs = this.runs.get(run.op) ?? [];
    this.runs.set(run.op, runs);
    runs.push({ run, endedAt: undefined, isDone: false });
  }

  reminderEnded(run: ReminderRun, isDone: boolean): void {
    const record = this.runs.get(run.op)?.find((one) => one.run === run);
    if (record === undefined) return;
    record.endedAt = this.#stage.now;
    record.isDone = isDone;
  }

  // ——— The store.

  reminded(process: Process, batch: readonly ReminderWrite[], outcomes: readonly { readonly kind: string }[]): void {
    for (const [i, write] of batch.entries()) if (outcomes[i]!.kind !== "exists") this.#wrote(process, write);
  }

  committed(process: Process, commit: Commit, _key: unknown, outcome: CommitVerdict): void {
    const { id, settle = [], reminders = [] } = commit;
    const isFirst = !this.#commits.has(id);
    if (outcome === "committed") this.#commits.add(id);
    const kind = outcome !== "committed" ? (`${outcome} commit` as const) : isFirst ? "commit" : "commit again";
    const cause: Cause = { process, kind, counted: undefined };
    const written = new Set(kind === "commit" ? reminders.map(({ key }) => keyName(key)) : []);
    for (const settlement of settle) {
      const row = this.byGeneration.get(settlement.generation);
      // Writes of the same commit follow its settlements.
      if (row !== undefined && !written.has(keyName(row.key))) this.#settled(row, cause, settlement);
    }
    if (kind === "commit") for (const write of reminders) this.#wrote(process, write);
    else for (const { key } of reminders) this.#unchanged(key, cause);
  }

  settled(process: Process, batch: readonly Settlement[], counted: readonly boolean[]): void {
    for (const [i, settlement] of batch.entries()) {
      const row = this.byGeneration.get(settlement.generation);
      if (row !== undefined) this.#settled(row, { process, kind: "settle", counted: counted[i] }, settlement);
    }
  }

  claimed(...[process, request, { now, reminders }]: Parameters<NonNullable<Observer["claimed"]>>): void {
    for (const { generation } of reminders) {
      const row = this.byGeneration.get(generation);
      if (row === undefined) continue;
      for (const watcher of this.watchers) watcher.claimed?.(row, process, request, now);
      this.#leased(row, process, request.token, now + request.leaseMs);
    }
  }

  /** Leases were extended. */
  stored(_process: Process, question: string): void {
    if (question !== "renew") return;
    for (const row of this.#current.values()) {
      const { holder } = row;
      if (holder === undefined) continue;
      void this.#look(row.key).then((now) => {
        if (now?.generation === row.generation && row.holder === holder) holder.until = now.leasedUntil ?? holder.until;
      });
    }
  }

  #leased(row: Row, process: Process, token: string, until: number): void {
    row.holder = { process, token, until };
    this.#leases.set(row.op, [...this.leasesOf(row), { at: this.#stage.now, process }]);
  }

  #wrote(process: Process, write: ReminderWrite): void {
    // Reminders of workflows have their own rules.
    if (write.key.type.startsWith("$$")) return;
    const name = keyName(write.key);
    const before = this.#current.get(name);
    this.#current.delete(name);
    if (before !== undefined) {
      before.gone = { at: this.#stage.now, how: write.kind === "set" ? "replaced" : "cancelled" };
    }
    void this.#look(write.key).then((stored) => {
      if (before !== undefined) for (const watcher of this.watchers) watcher.voided?.(before, stored);
      if (write.kind !== "set") return;
      const row = stored && this.#rowOf(stored);
      if (row !== undefined) this.#current.set(name, row);
      if (row !== undefined && write.lease !== undefined) {
        this.#leased(row, process, write.lease.token, stored!.leasedUntil ?? 0);
      }
      for (const watcher of this.watchers) if (row !== undefined) watcher.set?.(row, stored, write);
    });
  }

  #rowOf({ generation, key, tick, schedule, data }: StoredReminder): Row {
    const carried = decodeValue(data!) as Carried;
    const row: Row = {
      generation,
      key,
      op: carried.op,
      carried,
      plan: decodePlan(schedule),
      tick,
      holder: undefined,
      gone: undefined,
    };
    this.byGeneration.set(generation, row);
    this.#byOp.set(row.op, [...this.setBy(row), row]);
    return row;
  }

  #settled(row: Row, cause: Cause, settlement: Settlement): void {
    if (row.gone !== undefined) return;
    void this.#look(row.key).then((found) => {
      if (row.gone !== undefined) return;
      const stored = found?.generation === row.generation ? found : undefined;
      for (const watcher of this.watchers) watcher.changed?.(row, stored, cause, settlement);
      if (stored === undefined) {
        row.gone = { at: this.#stage.now, how: settlement.kind === "dead" ? "dead" : "settled" };
        this.#current.delete(keyName(row.key));
        return;
      }
      row.tick = stored.tick;
      // An ended lease is not visible, and may be valid again when the store's clock is set back. Only an
      // acknowledged process has given it up.
      const wasAcknowledged = cause.kind === "commit" || cause.counted === true;
      if (stored.leasedUntil === undefined && wasAcknowledged) row.holder = undefined;
      else if (row.holder !== undefined) row.holder.until = stored.leasedUntil ?? row.holder.until;
    });
  }

  #unchanged(key: ReminderKey, cause: Cause): void {
    const row = this.#current.get(keyName(key));
    void this.#look(key).then((stored) => {
      if (row === undefined || row.gone !== undefined) return;
      const same = stored?.generation === row.generation ? stored : undefined;
      for (const watcher of this.watchers) watcher.changed?.(row, same, cause, undefined);
    });
  }

  /** Rows that must exist now. */
  get current(): Iterable<Row> {
    return this.#current.values();
  }
}

/** A checker that watches rows. */
export abstract class RowChecker {
  protected readonly stage: Stage;
  protected readonly report: ReportViolation;
  protected readonly rows: ReminderRows;

  constructor(stage: Stage, report: ReportViolation) {
    this.stage = stage;
    this.report = report;
    this.rows = rowsOf(stage);
    this.rows.watchers.push(this as RowWatcher);
  }
}
