// Serves workflow requests of the HTTP API: starts, signals, queries and updates by name, with values in
// their JSON-ready form.
import { backoffMs } from "../kernel/backoff.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import { deserializeError } from "../kernel/serialized-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { InboxMessage, RunStart, StartOutcome, StoredRun, Workflows } from "../ports/store/workflows.ts";
import type { RunName } from "../ports/workflow-admin.ts";
import { closed, maybeDone, type WorkflowClient } from "../workflows/client/client.ts";
import { checked, checkWorkflowId } from "../workflows/definition/definition.ts";
import { type Message, readMessage } from "../workflows/definition/messages.ts";
import type { Started, Wire } from "../workflows/engine/events.ts";
import { readEventBatch } from "../workflows/engine/events.ts";
import type { CleanupRequest } from "../workflows/history/run-state.ts";
import {
  CANCEL_KEY,
  CLEANUP_KEY,
  checkRequestId,
  inboxMessage,
  signalKey,
  updateKey,
} from "../workflows/inbox/inbox-messages.ts";
import type { PollAttempt } from "../workflows/inbox/waiting.ts";
import type { CommandDispatcher } from "../workflows/worker/command-dispatcher.ts";
import { Refused, tooLarge } from "./refusal.ts";

export interface RemoteControlDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Workflows;
  readonly namespace: string;
  readonly client: WorkflowClient;
  now(): number;
  dispatcherOf(queue: string): CommandDispatcher;
  start(start: RunStart, started: Started, at: number): Promise<StartOutcome>;
  deliver(message: InboxMessage): Promise<{ readonly ref: number; readonly runId: string }>;
  /** Queries a run, with its code in our own processes or in a remote worker. */
  query(run: StoredRun, name: string, input: Wire): Promise<Wire>;
  /** Throws when no live worker can clean up after the run. */
  checkCleanup(run: StoredRun): Promise<void>;
  /** Throws when the validator of a remote worker rejects the update. */
  validate(run: StoredRun, name: string, input: Wire): Promise<void>;
}

export interface StartRequest {
  readonly workflowId: string | undefined;
  readonly type: string;
  readonly queue: string;
  readonly input: Wire;
  readonly memo: Wire | undefined;
  readonly attributes: Wire | undefined;
  readonly onDuplicate: "fail" | "existing";
  readonly timeoutMs: number | undefined;
  readonly runTimeoutMs: number | undefined;
  readonly build: string | undefined;
}

export type UpdateStage =
  | { readonly stage: "accepted" }
  | { readonly stage: "completed"; readonly result: Wire }
  | { readonly stage: "failed"; readonly message: string; readonly type: string }
  | { readonly stage: "rejected"; readonly message: string; readonly code: unknown };

const READ_BYTES = 4 * 1024 * 1024;
const READ_MESSAGES = 1_000;
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 250;

export class RemoteControl {
  readonly #deps: RemoteControlDeps;

  constructor(deps: RemoteControlDeps) {
    this.#deps = deps;
  }

  /** `isNew` false: the workflow existed. Throws `duplicate_not_allowed` if the request forbids that. */
  async start(request: StartRequest): Promise<{ readonly run: StoredRun; readonly isNew: boolean }> {
    const { random, namespace, store } = this.#deps;
    const { type, input, memo, attributes, build, timeoutMs, runTimeoutMs } = request;
    checked("workflow", type);
    const queue = checked("queue", request.queue);
    const workflowId = request.workflowId ?? random.id();
    checkWorkflowId(workflowId);
    checkSize(input, "input");
    checkSize(memo, "memo");
    const at = this.#deps.now();
    const details = {
      type,
      workflowId,
      runId: random.id(),
      input,
      memo,
      attributes,
      timeoutAt: timeoutMs === undefined ? undefined : at + timeoutMs,
      runTimeoutAt: runTimeoutMs === undefined ? undefined : at + runTimeoutMs,
    };
    const start = this.#deps.dispatcherOf(queue).start(details, { queue, at, build });
    const started = readEventBatch(start.first.data).events[0] as Started;
    const { runId, isNew, isAmbiguous } = await this.#deps.start(start, started, at);
    if (!isNew && request.onDuplicate === "fail") {
      const what = `there is a workflow ${workflowId} already, as run ${runId}`;
      if (isAmbiguous) throw maybeDone(what);
      throw new Refused(409, "duplicate_not_allowed", what, { workflow_id: workflowId, run_id: runId });
    }
    const run = await store.find({ namespace, workflowId, runId }).catch(wasDone);
    if (run === undefined) throw new LimpetError("WORKFLOW_UNKNOWN", `workflow ${workflowId} is gone already`);
    return { run, isNew };
  }

