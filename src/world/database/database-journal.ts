// A backup of a virtual database: a journal of all requests to the memory store, with their times. The state
// of a memory store depends on its requests and their times alone. So a new store that replays the first part
// of the journal is the store as it was at that point.
import { interceptStore, type StorePart } from "../../ports/store/intercept.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";

interface Entry {
  readonly part: StorePart;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly at: number;
}

type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

export class DatabaseJournal {
  /** The store that records its requests. It stays the same when it is restored. */
  readonly store: MemoryStore;
  readonly #now: () => number;
  readonly #entries: Entry[] = [];
  /** The time of the entry that is replayed. */
  #replayed: number | undefined;
  #data: MemoryStore;

  /** `now` is the clock of the database. */
  constructor(now: () => number) {
    this.#now = now;
    this.#data = this.#empty();
    this.store = interceptStore(this.#data, (part, method, args) => {
      const entry = { part, method, args, at: now() };
      this.#entries.push(entry);
      return this.#perform(entry);
    });
  }

  /** The current point of the journal. */
  get point(): number {
    return this.#entries.length;
  }

  /** Takes the store back to that point, and drops later entries. */
  restore(point: number): void {
    this.#entries.length = point;
    this.#data = this.#empty();
    for (const entry of this.#entries) {
      this.#replayed = entry.at;
      void Promise.resolve(this.#perform(entry)).catch(() => {});
    }
    this.#replayed = undefined;
  }

  #empty(): MemoryStore {
    return new MemoryStore(() => this.#replayed ?? this.#now());
  }

  #perform({ part, method, args }: Entry): unknown {
    const target = (part === "actors" ? this.#data : this.#data[part]) as unknown as Methods;
    return target[method]!(...args);
  }
}
