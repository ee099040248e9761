// The port of workflows on the event loop, and its verbs in the worker thread. Times are on the machine's
// clock, which all processes on the file share.
import type {
  ClaimedPin,
  Closing,
  RunQuery,
  StickyCounts,
  StoredRun,
  TaskClaim,
  TaskReturn,
  WorkerRow,
  WorkflowKey,
  Workflows,
} from "../../../ports/store/workflows.ts";
import { packWrites, unpackWrites } from "../reminders/messages.ts";
import type { Packed } from "../thread/flat-arrays.ts";
import { type Call, read, write } from "../thread/verb.ts";
import {
  type PackedStarts,
  type PackedSteps,
  packClaims,
  packInboxMessages,
  packStartOutcomes,
  packStarts,
  packStepOutcomes,
  packSteps,
  unpackClaims,
  unpackInboxMessages,
  unpackStartOutcomes,
  unpackStarts,
  unpackStepOutcomes,
  unpackSteps,
} from "./packing.ts";
import type { RunKey } from "./runs.ts";

export const WORKFLOW_VERBS = {
  start: write(
    (on, batch: PackedStarts) => packStartOutcomes(on.workflows.steps.start(unpackStarts(batch), Date.now())),
    { repeat: "recognised", rows: (_, { starts, reminders }) => starts.count + reminders.count },
  ),
  deliver: write((on, batch: Packed) => on.workflows.steps.deliver(unpackInboxMessages(batch), Date.now()), {
    repeat: "recognised",
    rows: (_, { count }) => count,
  }),
  complete: write(
    (on, batch: PackedSteps) => packStepOutcomes(on.workflows.steps.complete(unpackSteps(batch), Date.now())),
    { repeat: "recognised", rows: rowsOfSteps },
  ),
  close: write(
    (on, closing: Omit<Closing, "reminders">, reminders: Packed) =>
      on.workflows.steps.close({ ...closing, reminders: unpackWrites(reminders) }, Date.now()),
    { repeat: "unsafe" },
  ),
  claim: write((on, request: TaskClaim) => packClaims(on.workflows.claims.claim(request, Date.now()), request), {
    rows: ({ count }) => count,
  }),
  /** One token for each task. */
  renew: write(
    (on, refs: readonly number[], tokens: readonly string[], leaseMs: number) =>
      on.workflows.tasks.renew(refs, tokens, Date.now() + leaseMs),
    { rows: (_, { length }) => length },
  ),
  giveBack: write((on, batch: readonly TaskReturn[]) => on.workflows.tasks.giveBack(batch, Date.now()), {
    repeat: "unsafe",
    rows: (_, { length }) => length,
  }),
  wake: write((on, key: WorkflowKey, forgives: boolean) => on.workflows.wake(key, forgives, Date.now())),
  watchEnds: write((on, refs: readonly number[]) => on.workflows.watchEnds(refs), {
    rows: (_, { length }) => length,
  }),
  seen: write((on, worker: WorkerRow) => on.workflows.workers.seen(worker, Date.now())),
  forgetWorker: write((on, namespace: string, worker: string) => on.workflows.workers.forget(namespace, worker), {
    repeat: "unsafe",
  }),
  releaseWorker: write(
    (on, namespace: string, worker: string, isDead: boolean, after: number) =>
      on.workflows.release.release(namespace, worker, isDead, after, Date.now()),
    { rows: ({ changed }) => changed },
  ),
  prune: write(
    (on, namespace: string, endedBefore: number, limit: number) =>
      on.workflows.pruning.prune(namespace, endedBefore, limit),
    { rows: (pruned) => pruned },
  ),
  history: read((on, ref: number, after: number, bytes: number) => on.workflows.batches.read(ref, after, bytes)),
  inbox: read((on, ref: number, after: number, limit: number) => on.workflows.inbox.read(ref, after, limit)),
  find: read((on, key: RunKey) => on.workflows.listing.find(key)),
  list: read((on, query: RunQuery) => on.workflows.listing.list(query)),
  count: read((on, query: RunQuery) => on.workflows.listing.count(query)),
  workers: read((on, namespace: string) => on.workflows.workers.all(namespace)),
  stickiness: read((on, namespace: string, owners: readonly string[], after: number) =>
    on.workflows.countSticky(namespace, owners, after, Date.now()),
  ),
};

function rowsOfSteps(_: unknown, { steps, attached }: PackedSteps): number {
  if (attached === undefined) return steps.count;
  return steps.count + attached.reminders.count + attached.starts.starts.count + attached.messages.count;
}

