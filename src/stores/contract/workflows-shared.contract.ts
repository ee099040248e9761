// Shared parts of the workflows contract: opening a store, passing time, and helpers to start, claim and
// complete.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isLimpetError } from "../../kernel/errors.ts";
import { interceptMethods } from "../../ports/store/intercept.ts";
import type { Store } from "../../ports/store/store.ts";
import type {
  ClaimedPin,
  ClaimedTask,
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  EventBatch,
  InboxMessage,
  RunStart,
  StartOutcome,
  StoredRun,
  StoredTask,
  TaskClaim,
  TaskClaims,
  TaskCompletion,
  TaskLease,
  TaskOutcome,
  WorkerRow,
  WorkflowKey,
  Workflows,
} from "../../ports/store/workflows.ts";
import { Place } from "./reminders-shared.contract.ts";
import { freshNamespace } from "./shared.contract.ts";

export interface OpenedWorkflows {
  readonly store: Store;
  /** Another store object on the same data, as another process would have it. The suite closes it. */
  readonly second?: () => Promise<Store>;
  /** Opens the same data again after `store` was closed. The suite closes it. */
  readonly reopen?: () => Promise<Store>;
  /**
   * Advances time for the stored data: either the store's clock moves forward, or every time in its tables
   * moves back: when runs started and ended, when tasks are ready, were claimed and their leases end, when
   * affinity ends, when workers reported; and the times of reminders. So after it only differences to the
   * store's clock are meaningful.
   */
  readonly advance: (ms: number) => Promise<void>;
  /** Closes everything that is still open and removes all created data. */
  readonly dispose: () => Promise<void>;
}

export interface WorkflowsOptions {
  /** Random runs of the model test and of the other random tests; fewer where a round trip is slow. */
  readonly modelRuns?: number;
}

/** Types are given by name; the allowed pins are the same for all of them, or follow from a build. */
export interface ClaimOptions extends Partial<Omit<TaskClaim, "types">> {
  readonly worker?: string;
  readonly types?: readonly string[];
  readonly build?: string;
  readonly compatible?: readonly string[];
  /** Unpinned runs are pinned to the build. */
  readonly pinsRuns?: boolean;
  readonly pins?: readonly ClaimedPin[];
}

export interface WorkflowsHarness {
  readonly open: () => Promise<OpenedWorkflows>;
  readonly opened: () => OpenedWorkflows;
  readonly options: WorkflowsOptions;
}

