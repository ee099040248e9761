// A store in memory that behaves like a durable one: same fence, same results, same order. It loses
// everything when the process ends, so it is for tests and experiments.
import { invariant, LimpetError } from "../../kernel/errors.ts";
import type { ActorKey } from "../../kernel/names.ts";
import { bringsLease, type ReminderOutcome, type Reminders, type ReminderWrite } from "../../ports/store/reminders.ts";
import type { Shards } from "../../ports/store/shards.ts";
import type {
  ActorQuery,
  Commit,
  CommitOutcome,
  Store,
  StoredActor,
  StoredState,
  Taken,
  TakeRequest,
} from "../../ports/store/store.ts";
import { byCodePoint } from "./code-points.ts";
import { MemoryCoordination } from "./memory-coordination.ts";
import { MemoryReminders } from "./memory-reminders.ts";
import { MemoryShards } from "./memory-shards.ts";
import { MemoryWorkflows } from "./memory-workflows.ts";

interface Row extends ActorKey {
  readonly ref: number;
  epoch: number;
  version: number;
  owner: string;
  commitId: string | undefined;
  whole: string | undefined;
  changes: string[];
  bytes: number;
  takenAt: number;
  committedAt: number | undefined;
}

export class MemoryStore implements Store {
  readonly location = "memory";
  readonly lanes = 1;
  readonly eager = 512;
  readonly coordination: MemoryCoordination;
  readonly workflows: MemoryWorkflows;
  readonly shards: Shards;
  readonly #reminders: MemoryReminders;
  /** Rows by ref; the first one has ref 1. */
  readonly #rows: Row[] = [];
  /** Namespace, then type, then id: words are never joined. */
  readonly #index = new Map<string, Map<string, Map<string, Row>>>();
  readonly #now: () => number;
  /** Above every epoch so far, also when rows are restored. */
  #highest = 0;
  #closed = false;

  /** `now` is the store's clock, in milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.coordination = new MemoryCoordination(now, () => this.#checkOpen());
    this.#reminders = new MemoryReminders(now, () => this.#checkOpen());
    this.workflows = new MemoryWorkflows(this.#reminders, now, () => this.#checkOpen());
    this.shards = new MemoryShards(
      () => this.coordination.term,
      () => this.coordination.present,
      () => this.#checkOpen(),
    );
  }

  get reminders(): Reminders {
    return this.#reminders;
  }

  async take(batch: readonly TakeRequest[]): Promise<Taken[]> {
    this.#checkOpen();
    return batch.map((request) => {
      const row = this.#find(request) ?? this.#insert(request);
      row.epoch = this.#nextEpoch(row.epoch);
      row.owner = request.owner;
      row.takenAt = this.#now();
      return { ref: row.ref, epoch: row.epoch, version: row.version, state: stateOf(row) };
    });
  }

  /** `owners`: the owners of the committing process, where several processes share this store. */
  async commit(batch: readonly Commit[], owners?: readonly string[]): Promise<CommitOutcome[]> {
    this.#checkOpen();
    return batch.map((commit) => this.#commit(commit, owners));
  }

  async list({ namespace, type, prefix = "", after, limit }: ActorQuery): Promise<StoredActor[]> {
    this.#checkOpen();
    const types = this.#index.get(namespace) ?? new Map<string, Map<string, Row>>();
    const page: StoredActor[] = [];
    for (const name of [...types.keys()].sort(byCodePoint)) {
      if (type !== undefined && name !== type) continue;
      const behind = after === undefined ? 1 : byCodePoint(name, after.type);
      if (behind < 0) continue;
      for (const id of [...(types.get(name)?.keys() ?? [])].sort(byCodePoint)) {
        if (page.length >= limit) return page;
        if (!id.startsWith(prefix)) continue;
        if (behind === 0 && after !== undefined && byCodePoint(id, after.id) <= 0) continue;
        page.push(summary(types.get(name)?.get(id) as Row));
      }
    }
    return page;
  }

  async find(key: ActorKey): Promise<StoredActor | undefined> {
    this.#checkOpen();
    const row = this.#find(key);
    return row && summary(row);
  }

  async ping(): Promise<void> {
    this.#checkOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** Epochs never repeat, also when rows are restored to an earlier point: see stores/own-takes.ts. */
  #nextEpoch(before: number): number {
    this.#highest = Math.max(this.#highest + 1, before + 1, Math.floor(this.#now()));
    return this.#highest;
  }

  #checkOpen(): void {
    if (this.#closed) throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
  }

  #find({ namespace, type, id }: ActorKey): Row | undefined {
    return this.#index.get(namespace)?.get(type)?.get(id);
  }

  #insert({ namespace, type, id, owner }: TakeRequest): Row {
    const row: Row = {
      ref: this.#rows.length + 1,
      namespace,
      type,
      id,
      owner,
      epoch: 0,
      version: 0,
      commitId: undefined,
      whole: undefined,
      changes: [],
      bytes: 0,
      takenAt: 0,
      committedAt: undefined,
    };
    this.#rows.push(row);
    const types = this.#index.get(namespace) ?? new Map<string, Map<string, Row>>();
    const ids = types.get(type) ?? new Map<string, Row>();
    this.#index.set(namespace, types.set(type, ids.set(id, row)));
    return row;
  }

  #commit(
    { ref, epoch, version, id, write, settle, reminders, starts, messages }: Commit,
    owners?: readonly string[],
  ): CommitOutcome {
    const row = this.#rows[ref - 1];
    if (row === undefined) return "fenced";
    if (row.commitId === id) return "committed";
    if (row.epoch !== epoch || row.version !== version) return "fenced";
    if (owners?.includes(row.owner) === false) return "fenced";
    if (settle !== undefined && !this.#reminders.wouldCount(settle)) return "void";
    if (write.kind === "change") {
      invariant(row.whole !== undefined, "a change is committed on top of a whole state");
      row.changes.push(write.data);
      row.bytes += Buffer.byteLength(write.data);
    } else if (write.kind !== "keep") {
      row.whole = write.kind === "whole" ? write.data : undefined;
      row.changes = [];
      row.bytes = row.whole === undefined ? 0 : Buffer.byteLength(row.whole);
    }
    row.version++;
    row.commitId = id;
    row.committedAt = this.#now();
    if (settle !== undefined) this.#reminders.settleNow(settle);
    const set = reminders === undefined ? [] : this.#reminders.writeNow(reminders);
    if (starts !== undefined || messages !== undefined) this.workflows.apply(starts ?? [], messages ?? []);
    return reminders !== undefined && bringsLease(reminders) ? withLeases(reminders, set) : "committed";
  }
}

function withLeases(writes: readonly ReminderWrite[], outcomes: readonly ReminderOutcome[]): CommitOutcome {
  const generations = outcomes.map((outcome, i) => {
    const write = writes[i]!;
    const isLeased = write.kind === "set" && write.lease !== undefined;
    return isLeased && outcome.kind === "set" ? outcome.generation : undefined;
  });
  return { kind: "committed", generations };
}

function stateOf({ whole, changes }: Row): StoredState | undefined {
  return whole === undefined ? undefined : { whole, changes: changes.slice() };
}

function summary({ type, id, epoch, version, owner, bytes, takenAt, committedAt }: Row): StoredActor {
  return { type, id, epoch, version, owner, bytes, takenAt, committedAt };
}
