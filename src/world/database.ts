// The database of a virtual world. What it keeps and decides is the memory store; this puts a network before it and lets it have
// the troubles that databases have. A question takes time to arrive, is answered in one moment, and its answer takes time again:
// in between, either side may fail, and the one who asked does not know which.
import { LimpetError } from "../kernel/errors.ts";
import type { ActorKey } from "../kernel/names.ts";
import type { Prng } from "../kernel/prng.ts";
import type { Candidate, Coordination, Standing } from "../ports/coordination.ts";
import type { Claim, ClaimRequest, ReminderOutcome, Reminders, ReminderWrite, Settlement } from "../ports/reminders.ts";
import type {
  ActorQuery,
  Commit,
  CommitOutcome,
  Held,
  Store,
  StoredActor,
  Taken,
  TakeRequest,
} from "../ports/store.ts";
import type { Workflows } from "../ports/workflows.ts";
import { newsOf } from "../stores/memory/memory-reminders.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { CoordinationClient } from "./database-coordination.ts";
import { RemindersClient } from "./database-reminders.ts";
import { BEGINNING } from "./local-clock.ts";
import type { Station } from "./network.ts";
import { KIND, type Timeline } from "./timeline.ts";

/** Chances are per question. */
export interface DatabaseTroubles {
  /** It fails, and nothing has happened. */
  failsBefore: number;
  /** It fails for the one who asked, and yet it has happened. */
  failsAfter: number;
  slow: number;
  slowMs: number;
  /** A row is held by somebody else's transaction. */
  holds: number;
  /** Nothing can be written, as on a disk that is full. */
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

export type Question =
  | ("take" | "commit" | "read" | "ping")
  | ("campaign" | "resign" | "members" | "note")
  /** Of reminders: setting, cancelling, and what people do with dead ones; claiming; settling; renewing. */
  | ("remind" | "claim" | "settle" | "renew");

/** What the database tells whoever watches it. */
export interface DatabaseWatcher {
  /** A process has decided to ask, and is about to send its question. */
  asks?(station: Station, question: Question): void;
  taken?(station: Station, request: TakeRequest, taken: Taken): void;
  committed?(station: Station, commit: Commit, key: ActorKey, outcome: CommitOutcome): void;
  campaigned?(station: Station, candidate: Candidate, standing: Standing): void;
  /** A host has taken itself out of the members. */
  left?(station: Station, incarnations: readonly string[]): void;
  /** Those that a commit brings are told with the commit alone. */
  reminded?(station: Station, batch: readonly ReminderWrite[], outcomes: readonly ReminderOutcome[]): void;
  claimed?(station: Station, request: ClaimRequest, claim: Claim): void;
  settled?(station: Station, batch: readonly Settlement[], counted: readonly boolean[]): void;
  /** It has been done, and the answer has not left yet. */
  done?(station: Station, question: Question): void;
}

/** Whoever has no answer by then is told so. */
const PATIENCE_MS = 5_000;
const WRITES: ReadonlySet<Question> = new Set<Question>([
  ...(["take", "commit", "campaign", "resign", "note"] as const),
  ...(["remind", "claim", "settle", "renew"] as const),
]);
/** Whoever asked these must know that they may have been done. The others are harmless to do twice. */
const DOUBTFUL: ReadonlySet<Question> = new Set<Question>(["commit", "remind", "settle"]);

/** Somebody who wants to hear of reminders that others write. */
export interface Listening {
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
  /** Its own clock, relative to the world's. */
  offsetMs = 0;
  /** Whether it tells those who watch that others have written reminders. Some databases cannot. */
  tellsNews = true;
  readonly listening = new Set<Listening>();
  readonly truth: MemoryStore;
  readonly #keys = new Map<number, ActorKey>();
  /** Grows whenever it goes down: what was under way then is lost. */
  #life = 0;

  constructor(timeline: Timeline, chance: Prng) {
    this.timeline = timeline;
    this.chance = chance;
    this.truth = new MemoryStore(() => this.now);
  }

  /** By its own clock. */
  get now(): number {
    return Math.floor(BEGINNING + this.offsetMs + this.timeline.now);
  }

  /** Goes down; what is under way is lost, done or not. */
  goDown(): void {
    this.troubles = { ...this.troubles, isDown: true };
    this.#life++;
  }