function buildPins({ build = "b1", compatible = [], pinsRuns = false }: ClaimOptions): ClaimedPin[] {
  const builds = [...new Set([build, ...compatible])];
  return [
    { pinned: undefined, pins: pinsRuns ? build : undefined },
    ...builds.map((one) => ({ pinned: one, pins: one })),
  ];
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** Quotes, characters outside the basic plane, line ends, and characters with a meaning in SQL. */
export const ODD = `it's "odd" 🦀 \\ % _ \n\t ü $1 ?`;
/** Larger than one page of a database. */
export const LARGE = "x".repeat(20_000);

export const freshId = (): string => randomUUID();

/** Events as text, one a line. */
export const batchOf = (...events: string[]): EventBatch => ({ count: events.length, data: events.join("\n") });

export const lease = (worker = "w1", leaseMs = HOUR, token = freshId()): TaskLease => ({ token, worker, leaseMs });

export const REST: TaskOutcome = { kind: "rest" };
export const KEEP: TaskOutcome = { kind: "keep", leaseMs: HOUR };
export const closeAs = (
  status: Extract<TaskOutcome, { kind: "close" }>["status"] = "completed",
  result = "the result",
): TaskOutcome => ({ kind: "close", status, result });

/** The knowledge of a task's holder. */
export interface LeasedTask {
  readonly ref: number;
  readonly token: string;
  readonly last: number;
  readonly taken: number;
}

export type StartOptions = Partial<Omit<RunStart, "namespace" | "workflowId">>;
export type CompletionOptions = Partial<Omit<TaskCompletion, "ref" | "token">>;

/** An unused namespace, and the workflows in it. */
export class Site {
  readonly namespace: string;
  readonly store: Store;
  readonly workflows: Workflows;
  /** Reminders of the same namespace. */
  readonly place: Place;

  constructor(store: Store, namespace = freshNamespace(), workflows = store.workflows) {
    this.store = store;
    this.workflows = workflows;
    this.namespace = namespace;
    this.place = new Place(store, namespace);
  }

  key(workflowId: string): WorkflowKey {
    return { namespace: this.namespace, workflowId };
  }

  startOf(workflowId: string, options: StartOptions = {}): RunStart {
    return {
      ...this.key(workflowId),
      runId: freshId(),
      type: "Order",
      queue: "main",
      pinned: undefined,
      first: batchOf("started"),
      attributes: "{}",
      memo: "{}",
      delayMs: 0,
      ifClosed: "start",
      lease: undefined,
      reminders: [],
      refusal: undefined,
      ...options,
    };
  }

  async send(start: RunStart): Promise<StartOutcome> {
    const outcomes = await this.workflows.start([start]);
    assert.equal(outcomes.length, 1);
    return outcomes[0] as StartOutcome;
  }

  start(workflowId: string, options: StartOptions = {}): Promise<StartOutcome> {
    return this.send(this.startOf(workflowId, options));
  }

  /** A run with a lease of its starter. */
  async leased(workflowId: string, options: StartOptions = {}): Promise<LeasedTask> {
    const own = options.lease ?? lease();
    const start = this.startOf(workflowId, { ...options, lease: own });
    const { ref, isNew } = await this.send(start);
    assert.ok(isNew, `${workflowId} was there already`);
    return { ref, token: own.token, last: start.first.count, taken: 0 };
  }

  /** A run that waits for a message. */
  async idle(
    workflowId: string,
    options: StartOptions & { readonly affinity?: TaskCompletion["affinity"] } = {},
  ): Promise<LeasedTask> {
    const { affinity, ...start } = options;
    const held = await this.leased(workflowId, start);
    assert.equal((await this.complete(held, { affinity })).kind, "done");
    return held;
  }

  /** A closed run. */
  async closed(workflowId: string, options: StartOptions = {}, outcome = closeAs()): Promise<LeasedTask> {
    const held = await this.leased(workflowId, options);
    assert.equal((await this.complete(held, { outcome })).kind, "done");
    return held;
  }

  messageTo(workflowId: string, key: string = freshId(), options: Partial<InboxMessage> = {}): InboxMessage {
    return { ...this.key(workflowId), runId: undefined, key, data: `data of ${key}`, goesAlong: true, ...options };
  }

  async deliver(
    workflowId: string,
    key: string = freshId(),
    options: Partial<InboxMessage> = {},
  ): Promise<DeliveryOutcome> {
    const outcomes = await this.workflows.deliver([this.messageTo(workflowId, key, options)]);
    assert.equal(outcomes.length, 1);
    return outcomes[0] as DeliveryOutcome;
  }

  /** By default without events, leaving the task idle. */
  completionOf(held: LeasedTask, options: CompletionOptions = {}): TaskCompletion {
    const { ref, token, last, taken } = held;
    return {
      ref,
      token,
      last,
      taken,
      batch: undefined,
      outcome: REST,
      affinity: undefined,
      attributes: undefined,
      memo: undefined,
      reminders: [],
      starts: [],
      messages: [],
      ...options,
    };
  }

  async step(completion: TaskCompletion): Promise<CompletionOutcome> {
    const outcomes = await this.workflows.complete([completion]);
    assert.equal(outcomes.length, 1);
    return outcomes[0] as CompletionOutcome;
  }

  complete(held: LeasedTask, options: CompletionOptions = {}): Promise<CompletionOutcome> {
    return this.step(this.completionOf(held, options));
  }

  /** By default all ready tasks, for an hour, by a worker with sticky execution. */
  claim(request: ClaimOptions = {}): Promise<TaskClaims> {
    const { worker = "w1", types = ["Order"], build, compatible, pinsRuns, pins, ...rest } = request;
    const { namespace } = this;
    const usual = { queue: "main", limit: 1_000, isSticky: true, staleMs: HOUR };
    const some = pins ?? buildPins(request);
    const claims = types.map((type) => ({ type, pins: some }));
    return this.workflows.claim({ namespace, ...usual, types: claims, lease: lease(worker), ...rest });
  }

  /** Claims and returns the ids. */
  async ids(request: ClaimOptions = {}): Promise<string[]> {
    return idsOf((await this.claim(request)).tasks);
  }

  /** Claims the only task that is ready. */
  async theTask(request: ClaimOptions = {}): Promise<ClaimedTask> {
    const { tasks } = await this.claim(request);
    assert.equal(tasks.length, 1, `${tasks.length} tasks instead of one`);
    return tasks[0] as ClaimedTask;
  }

  /** The store's clock. */
  async now(): Promise<number> {
    return (await this.claim({ types: [] })).now;
  }

  async stored(workflowId: string, runId?: string): Promise<StoredRun> {
    const found = await this.workflows.find({ ...this.key(workflowId), runId });
    assert.ok(found !== undefined, `${workflowId} is not there`);
    return found;
  }

  async task(workflowId: string): Promise<StoredTask> {
    const { task } = await this.stored(workflowId);
    assert.ok(task !== undefined, `${workflowId} has no task`);
    return task;
  }

  /** All events of a run, which must be numbered without gaps. */
  async events(ref: number): Promise<string[]> {
    const { batches, isCut } = await this.workflows.history(ref, 0, Number.MAX_SAFE_INTEGER);
    assert.equal(isCut, false);
    const events: string[] = [];
    for (const { from, count, data } of batches) {
      assert.equal(from, events.length + 1, "a gap between two pages");
      assert.equal(data.split("\n").length, count);
      events.push(...data.split("\n"));
    }
    return events;
  }

  /** Number and key of each message in the inbox. */
  async inbox(ref: number): Promise<[number: number, key: string][]> {
    return (await this.workflows.inbox(ref, 0, 1_000)).map(({ number, key }) => [number, key]);
  }

  closing(workflowId: string, options: Partial<Closing> = {}): Closing {
    const usual = {
      runId: undefined,
      status: "terminated",
      batch: batchOf("terminated"),
      result: "why",
      reminders: [],
      messages: [],
    } as const;
    return { ...this.key(workflowId), ...usual, ...options };
  }

  worker(worker: string, options: Partial<WorkerRow> = {}): WorkerRow {
    const usual = { queue: "main", build: "b1", isSticky: true, isDraining: false, about: "{}" };
    return { namespace: this.namespace, worker, ...usual, ...options };
  }

  seen(worker: string, options: Partial<WorkerRow> = {}): Promise<void> {
    return this.workflows.seen(this.worker(worker, options));
  }

  /** The names of all reminders. */
  async reminders(): Promise<string[]> {
    const all = await this.store.reminders.list({ namespace: this.namespace, limit: 1_000 });
    return all.map(({ key }) => key.name);
  }

  async status(workflowId: string, runId?: string): Promise<StoredRun["status"] | undefined> {
    return (await this.workflows.find({ ...this.key(workflowId), runId }))?.status;
  }
}

export const idsOf = (tasks: readonly WorkflowKey[]): string[] => tasks.map(({ workflowId }) => workflowId);

/** The knowledge of the worker that claimed the task. */
export const leasedOf = ({ ref, token, last, taken }: ClaimedTask): LeasedTask => ({ ref, token, last, taken });

/** The same holder, after a step of so many events. */
export const further = (held: LeasedTask, count: number, taken = held.taken): LeasedTask => ({
  ...held,
  last: held.last + count,
  taken,
});

/** Another store on the same data, closed afterwards; `undefined` where there can be none. */
export async function withSecond(
  { opened }: Pick<WorkflowsHarness, "opened">,
  work: (second: Store | undefined) => Promise<void>,
): Promise<void> {
  const second = await opened().second?.();
  try {
    await work(second);
  } finally {
    await second?.close();
  }
}

const TRIES = 50;

/**
 * On a busy machine a store may time out on rows that other transactions hold: the caller repeats the
 * request.
 */
export async function insist<T>(work: () => Promise<T>, onAmbiguous: () => void = () => {}): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isDoubtful = isLimpetError(error, "COMMIT_UNKNOWN");
      if (isDoubtful) onAmbiguous();
      if (tries === TRIES || !(isDoubtful || isLimpetError(error, "STORE_UNAVAILABLE"))) throw error;
    }
  }
}

/** Repeats starts, messages, steps, renewals and waking until they succeed: these are idempotent. */
export function insistent(workflows: Workflows, onAmbiguous?: () => void): Workflows {
  const again = new Set<string>(["start", "deliver", "complete", "renew", "wake"] satisfies (keyof Workflows)[]);
  return interceptMethods(workflows, (method, _, next) =>
    again.has(method) ? insist(async () => next(), onAmbiguous) : next(),
  );
}
