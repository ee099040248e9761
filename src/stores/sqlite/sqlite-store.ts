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
import { packCommits, packTakes, type STORE_VERBS, unpackCommitOutcomes, unpackTaken } from "./actors/verbs.ts";
import { sqliteCoordination } from "./coordination/coordination.ts";
import { keepToOwner } from "./file-access.ts";
import { sqliteReminders } from "./reminders/reminders.ts";
import { sqliteShards } from "./shards/shards.ts";
import type { Call } from "./thread/verb.ts";
import { IN_MEMORY } from "./thread/verbs.ts";
import { WorkerLink } from "./thread/worker-link.ts";
import { sqliteWorkflows } from "./workflows/workflows.ts";

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
  readonly #call: Call<typeof STORE_VERBS>;
  /** It must outlive the thread: a thread that ended is replaced. */
  readonly #own = new OwnTakes();

  constructor(location: string, link: WorkerLink) {
    this.location = location;
    this.#link = link;
    this.#call = link.of("store");
    this.coordination = sqliteCoordination(link.of("coordination"));
    this.reminders = sqliteReminders(link.of("reminders"));
    this.workflows = sqliteWorkflows(link.of("workflows"));
    this.shards = sqliteShards(link.of("shards"));
  }

  async take(batch: readonly TakeRequest[]): Promise<Taken[]> {
    for (const { owner } of batch) this.#own.add(owner);
    const taken = unpackTaken(await this.#call("take", packTakes(batch), this.#own.nextFloor()));
    for (const { epoch } of taken) this.#own.received(epoch);
    return taken;
  }

  async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    return unpackCommitOutcomes(await this.#call("commit", packCommits(batch, this.#own.owners)), batch.length);
  }

  // Field by field, here and below: other properties of the caller's object need not be cloneable.
  list({ namespace, type, prefix, after, limit }: ActorQuery): Promise<StoredActor[]> {
    return this.#call("list", { namespace, type, prefix, after: after && { type: after.type, id: after.id }, limit });
  }

  find({ namespace, type, id }: ActorKey): Promise<StoredActor | undefined> {
    return this.#call("find", { namespace, type, id });
  }

  ping(): Promise<void> {
    return this.#call("ping");
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
