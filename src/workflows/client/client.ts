// The client of workflows: starts, signals, queries, updates, results. It works in every process that shares
// the store, with or without workers of its own.
import { type Duration, parseDuration } from "../../kernel/durations.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { serializeError } from "../../kernel/serialized-error.ts";
import { toWire } from "../../kernel/values.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type {
  InboxMessage,
  RunStart,
  RunStatus,
  StartOutcome,
  StoredRun,
  Workflows,
} from "../../ports/store/workflows.ts";
import { checkAttributes, presentAttributes } from "../definition/attributes.ts";
import { checkHandleOptions, checkQuery, checkStart } from "../definition/checked-options.ts";
import { type AnyWorkflow, checked, checkWorkflowId, type ResultOf } from "../definition/definition.ts";
import { type Message, writeError } from "../definition/messages.ts";
import { type GetArguments, type OneRun, runToGet } from "../definition/run-name.ts";
import { readEventBatch, type Started } from "../engine/events.ts";
import { checkPayload, keptReason } from "../engine/payload-limits.ts";
import { endFromOutside } from "../history/ending.ts";
import { CANCEL_KEY, checkRequestId, inboxMessage, signalKey, updateKey } from "../inbox/inbox-messages.ts";
import { UpdateCall } from "../inbox/update-call.ts";
import type { UpdateWatch } from "../inbox/update-watch.ts";
import type { CommandDispatcher } from "../worker/command-dispatcher.ts";
import { describeRun, RunReader, readEnd } from "../worker/run-reader.ts";
import type { ClosedRun, EndWatch } from "./end-watch.ts";
import type {
  OptionsFor,
  ResultFor,
  StartOptions,
  StartSettings,
  UpdateOptions,
  WorkflowHandle,
  WorkflowList,
  WorkflowQuery,
} from "./workflow-handle.ts";

export type * from "./workflow-handle.ts";

export interface WorkflowClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Workflows;
  readonly dispatcher: CommandDispatcher;
  readonly namespace: string;
  readonly queue: string;
  readonly ends: EndWatch;
  readonly updates: UpdateWatch;
  /** This client ended the run; `messages`: to its parent and its children. */
  ended(ref: number, runId: string, end: ClosedRun, messages: readonly InboxMessage[]): void;
  now(): number;
  /** Starts a run, in this process if possible. */
  start(start: RunStart, started: Started, at: number): Promise<StartOutcome>;
  /** Delivers a message to the inbox of a run. */
  deliver(message: InboxMessage): Promise<{ readonly ref: number; readonly runId: string }>;
  query(run: StoredRun, name: string, input: unknown): Promise<unknown>;
  /** The run is loaded in this process, which therefore reports its end. */
  isHere(ref: number): boolean;
}

const RESULT_NAMES = { signal: true, timeout: true };
const UPDATE_NAMES: Record<keyof UpdateOptions, true> = { id: true, signal: true };

/** Attempts to end an open run and start another; other clients may start one in between. */
const TERMINATIONS = 5;

export class WorkflowClient {
  readonly #deps: WorkflowClientDeps;
  readonly #reader: RunReader;

  constructor(deps: WorkflowClientDeps) {
    this.#deps = deps;
    this.#reader = new RunReader(deps.store, deps.namespace);
  }

  /** Starts a workflow. Resolves when that is durable. */
  start<T = unknown, W extends AnyWorkflow | string = AnyWorkflow | string>(
    workflow: W,
    ...options: OptionsFor<T, W, StartSettings>
  ): Promise<WorkflowHandle<ResultFor<T, W>>>;
  async start(of: AnyWorkflow | string, options: StartOptions<unknown> = {}): Promise<WorkflowHandle<never>> {
    const { start, started, at } = this.prepare(typeof of === "string" ? of : of?.name, options);
    const { ifRunning = "fail", ifEnded = "start" } = options;
    const { workflowId } = start;
    const attempt = (): Promise<StartOutcome> => this.#deps.start(start, started, at);
    const outcome = await this.#unlessRunning(workflowId, ifRunning === "terminate", attempt);
    const { ref, runId, isNew, status, isAmbiguous } = outcome;
    if (!isNew && (status === "running" ? ifRunning : ifEnded) !== "existing") {
      const what = `there is a workflow ${workflowId} already, as run ${runId}`;
      throw isAmbiguous ? maybeDone(what) : new LimpetError("WORKFLOW_EXISTS", what);
    }
    return this.#handle(workflowId, runId, ref);
  }

