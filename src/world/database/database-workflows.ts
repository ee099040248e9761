// Workflows at a virtual database, as one process sees them: every request is subject to the database's
// faults.
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type {
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  EndedRun,
  InboxMessage,
  RunPages,
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
} from "../../ports/store/workflows.ts";
import type { Station } from "../network/network.ts";
import type { Ask, Database, DatabaseListening, DatabaseWatcher, Question } from "./database.ts";

export class WorkflowsClient implements Workflows {
  readonly #database: Database;
  readonly #station: Station;
  readonly #askStore: Ask;
  readonly #listening = new Set<DatabaseListening>();

  constructor(database: Database, station: Station, ask: Ask) {
    this.#database = database;
    this.#station = station;
    this.#askStore = ask;
  }

  async #ask<T>(question: Question, work: (truth: Workflows) => Promise<T>): Promise<T> {
    return this.#askStore(question, async () => {
      const { truth } = this.#database;
      const asked = work(truth.workflows);
      // Only this request took effect since the last call, so all news are its news.
      const news = truth.workflows.takeNews();
      const answer = await asked;
      this.#database.tellFollowers(this.#station, news);
      return answer;
    });
  }

  #tell(what: (watcher: DatabaseWatcher) => void): void {
    for (const watcher of this.#database.watchers) what(watcher);
  }

  #reminded(writes: readonly ReminderWrite[]): void {
    this.#database.tellNews(this.#station, writes);
  }

  async start(batch: readonly RunStart[]): Promise<StartOutcome[]> {
    return this.#ask("start", async (truth) => {
      const outcomes = await truth.start(batch);
      this.#tell((watcher) => watcher.started?.(this.#station, batch, outcomes));
      this.#reminded(remindersOf(batch, outcomes));
      return outcomes;
    });
  }

  async deliver(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]> {
    return this.#ask("arrive", async (truth) => {
      const outcomes = await truth.deliver(batch);
      this.#tell((watcher) => watcher.arrived?.(this.#station, batch, outcomes));
      return outcomes;
    });
  }

  async append(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]> {
    return this.#ask("append", async (truth) => {
      const outcomes = await truth.append(batch);
      this.#tell((watcher) => watcher.appended?.(this.#station, batch, outcomes));
      for (const [i, { reminders, starts }] of batch.entries()) {
        const outcome = outcomes[i];
        if (outcome?.kind === "done") this.#reminded([...reminders, ...remindersOf(starts, outcome.starts)]);
      }
      return outcomes;
    });
  }

  async close(closing: Closing): Promise<boolean> {
    return this.#ask("end", async (truth) => {
      const isDone = await truth.close(closing);
      this.#tell((watcher) => watcher.ended?.(this.#station, closing, isDone));
      return isDone;
    });
  }

  async claim(request: TaskClaim): Promise<TaskClaims> {
    return this.#ask("poll", async (truth) => {
      const claims = await truth.claim(request);
      this.#tell((watcher) => watcher.polled?.(this.#station, request, claims));
      return claims;
    });
  }

  async renew(tasks: readonly { readonly ref: number; readonly token: string }[], leaseMs: number): Promise<number[]> {
    return this.#ask("extend", (truth) => truth.renew(tasks, leaseMs));
  }

  async giveBack(batch: readonly TaskReturn[]): Promise<boolean[]> {
    return this.#ask("give back", async (truth) => {
      const counted = await truth.giveBack(batch);
      this.#tell((watcher) => watcher.gaveBack?.(this.#station, batch, counted));
      return counted;
    });
  }

  async wake(key: WorkflowKey, forgives?: boolean): Promise<boolean> {
    return this.#ask("wake", (truth) => truth.wake(key, forgives));
  }

  async history(ref: number, after: number, bytes: number): Promise<RunPages> {
    return this.#ask("read", (truth) => truth.history(ref, after, bytes));
  }

  async inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]> {
    return this.#ask("read", (truth) => truth.inbox(ref, after, limit));
  }

  async find(key: WorkflowKey & { readonly runId?: string }): Promise<StoredRun | undefined> {
    return this.#ask("read", (truth) => truth.find(key));
  }

  async watchEnds(refs: readonly number[]): Promise<EndedRun[]> {
    return this.#ask("await", (truth) => truth.watchEnds(refs));
  }

  async list(query: RunQuery): Promise<StoredRun[]> {
    return this.#ask("read", (truth) => truth.list(query));
  }

  async count(query: RunQuery): Promise<number> {
    return this.#ask("read", (truth) => truth.count(query));
  }

  async seen(worker: WorkerRow): Promise<void> {
    return this.#ask("worker", (truth) => truth.seen(worker));
  }

  async forgetWorker(namespace: string, worker: string): Promise<boolean> {
    return this.#ask("worker", (truth) => truth.forgetWorker(namespace, worker));
  }

  async releaseWorker(namespace: string, worker: string, isDead: boolean): Promise<number> {
    return this.#ask("worker", (truth) => truth.releaseWorker(namespace, worker, isDead));
  }

  async workers(namespace: string): Promise<StoredWorker[]> {
    return this.#ask("read", (truth) => truth.workers(namespace));
  }

  async stickiness(namespace: string, owners?: readonly string[]): Promise<StickyCounts> {
    return this.#ask("read", (truth) => truth.stickiness(namespace, owners));
  }

  async prune(namespace: string, endedBefore: number, limit: number): Promise<number> {
    return this.#ask("prune", (truth) => truth.prune(namespace, endedBefore, limit));
  }

  watch(namespace: string, listener: () => void): (() => void) | undefined {
    if (!this.#database.tellsNews) return undefined;
    const hear = (): void => {
      if (this.#listening.has(mine)) listener();
    };
    const mine: DatabaseListening = { station: this.#station, namespace, hear };
    this.#listening.add(mine);
    this.#database.following.add(mine);
    return () => this.#stop(mine);
  }

  /** Ends notifications: the store is closed. */
  hearNoMore(): void {
    for (const one of this.#listening) this.#stop(one);
  }

  #stop(one: DatabaseListening): void {
    this.#listening.delete(one);
    this.#database.following.delete(one);
  }
}

/** Reminders of the runs that were started. */
const remindersOf = (starts: readonly RunStart[], outcomes: readonly StartOutcome[]): ReminderWrite[] =>
  starts.flatMap(({ reminders }, i) => (outcomes[i]?.isNew ? reminders : []));
