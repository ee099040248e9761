// Workflows in PostgreSQL. Any number of processes share them; the holder of the lease on a run's task
// continues the run. Workflows have connections of their own, so that a step waits only for other steps.
import type { ReminderWrite } from "../../../ports/store/reminders.ts";
import type { Commit } from "../../../ports/store/store.ts";
import type {
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  EndedRun,
  InboxMessage,
  RunBatches,
  RunQuery,
  RunStart,
  StartOutcome,
  StickyCounts,
  StoredInboxMessage,
  StoredRun,
  StoredWorker,
  TaskClaim,
  TaskClaims,
  TaskCompletion,
  TaskReturn,
  WorkerRow,
  WorkflowKey,
  Workflows,
} from "../../../ports/store/workflows.ts";
import { Connections, type Runner } from "../connection/connections.ts";
import type { PostgresSettings } from "../connection/settings.ts";
import { PostgresWorkflowClaims } from "./claims.ts";
import { CommitNotifications } from "./commit-notifications.ts";
import { WorkflowHistory } from "./history.ts";
import { InboxDelivery } from "./inbox-messages.ts";
import { WorkflowLeases } from "./leases.ts";
import { PostgresWorkflowListing } from "./listing.ts";
import { PostgresWorkflowRelease } from "./release.ts";
import { WorkflowStarts } from "./starts.ts";
import { PostgresWorkflowSteps } from "./steps.ts";
import { PostgresWorkflowWorkers } from "./workers.ts";

/**
 * The parts that workflows share with reminders: some of their writes are reminders, and notifications use
 * the same channel.
 */
export interface WorkflowsDeps {
  readonly wrote: (writes: readonly ReminderWrite[], now: number) => void;
  readonly announce: (namespace: string) => void;
  readonly watch: (namespace: string, listener: () => void) => (() => void) | undefined;
}

export class PostgresWorkflows implements Workflows {
  readonly #connections: Connections;
  readonly #deps: WorkflowsDeps;
  readonly #starts: WorkflowStarts;
  readonly #inbox: InboxDelivery;
  readonly #steps: PostgresWorkflowSteps;
  readonly #claims: PostgresWorkflowClaims;
  readonly #leases: WorkflowLeases;
  readonly #history: WorkflowHistory;
  readonly #listing: PostgresWorkflowListing;
  readonly #workers: PostgresWorkflowWorkers;
  readonly #release: PostgresWorkflowRelease;

  constructor(settings: PostgresSettings, schema: string, heldMs: number, deps: WorkflowsDeps) {
    // Claims and reads find a connection while steps are in progress.
    const connections = new Connections(settings, settings.driver, settings.shares.workflows);
    const notifications = () => new CommitNotifications(deps);
    this.#connections = connections;
    this.#deps = deps;
    const starts = new WorkflowStarts(connections, schema, heldMs, notifications);
    const inbox = new InboxDelivery(connections, schema, heldMs, notifications);
    this.#starts = starts;
    this.#inbox = inbox;
    this.#steps = new PostgresWorkflowSteps({ connections, schema, heldMs, starts, inbox, notifications });
    this.#claims = new PostgresWorkflowClaims(connections, schema);
    this.#leases = new WorkflowLeases({ connections, schema, heldMs, inbox, notifications });
    this.#history = new WorkflowHistory(connections, schema);
    this.#listing = new PostgresWorkflowListing(connections, schema);
    this.#workers = new PostgresWorkflowWorkers(connections, schema);
    this.#release = new PostgresWorkflowRelease(connections, schema, heldMs, notifications);
  }

  start(batch: readonly RunStart[]): Promise<StartOutcome[]> {
    return this.#connections.during(() => this.#starts.start(batch));
  }

  deliver(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]> {
    return this.#connections.during(() => this.#inbox.deliver(batch));
  }

  complete(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]> {
    return this.#connections.during(() => this.#steps.complete(batch));
  }

  close(closing: Closing): Promise<boolean> {
    return this.#connections.during(() => this.#leases.close(closing));
  }

  claim(request: TaskClaim): Promise<TaskClaims> {
    return this.#connections.during(() => this.#claims.claim(request));
  }

  renew(tasks: readonly { readonly ref: number; readonly token: string }[], leaseMs: number): Promise<number[]> {
    return this.#connections.during(async () => (tasks.length === 0 ? [] : this.#leases.renew(tasks, leaseMs)));
  }

  giveBack(batch: readonly TaskReturn[]): Promise<boolean[]> {
    return this.#connections.during(async () => (batch.length === 0 ? [] : this.#leases.giveBack(batch)));
  }

  wake(key: WorkflowKey, forgives = false): Promise<boolean> {
    return this.#connections.during(() => this.#leases.wake(key, forgives));
  }

  history(ref: number, after: number, bytes: number): Promise<RunBatches> {
    return this.#connections.during(() => this.#history.batches(ref, after, bytes));
  }

  inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]> {
    return this.#connections.during(() => this.#history.inbox(ref, after, limit));
  }

  find(key: WorkflowKey & { readonly runId?: string }): Promise<StoredRun | undefined> {
    return this.#connections.during(() => this.#listing.find(key));
  }

  watchEnds(refs: readonly number[]): Promise<EndedRun[]> {
    return this.#connections.during(async () => {
      if (refs.length === 0) return [];
      // Mark first, then read: a run that ends in between is seen as closed.
      await this.#leases.watch(refs);
      return this.#listing.ends(refs);
    });
  }

  list(query: RunQuery): Promise<StoredRun[]> {
    return this.#connections.during(() => this.#listing.list(query));
  }

  count(query: RunQuery): Promise<number> {
    return this.#connections.during(() => this.#listing.count(query));
  }

  seen(worker: WorkerRow): Promise<void> {
    return this.#connections.during(() => this.#workers.seen(worker));
  }

  forgetWorker(namespace: string, worker: string): Promise<boolean> {
    return this.#connections.during(() => this.#workers.forget(namespace, worker));
  }

  releaseWorker(namespace: string, worker: string, isDead: boolean): Promise<number> {
    return this.#connections.during(() => this.#release.release(namespace, worker, isDead));
  }

  workers(namespace: string): Promise<StoredWorker[]> {
    return this.#connections.during(() => this.#workers.list(namespace));
  }

  stickiness(namespace: string, owners: readonly string[] = []): Promise<StickyCounts> {
    return this.#connections.during(() => this.#workers.stickiness(namespace, owners));
  }

  prune(namespace: string, endedBefore: number, limit: number): Promise<number> {
    return this.#connections.during(() => this.#listing.prune(namespace, endedBefore, limit));
  }

  watch(namespace: string, listener: () => void): (() => void) | undefined {
    return this.#deps.watch(namespace, listener);
  }

  /**
   * Starts and messages of commits, in their transaction. `send` notifies once the transaction is committed.
   */
  async with(runner: Runner, commits: readonly Commit[]): Promise<{ readonly send: () => void }> {
    const notifications = new CommitNotifications(this.#deps);
    const starts = commits.flatMap((commit) => commit.starts ?? []);
    await this.#starts.startAll(runner, starts, notifications);
    const messages = commits.flatMap((commit) => commit.messages ?? []);
    await this.#inbox.deliverAll(runner, messages, notifications);
    return notifications;
  }

  end(): Promise<void> {
    return this.#connections.close();
  }
}
