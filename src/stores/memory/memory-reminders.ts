// Reminders within one process: apps that share a MemoryStore share them. Each step runs to completion
// without interruption, so all steps are atomic.
import {
  type Claim,
  type ClaimRequest,
  type DeadReminder,
  NOTIFY_AHEAD_MS,
  type ReminderContent,
  type ReminderCounts,
  type ReminderKey,
  type ReminderLease,
  type ReminderOutcome,
  type ReminderQuery,
  type Reminders,
  type ReminderWrite,
  type Rewriting,
  type Settlement,
  type StoredReminder,
  type Tick,
} from "../../ports/store/reminders.ts";
import { ReminderIndex, type ReminderIndexes, type ReminderRow, reminderPage } from "./reminder-index.ts";

/** The namespaces in which the batch writes something that watchers may claim. */
export function namespacesOf(batch: readonly ReminderWrite[], now: number): Set<string> {
  const isClaimable = (write: ReminderWrite): boolean =>
    write.kind === "set" && write.lease === undefined && write.tick.at <= now + NOTIFY_AHEAD_MS;
  return new Set(batch.filter(isClaimable).map(({ key }) => key.namespace));
}

export class MemoryReminders implements Reminders {
  readonly #namespaces = new Map<string, ReminderIndexes>();
  readonly #byGeneration = new Map<number, ReminderRow>();
  #lastGeneration = 0;
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #now: () => number;
  readonly #checkOpen: () => void;

  /** `now` is the store's clock; `checkOpen` throws once the store is closed. */
  constructor(now: () => number, checkOpen: () => void) {
    this.#now = now;
    this.#checkOpen = checkOpen;
  }

  async write(batch: readonly ReminderWrite[]): Promise<ReminderOutcome[]> {
    this.#checkOpen();
    return this.writeNow(batch);
  }

  async settle(batch: readonly Settlement[]): Promise<boolean[]> {
    this.#checkOpen();
    return this.settleNow(batch);
  }

  async rewrite(batch: readonly Rewriting[]): Promise<boolean[]> {
    this.#checkOpen();
    return batch.map(({ data, ...next }) => {
      const row = this.#byGeneration.get(next.generation);
      if (row === undefined || !this.#settle({ kind: "next", ...next })) return false;
      row.content = { ...row.content, data };
      return true;
    });
  }

  /** For the reminder writes of commits. */
  writeNow(batch: readonly ReminderWrite[]): ReminderOutcome[] {
    const outcomes = batch.map((write) => this.#write(write));
    this.#notify(namespacesOf(batch, this.#now()));
    return outcomes;
  }

  /** True if all of them would count. */
  wouldCount(batch: readonly Settlement[]): boolean {
    return batch.every((settlement) => this.#counts(settlement));
  }

  settleNow(batch: readonly Settlement[]): boolean[] {
    return batch.map((settlement) => this.#settle(settlement));
  }

  async claim({ namespace, types, limit, aheadMs, leaseMs, token }: ClaimRequest): Promise<Claim> {
    this.#checkOpen();
    const now = this.#now();
    const found: ReminderRow[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const type of new Set(types)) {
      const least = found.length;
      for (const row of this.#namespaces.get(namespace)?.get(type)?.due ?? []) {
        // The first row behind the claimable ones determines when there may be more; the claim reads no
        // further.
        const isBehind = row.at > now + aheadMs || found.length - least === limit;
        if (isBehind || isLeased(row, now)) next = Math.min(next, isBehind ? row.at - aheadMs : row.leasedUntil);
        else found.push(row);
        if (isBehind) break;
      }
    }
    found.sort((a, b) => a.at - b.at || a.generation - b.generation);
    const claimed = found.slice(0, limit);
    for (const row of claimed) {
      row.token = token;
      row.leasedUntil = now + leaseMs;
    }
    if (found.length > limit) next = now;
    return {
      now,
      reminders: claimed.map(({ generation, key, tick, content }) => ({ generation, key, tick, ...content })),
      next: next === Number.POSITIVE_INFINITY ? undefined : Math.max(next, now),
    };
  }

  async renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]> {
    this.#checkOpen();
    const now = this.#now();
    const lost = claims.filter(({ generation, token }) => {
      const row = this.#byGeneration.get(generation);
      if (row === undefined || row.token !== token) return true;
      row.leasedUntil = now + leaseMs;
      return false;
    });
    return lost.map(({ generation }) => generation);
  }

  async get(key: ReminderKey): Promise<StoredReminder | undefined> {
    this.#checkOpen();
    const row = this.#find(key);
    return row && storedOf(row, this.#now());
  }

  async list(query: ReminderQuery): Promise<StoredReminder[]> {
    this.#checkOpen();
    const now = this.#now();
    return reminderPage(
      this.#indexes(query.namespace),
      query,
      ({ rows }) => rows,
      (row) => storedOf(row, now),
    );
  }

  async listDead(query: ReminderQuery): Promise<DeadReminder[]> {
    this.#checkOpen();
    return reminderPage(
      this.#indexes(query.namespace),
      query,
      ({ dead }) => dead,
      (one) => one,
    );
  }

  async revive(key: ReminderKey): Promise<boolean> {
    this.#checkOpen();
    const index = this.#index(key);
    const dead = index.dead.get(key);
    if (dead === undefined || this.#find(key) !== undefined) return false;
    index.dead.drop(key);
    const { schedule, data } = dead;
    const tick = { ...dead.tick, at: this.#now(), attempt: 0 };
    this.#write({ kind: "set", key, tick, content: { schedule, data }, lease: undefined, isNew: true });
    this.#notify(new Set([key.namespace]));
    return true;
  }

  async forget(key: ReminderKey): Promise<boolean> {
    this.#checkOpen();
    const { dead } = this.#index(key);
    const isThere = dead.get(key) !== undefined;
    dead.drop(key);
    return isThere;
  }

  async count(namespace: string, limit: number): Promise<ReminderCounts> {
    this.#checkOpen();
    const now = this.#now();
    const counts = { all: 0, overdue: 0, dead: 0 };
    for (const { rows, dead, due } of this.#indexes(namespace).values()) {
      counts.all = Math.min(counts.all + rows.size, limit);
      counts.dead = Math.min(counts.dead + dead.size, limit);
      for (const row of due) {
        if (row.at >= now || counts.overdue >= limit) break;
        if (!isLeased(row, now)) counts.overdue++;
      }
    }
    return counts;
  }

  watch(namespace: string, listener: () => void): () => void {
    const watchers = this.#watchers.get(namespace) ?? new Set();
    this.#watchers.set(namespace, watchers.add(listener));
    return () => void watchers.delete(listener);
  }

  #indexes(namespace: string): ReminderIndexes {
    const known = this.#namespaces.get(namespace);
    if (known !== undefined) return known;
    const indexes: ReminderIndexes = new Map();
    this.#namespaces.set(namespace, indexes);
    return indexes;
  }

  #index({ namespace, type }: ReminderKey): ReminderIndex {
    const indexes = this.#indexes(namespace);
    const index = indexes.get(type) ?? new ReminderIndex();
    indexes.set(type, index);
    return index;
  }

  #find(key: ReminderKey): ReminderRow | undefined {
    return this.#namespaces.get(key.namespace)?.get(key.type)?.rows.get(key);
  }

  #drop(row: ReminderRow): void {
    this.#byGeneration.delete(row.generation);
    this.#index(row.key).drop(row);
  }

  #write(write: ReminderWrite): ReminderOutcome {
    const { namespace, type, id, name } = write.key;
    const before = this.#find(write.key);
    if (write.kind === "set" && write.isNew && before !== undefined) return { kind: "exists" };
    if (before !== undefined) this.#drop(before);
    if (write.kind === "cancel") return { kind: "cancelled", existed: before !== undefined };
    const { schedule, data } = write.content;
    const generation = ++this.#lastGeneration;
    const row: ReminderRow = {
      generation,
      key: { namespace, type, id, name },
      content: { schedule, data },
      tick: copyOf(write.tick),
      at: write.tick.at,
      token: write.lease?.token,
      leasedUntil: write.lease === undefined ? 0 : this.#now() + write.lease.leaseMs,
    };
    this.#byGeneration.set(generation, row);
    this.#index(row.key).put(row);
    return { kind: "set", generation };
  }

  /** The token decides, not the clock: an ended lease still counts until another process claims the row. */
  #counts(settlement: Settlement): boolean {
    const row = this.#byGeneration.get(settlement.generation);
    if (row === undefined || row.token !== settlement.token) return false;
    return settlement.kind !== "next" || !isBefore(settlement.tick, row.tick);
  }