  async find({ workflowId, runId }: RunName): Promise<StoredRun> {
    const { store, namespace } = this.#deps;
    const run = await store.find({ namespace, workflowId, runId });
    if (run !== undefined) return run;
    const what = runId === undefined ? `workflow ${workflowId}` : `run ${runId} of workflow ${workflowId}`;
    throw new Refused(404, "instance_not_found", `there is no ${what}`, { workflow_id: workflowId });
  }

  /**
   * Waits until the run has more events than `after`, or is closed; returns it as it is when the time is
   * over.
   */
  async findBehind(
    name: RunName,
    after: number,
    wait: (look: () => Promise<PollAttempt<StoredRun>>) => Promise<StoredRun | undefined>,
  ): Promise<StoredRun> {
    const found = await wait(async () => {
      const run = await this.find(name);
      return { found: run.events > after || run.status !== "running" ? run : undefined };
    });
    return found ?? this.find(name);
  }

  /** The first event of a run. */
  async startedOf({ ref }: StoredRun): Promise<Started> {
    const { batches } = await this.#deps.store.history(ref, 0, 1);
    return readEventBatch(batches[0]!.data).events[0] as Started;
  }

  /** The time of the last event. */
  async progressOf({ ref, events }: StoredRun): Promise<number | undefined> {
    const { batches } = await this.#deps.store.history(ref, events - 1, 1);
    const last = batches.at(-1);
    return last === undefined ? undefined : readEventBatch(last.data).at;
  }

  async signal(name: RunName, signal: string, input: Wire, requestId: string | undefined): Promise<StoredRun> {
    const run = await this.find(name);
    const id = requestId ?? this.#deps.random.id();
    checkRequestId("signal", id);
    checkSize(input, "input");
    await this.#send(run, signalKey(id), { kind: "SignalReceived", id, name: checked("signal", signal), input });
    return run;
  }

  async cancel(name: RunName, reason: string): Promise<StoredRun> {
    const run = await this.find(name);
    await this.#send(run, CANCEL_KEY, { kind: "CancelRequested", reason });
    return run;
  }

  /** Requests a cleanup within that time. Only the first request counts: `isNew` is true for it. */
  async requestCleanup(
    name: RunName,
    reason: string,
    withinMs: number,
  ): Promise<{ readonly run: StoredRun; readonly request: CleanupRequest; readonly isNew: boolean }> {
    const run = await this.find(name);
    if (run.status !== "running") throw notActive(run);
    const before = await this.#cleanupOf(run);
    if (before !== undefined) return { run, request: before, isNew: false };
    await this.#deps.checkCleanup(run);
    const at = this.#deps.now();
    const asked = {
      kind: "CleanupRequested",
      id: this.#deps.random.id(),
      reason,
      at,
      deadline: at + withinMs,
    } as const;
    const { namespace } = this.#deps;
    const { workflowId, runId } = run;
    await this.#deps.deliver(
      inboxMessage({ namespace, workflowId, runId, key: CLEANUP_KEY }, asked, { notBefore: at }),
    );
    // Another client may have sent its request first.
    const request = (await this.#cleanupOf(run)) ?? asked;
    return { run, request, isNew: request.id === asked.id };
  }

