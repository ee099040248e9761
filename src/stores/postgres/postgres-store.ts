// The store of actors in PostgreSQL. Many processes share one database; the fence is one row per actor. The
// store survives the loss of any connection and of the server: an acknowledged operation is on disk, and an
// operation without a response can be sent again.
import type { ActorKey } from "../../kernel/names.ts";
import type { Coordination } from "../../ports/store/coordination.ts";
import type { Reminders } from "../../ports/store/reminders.ts";
import type { Shards } from "../../ports/store/shards.ts";
import type {
  ActorQuery,
  Commit,
  CommitOutcome,
  Locked,
  Store,
  StoredActor,
  Taken,
  TakeRequest,
} from "../../ports/store/store.ts";
import type { Workflows } from "../../ports/store/workflows.ts";
import { OwnTakes } from "../own-takes.ts";
import { Commits } from "./actors/commit.ts";
import { PostgresActorListing } from "./actors/listing.ts";
import { Takes } from "./actors/take.ts";
import { Connections } from "./connection/connections.ts";
import { type PostgresOptions, type PostgresSettings, postgresSettings } from "./connection/settings.ts";
import { PostgresCoordination } from "./coordination/coordination.ts";
import { migratePostgres } from "./migrate.ts";
import { PostgresReminders } from "./reminders/reminders.ts";
import { PostgresShards } from "./shards/shards.ts";
import { PostgresWorkflows } from "./workflows/workflows.ts";

export type { PostgresOptions } from "./connection/settings.ts";

/** Connects, migrates the schema, and opens the store. */
export async function openPostgresStore(url: string, options: PostgresOptions = {}): Promise<Store> {
  const settings = postgresSettings(url, options);
  if (settings.isUnencrypted) {
    const advice = "add sslmode=require to the URL, or sslmode=verify-full with a certificate";
    settings.log.warn("store.unencrypted", { store: settings.location, advice });
  }
  return new PostgresStore(await migratePostgres(settings));
}

class PostgresStore implements Store {
  readonly location: string;
  readonly lanes: number;
  /** A statement has a fixed cost, so smaller batches go together on one connection. */
  readonly eager = 128;
  readonly coordination: Coordination;
  readonly shards: Shards;
  readonly #connections: Connections;
  readonly #leadership: Connections;
  readonly #reminders: PostgresReminders;
  readonly #workflows: PostgresWorkflows;
  readonly #takes: Takes;
  readonly #commits: Commits;
  readonly #listing: PostgresActorListing;

  constructor(settings: PostgresSettings) {
    const schema = `"${settings.schema}"`;
    this.location = settings.location;
    this.lanes = settings.shares.lanes;
    // Reads, listings and a ping find a connection while every lane is in use.
    this.#connections = new Connections(settings, settings.driver, settings.shares.actors);
    this.#leadership = new Connections(settings, settings.leadershipDriver, 1);
    this.coordination = new PostgresCoordination(this.#leadership, this.#connections, schema);
    // Locked rows are retried a few times longer than one wait, so that a short conflict on a slow disk is
    // not yet a fault.
    const heldMs = settings.lockTimeoutMs * 5;
    this.#reminders = new PostgresReminders(settings, schema, heldMs);
    const reminders = this.#reminders;
    this.#workflows = new PostgresWorkflows(settings, schema, heldMs, {
      wrote: (writes, now) => reminders.wrote(writes, now),
      announce: (namespace) => reminders.announce(namespace, "workflows"),
      watch: (namespace, listener) => reminders.listen(namespace, listener, "workflows"),
    });
    this.shards = new PostgresShards(this.#connections, schema, heldMs);
    const own = new OwnTakes();
    this.#takes = new Takes(this.#connections, schema, heldMs, own);
    this.#commits = new Commits(
      this.#connections,
      schema,
      heldMs,
      own,
      (writes, now) => this.#reminders.wrote(writes, now),
      (runner, commits) => this.#workflows.with(runner, commits),
    );
    this.#listing = new PostgresActorListing(this.#connections, schema);
  }

  get reminders(): Reminders {
    return this.#reminders;
  }

  get workflows(): Workflows {
    return this.#workflows;
  }

  async warm(): Promise<void> {
    const lanes = Array.from({ length: this.lanes }, () => this.#connections.during(() => this.#takes.warm()));
    await Promise.allSettled(lanes);
  }

  take(batch: readonly TakeRequest[]): Promise<(Taken | Locked)[]> {
    return this.#connections.during(() => this.#takes.take(batch));
  }

  commit(batch: readonly Commit[]): Promise<(CommitOutcome | Locked)[]> {
    return this.#connections.during(() => this.#commits.commit(batch));
  }

  list(query: ActorQuery): Promise<StoredActor[]> {
    return this.#connections.during(() => this.#listing.list(query));
  }

  find(key: ActorKey): Promise<StoredActor | undefined> {
    return this.#connections.during(() => this.#listing.find(key));
  }

  async ping(): Promise<void> {
    const statement = { name: "limpet_ping", text: "SELECT 1" };
    await this.#connections.during(() => this.#connections.run(statement, [], "harmless"));
  }

  async close(): Promise<void> {
    await Promise.all([this.#connections.close(), this.#leadership.close(), this.#workflows.end()]);
    // Their notifications go out on the connections of reminders.
    await this.#reminders.close();
  }
}
