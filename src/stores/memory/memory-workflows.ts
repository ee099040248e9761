// Workflows within one process: apps that share a MemoryStore share them. Each step runs to completion
// without interruption, so all steps are atomic.
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
} from "../../ports/store/workflows.ts";
import type { MemoryReminders } from "./memory-reminders.ts";
import { matches, type Run, RunRows, storedRunOf } from "./run-rows.ts";
import { RunSteps } from "./run-steps.ts";
import { TaskIndex } from "./task-index.ts";
import { WorkerRows } from "./worker-rows.ts";

export class MemoryWorkflows implements Workflows {
  readonly #runs = new RunRows();
  readonly #taskIndex = new TaskIndex();
  readonly #workers = new WorkerRows();
  readonly #watchers = new Map<string, Set<() => void>>();
  #changedNamespaces = new Set<string>();
  readonly #steps: RunSteps;
  readonly #now: () => number;
  readonly #checkOpen: () => void;

  /** `now` is the store's clock; `checkOpen` throws once the store is closed. */
  constructor(reminders: MemoryReminders, now: () => number, checkOpen: () => void) {
    this.#steps = new RunSteps(this.#runs, this.#taskIndex, reminders, now);
    this.#now = now;
    this.#checkOpen = checkOpen;
  }

  async start(batch: readonly RunStart[]): Promise<StartOutcome[]> {
    return this.#change((steps) => batch.map((start) => steps.start(start)));
  }

  async deliver(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]> {
    return this.#change((steps) => batch.map((message) => steps.deliver(message)));
  }

  async complete(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]> {
    return this.#change((steps) => batch.map((completion) => steps.complete(completion)));
  }

  async close(closing: Closing): Promise<boolean> {
    return this.#change((steps) => steps.close(closing));
  }

  /** For the starts and messages of commits. */
  apply(starts: readonly RunStart[], messages: readonly InboxMessage[]): void {
    this.#change((steps) => {
      for (const start of starts) steps.start(start);
      for (const message of messages) steps.deliver(message);
    });
  }

  async claim(request: TaskClaim): Promise<TaskClaims> {
    this.#checkOpen();
    const now = this.#now();
    const { found, next } = this.#taskIndex.match(request, this.#workers, now);
    return { now, tasks: found.map((match) => this.#steps.claim(match, request)), next };
  }

  async renew(tasks: readonly { readonly ref: number; readonly token: string }[], leaseMs: number): Promise<number[]> {
    this.#checkOpen();
    const lost = tasks.filter(({ ref, token }) => !this.#steps.renew(ref, token, leaseMs));
    return lost.map(({ ref }) => ref);
  }

  async giveBack(batch: readonly TaskReturn[]): Promise<boolean[]> {
    return this.#change((steps) => batch.map((one) => steps.giveBack(one)));
  }

  async wake(key: WorkflowKey, forgives = false): Promise<boolean> {
    return this.#change((steps) => steps.wake(key, forgives));
  }

  async history(ref: number, after: number, bytes: number): Promise<RunBatches> {
    this.#checkOpen();
    const rest = (this.#runs.get(ref)?.batches ?? []).filter(({ from, count }) => from + count - 1 > after);
    let left = bytes;
    const end = rest.findIndex(({ data }, i) => {
      left -= Buffer.byteLength(data);
      return left < 0 && i > 0;
    });
    return end === -1 ? { batches: rest, isCut: false } : { batches: rest.slice(0, end), isCut: true };
  }

  async inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]> {
    this.#checkOpen();
    const inbox = this.#runs.get(ref)?.inbox.values() ?? [];
    const rest = [...inbox].filter(({ number }) => number > after).slice(0, limit);
    return rest.map(({ number, key, data }) => ({ number, key, data }));
  }

  async find({ runId, ...key }: WorkflowKey & { readonly runId?: string }): Promise<StoredRun | undefined> {
    this.#checkOpen();
    const run = this.#runs.find(key, runId);
    return run && storedRunOf(run);
  }

  async watchEnds(refs: readonly number[]): Promise<EndedRun[]> {
    this.#checkOpen();
    return refs.flatMap((ref) => {
      const run = this.#runs.get(ref);
      if (run?.result !== undefined) return [{ ref, runId: run.runId, status: run.status, result: run.result }];
      if (run !== undefined) run.isWatched = true;
      return [];
    });
  }

  async list(query: RunQuery): Promise<StoredRun[]> {
    this.#checkOpen();
    return this.#select(query).map(storedRunOf);
  }

  async count(query: RunQuery): Promise<number> {
    this.#checkOpen();
    return this.#select(query).length;
  }

  async seen(worker: WorkerRow): Promise<void> {
    this.#checkOpen();
    this.#workers.seen(worker, this.#now());
  }

  async forgetWorker(namespace: string, worker: string): Promise<boolean> {
    this.#checkOpen();
    return this.#workers.forget(namespace, worker);
  }

  async releaseWorker(namespace: string, worker: string, isDead: boolean): Promise<number> {
    return this.#change((steps) => steps.releaseWorker(namespace, worker, isDead));
  }

  async workers(namespace: string): Promise<StoredWorker[]> {
    this.#checkOpen();
    return this.#workers.list(namespace);
  }

  async stickiness(namespace: string, owners: readonly string[] = []): Promise<StickyCounts> {
    this.#checkOpen();
    const now = this.#now();
    const counts = { runs: 0, ready: 0, leased: 0, owned: 0 };
    for (const { task } of this.#runs.all(namespace)) {
      if (task?.stickyWorker === undefined || task.stickyUntil <= now) continue;
      counts.runs++;
      if (task.state === "idle") continue;
      counts[task.state]++;
      if (owners.includes(task.stickyWorker)) counts.owned++;
    }
    return counts;
  }

  async prune(namespace: string, endedBefore: number, limit: number): Promise<number> {
    this.#checkOpen();
    const ended: Run[] = [];
    for (const run of this.#runs.all(namespace)) {
      if (ended.length >= limit) break;
      if (run.closedAt !== undefined && run.closedAt < endedBefore) ended.push(run);
    }
    for (const run of ended) this.#runs.remove(run);
    return ended.length;
  }

  watch(namespace: string, listener: () => void): () => void {
    const watchers = this.#watchers.get(namespace) ?? new Set();
    this.#watchers.set(namespace, watchers.add(listener));
    return () => void watchers.delete(listener);
  }

  /** Namespaces with changes for watchers since the last call. */
  takeChangedNamespaces(): Set<string> {
    const namespaces = this.#changedNamespaces;
    this.#changedNamespaces = new Set();
    return namespaces;
  }

  /** Notifies watchers once for a batch, after the caller's own code has gone on. */
  #change<T>(work: (steps: RunSteps) => T): T {
    this.#checkOpen();
    const result = work(this.#steps);
    for (const namespace of this.#steps.namespacesWithWork) {
      this.#changedNamespaces.add(namespace);
      for (const listener of this.#watchers.get(namespace) ?? []) queueMicrotask(listener);
    }
    this.#steps.namespacesWithWork.clear();
    return result;
  }

  #select(query: RunQuery): Run[] {
    const { namespace, before = Number.POSITIVE_INFINITY, limit } = query;
    const page: Run[] = [];
    for (const run of [...this.#runs.all(namespace)].reverse()) {
      if (page.length >= limit) break;
      if (run.ref < before && matches(run, query)) page.push(run);
    }
    return page;
  }
}
