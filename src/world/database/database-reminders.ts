// Reminders at a virtual database, as one process sees them: every request is subject to the database's
// faults.
import type {
  Claim,
  ClaimRequest,
  DeadReminder,
  ReminderCounts,
  ReminderKey,
  ReminderLease,
  ReminderOutcome,
  ReminderQuery,
  Reminders,
  ReminderWrite,
  Rewriting,
  Settlement,
  StoredReminder,
} from "../../ports/store/reminders.ts";
import type { Station } from "../network/network.ts";
import type { Ask, Database, DatabaseListening, DatabaseWatcher, Question } from "./database.ts";

export class RemindersClient implements Reminders {
  readonly #database: Database;
  readonly #station: Station;
  readonly #askStore: Ask;
  readonly #listening = new Set<DatabaseListening>();

  constructor(database: Database, station: Station, ask: Ask) {
    this.#database = database;
    this.#station = station;
    this.#askStore = ask;
  }

  async #ask<T>(question: Question, work: (truth: Reminders) => Promise<T>): Promise<T> {
    return this.#askStore(question, () => work(this.#database.truth.reminders));
  }

  #tell(what: (watcher: DatabaseWatcher) => void): void {
    for (const watcher of this.#database.watchers) what(watcher);
  }

  async write(batch: readonly ReminderWrite[]): Promise<ReminderOutcome[]> {
    return this.#ask("remind", async (truth) => {
      const outcomes = await truth.write(batch);
      this.#tell((watcher) => watcher.reminded?.(this.#station, batch, outcomes));
      this.#database.tellNews(this.#station, batch);
      return outcomes;
    });
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    return this.#ask("claim", async (truth) => {
      const claim = await truth.claim(request);
      this.#tell((watcher) => watcher.claimed?.(this.#station, request, claim));
      return claim;
    });
  }

  async settle(batch: readonly Settlement[]): Promise<boolean[]> {
    return this.#ask("settle", async (truth) => {
      const counted = await truth.settle(batch);
      this.#tell((watcher) => watcher.settled?.(this.#station, batch, counted));
      return counted;
    });
  }

  async rewrite(batch: readonly Rewriting[]): Promise<boolean[]> {
    return this.#ask("settle", async (truth) => {
      const counted = await truth.rewrite(batch);
      const settlements = batch.map(({ data: _, ...next }): Settlement => ({ kind: "next", ...next }));
      this.#tell((watcher) => watcher.settled?.(this.#station, settlements, counted));
      return counted;
    });
  }

  async renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]> {
    return this.#ask("renew", (truth) => truth.renew(claims, leaseMs));
  }

  async get(key: ReminderKey): Promise<StoredReminder | undefined> {
    return this.#ask("read", (truth) => truth.get(key));
  }

  async list(query: ReminderQuery): Promise<StoredReminder[]> {
    return this.#ask("read", (truth) => truth.list(query));
  }

  async listDead(query: ReminderQuery): Promise<DeadReminder[]> {
    return this.#ask("read", (truth) => truth.listDead(query));
  }

  async revive(key: ReminderKey): Promise<boolean> {
    return this.#ask("remind", (truth) => truth.revive(key));
  }

  async forget(key: ReminderKey): Promise<boolean> {
    return this.#ask("remind", (truth) => truth.forget(key));
  }

  async count(namespace: string, limit: number): Promise<ReminderCounts> {
    return this.#ask("read", (truth) => truth.count(namespace, limit));
  }

  watch(namespace: string, listener: () => void): (() => void) | undefined {
    if (!this.#database.tellsNews) return undefined;
    const hear = (): void => {
      if (this.#listening.has(mine)) listener();
    };
    const mine: DatabaseListening = { station: this.#station, namespace, hear };
    this.#listening.add(mine);
    this.#database.listening.add(mine);
    return () => this.#stop(mine);
  }

  /** Ends notifications: the store is closed. */
  hearNoMore(): void {
    for (const one of this.#listening) this.#stop(one);
  }

  #stop(one: DatabaseListening): void {
    this.#listening.delete(one);
    this.#database.listening.delete(one);
  }
}
