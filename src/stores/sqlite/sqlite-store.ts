// The store on one SQLite file, as the event loop sees it: it encodes a request, and the worker thread
// responds. Neither a flush to the disk nor the lock of another process ever blocks the event loop.
import { resolve } from "node:path";
import { LimpetError } from "../../kernel/errors.ts";
import type { ActorKey } from "../../kernel/names.ts";
import { type Log, silentLog } from "../../ports/log.ts";
import type { Coordination } from "../../ports/store/coordination.ts";
import type { Reminders } from "../../ports/store/reminders.ts";
import type { Shards } from "../../ports/store/shards.ts";
import type {
  ActorQuery,
  Commit,
  CommitOutcome,
  Store,
  StoredActor,
  Taken,
  TakeRequest,
} from "../../ports/store/store.ts";
import type { Workflows } from "../../ports/store/workflows.ts";
import { OwnTakes } from "../own-takes.ts";
import { SqliteCoordination } from "./coordination/coordination.ts";
import { keepToOwner } from "./file-access.ts";
import { SqliteReminders } from "./reminders/reminders.ts";
import { SqliteShards } from "./shards/shards.ts";
import {
  type CommitAnswer,
  type FindAnswer,
  IN_MEMORY,
  type ListAnswer,
  packCommits,
  packTakes,
  type TakeAnswer,
  unpackCommitOutcomes,
  unpackTaken,
} from "./thread/messages.ts";
import { WorkerLink } from "./thread/worker-link.ts";
import { SqliteWorkflows } from "./workflows/workflows.ts";

export interface SqliteOptions {
  /**
   * How long a transaction waits for the lock of another process, in milliseconds. Too low: a large commit of
   * another process makes calls fail. Too high: calls hang behind a process that was suspended while it held
   * the lock.
   */
  readonly busyTimeoutMs?: number;
  /**
   * How much longer than that the worker thread may take before it is given up, in milliseconds. Too low: a
   * slow disk looks like a dead thread. Too high: calls hang behind a disk that never responds.
   */
  readonly stallTimeoutMs?: number;
  readonly log?: Log;
}

const BUSY_TIMEOUT_MS = 5_000;
const STALL_TIMEOUT_MS = 30_000;

/** Opens the file, creates it and its folder if they are missing, and migrates its schema. */
export async function openSqliteStore(file: string, options: SqliteOptions = {}): Promise<Store> {
  if (file === "") throw new LimpetError("OPTION_INVALID", "the name of the SQLite file must not be empty");
  // An absolute path is never taken for a URI with options in it.
  const location = file === IN_MEMORY ? IN_MEMORY : resolve(file);
  if (location !== IN_MEMORY) await keepToOwner(location, options.log ?? silentLog);
  const busyTimeoutMs = options.busyTimeoutMs ?? BUSY_TIMEOUT_MS;
  const link = new WorkerLink({
    file: location,
    busyTimeoutMs,
    stallTimeoutMs: busyTimeoutMs + (options.stallTimeoutMs ?? STALL_TIMEOUT_MS),
    restartable: location !== IN_MEMORY,
    log: options.log ?? silentLog,
  });
  const store = new SqliteStore(location, link);
  try {
    await store.ping();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

export class SqliteStore implements Store {
  readonly location: string;
  // One batch is in the worker and the next already in its queue, so that it never waits for the event loop.
  // The worker joins requests that arrive while it works into one transaction, so small and early batches
  // cost no extra flush to the disk. Rows are written while the event loop still runs the turns behind them.
  readonly lanes = 8;
  readonly eager = 64;
  readonly coordination: Coordination;
  readonly reminders: Reminders;
  readonly workflows: Workflows;
  readonly shards: Shards;
  readonly #link: WorkerLink;
  /** It must outlive the thread: a thread that ended is replaced. */
  readonly #own = new OwnTakes();

  constructor(location: string, link: WorkerLink) {
    this.location = location;
    this.#link = link;
    this.coordination = new SqliteCoordination(link);
    this.reminders = new SqliteReminders(link);
    this.workflows = new SqliteWorkflows(link);
    this.shards = new SqliteShards(link);
  }

  async take(batch: readonly TakeRequest[]): Promise<Taken[]> {
    for (const { owner } of batch) this.#own.add(owner);
    const question = packTakes(batch, this.#own.nextFloor());
    const taken = unpackTaken((await this.#link.ask(question)) as TakeAnswer);
    for (const { epoch } of taken) this.#own.received(epoch);
    return taken;
  }

  async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    return unpackCommitOutcomes(
      (await this.#link.ask(packCommits(batch, this.#own.owners))) as CommitAnswer,
      batch.length,
    );
  }

  async list({ namespace, type, prefix, after, limit }: ActorQuery): Promise<StoredActor[]> {
    // Field by field: other properties of the caller's object need not be cloneable.
    const query = { namespace, type, prefix, after: after && { type: after.type, id: after.id }, limit };
    return (await this.#link.ask({ kind: "list", query })) as ListAnswer;
  }

  async find({ namespace, type, id }: ActorKey): Promise<StoredActor | undefined> {
    return (await this.#link.ask({ kind: "find", key: { namespace, type, id } })) as FindAnswer;
  }

  async ping(): Promise<void> {
    await this.#link.ask({ kind: "ping" });
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
