// The thread that holds the database. It serves requests in order, urgent ones first, and may block: on the
// disk, and on the lock of another process. No request may end the thread; it responds to a failed request
// with an error.
//
// Writes that have arrived by the time one is done join its transaction, so that they share one flush to the
// disk. The event loop sends batches early and often, and this thread combines them into as few transactions
// as the disk can sustain.
import type { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { isHosted } from "../../shard-changes.ts";
import { ActorStatements } from "../actors/actor-statements.ts";
import { ListingStatements } from "../actors/listing-statements.ts";
import { CoordinationStatements } from "../coordination/statements.ts";
import { openDatabase } from "../database.ts";
import { ReminderClaims } from "../reminders/claims.ts";
import { SqliteReminderListing } from "../reminders/listing.ts";
import {
  type AttachedReminders,
  type ClaimAnswer,
  packLeases,
  unpackAttachedReminders,
  unpackRewritings,
  unpackSettlements,
  unpackWrites,
} from "../reminders/messages.ts";
import { counts, ReminderStatements } from "../reminders/statements.ts";
import { packHomes, type ResetAnswer, unpackHomeChanges, unpackRemembered } from "../shards/messages.ts";
import { ShardStatements } from "../shards/statements.ts";
import { toLimpetError } from "../sqlite-errors.ts";
import { unpackAttachedWorkflows } from "../workflows/packing.ts";
import { WorkflowStatements, workflowRows } from "../workflows/statements.ts";
import { Inbox } from "./inbox.ts";
import {
  type Answer,
  COMMIT_NUMBERS,
  type CommitAnswer,
  isDoubtful,
  isUrgent,
  isWrite,
  mayRepeat,
  TAKE_STRINGS,
  type ThreadFailure,
  type ThreadRequest,
  type WorkerStart,
  type Write,
} from "./messages.ts";
import type { Transactions } from "./transactions.ts";

invariant(parentPort !== null, "this file runs in a worker thread");
const port = parentPort;
const start = workerData as WorkerStart;

type Read = Exclude<ThreadRequest, Write>;

/** The number of rows that the request added to its transaction. */
function rowsOf(question: Write, value: unknown): number {
  switch (question.kind) {
    case "take":
      return question.strings.length / TAKE_STRINGS;
    case "commit": {
      const { numbers, attachedReminders, attachedWorkflows } = question;
      const attached =
        attachedReminders === undefined ? 0 : attachedReminders.settlements.count + attachedReminders.writes.count;
      const wanted =
        attachedWorkflows === undefined ? 0 : attachedWorkflows.starts.starts.count + attachedWorkflows.arrivals.count;
      return numbers.length / COMMIT_NUMBERS + attached + wanted;
    }
    case "note":
      return question.changes.length;
    case "remind":
    case "settle":
    case "rewrite":
    case "note-homes":
    case "remember":
      return question.count;
    case "reset-shards":
      return (value as ResetAnswer).forgotten;
    case "claim":
      return (value as ClaimAnswer).count;
    case "renew":
      return question.generations.length;
    case "campaign":
    case "resign":
    case "leave":
    case "secret":
    case "revive":
    case "forget":
    case "settle-rule":
      return 1;
    default:
      return workflowRows(question, value);
  }
}

const failure = (error: unknown): ThreadFailure => {
  const { code, message } = toLimpetError(error, start.file);
  return { code, message };
};

const say = (answer: Answer): void => port.postMessage(answer);

class StoreThreadServer {
  readonly #db: DatabaseSync;
  readonly #transactions: Transactions;
  readonly #actors: ActorStatements;
  readonly #listing: ListingStatements;
  readonly #coordination: CoordinationStatements;
  readonly #reminders: ReminderStatements;
  readonly #claims: ReminderClaims;
  readonly #reminderListing: SqliteReminderListing;
  readonly #workflows: WorkflowStatements;
  readonly #shards: ShardStatements;
  readonly #inbox = new Inbox(nextQuestion);

  constructor(db: DatabaseSync, transactions: Transactions) {
    this.#db = db;
    this.#transactions = transactions;
    this.#actors = new ActorStatements(db);
    this.#listing = new ListingStatements(db);
    this.#coordination = new CoordinationStatements(db);
    this.#reminders = new ReminderStatements(db);
    this.#claims = new ReminderClaims(db);
    this.#reminderListing = new SqliteReminderListing(db);
    this.#workflows = new WorkflowStatements(db, this.#reminders);
    this.#shards = new ShardStatements(db);
  }

  /** Serves a request and all that have arrived meanwhile. */
  serve(question: ThreadRequest): void {
    this.#inbox.put(question);
    for (let next = this.#inbox.next(); next !== undefined; next = this.#inbox.next()) {
      if (isWrite(next)) this.#write(next);
      else this.#attempt(next, () => this.#read(next as Read));
      if (next.kind !== "close") continue;
      port.close();
      return;
    }
  }

  /** Serves a write and the writes that directly follow it. */
  #write(first: Write): void {
    const joined = [first];
    try {
      const values = this.#transaction(joined, (values) => {
        let rows = joined.reduce((sum, question, i) => sum + rowsOf(question, values[i]), 0);
        for (;;) {
          const received = this.#inbox.nextWrite(rows >= LIMITS.batchSize);
          if (received === undefined) return;
          joined.push(received);
          const value = this.#apply(received);
          values.push(value);
          rows += rowsOf(received, value);
        }
      });
      for (const [i, value] of values.entries()) say({ value, urgent: isUrgent(joined[i]!) });
    } catch (error) {
      // Each on its own, so that no request fails because of another one.
      for (const question of joined) {
        if (joined.length === 1 || !mayRepeat(question, error)) this.#refuse(question, error);
        else this.#attempt(question, () => this.#transaction([question], () => {})[0]);
      }
    }
  }

  #transaction(questions: readonly Write[], more: (values: unknown[]) => void): unknown[] {
    // More requests may join meanwhile.
    const uncertain = () => (questions.some(({ kind }) => isDoubtful(kind)) ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE");
    return this.#transactions.write(uncertain, () => {
      const values = questions.map((question) => this.#apply(question));
      more(values);
      return values;
    });
  }

  #apply(question: Write): unknown {
    switch (question.kind) {
      case "take":
        return this.#actors.take(question.strings, question.floor, Date.now());
      case "commit": {
        const { numbers, strings, owners, attachedReminders, attachedWorkflows } = question;
        if (attachedReminders !== undefined || attachedWorkflows !== undefined)
          return this.#commitWithAttachments(question);
        const { fenced, voided } = this.#actors.commit(numbers, strings, owners, Date.now());
        return { fenced, voided };
      }
      case "campaign":
        return this.#coordination.campaign(question.candidate, question.dead, Date.now());
      case "resign":
        return this.#coordination.resign(question.incarnation);
      case "note":
        return this.#coordination.note(question.term, question.changes);
      case "leave":
        return this.#coordination.leave(question.incarnations);
      case "secret":
        return this.#coordination.secret(question.offer);
      case "note-homes": {
        const isCurrent = this.#coordination.isCurrent(question.term);
        if (isCurrent) this.#shards.noteHomes(unpackHomeChanges(question));
        return isCurrent;
      }
      case "settle-rule":
        return this.#shards.settle(question.rule);
      case "reset-shards": {
        const { namespace, type, ended, limit } = question;
        if (isHosted(this.#coordination.members(), namespace, type, ended))
          return { forgotten: 0, isDone: false, isHosted: true } satisfies ResetAnswer;
        return this.#shards.reset(namespace, type, limit);
      }
      case "remember":
        return this.#shards.remember(question.home, unpackRemembered(question));
      case "remind":
        return this.#reminders.write(unpackWrites(question), Date.now());
      case "settle":
        return this.#reminders.settle(unpackSettlements(question), Date.now());
      case "rewrite":
        return this.#reminders.rewrite(unpackRewritings(question), Date.now());
      case "claim":
        return this.#claims.claim(question.request, Date.now());
      case "renew":
        return this.#reminders.renew(question.generations, question.tokens, Date.now() + question.leaseMs);
      case "revive":
        return this.#reminders.revive(question.key, Date.now());
      case "forget":
        return this.#reminders.forget(question.key);
      default:
        return this.#workflows.apply(question, Date.now());
    }
  }

  /**
   * The commits of one batch are independent of each other, so all of them settle before any of them writes.
   */
  #commitWithAttachments({ numbers, strings, owners, ...attached }: Extract<Write, { kind: "commit" }>): CommitAnswer {
    const attachedReminders: readonly AttachedReminders[] =
      attached.attachedReminders === undefined ? [] : unpackAttachedReminders(attached.attachedReminders);
    const held = this.#reminders.held(attachedReminders.flatMap(({ settlements }) => settlements));
    const areVoid = attachedReminders.filter(({ settlements }) => settlements.some((one) => !counts(one, held)));
    const voids = new Set(areVoid.map(({ place }) => place));
    const { fenced, repeated, voided } = this.#actors.commit(numbers, strings, owners, Date.now(), (place) =>
      voids.has(place),
    );
    const idle = new Set([...fenced, ...repeated, ...voided]);
    const counting = attachedReminders.filter(({ place }) => !idle.has(place));
    const settlements = counting.flatMap((one) => one.settlements);
    if (settlements.length > 0) this.#reminders.settle(settlements, Date.now(), held);
    const writes = counting.flatMap((one) => one.writes);
    const set = writes.length > 0 ? this.#reminders.write(writes, Date.now()) : [];
    const attachedWorkflows =
      attached.attachedWorkflows === undefined ? [] : unpackAttachedWorkflows(attached.attachedWorkflows);
    this.#workflows.run(
      attachedWorkflows.filter(({ place }) => !idle.has(place)),
      Date.now(),
    );
    return { fenced, voided, leases: packLeases(counting, set) };
  }

  #read(question: Read): unknown {
    switch (question.kind) {
      case "members":
        return this.#transactions.read(() => this.#coordination.members());
      case "homes":
        return packHomes(this.#transactions.read(() => this.#shards.homes()));
      case "remembered":
        return this.#transactions.read(() => this.#shards.remembered(question.shard, question.after, question.limit));
      case "remembered-shards":
        return this.#transactions.read(() => this.#shards.rememberedShards(question.namespace, question.type));
      case "list":
        return this.#transactions.read(() => this.#listing.list(question.query));
      case "find":
        return this.#transactions.read(() => this.#listing.find(question.key));
      case "reminder":
        return this.#transactions.read(() => this.#reminderListing.get(question.key, Date.now()));
      case "reminders":
        return this.#transactions.read(() => this.#reminderListing.list(question.query, Date.now()));
      case "dead":
        return this.#transactions.read(() => this.#reminderListing.listDead(question.query));
      case "count":
        return this.#transactions.read(() =>
          this.#reminderListing.count(question.namespace, question.limit, Date.now()),
        );
      case "ping":
        return this.#transactions.read(() => this.#db.exec("SELECT 1 FROM actors LIMIT 1"));
      case "close":
        // The last connection to the file copies the log into it.
        return this.#db.close();
      default:
        return this.#transactions.read(() => this.#workflows.look(question, Date.now()));
    }
  }

  #attempt(question: ThreadRequest, work: () => unknown): void {
    try {
      const value = work();
      say({ value, urgent: isUrgent(question) });
    } catch (error) {
      this.#refuse(question, error);
    }
  }

  #refuse(question: ThreadRequest, error: unknown): void {
    // A transaction that could not be rolled back leaves an unusable connection: start over with a new one.
    if (this.#db.isOpen && this.#db.isTransaction) {
      say({ error: failure(error), fatal: true });
      process.exit();
    }
    say({ error: failure(error), urgent: isUrgent(question) });
  }
}

try {
  const { db, transactions } = openDatabase(start);
  const server = new StoreThreadServer(db, transactions);
  port.on("message", (question: ThreadRequest) => server.serve(question));
} catch (error) {
  say({ error: failure(error), fatal: true });
}

/**
 * The next request that has already arrived. Deno cannot read it from the port of a thread: there each
 * request is its own event.
 */
function nextQuestion(): ThreadRequest | undefined {
  return process.versions.deno === undefined
    ? (receiveMessageOnPort(port)?.message as ThreadRequest | undefined)
    : undefined;
}