  comeBack(): void {
    this.troubles = { ...this.troubles, isDown: false };
  }

  /** The database as one process has it. */
  open(station: Station): Store {
    return new Client(this, station);
  }

  /** The actor of a row, by the short name the store gave it. */
  keyOf(ref: number): ActorKey | undefined {
    return this.#keys.get(ref);
  }

  know(ref: number, { namespace, type, id }: ActorKey): void {
    if (!this.#keys.has(ref)) this.#keys.set(ref, { namespace, type, id });
  }

  /** What one process has written is told to the others, later, or never when the connection is lost. */
  tellNews(from: Station, batch: readonly ReminderWrite[]): void {
    if (this.listening.size === 0) return;
    const namespaces = newsOf(batch, this.now);
    for (const { station, namespace, hear } of this.listening) {
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
      const settle = (end: () => void): void => {
        if (isOver) return;
        isOver = true;
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
      // If the process falls asleep at this moment, the question leaves when it wakes up.
      timeline.plan(timeline.now, KIND.query, station, () => {
        timeline.plan(timeline.now + this.#takes(), KIND.query, undefined, () => {
          const { isDown, isReadOnly, failsBefore, failsAfter } = this.troubles;
          if (isDown) return fail(false, "nobody answers");
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

function failure(question: Question, isDone: boolean, why: string): LimpetError {
  const code = isDone && DOUBTFUL.has(question) ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
  return new LimpetError(code, `the database failed: ${why}`);
}

/** How a process asks: with all that can go wrong. */
export type Ask = <T>(question: Question, work: () => Promise<T>) => Promise<T>;

class Client implements Store {
  readonly location = "a virtual database";
  readonly lanes = 1;
  readonly eager = 512;
  readonly coordination: Coordination;
  readonly #reminders: RemindersClient;
  readonly #database: Database;
  readonly #station: Station;
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(database: Database, station: Station) {
    this.#database = database;
    this.#station = station;
    const ask: Ask = (question, work) => this.#ask(question, work);
    this.coordination = new CoordinationClient(database, station, ask);
    this.#reminders = new RemindersClient(database, station, ask);
  }

  get reminders(): Reminders {
    return this.#reminders;
  }

  get workflows(): Workflows {
    throw new LimpetError("INVARIANT", "this store does not keep workflows yet");
  }

  #ask<T>(question: Question, work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
    const asked = this.#database.ask(this.#station, question, work);
    const over = (): void => void this.#underWay.delete(asked);
    this.#underWay.add(asked);
    asked.then(over, over);
    return asked;
  }

  /** Those of a batch whose rows nobody else holds. */
  #free<T>(batch: readonly T[]): readonly T[] {
    const { chance, troubles } = this.#database;
    return troubles.holds === 0 ? batch : batch.filter(() => !chance.chance(troubles.holds));
  }

  async take(batch: readonly TakeRequest[]): Promise<(Taken | Held)[]> {
    return this.#ask("take", async () => {
      const free = this.#free(batch);
      const answers = await this.#database.truth.take(free);
      for (const [i, request] of free.entries()) {
        const taken = answers[i]!;
        this.#database.know(taken.ref, request);
        for (const watcher of this.#database.watchers) watcher.taken?.(this.#station, request, taken);
      }
      return spread(batch, free, answers);
    });
  }

  async commit(batch: readonly Commit[]): Promise<(CommitOutcome | Held)[]> {
    return this.#ask("commit", async () => {
      const free = this.#free(batch);
      const outcomes = await this.#database.truth.commit(free);
      for (const [i, commit] of free.entries()) {
        const key = this.#database.keyOf(commit.ref)!;
        for (const watcher of this.#database.watchers) watcher.committed?.(this.#station, commit, key, outcomes[i]!);
        if (outcomes[i] === "committed") this.#database.tellNews(this.#station, commit.reminders ?? []);
      }
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
    await Promise.allSettled(this.#underWay);
  }
}

function spread<T, A>(batch: readonly T[], free: readonly T[], answers: readonly A[]): (A | undefined)[] {
  if (free.length === batch.length) return [...answers];
  const places = new Map(free.map((item, i) => [item, i]));
  return batch.map((item) => {
    const at = places.get(item);
    return at === undefined ? undefined : answers[at];
  });
}