  /** The request in the inbox or in the history. */
  async #cleanupOf({ ref }: StoredRun): Promise<CleanupRequest | undefined> {
    const { store } = this.#deps;
    for (let after = 0; ; ) {
      const messages = await store.inbox(ref, after, READ_MESSAGES);
      const found = messages.find(({ key }) => key === CLEANUP_KEY);
      if (found !== undefined) return readMessage(found.data).message as CleanupRequest;
      if (messages.length < READ_MESSAGES) break;
      after = messages.at(-1)!.number;
    }
    for (let [last, isCut] = [0, true]; isCut; ) {
      const read = await store.history(ref, last, READ_BYTES);
      isCut = read.isCut;
      for (const { from, count, data } of read.batches) {
        last = from + count - 1;
        const found = readEventBatch(data).events.find((event) => event.kind === "CleanupRequested");
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  async terminate(name: RunName, reason: string): Promise<StoredRun> {
    const run = await this.find(name);
    if (run.status !== "running") throw notActive(run);
    await this.#deps.client.get(run.workflowId, run.runId).terminate(reason);
    return this.find({ workflowId: run.workflowId, runId: run.runId }).catch(wasDone);
  }

  async query(name: RunName, query: string, input: Wire): Promise<{ readonly run: StoredRun; readonly result: Wire }> {
    const run = await this.find(name);
    return { run, result: await this.#deps.query(run, query, input) };
  }

  async #send(run: StoredRun, key: string, message: Message): Promise<void> {
    const { namespace } = this.#deps;
    if (run.status !== "running") throw notActive(run);
    const { workflowId, runId } = run;
    await this.#deps.deliver(inboxMessage({ namespace, workflowId, runId, key }, message));
  }

  /** `stage` undefined: no outcome in time; one may follow. */
  async update(
    name: RunName,
    update: string,
    input: Wire,
    {
      id,
      until,
      withinMs,
    }: { readonly id: string; readonly until: "accepted" | "completed"; readonly withinMs: number },
  ): Promise<{ readonly run: StoredRun; readonly stage: UpdateStage | undefined }> {
    checked("update", update);
    checkRequestId("update", id);
    checkSize(input, "input");
    const run = await this.find(name);
    const before = await this.#stageOf(run, id, 0);
    if (before.stage === undefined) {
      if (run.status !== "running") throw notActive(run);
      await this.#deps.validate(run, update, input);
      await this.#send(run, updateKey(id), { kind: "UpdateRequested", id, name: update, input });
    }
    return { run, stage: await this.#await(run, id, until, withinMs) };
  }

  async #await(run: StoredRun, id: string, until: "accepted" | "completed", withinMs: number) {
    const { clock } = this.#deps;
    const end = clock.monotonic() + withinMs;
    let stage: UpdateStage | undefined;
    for (let after = 0, looks = 0; ; looks++) {
      const seen = await this.#stageOf(run, id, after);
      after = seen.last;
      stage = seen.stage ?? stage;
      if (stage !== undefined && (until === "accepted" || stage.stage !== "accepted")) return stage;
      if (clock.monotonic() >= end) return stage;
      const { status } = await this.find({ workflowId: run.workflowId, runId: run.runId });
      if (status !== "running" && (await this.#stageOf(run, id, after)).stage === undefined) {
        throw closed(run.workflowId, status);
      }
      const pauseMs = backoffMs(looks, FIRST_LOOK_MS, LONGEST_LOOK_MS);
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    }
  }

  /** The stage of an update, from the history after that event. */
  async #stageOf({ ref }: StoredRun, id: string, after: number) {
    let stage: UpdateStage | undefined;
    let last = after;
    for (let isCut = true; isCut; ) {
      const read = await this.#deps.store.history(ref, last, READ_BYTES);
      isCut = read.isCut;
      for (const { from, count, data } of read.batches) {
        last = from + count - 1;
        for (const event of readEventBatch(data).events) {
          if (!("id" in event) || event.id !== id) continue;
          if (event.kind === "UpdateAccepted") stage = { stage: "accepted" };
          if (event.kind === "UpdateCompleted") stage = { stage: "completed", result: event.result };
          if (event.kind === "UpdateFailed") stage = failed(event.error);
          if (event.kind === "UpdateRejected") {
            stage = { stage: "rejected", message: event.error.message, code: event.error.errorCode };
          }
        }
      }
    }
    return { stage, last };
  }
}

function failed(error: unknown): UpdateStage {
  const { message, name } = deserializeError(error) ?? { message: "the update failed", name: "Error" };
  return { stage: "failed", message, type: name };
}

const notActive = ({ workflowId, runId, status }: StoredRun): Refused =>
  new Refused(409, "run_not_active", `workflow ${workflowId} is over (${status})`, {
    workflow_id: workflowId,
    run_id: runId,
    run_status: status,
  });

/** The request was applied; only its answer could not be read. */
function wasDone(error: unknown): never {
  throw isLimpetError(error, "STORE_UNAVAILABLE") ? maybeDone(error.message) : error;
}

function checkSize(wire: Wire, what: string): void {
  const bytes = JSON.stringify(wire)?.length ?? 0;
  if (bytes > LIMITS.workflowPayloadBytes) throw tooLarge(what, bytes, LIMITS.workflowPayloadBytes);
}