// Field by field: other properties of the caller's objects need not be cloneable.
export const sqliteWorkflows = (call: Call<typeof WORKFLOW_VERBS>): Workflows => ({
  start: async (batch) => unpackStartOutcomes(await call("start", packStarts(batch)), batch),
  deliver: (batch) => call("deliver", packInboxMessages(batch)),
  complete: async (batch) => unpackStepOutcomes(await call("complete", packSteps(batch)), batch),
  close({ namespace, workflowId, runId, status, batch: { count, data }, result, reminders, messages }) {
    const sent = messages.map((one) => {
      const { runId, key, data, goesAlong, wakes } = one;
      return { ...keyOf(one), runId, key, data, goesAlong, wakes };
    });
    const closing = { namespace, workflowId, runId, status, batch: { count, data }, result, messages: sent };
    return call("close", closing, packWrites(reminders));
  },
  async claim({ namespace, queue, types, limit, isSticky, staleMs, lease: { token, worker, leaseMs } }) {
    const lease = { token, worker, leaseMs };
    const byType = new Map(types.map(({ type, pins }) => [type, { type, pins: pins.map(pinOf) }]));
    const request = { namespace, queue, types: [...byType.values()], limit, lease, isSticky, staleMs };
    return unpackClaims(await call("claim", request), request);
  },
  renew(tasks, leaseMs) {
    const [refs, tokens] = [tasks.map(({ ref }) => ref), tasks.map(({ token }) => token)];
    return call("renew", refs, tokens, leaseMs);
  },
  giveBack(tasks) {
    const batch = tasks.map(({ ref, token, pauseMs, problem }) => ({ ref, token, pauseMs, problem }));
    return call("giveBack", batch);
  },
  wake: (key, forgives = false) => call("wake", keyOf(key), forgives),
  history: (ref, after, bytes) => call("history", ref, after, bytes),
  inbox: (ref, after, limit) => call("inbox", ref, after, limit),
  find: (key) => call("find", { ...keyOf(key), runId: key.runId }),
  watchEnds: (refs) => call("watchEnds", [...refs]),
  /**
   * Repeats the request until the page is full or all runs are read: each response ends early, so that other
   * requests do not wait.
   */
  async list(query) {
    const found: StoredRun[] = [];
    for (let { before } = query; ; ) {
      const answer = await call("list", queryOf({ ...query, before, limit: query.limit - found.length }));
      found.push(...answer.runs);
      if (answer.before === undefined) return found;
      before = answer.before;
    }
  },
  async count(query) {
    let count = 0;
    for (let { before } = query; ; ) {
      const answer = await call("count", queryOf({ ...query, before, limit: query.limit - count }));
      count += answer.count;
      if (answer.before === undefined) return count;
      before = answer.before;
    }
  },
  async seen({ namespace, worker, queue, build, isSticky, isDraining, about }) {
    await call("seen", { namespace, worker, queue, build, isSticky, isDraining, about });
  },
  forgetWorker: (namespace, worker) => call("forgetWorker", namespace, worker),
  async releaseWorker(namespace, worker, isDead) {
    const parts = await inParts((after) => call("releaseWorker", namespace, worker, isDead, after));
    return parts.reduce((sum, { released }) => sum + released, 0);
  },
  workers: (namespace) => call("workers", namespace),
  async stickiness(namespace, owners = []) {
    const parts = await inParts((after) => call("stickiness", namespace, [...owners], after));
    const sum = (name: keyof StickyCounts) => parts.reduce((sum, part) => sum + part[name], 0);
    return { runs: sum("runs"), ready: sum("ready"), leased: sum("leased"), owned: sum("owned") };
  },
  prune: (namespace, endedBefore, limit) => call("prune", namespace, endedBefore, limit),
  /** A SQLite file sends no notifications to other processes. */
  watch: () => undefined,
});

/** Repeats a request that reads some of the tasks behind `after`, until it has read all of them. */
async function inParts<Part extends { readonly after: number | undefined }>(
  request: (after: number) => Promise<Part>,
): Promise<Part[]> {
  const parts: Part[] = [];
  for (let after: number | undefined = 0; after !== undefined; after = parts.at(-1)?.after) {
    parts.push(await request(after));
  }
  return parts;
}

const pinOf = ({ pinned, pins }: ClaimedPin): ClaimedPin => ({ pinned, pins });

const keyOf = ({ namespace, workflowId }: WorkflowKey): WorkflowKey => ({ namespace, workflowId });

function queryOf(query: RunQuery): RunQuery {
  return {
    namespace: query.namespace,
    workflowId: query.workflowId,
    prefix: query.prefix,
    type: query.type,
    status: query.status,
    queue: query.queue,
    attributes: query.attributes && { ...query.attributes },
    startedFrom: query.startedFrom,
    startedBefore: query.startedBefore,
    isBlocked: query.isBlocked,
    before: query.before,
    limit: query.limit,
  };
}
