// All prepared statements of the worker thread, by feature: the handlers of the verbs run on them.
import type { DatabaseSync } from "node:sqlite";
import { ActorStatements } from "../actors/actor-statements.ts";
import { ListingStatements } from "../actors/listing-statements.ts";
import { CoordinationStatements } from "../coordination/statements.ts";
import { ReminderClaims } from "../reminders/claims.ts";
import { SqliteReminderListing } from "../reminders/listing.ts";
import { ReminderStatements } from "../reminders/statements.ts";
import { ShardStatements } from "../shards/statements.ts";
import { WorkflowStatements } from "../workflows/statements.ts";

export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: DatabaseSync) {
  const reminders = new ReminderStatements(db);
  return {
    db,
    actors: new ActorStatements(db),
    listing: new ListingStatements(db),
    coordination: new CoordinationStatements(db),
    reminders,
    reminderClaims: new ReminderClaims(db),
    reminderListing: new SqliteReminderListing(db),
    workflows: new WorkflowStatements(db, reminders),
    shards: new ShardStatements(db),
  };
}
