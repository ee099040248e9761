// The database of a virtual world. The memory store keeps the data and makes the decisions; this class adds a
// network and the faults of databases. A request takes time to arrive, takes effect in one moment, and its
// response takes time again. In between either side may fail, and the client does not know which.
import { invariant } from "../../kernel/errors.ts";
import type { ActorKey } from "../../kernel/names.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type { Store } from "../../ports/store/store.ts";
import { namespacesOf } from "../../stores/memory/memory-reminders.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { BEGINNING } from "../local-clock.ts";
import type { Station } from "../network/network.ts";
import { KIND, type Timeline } from "../timeline.ts";
import { DatabaseClient } from "./database-client.ts";
import { DatabaseJournal } from "./database-journal.ts";
import { type DatabaseWatcher, failure, type Question, WRITES } from "./database-questions.ts";
import type { Observers } from "./database-requests.ts";

export type { DatabaseWatcher, Question } from "./database-questions.ts";

/** Probabilities per request. */
export interface DatabaseTroubles {
  /** The request fails without an effect. */
  failsBefore: number;
  /** The request fails for the client although it took effect. */
  failsAfter: number;
  slow: number;
  slowMs: number;
  /** Another transaction holds the row. */
  holds: number;
  /** The database rejects writes, as on a full disk. */
  isReadOnly: boolean;
  isDown: boolean;
}

export const NO_TROUBLES: Readonly<DatabaseTroubles> = {
  failsBefore: 0,
  failsAfter: 0,
  slow: 0,
  slowMs: 500,
  holds: 0,
  isReadOnly: false,
  isDown: false,
};

/** A request without a response times out after this. */
const PATIENCE_MS = 5_000;

/**
 * A process that wants notifications about reminders that others write, or about tasks that others make
 * ready.
 */
export interface DatabaseListening {
  readonly station: Station;
  readonly namespace: string;
  readonly notify: () => void;
}

type Notify = (station: Station, ...about: readonly unknown[]) => void;

export class Database {
  readonly timeline: Timeline;
  readonly chance: Prng;
  readonly watchers: DatabaseWatcher[] = [];
  troubles: DatabaseTroubles = { ...NO_TROUBLES };
  latency = { leastMs: 0.2, moreMs: 0.3 };
  /** Offset of its own clock from the world's clock. */
  offsetMs = 0;
  /** True if it notifies watching processes of changes by others. Some databases cannot. */
  sendsNotifications = true;
  /** For reminders and for workflows. */
  readonly listening = new Set<DatabaseListening>();
  readonly following = new Set<DatabaseListening>();
  readonly #store: MemoryStore;
  #journal: DatabaseJournal | undefined;
  readonly #keys = new Map<number, ActorKey>();
  /** Times of the requests without an answer. */
  readonly #unanswered = new Set<{ readonly since: number }>();
  /** Increases whenever the database goes down: requests in flight at that time are lost. */
  #life = 0;

  constructor(timeline: Timeline, chance: Prng) {
    this.timeline = timeline;
    this.chance = chance;
    this.#store = new MemoryStore(() => this.now);
  }

  /** Time by its own clock. */
  get now(): number {
    return Math.floor(BEGINNING + this.offsetMs + this.timeline.now);
  }

  /** The stored data, without a network and without faults. */
  get truth(): MemoryStore {
    return this.#journal?.store ?? this.#store;
  }

  /** Enables backups; must be called before anything is stored. */
  keepJournal(): void {
    this.#journal ??= new DatabaseJournal(() => this.now);
  }

