// The database of a virtual world. The memory store keeps the data and makes the decisions; this class adds a
// network and the faults of databases. A request takes time to arrive, takes effect in one moment, and its
// response takes time again. In between either side may fail, and the client does not know which.
import { invariant, LimpetError } from "../../kernel/errors.ts";
import type { ActorKey } from "../../kernel/names.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { Coordination } from "../../ports/store/coordination.ts";
import type { Reminders, ReminderWrite } from "../../ports/store/reminders.ts";
import type { Shards } from "../../ports/store/shards.ts";
import {
  type ActorQuery,
  type Commit,
  type CommitOutcome,
  type Locked,
  type Store,
  type StoredActor,
  type Taken,
  type TakeRequest,
  verdictOf,
} from "../../ports/store/store.ts";
import type { Workflows } from "../../ports/store/workflows.ts";
import { namespacesOf } from "../../stores/memory/memory-reminders.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { OwnTakes } from "../../stores/own-takes.ts";
import { BEGINNING } from "../local-clock.ts";
import type { Station } from "../network/network.ts";
import { KIND, type Timeline } from "../timeline.ts";
import { CoordinationClient } from "./database-coordination.ts";
import { DatabaseJournal } from "./database-journal.ts";
import { type DatabaseWatcher, failure, type Question, WRITES } from "./database-questions.ts";
import { RemindersClient } from "./database-reminders.ts";
import { ShardsClient } from "./database-shards.ts";
import { WorkflowsClient } from "./database-workflows.ts";

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
  readonly hear: () => void;
}

export class Database {
  readonly timeline: Timeline;
  readonly chance: Prng;
  readonly watchers: DatabaseWatcher[] = [];
  troubles: DatabaseTroubles = { ...NO_TROUBLES };
  latency = { leastMs: 0.2, moreMs: 0.3 };
  /** Offset of its own clock from the world's clock. */
  offsetMs = 0;
  /** True if it notifies watching processes of changes by others. Some databases cannot. */
  tellsNews = true;
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
    return new Client(this, station);
  }

  /** The actor of a row, by its ref in the store. */
  keyOf(ref: number): ActorKey | undefined {
    return this.#keys.get(ref);
  }

  know(ref: number, { namespace, type, id }: ActorKey): void {
    if (!this.#keys.has(ref)) this.#keys.set(ref, { namespace, type, id });
  }

  /** Notifies other processes of a write, later; or never when the connection is lost. */
  tellNews(from: Station, batch: readonly ReminderWrite[]): void {
    if (this.listening.size === 0) return;
    this.#tell(from, this.listening, namespacesOf(batch, this.now));
  }

  /** Notifies processes that tasks of these namespaces may be ready, or runs may have ended. */
  tellFollowers(from: Station, namespaces: ReadonlySet<string>): void {
    if (namespaces.size > 0) this.#tell(from, this.following, namespaces);
  }

  #tell(from: Station, listening: Iterable<DatabaseListening>, namespaces: ReadonlySet<string>): void {
    for (const { station, namespace, hear } of listening) {
      if (station === from || !namespaces.has(namespace)) continue;
      const { failsAfter } = this.troubles;
      if (failsAfter > 0 && this.chance.chance(failsAfter)) continue;
      this.timeline.plan(this.timeline.now + this.#takes(), KIND.answer, station, hear);
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

/** Sends a request of a process, subject to all faults. */
export type Ask = <T>(question: Question, work: () => Promise<T>) => Promise<T>;

class Client implements Store {
  readonly location = "a virtual database";
  readonly lanes = 1;
  readonly eager = 512;
  readonly coordination: Coordination;
  readonly shards: Shards;
  readonly #reminders: RemindersClient;
  readonly #workflows: WorkflowsClient;
  readonly #database: Database;
  readonly #station: Station;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #own = new OwnTakes();
  #isClosed = false;

  constructor(database: Database, station: Station) {
    this.#database = database;
    this.#station = station;
    const ask: Ask = (question, work) => this.#ask(question, work);
    this.coordination = new CoordinationClient(database, station, ask);
    this.shards = new ShardsClient(database, station, ask);
    this.#reminders = new RemindersClient(database, station, ask);
    this.#workflows = new WorkflowsClient(database, station, ask);
  }

  get reminders(): Reminders {
    return this.#reminders;
  }

  get workflows(): Workflows {
    return this.#workflows;
  }

  #ask<T>(question: Question, work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
    const asked = this.#database.ask(this.#station, question, work);
    const over = (): void => void this.#underWay.delete(asked);
    this.#underWay.add(asked);
    asked.then(over, over);
    return asked;
  }

  /** Entries of a batch whose rows no other transaction holds. */
  #free<T>(batch: readonly T[]): readonly T[] {
    const { chance, troubles } = this.#database;
    return troubles.holds === 0 ? batch : batch.filter(() => !chance.chance(troubles.holds));
  }

  async take(batch: readonly TakeRequest[]): Promise<(Taken | Locked)[]> {
    return this.#ask("take", async () => {
      const free = this.#free(batch);
      for (const { owner } of free) this.#own.add(owner);
      const answers = await this.#database.truth.take(free);
      for (const [i, request] of free.entries()) {
        const taken = answers[i]!;
        this.#database.know(taken.ref, request);
        for (const watcher of this.#database.watchers) watcher.taken?.(this.#station, request, taken);
      }
      return spread(batch, free, answers);
    });
  }

  async commit(batch: readonly Commit[]): Promise<(CommitOutcome | Locked)[]> {
    return this.#ask("commit", async () => {
      const free = this.#free(batch);
      const { truth } = this.#database;
      const asked = truth.commit(free, this.#own.owners);
      const news = truth.workflows.takeNews();
      const outcomes = await asked;
      for (const [i, commit] of free.entries()) {
        const key = this.#database.keyOf(commit.ref)!;
        const verdict = verdictOf(outcomes[i]!);
        for (const watcher of this.#database.watchers) watcher.committed?.(this.#station, commit, key, verdict);
        if (verdict === "committed") this.#database.tellNews(this.#station, remindersOf(commit));
      }
      this.#database.tellFollowers(this.#station, news);
      return spread(batch, free, outcomes);
    });
  }

  async list(query: ActorQuery): Promise<StoredActor[]> {
    return this.#ask("read", () => this.#database.truth.list(query));
  }

  async find(key: ActorKey): Promise<StoredActor | undefined> {
    return this.#ask("read", () => this.#database.truth.find(key));
  }

  async ping(): Promise<void> {
    return this.#ask("ping", () => this.#database.truth.ping());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reminders.hearNoMore();
    this.#workflows.hearNoMore();
    await Promise.allSettled(this.#underWay);
  }
}

/** With the reminders of runs that the commit starts. */
const remindersOf = ({ reminders = [], starts = [] }: Commit): readonly ReminderWrite[] =>
  starts.length === 0 ? reminders : [...reminders, ...starts.flatMap((start) => start.reminders)];

function spread<T, A>(batch: readonly T[], free: readonly T[], answers: readonly A[]): (A | Locked)[] {
  if (free.length === batch.length) return [...answers];
  const places = new Map(free.map((item, i) => [item, i]));
  return batch.map((item) => {
    const at = places.get(item);
    return at === undefined ? "locked" : answers[at]!;
  });
}