  /** `terminates`: an open run is ended first. The outcome is ambiguous if that of any attempt was. */
  async #unlessRunning(
    workflowId: string,
    terminates: boolean,
    attempt: () => Promise<StartOutcome>,
  ): Promise<StartOutcome> {
    let outcome = await attempt();
    for (let tries = 0; terminates && !outcome.isNew && outcome.status === "running" && tries < TERMINATIONS; tries++) {
      const { runId, isAmbiguous } = outcome;
      try {
        await this.#terminate(workflowId, runId, "another run of it was started").catch(unlessClosed);
        const next = await attempt();
        outcome = { ...next, isAmbiguous: isAmbiguous || next.isAmbiguous };
      } catch (error) {
        throw isAmbiguous ? maybeDone(String(error)) : error;
      }
    }
    return outcome;
  }

  /** The rows to write for a start. */
  prepare(type: string, options: StartOptions<unknown>): { start: RunStart; started: Started; at: number } {
    const { dispatcher, random } = this.#deps;
    checked("workflow", type);
    checkStart(options);
    const workflowId = options.id ?? random.id();
    checkWorkflowId(workflowId);
    const { memo, attributes, build, ifEnded = "start" } = options;
    if (attributes !== undefined) checkAttributes(attributes);
    const at = this.#deps.now();
    const delayMs = options.delay === undefined ? 0 : parseDuration(options.delay, "delay");
    // Timeouts count from the delayed start.
    const until = (value: Duration | undefined, what: string): number | undefined =>
      value === undefined ? undefined : at + delayMs + parseDuration(value, what);
    const described: Omit<Started, "kind" | "flags"> = {
      type,
      workflowId,
      runId: random.id(),
      input: payload(options.input, "the input"),
      memo: memo && payload(memo, "memo"),
      attributes: attributes && payload(presentAttributes(attributes), "attributes"),
      runTimeoutAt: until(options.runTimeout, "runTimeout"),
      timeoutAt: until(options.timeout, "timeout"),
      build,
    };
    const start = dispatcher.start(described, {
      queue: checked("queue", options.queue ?? this.#deps.queue),
      at,
      ifClosed: ifEnded === "fail" || ifEnded === "existing" ? "keep" : ifEnded,
      build,
      delayMs,
    });
    return { start, started: readEventBatch(start.first.data).events[0] as Started, at };
  }

  /** The message that signals a run. */
  signalTo(workflowId: string, runId: string | undefined, name: string, input: unknown): InboxMessage {
    checkWorkflowId(workflowId);
    const id = this.#deps.random.id();
    const message = {
      kind: "SignalReceived",
      id,
      name: checked("signal", name),
      input: payload(input, "the input"),
    } as const;
    return this.#to(workflowId, runId, signalKey(id), message);
  }

  cancelTo(workflowId: string, runId: string | undefined, reason: string): InboxMessage {
    checkWorkflowId(workflowId);
    return this.#to(workflowId, runId, CANCEL_KEY, { kind: "CancelRequested", reason: keptReason(reason) });
  }

  #to(workflowId: string, runId: string | undefined, key: string, message: Message): InboxMessage {
    return inboxMessage({ namespace: this.#deps.namespace, workflowId, runId, key }, message);
  }

  /** A handle of a workflow in this store, by its id. */
  get<W extends AnyWorkflow>(workflow: W, id: string, runId?: string): WorkflowHandle<ResultOf<W>>;
  get<Result = unknown>(id: string, run?: OneRun): WorkflowHandle<Result>;
  /**
   * @deprecated Write `get(id, { runId })`. With two texts the first is the id of the workflow, not its type.
   */
  get<Result = unknown>(id: string, runId: string | undefined): WorkflowHandle<Result>;
  get(...args: GetArguments): WorkflowHandle<never> {
    const { id, runId } = runToGet(...args);
    return this.#handle(id, runId);
  }

  async list(query: WorkflowQuery = {}): Promise<WorkflowList> {
    checkQuery(query);
    const limit = Math.min(query.limit ?? 100, LIMITS.listPage);
    const { store, namespace } = this.#deps;
    const runs = await store.list({ ...query, namespace, limit });
    return { runs: runs.map(describeRun), before: runs.length === limit ? runs.at(-1)!.ref : undefined };
  }

  async count(query: WorkflowQuery = {}): Promise<number> {
    checkQuery(query);
    const { store, namespace } = this.#deps;
    return store.count({ ...query, namespace, limit: query.limit ?? 1_000_000 });
  }

  /** `ref`: of that run, if known. */
  #handle(id: string, runId: string | undefined, ref?: number): WorkflowHandle<never> {
    return {
      id,
      runId,
      result: (options) => this.#result({ id, runId, ref }, options),
      signal: async (name: string | { readonly signal: string }, input?: unknown) => {
        await this.#deps.deliver(this.signalTo(id, runId, typeof name === "string" ? name : name?.signal, input));
      },
      query: async (name: string | { readonly query: string }, input?: unknown) => {
        const run = await this.#reader.latest(id, runId);
        return (await this.#deps.query(run, typeof name === "string" ? name : name?.query, input)) as never;
      },
      update: (name: string | { readonly update: string }, input?: unknown, options?: UpdateOptions) =>
        this.#update(id, runId, typeof name === "string" ? name : name?.update, input, options) as never,
      cancel: async (reason = "") => {
        await this.#deps.deliver(this.cancelTo(id, runId, reason));
      },
      terminate: (reason = "") => this.#terminate(id, runId, reason),
      describe: async () => describeRun(await this.#reader.find(id, runId)),
      history: () => this.#reader.history(id, runId),
    };
  }

  async #result(
    { id, runId, ref }: { readonly id: string; readonly runId: string | undefined; readonly ref: number | undefined },
    options: { readonly signal?: AbortSignal; readonly timeout?: Duration } = {},
  ): Promise<never> {
    checkHandleOptions("result", options, RESULT_NAMES);
    const { clock, ends } = this.#deps;
    const timeout = new AbortController();
    const timer =
      options.timeout === undefined
        ? undefined
        : clock.after(parseDuration(options.timeout, "timeout"), () =>
            timeout.abort(new LimpetError("CALL_TIMEOUT", `workflow ${id} has not ended in time; it goes on`)),
          );
    const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([options.signal, timeout.signal]);
    try {
      // The end of a run that is loaded here is reported, so no read is needed.
      const isHere = ref !== undefined && this.#deps.isHere(ref);
      let end = isHere ? await ends.wait(ref, runId, signal) : await this.#end(id, runId, signal);
      while (end.status === "continued") end = await this.#end(id, JSON.parse(end.result).result as string, signal);
      return readEnd(id, end) as never;
    } finally {
      timer?.cancel();
    }
  }

  async #end(workflowId: string, runId: string | undefined, signal: AbortSignal): Promise<ClosedRun> {
    const { ref, runId: found, status, result } = await this.#reader.find(workflowId, runId);
    return status === "running" ? this.#deps.ends.wait(ref, found, signal) : { status, result: result ?? "{}" };
  }

  async #update(
    workflowId: string,
    runId: string | undefined,
    name: string,
    input: unknown,
    options: UpdateOptions = {},
  ): Promise<unknown> {
    checked("update", name);
    checkHandleOptions("update", options, UPDATE_NAMES);
    const { id, signal } = options;
    const { store, random, updates } = this.#deps;
    const own = id ?? random.id();
    checkRequestId("update", own);
    const message = { kind: "UpdateRequested", id: own, name, input: payload(input, "the input") } as const;
    const before = await this.#reader.find(workflowId, runId);
    const { ref, runId: at } = await this.#deps.deliver(this.#to(workflowId, before.runId, updateKey(own), message));
    // An update that is sent again may have been answered long ago.
    const after = id === undefined && ref === before.ref ? before.events : 0;
    const world = { store, reader: this.#reader, updates };
    return new UpdateCall(workflowId, own, { ref, runId: at, after }, world).answer(signal);
  }

  async #terminate(workflowId: string, runId: string | undefined, reason: string): Promise<void> {
    const run = await this.#reader.latest(workflowId, runId);
    const message = reason === "" ? `workflow ${workflowId} was terminated` : keptReason(reason);
    const error = serializeError(new LimpetError("WORKFLOW_TERMINATED", message));
    const messages = await endFromOutside(run, "terminated", error, this.#deps);
    if (messages === undefined) {
      throw closed(workflowId, (await this.#reader.find(workflowId, run.runId)).status);
    }
    this.#deps.ended(run.ref, run.runId, { status: "terminated", result: writeError(error) }, messages);
  }
}

function unlessClosed(error: unknown): void {
  if (!isLimpetError(error, "WORKFLOW_CLOSED")) throw error;
}

/** Checks and serializes one payload of a client or a workflow. */
function payload(value: unknown, what: string): unknown {
  const wire = toWire(value, what, "ARGUMENT_INVALID");
  checkPayload(wire, what);
  return wire;
}

/** The error of a request that the store did not answer at first, and rejected when it was repeated. */
export const maybeDone = (refusal: string): LimpetError =>
  new LimpetError(
    "COMMIT_UNKNOWN",
    `the store did not answer the first attempt and refused the second (${refusal}); the first may still be applied`,
  );

export const closed = (workflowId: string, status: RunStatus | undefined): LimpetError =>
  status === undefined
    ? new LimpetError("WORKFLOW_UNKNOWN", `there is no workflow ${workflowId}`)
    : new LimpetError("WORKFLOW_CLOSED", `workflow ${workflowId} is over (${status})`);
