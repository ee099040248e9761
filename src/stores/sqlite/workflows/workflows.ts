// The port of workflows on the event loop: each step is one request to the worker thread. Times are on the
// machine's clock, which all processes on the file share.
import type {
  ClaimedPin,
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
} from "../../../ports/store/workflows.ts";
import { type Packed, packWrites } from "../reminders/messages.ts";
import type { WorkerLink } from "../thread/worker-link.ts";
import type { CountAnswer, ReleaseAnswer, RunsAnswer, StickinessAnswer } from "./messages.ts";
import {
  type ClaimsAnswer,
  packArrivals,
  packStarts,
  packSteps,
  unpackClaims,
  unpackStartOutcomes,
  unpackStepOutcomes,
} from "./packing.ts";

export class SqliteWorkflows implements Workflows {
  readonly #link: WorkerLink;

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  async start(batch: readonly RunStart[]): Promise<StartOutcome[]> {
    return unpackStartOutcomes((await this.#link.ask({ kind: "start-runs", ...packStarts(batch) })) as Packed, batch);
  }

  async deliver(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]> {
    return (await this.#link.ask({ kind: "arrive", arrivals: packArrivals(batch) })) as DeliveryOutcome[];
  }

  async append(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]> {
    return unpackStepOutcomes((await this.#link.ask({ kind: "append", ...packSteps(batch) })) as Packed, batch);
  }

  // Field by field, here and below: other properties of the caller's object need not be cloneable.
  async close({ namespace, workflowId, runId, status, batch, result, reminders, messages }: Closing): Promise<boolean> {
    const { count, data } = batch;
    const sent = messages.map((one) => {
      const { runId, key, data, goesAlong, wakes } = one;
      return { ...keyOf(one), runId, key, data, goesAlong, wakes };
    });
    const closing = { namespace, workflowId, runId, status, batch: { count, data }, result, messages: sent };
    return (await this.#link.ask({ kind: "close-run", closing, reminders: packWrites(reminders) })) as boolean;
  }

  async claim(asked: TaskClaim): Promise<TaskClaims> {
    const { namespace, queue, limit, isSticky, staleMs } = asked;
    const { token, worker, leaseMs } = asked.lease;
    const lease = { token, worker, leaseMs };
    const byType = new Map(asked.types.map(({ type, pins }) => [type, { type, pins: pins.map(pinOf) }]));
    const request = { namespace, queue, types: [...byType.values()], limit, lease, isSticky, staleMs };
    return unpackClaims((await this.#link.ask({ kind: "claim-tasks", request })) as ClaimsAnswer, request);
  }

  async renew(tasks: readonly { ref: number; token: string }[], leaseMs: number): Promise<number[]> {
    const [refs, tokens] = [tasks.map(({ ref }) => ref), tasks.map(({ token }) => token)];
    return (await this.#link.ask({ kind: "renew-tasks", refs, tokens, leaseMs })) as number[];
  }

  async giveBack(tasks: readonly TaskReturn[]): Promise<boolean[]> {
    const batch = tasks.map(({ ref, token, pauseMs, problem }) => ({ ref, token, pauseMs, problem }));
    return (await this.#link.ask({ kind: "return-tasks", batch })) as boolean[];
  }

  async wake(key: WorkflowKey, forgives = false): Promise<boolean> {
    return (await this.#link.ask({ kind: "wake-run", key: keyOf(key), forgives })) as boolean;
  }

  async history(ref: number, after: number, bytes: number): Promise<RunPages> {
    return (await this.#link.ask({ kind: "history", ref, after, bytes })) as RunPages;
  }

  async inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]> {
    return (await this.#link.ask({ kind: "run-inbox", ref, after, limit })) as StoredInboxMessage[];
  }

  async find(asked: WorkflowKey & { readonly runId?: string }): Promise<StoredRun | undefined> {
    const key = { ...keyOf(asked), runId: asked.runId };
    return (await this.#link.ask({ kind: "run", key })) as StoredRun | undefined;
  }

  async watchEnds(refs: readonly number[]): Promise<EndedRun[]> {
    return (await this.#link.ask({ kind: "watch-ends", refs: [...refs] })) as EndedRun[];
  }

  /**
   * Repeats the request until the page is full or all runs are read: each response ends early, so that other
   * requests do not wait.
   */
  async list(query: RunQuery): Promise<StoredRun[]> {
    const found: StoredRun[] = [];
    for (let before = query.before; ; ) {
      const part = queryOf({ ...query, before, limit: query.limit - found.length });
      const answer = (await this.#link.ask({ kind: "runs", query: part })) as RunsAnswer;
      found.push(...answer.runs);
      if (answer.before === undefined) return found;
      before = answer.before;
    }
  }

  async count(query: RunQuery): Promise<number> {
    let count = 0;
    for (let before = query.before; ; ) {
      const part = queryOf({ ...query, before, limit: query.limit - count });
      const answer = (await this.#link.ask({ kind: "count-runs", query: part })) as CountAnswer;
      count += answer.count;
      if (answer.before === undefined) return count;
      before = answer.before;
    }
  }

  async seen({ namespace, worker, queue, build, isSticky, isDraining, about }: WorkerRow): Promise<void> {
    const row = { namespace, worker, queue, build, isSticky, isDraining, about };
    await this.#link.ask({ kind: "worker-seen", worker: row });
  }

  async forgetWorker(namespace: string, worker: string): Promise<boolean> {
    return (await this.#link.ask({ kind: "forget-worker", namespace, worker })) as boolean;
  }

  async releaseWorker(namespace: string, worker: string, isDead: boolean): Promise<number> {
    let released = 0;
    for (let after: number | undefined = 0; after !== undefined; ) {
      const question = { kind: "release-worker", namespace, worker, isDead, after } as const;
      const answer = (await this.#link.ask(question)) as ReleaseAnswer;
      released += answer.released;
      after = answer.after;
    }
    return released;
  }

  async workers(namespace: string): Promise<StoredWorker[]> {
    return (await this.#link.ask({ kind: "workers", namespace })) as StoredWorker[];
  }

  async stickiness(namespace: string, owners: readonly string[] = []): Promise<StickyCounts> {
    let [runs, ready, leased, owned] = [0, 0, 0, 0];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const question = { kind: "stickiness", namespace, owners: [...owners], after } as const;
      const answer = (await this.#link.ask(question)) as StickinessAnswer;
      [runs, ready, leased] = [runs + answer.runs, ready + answer.ready, leased + answer.leased];
      owned += answer.owned;
      after = answer.after;
    }
    return { runs, ready, leased, owned };
  }

  async prune(namespace: string, endedBefore: number, limit: number): Promise<number> {
    return (await this.#link.ask({ kind: "prune-runs", namespace, endedBefore, limit })) as number;
  }

  /** A SQLite file sends no notifications to other processes. */
  watch(): undefined {
    return undefined;
  }
}

const pinOf = ({ pinned, pins }: ClaimedPin): ClaimedPin => ({ pinned, pins });

const keyOf = ({ namespace, workflowId }: WorkflowKey): WorkflowKey => ({ namespace, workflowId });

function queryOf(query: RunQuery): RunQuery {
  const { namespace, workflowId, prefix, type, status, queue, attributes } = query;
  const { startedFrom, startedBefore, isBlocked, before, limit } = query;
  const asked = attributes && { ...attributes };
  return {
    namespace,
    workflowId,
    prefix,
    type,
    status,
    queue,
    attributes: asked,
    startedFrom,
    startedBefore,
    isBlocked,
    before,
    limit,
  };
}