  #settle(settlement: Settlement): boolean {
    const row = this.#byGeneration.get(settlement.generation);
    if (row === undefined || !this.#counts(settlement)) return false;
    switch (settlement.kind) {
      case "done":
        this.#drop(row);
        return true;
      case "next":
        this.#index(row.key).moveOn(row, copyOf(settlement.tick));
        if (settlement.leaseMs === undefined) row.token = undefined;
        else row.leasedUntil = this.#now() + settlement.leaseMs;
        return true;
      case "release":
        row.token = undefined;
        return true;
      case "dead": {
        this.#drop(row);
        const { generation, key, content } = row;
        const { tick, error } = settlement;
        const dead = {
          key,
          generation,
          tick: copyOf(tick),
          bytes: bytesOf(content),
          ...content,
          error,
          diedAt: this.#now(),
        };
        this.#index(key).dead.put(key, dead);
        return true;
      }
    }
  }

  /** Notifies once for a batch, after the writer's own code has gone on. */
  #notify(namespaces: ReadonlySet<string>): void {
    for (const namespace of namespaces) {
      for (const listener of this.#watchers.get(namespace) ?? []) queueMicrotask(listener);
    }
  }
}

const isLeased = ({ token, leasedUntil }: ReminderRow, now: number): boolean =>
  token !== undefined && leasedUntil > now;

const copyOf = ({ at, due, number, attempt }: Tick): Tick => ({ at, due, number, attempt });

/**
 * True for a settlement that comes too late: its response was lost, it was sent again, and others followed
 * before the first one arrived.
 */
const isBefore = (tick: Tick, stored: Tick): boolean =>
  tick.number < stored.number || (tick.number === stored.number && tick.attempt < stored.attempt);

function storedOf(row: ReminderRow, now: number): StoredReminder {
  const { generation, key, tick, content } = row;
  const leasedUntil = isLeased(row, now) ? row.leasedUntil : undefined;
  return { key, generation, tick, bytes: bytesOf(content), ...content, leasedUntil };
}

const bytesOf = ({ data }: ReminderContent): number => (data === undefined ? 0 : Buffer.byteLength(data));
