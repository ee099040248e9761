// The database as one process sees it: every request is subject to the database's faults. Requests to the
// parts of the store follow the table in `database-requests.ts`.
import { LimpetError } from "../../kernel/errors.ts";
import type { ActorKey } from "../../kernel/names.ts";
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
import type { MemoryStore } from "../../stores/memory/memory-store.ts";
import { OwnTakes } from "../../stores/own-takes.ts";
import type { Station } from "../network/network.ts";
import type { Database, DatabaseListening } from "./database.ts";
import type { Question } from "./database-questions.ts";
import { type Observers, REQUESTS } from "./database-requests.ts";

type Part = keyof typeof REQUESTS;
type Request = readonly [Question, ((it: Observers, answer: unknown, ...args: readonly unknown[]) => void)?];
type Methods = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

export class DatabaseClient implements Store {
  readonly location = "a virtual database";
  readonly lanes = 1;
  readonly eager = 512;
  readonly coordination: Coordination;
  readonly reminders: Reminders;
  readonly workflows: Workflows;
  readonly shards: Shards;
  readonly #database: Database;
  readonly #station: Station;
  readonly #observers: Observers;
  readonly #inProgress = new Set<Promise<unknown>>();
  readonly #own = new OwnTakes();
  /** The ends of all notifications to this process. */
  readonly #watches = new Set<() => void>();
  #isClosed = false;

  constructor(database: Database, station: Station) {
    this.#database = database;
    this.#station = station;
    this.#observers = database.observersOf(station);
    const { listening, following } = database;
    this.coordination = this.#part("coordination") as Coordination;
    this.shards = this.#part("shards") as Shards;
    this.reminders = { ...(this.#part("reminders") as Reminders), watch: (...by) => this.#watch(listening, ...by) };
    this.workflows = { ...(this.#part("workflows") as Workflows), watch: (...by) => this.#watch(following, ...by) };
  }

  #part(part: Part): object {
    const requests: readonly [string, Request][] = Object.entries(REQUESTS[part]);
    const methods = requests.map(([method, [question, effect]]) => {
      const ask = (...args: readonly unknown[]): Promise<unknown> =>
        this.#ask(question, async (truth) => {
          const answer = await (truth[part] as unknown as Methods)[method]!(...args);
          effect?.(this.#observers, answer, ...args);
          return answer;
        });
      return [method, ask] as const;
    });
    return Object.fromEntries(methods);
  }

  async #ask<T>(question: Question, work: (truth: MemoryStore) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
    const asked = this.#database.ask(this.#station, question, async () => {
      const { truth } = this.#database;
      const answering = work(truth);
      // Only this request took effect since the last call, so it made all of these changes.
      const changed = truth.workflows.takeChangedNamespaces();
      const answer = await answering;
      this.#database.notifyFollowers(this.#station, changed);
      return answer;
    });
    const over = (): void => void this.#inProgress.delete(asked);
    this.#inProgress.add(asked);
    asked.then(over, over);
    return asked;
  }

  /** Entries of a batch whose rows no other transaction holds. */
  #free<T>(batch: readonly T[]): readonly T[] {
    const { chance, troubles } = this.#database;
    return troubles.holds === 0 ? batch : batch.filter(() => !chance.chance(troubles.holds));
  }

  take(batch: readonly TakeRequest[]): Promise<(Taken | Locked)[]> {
    return this.#ask("take", async (truth) => {
      const free = this.#free(batch);
      for (const { owner } of free) this.#own.add(owner);
      const answers = await truth.take(free);
      for (const [i, request] of free.entries()) {
        const taken = answers[i]!;
        this.#database.know(taken.ref, request);
        this.#observers.notify("taken", request, taken);
      }
      return spread(batch, free, answers);
    });
  }

  commit(batch: readonly Commit[]): Promise<(CommitOutcome | Locked)[]> {
    return this.#ask("commit", async (truth) => {
      const free = this.#free(batch);
      const outcomes = await truth.commit(free, this.#own.owners);
      for (const [i, commit] of free.entries()) {
        const verdict = verdictOf(outcomes[i]!);
        this.#observers.notify("committed", commit, this.#database.keyOf(commit.ref)!, verdict);
        if (verdict === "committed") this.#observers.reminded(remindersOf(commit));
      }
      return spread(batch, free, outcomes);
    });
  }

  list(query: ActorQuery): Promise<StoredActor[]> {
    return this.#ask("read", (truth) => truth.list(query));
  }

  find(key: ActorKey): Promise<StoredActor | undefined> {
    return this.#ask("read", (truth) => truth.find(key));
  }

  ping(): Promise<void> {
    return this.#ask("ping", (truth) => truth.ping());
  }

  #watch(all: Set<DatabaseListening>, namespace: string, listener: () => void): (() => void) | undefined {
    if (!this.#database.sendsNotifications) return undefined;
    const mine: DatabaseListening = {
      station: this.#station,
      namespace,
      notify: () => {
        if (all.has(mine)) listener();
      },
    };
    const stop = (): void => {
      all.delete(mine);
      this.#watches.delete(stop);
    };
    all.add(mine);
    this.#watches.add(stop);
    return stop;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#watches) stop();
    await Promise.allSettled(this.#inProgress);
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
