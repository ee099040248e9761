// Reminders in PostgreSQL. Any number of processes share them; the first claim delivers. Reminders have
// connections of their own: one to claim, one to settle, one to write unless a process is allowed fewer. So a
// tick waits only for other ticks.
import { randomUUID } from "node:crypto";
import {
  type Claim,
  type ClaimRequest,
  type DeadReminder,
  NOTIFY_AHEAD_MS,
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
} from "../../../ports/store/reminders.ts";
import { Connections } from "../connection/connections.ts";
import type { PostgresSettings } from "../connection/settings.ts";
import { PostgresReminderClaims } from "./claims.ts";
import { Holders } from "./holders.ts";
import { NotificationListener } from "./listener.ts";
import { PostgresReminderListing } from "./listing.ts";
import { isLongAgo, LowMarks } from "./low-marks.ts";
import { Announcer, type Topic } from "./notifications.ts";
import { ReminderSteps, type Settled } from "./steps.ts";
import { ReminderWrites } from "./writes.ts";

export class PostgresReminders implements Reminders {
  readonly #connections: Connections;
  readonly #lows: LowMarks;
  readonly #claims: PostgresReminderClaims;
  readonly #steps: ReminderSteps;
  readonly #writes: ReminderWrites;
  readonly #listing: PostgresReminderListing;
  readonly #announcer: Announcer | undefined;
  readonly #listener: NotificationListener | undefined;
  readonly #holders: Holders | undefined;

  constructor(settings: PostgresSettings, schema: string, heldMs: number) {
    this.#connections = new Connections(settings, settings.driver, settings.shares.reminders);
    this.#lows = new LowMarks(this.#connections, schema);
    const found = (namespace: string) => this.#listener?.wake(namespace);
    const holders = new Holders(this.#connections, schema, this.#lows, found);
    if (settings.notify) this.#holders = holders;
    this.#claims = new PostgresReminderClaims(this.#connections, schema, this.#lows, this.#holders);
    this.#steps = new ReminderSteps(this.#connections, schema, heldMs);
    this.#writes = new ReminderWrites(this.#connections, schema, heldMs);
    this.#listing = new PostgresReminderListing(this.#connections, schema);
    if (!settings.notify) return;
    // A channel name follows the rules of a schema name, and both belong to one database.
    const channel = settings.schema;
    const self = randomUUID();
    this.#announcer = new Announcer(this.#connections, channel, self);
    this.#listener = new NotificationListener({
      settings,
      channel,
      self,
      holders,
      areDue: (namespace) => this.#listing.areDue(namespace, NOTIFY_AHEAD_MS),
      received: ({ namespace, longAgo }) => {
        if (longAgo !== undefined) this.#lows.straggler(namespace, undefined, longAgo);
      },
    });
  }

  write(batch: readonly ReminderWrite[]): Promise<ReminderOutcome[]> {
    return this.#connections.during(async () => {
      if (batch.length === 0) return [];
      const { now, outcomes } = await this.#writes.write(batch);
      this.wrote(
        batch.filter((_, i) => outcomes[i]?.kind === "set"),
        now,
      );
      return outcomes;
    });
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#connections.during(() => this.#claims.claim(request));
  }

  tokenMark(): string {
    return this.#holders?.mark ?? "";
  }

  settle(batch: readonly Settlement[]): Promise<boolean[]> {
    return this.#step(batch, () => this.#steps.settle(batch));
  }

  rewrite(batch: readonly Rewriting[]): Promise<boolean[]> {
    return this.#step(batch, () => this.#steps.rewrite(batch));
  }

  #step(batch: readonly unknown[], take: () => Promise<Settled>): Promise<boolean[]> {
    return this.#connections.during(async () => {
      if (batch.length === 0) return [];
      const { counted, freeIn } = await take();
      for (const namespace of freeIn) this.announce(namespace);
      return counted;
    });
  }

  renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]> {
    return this.#connections.during(async () => (claims.length === 0 ? [] : this.#steps.renew(claims, leaseMs)));
  }

  get(key: ReminderKey): Promise<StoredReminder | undefined> {
    return this.#connections.during(() => this.#listing.get(key));
  }

  list(query: ReminderQuery): Promise<StoredReminder[]> {
    return this.#connections.during(() => this.#listing.list(query));
  }

  listDead(query: ReminderQuery): Promise<DeadReminder[]> {
    return this.#connections.during(() => this.#listing.listDead(query));
  }

  revive(key: ReminderKey): Promise<boolean> {
    return this.#connections.during(async () => {
      const isRevived = await this.#listing.revive(key);
      if (isRevived) this.announce(key.namespace);
      return isRevived;
    });
  }

  forget(key: ReminderKey): Promise<boolean> {
    return this.#connections.during(() => this.#listing.forget(key));
  }

  count(namespace: string, limit: number): Promise<ReminderCounts> {
    return this.#connections.during(() => this.#listing.count(namespace, limit));
  }

  watch(namespace: string, listener: () => void): (() => void) | undefined {
    return this.listen(namespace, listener);
  }

  /** Notifies other processes that there may be work. */
  announce(namespace: string, about?: Topic): void {
    this.#announcer?.announce({ namespace, longAgo: undefined, about });
  }

  /** Calls `listener` when another process announces the topic. */
  listen(namespace: string, listener: () => void, about?: Topic): (() => void) | undefined {
    return this.#listener?.watch(namespace, listener, about);
  }

  /** Called with stored writes, from this class or from commits. `now` is the server's clock. */
  wrote(writes: readonly ReminderWrite[], now: number): void {
    const soonest = new Map<string, number | undefined>();
    for (const write of writes) {
      if (write.kind !== "set" || write.tick.at > now + NOTIFY_AHEAD_MS) continue;
      const { namespace, type } = write.key;
      const { at } = write.tick;
      const longAgo = isLongAgo(at, now) ? at : undefined;
      if (longAgo !== undefined) this.#lows.straggler(namespace, type, longAgo);
      if (write.lease !== undefined) continue;
      const before = soonest.get(namespace);
      if (!soonest.has(namespace) || (longAgo ?? Number.POSITIVE_INFINITY) < (before ?? Number.POSITIVE_INFINITY)) {
        soonest.set(namespace, longAgo);
      }
    }
    for (const [namespace, longAgo] of soonest) this.#announcer?.announce({ namespace, longAgo });
  }

  async close(): Promise<void> {
    await Promise.all([this.#holders?.close(), this.#listener?.close(), this.#connections.close()]);
  }
}
