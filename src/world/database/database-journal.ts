// A backup of a virtual database: a journal of all requests to the memory store, with their times. The state
// of a memory store depends on its requests and their times alone. So a new store that replays the first part
// of the journal is the store as it was at that point.
import { MemoryStore } from "../../stores/memory/memory-store.ts";

interface Entry {
  /** The part of the store that got the request; empty for the store itself. */
  readonly part: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly at: number;
}

type Part = Record<string, (...args: unknown[]) => unknown>;

export class DatabaseJournal {
  readonly #now: () => number;
  readonly #entries: Entry[] = [];
  /** The time of the entry that is replayed. */
  #replayed: number | undefined;
  store: MemoryStore;

  /** `now` is the clock of the database. */
  constructor(now: () => number) {
    this.#now = now;
    this.store = this.#recorded(new MemoryStore(() => this.#moment()));
  }

  /** The current point of the journal. */
  get point(): number {
    return this.#entries.length;
  }

  /** Takes the store back to that point, and drops later entries. */
  restore(point: number): void {
    const entries = this.#entries.splice(0).slice(0, point);
    this.store = this.#recorded(new MemoryStore(() => this.#moment()));
    for (const { part, method, args, at } of entries) {
      this.#replayed = at;
      const target = (part === "" ? this.store : this.store[part as keyof MemoryStore]) as unknown as Part;
      void Promise.resolve(target[method]!(...args)).catch(() => {});
    }
    this.#replayed = undefined;
  }

  #moment(): number {
    return this.#replayed ?? this.#now();
  }

  #recorded<T extends object>(target: T, part = ""): T {
    const parts = new Map<string, unknown>();
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value === "object" && value !== null) {
          if (!parts.has(String(name))) parts.set(String(name), this.#recorded(value, String(name)));
          return parts.get(String(name));
        }
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          this.#entries.push({ part, method: String(name), args, at: this.#moment() });
          return (value as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  }
}
