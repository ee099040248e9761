// Shared parts of the reminders contract: opening a store, passing time, and helpers to set and claim.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type {
  Claim,
  ClaimedReminder,
  ClaimRequest,
  OwnLease,
  ReminderKey,
  ReminderLease,
  Reminders,
  ReminderWrite,
  Settlement,
  StoredReminder,
  Tick,
} from "../../ports/store/reminders.ts";
import type { Store } from "../../ports/store/store.ts";
import { freshNamespace } from "./shared.contract.ts";

export interface OpenedReminders {
  readonly store: Store;
  /** Another store object on the same data, as another process would have it. The suite closes it. */
  readonly second?: () => Promise<Store>;
  /** Opens the same data again after `store` was closed. The suite closes it. */
  readonly reopen?: () => Promise<Store>;
  /**
   * Advances time for the stored data: either the store's clock moves forward, or every time in its tables
   * (when reminders are due, when leases end) moves back. So after it only differences to the store's clock
   * are meaningful.
   */
  readonly advance: (ms: number) => Promise<void>;
  /** Closes everything that is still open and removes all created data. */
  readonly dispose: () => Promise<void>;
}

export interface RemindersOptions {
  /** Random runs of the model test; fewer where a round trip is slow. */
  readonly modelRuns?: number;
}

export interface RemindersHarness {
  readonly open: () => Promise<OpenedReminders>;
  readonly opened: () => OpenedReminders;
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** The last tick of a dead reminder. */
export const TRIED: Tick = { at: 3_000, due: 2_000, number: 1, attempt: 10 };

export const freshToken = (): string => randomUUID();

export interface SetOptions extends Partial<Tick> {
  readonly schedule?: string;
  readonly data?: string;
  readonly lease?: OwnLease;
  readonly isNew?: boolean;
}

/** `at` is one hour ago on any clock by default. */
export function setOf(key: ReminderKey, options: SetOptions = {}): ReminderWrite {
  const { at = Date.now() - HOUR, due = at, number = 1, attempt = 0 } = options;
  const { schedule = "once", data, lease, isNew = false } = options;
  return { kind: "set", key, tick: { at, due, number, attempt }, content: { schedule, data }, lease, isNew };
}

export const cancelOf = (key: ReminderKey): ReminderWrite => ({ kind: "cancel", key });

/** An unused namespace, and the reminders in it. */
export class Place {
  readonly namespace: string;
  readonly reminders: Reminders;

  constructor(store: Store, namespace = freshNamespace()) {
    this.reminders = store.reminders;
    this.namespace = namespace;
  }

  key(name: string, id = "alice", type = "Cart"): ReminderKey {
    return { namespace: this.namespace, type, id, name };
  }

  /** The store's clock. */
  async now(): Promise<number> {
    return (await this.claim({ types: [] })).now;
  }

  async set(key: ReminderKey, options: SetOptions = {}): Promise<number> {
    const [outcome] = await this.reminders.write([setOf(key, options)]);
    assert.equal(outcome?.kind, "set");
    return outcome.generation;
  }

  async cancel(key: ReminderKey): Promise<boolean> {
    const [outcome] = await this.reminders.write([cancelOf(key)]);
    assert.equal(outcome?.kind, "cancelled");
    return outcome.existed;
  }

  /** By default all due reminders, for an hour. */
  claim(request: Partial<ClaimRequest> = {}): Promise<Claim> {
    const { namespace } = this;
    const usual = { types: ["Cart"], limit: 1_000, aheadMs: 0, leaseMs: HOUR, token: freshToken() };
    return this.reminders.claim({ namespace, ...usual, ...request });
  }

  /** Claims and returns the names. */
  async names(request: Partial<ClaimRequest> = {}): Promise<string[]> {
    return namesOf((await this.claim(request)).reminders);
  }

  async settle(settlement: Settlement): Promise<boolean> {
    const counted = await this.reminders.settle([settlement]);
    assert.equal(counted.length, 1);
    return counted[0] as boolean;
  }

  async stored(key: ReminderKey): Promise<StoredReminder> {
    const found = await this.reminders.get(key);
    assert.ok(found !== undefined, `${key.name} is not there`);
    return found;
  }
}

export const namesOf = (reminders: readonly Pick<ClaimedReminder, "key">[]): string[] =>
  reminders.map(({ key }) => key.name);

/** Times that are equal except for the duration of the test itself. */
export function assertAbout(actual: number | undefined, expected: number): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) < MINUTE, `${actual} instead of about ${expected}`);
}

/** Another store on the same data, closed afterwards; `undefined` where there can be none. */
export async function withSecond(
  { opened }: RemindersHarness,
  work: (second: Store | undefined) => Promise<void>,
): Promise<void> {
  const second = await opened().second?.();
  try {
    await work(second);
  } finally {
    await second?.close();
  }
}

/** Leases on these rows, all under one token. */
export const leasesOf = (generations: readonly number[], token: string): ReminderLease[] =>
  generations.map((generation) => ({ generation, token }));