  /**
   * Returns a function that restores this point. A restore loses everything since, and the database assigns
   * the same numbers again.
   */
  backUp(): () => void {
    const journal = this.#journal;
    invariant(journal !== undefined, "a journal is kept");
    const { point } = journal;
    const keys = new Map(this.#keys);
    return () => {
      journal.restore(point);
      this.#keys.clear();
      for (const [ref, key] of keys) this.#keys.set(ref, key);
      this.#life++;
    };
  }

  /** Goes down; requests in flight are lost, whether or not they took effect. */
  goDown(): void {
    this.troubles = { ...this.troubles, isDown: true };
    this.#life++;
  }

  /** The time at which every request from before `since` has an answer or its timeout. */
  answeredAt(since: number): number {
    const earlier = [...this.#unanswered].filter((request) => request.since <= since);
    return Math.max(...earlier.map((request) => request.since + PATIENCE_MS), this.timeline.now);
  }

  comeBack(): void {
    this.troubles = { ...this.troubles, isDown: false };
  }

  /** The database as one process sees it. */
  open(station: Station): Store {
    return new DatabaseClient(this, station);
  }

  /** Notifications about requests of a process, to the observers and to other processes. */
  observersOf(station: Station): Observers {
    return {
      notify: (event, ...about) => {
        for (const watcher of this.watchers) (watcher[event] as Notify | undefined)?.call(watcher, station, ...about);
      },
      reminded: (writes) => this.notifyListeners(station, writes),
    };
  }

  /** The actor of a row, by its ref in the store. */
  keyOf(ref: number): ActorKey | undefined {
    return this.#keys.get(ref);
  }

  know(ref: number, { namespace, type, id }: ActorKey): void {
    if (!this.#keys.has(ref)) this.#keys.set(ref, { namespace, type, id });
  }

  /** Notifies other processes of a write, later; or never when the connection is lost. */
  notifyListeners(from: Station, batch: readonly ReminderWrite[]): void {
    if (this.listening.size === 0) return;
    this.#notify(from, this.listening, namespacesOf(batch, this.now));
  }

  /** Notifies processes that tasks of these namespaces may be ready, or runs may have ended. */
  notifyFollowers(from: Station, namespaces: ReadonlySet<string>): void {
    if (namespaces.size > 0) this.#notify(from, this.following, namespaces);
  }

  #notify(from: Station, listening: Iterable<DatabaseListening>, namespaces: ReadonlySet<string>): void {
    for (const { station, namespace, notify } of listening) {
      if (station === from || !namespaces.has(namespace)) continue;
      const { failsAfter } = this.troubles;
      if (failsAfter > 0 && this.chance.chance(failsAfter)) continue;
      this.timeline.plan(this.timeline.now + this.#takes(), KIND.answer, station, notify);
    }
  }

  #takes(): number {
    const { slow, slowMs } = this.troubles;
    const usual = this.latency.leastMs + this.chance.exponential(this.latency.moreMs);
    return slow > 0 && this.chance.chance(slow) ? usual + this.chance.exponential(slowMs) : usual;
  }

  ask<T>(station: Station, question: Question, work: () => Promise<T>): Promise<T> {
    const { timeline } = this;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const request = { since: timeline.now };
      this.#unanswered.add(request);
      const settle = (end: () => void): void => {
        if (isOver) return;
        isOver = true;
        this.#unanswered.delete(request);
        late.cancel();
        end();
      };
      const answer = (end: () => void, ms = this.#takes()): void =>
        void timeline.plan(timeline.now + ms, KIND.answer, station, () => settle(end));
      const fail = (isDone: boolean, why: string): void => answer(() => reject(failure(question, isDone, why)));
      const late = timeline.plan(timeline.now + PATIENCE_MS, KIND.timer, station, () =>
        settle(() => reject(failure(question, true, "no answer in time"))),
      );
      for (const watcher of this.watchers) watcher.asks?.(station, question);
      // If the process falls asleep at this moment, the request leaves when it resumes.
      timeline.plan(timeline.now, KIND.query, station, () => {
        timeline.plan(timeline.now + this.#takes(), KIND.query, undefined, () => {
          const { isDown, isReadOnly, failsBefore, failsAfter } = this.troubles;
          if (isDown) return fail(false, "it does not answer");
          if (isReadOnly && WRITES.has(question)) return fail(false, "nothing can be written");
          if (failsBefore > 0 && this.chance.chance(failsBefore)) return fail(false, "the connection was lost");
          const life = this.#life;
          work().then(
            (result) => {
              for (const watcher of this.watchers) watcher.done?.(station, question);
              if (life !== this.#life) return;
              if (failsAfter > 0 && this.chance.chance(failsAfter)) fail(true, "the connection was lost");
              else answer(() => resolve(result));
            },
            (error: unknown) => answer(() => reject(error as Error)),
          );
        });
      });
    });
  }
}
