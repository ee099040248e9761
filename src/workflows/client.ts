// Workflows, as the code around them uses them: starts, signals, queries, updates, results. It works in every process that shares the
// store, whether it runs workflows itself or not.
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import { rebuildTold, tellError } from "../kernel/told-error.ts";
import { fromWire, toWire } from "../kernel/values.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Arrival, RunQuery, RunStart, RunStatus, StartOutcome, StoredRun, Workflows } from "../ports/workflows.ts";
import { arrivalOf, CANCEL_KEY } from "./arrivals.ts";
import type { AttributeValue } from "./context.ts";
import type { AnyWorkflow, InputOf, QueryName, ResultOf, SignalName, UpdateName } from "./definition.ts";
import { checked, checkWorkflowId } from "./definition.ts";
import type { EndWatch, RunEnd } from "./end-watch.ts";
import { endFromOutside } from "./ending.ts";
import type { HistoryEvent, Started } from "./events.ts";
import { readPage } from "./events.ts";
import { type Message, writeError } from "./messages.ts";
import type { Dispatcher } from "./outgoing.ts";

export interface StartOptions<Input> {
  /** Default: a new one. */
  readonly id?: string;
  readonly input: Input;
  readonly queue?: string;
  /** When a run of that id is open: "fail" (default), "existing" to get that one, "terminate" to end it and start anew. */
  readonly ifRunning?: "fail" | "existing" | "terminate";
  /** When runs of that id have ended: "start" another (default), "start unless completed", or "fail". */
  readonly ifEnded?: "start" | "start unless completed" | "fail";
  readonly memo?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** All runs of it together, and one run, may take so long. */
  readonly timeout?: Duration;
  readonly runTimeout?: Duration;
  /** It begins so much later. */
  readonly delay?: Duration;
  /** Only workers of this build run it. */
  readonly build?: string;
}

export interface UpdateOptions {
  /** The same for every attempt at one update. Default: a new one. */
  readonly id?: string;
  /** Ends the waiting for its answer; the update itself goes on. */
  readonly signal?: AbortSignal;
}

export interface RunDescription {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly closedAt: number | undefined;
  readonly historyEvents: number;
  readonly historyBytes: number;
  readonly memo: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Why its worker could not go on with it. */
  readonly blocked: string | undefined;
  readonly attempt: number;
  readonly stickyWorker: string | undefined;
  readonly stickyUntil: number | undefined;
}

export interface RunHistoryEvent {
  readonly number: number;
  readonly at: number;
  readonly event: HistoryEvent;
}

export interface WorkflowList {
  readonly runs: readonly RunDescription[];
  /** For the next page; undefined: this was the last one. */
  readonly before: number | undefined;
}

export type WorkflowQuery = Partial<Omit<RunQuery, "namespace">>;

/** One workflow, by its id. */
export interface WorkflowHandle<Result> {
  readonly id: string;
  /** A certain run of it; undefined: the open one, or else the latest. */
  readonly runId: string | undefined;
  /** Waits for its end. Throws what it ended with. */
  result(options?: { readonly signal?: AbortSignal; readonly timeout?: Duration }): Promise<Result>;
  signal<Input>(name: SignalName<Input> | string, input: Input): Promise<void>;
  query<Answer, Input>(name: QueryName<Answer, Input>, input?: Input): Promise<Answer>;
  query<Answer = unknown>(name: string, input?: unknown): Promise<Answer>;
  update<Answer, Input>(name: UpdateName<Answer, Input>, input?: Input, options?: UpdateOptions): Promise<Answer>;
  update<Answer = unknown>(name: string, input?: unknown, options?: UpdateOptions): Promise<Answer>;
  /** Asks it to end. What it does about it is up to it. */
  cancel(reason?: string): Promise<void>;
  /** Ends it, now, whatever its code says. */
  terminate(reason?: string): Promise<void>;
  describe(): Promise<RunDescription>;
  history(): Promise<RunHistoryEvent[]>;
}

export interface ClientWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Workflows;
  readonly dispatcher: Dispatcher;
  readonly namespace: string;
  readonly queue: string;
  readonly ends: EndWatch;
  now(): number;
  /** Starts it, here if that is possible. */
  start(start: RunStart, started: Started, at: number): Promise<StartOutcome>;
  /** Something arrives at a run. */
  arrive(arrival: Arrival): Promise<{ readonly ref: number; readonly runId: string }>;
  query(run: StoredRun, name: string, input: unknown): Promise<unknown>;
  /** The run is worked on in this process, so its end will be told. */
  isHere(ref: number): boolean;
}

const HISTORY_BYTES = 4 * 1024 * 1024;
/** Others may start one, too, each time. */
const TERMINATIONS = 5;
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 500;

export class WorkflowClient {
  readonly #world: ClientWorld;

  constructor(world: ClientWorld) {
    this.#world = world;
  }

  /** Starts a workflow. Resolves when that is durable. */
  start<W extends AnyWorkflow>(workflow: W, options: StartOptions<InputOf<W>>): Promise<WorkflowHandle<ResultOf<W>>>;
  start<Result = unknown>(type: string, options: StartOptions<unknown>): Promise<WorkflowHandle<Result>>;
  async start(of: AnyWorkflow | string, options: StartOptions<unknown>): Promise<WorkflowHandle<never>> {
    const { ifRunning = "fail" } = options;
    const { start, started, at } = this.prepare(typeof of === "string" ? of : of.name, options);
    const { workflowId } = start;
    let { ref, runId, isNew, status } = await this.#world.start(start, started, at);
    for (let tries = 0; !isNew && status === "running" && ifRunning === "terminate" && tries < TERMINATIONS; tries++) {
      await this.#terminate(workflowId, runId, "another run of it was started").catch(unlessClosed);
      ({ ref, runId, isNew, status } = await this.#world.start(start, started, at));
    }
    if (!isNew && ifRunning !== "existing") {
      throw new LimpetError("WORKFLOW_EXISTS", `there is a workflow ${workflowId} already, as run ${runId}`);
    }
    return this.#handle(workflowId, runId, ref);
  }

  /** What is to be written to start one. */
  prepare(type: string, options: StartOptions<unknown>): { start: RunStart; started: Started; at: number } {
    const { dispatcher, random } = this.#world;
    checked("workflow", type);
    const workflowId = options.id ?? random.id();
    checkWorkflowId(workflowId);
    const at = this.#world.now();
    const until = (value: Duration | undefined, what: string): number | undefined =>
      value === undefined ? undefined : at + parseDuration(value, what);
    const runTimeoutAt = until(options.runTimeout, "runTimeout");
    const timeoutAt = until(options.timeout, "timeout");
    const told: Omit<Started, "kind" | "flags"> = {
      ...{ type, workflowId, runId: random.id(), input: payload(options.input, "the input") },
      ...(options.memo !== undefined && { memo: payload(options.memo, "memo") }),
      ...(options.attributes !== undefined && { attributes: payload(options.attributes, "attributes") }),
      ...(runTimeoutAt !== undefined && { runTimeoutAt }),
      ...(timeoutAt !== undefined && { timeoutAt }),
    };
    const { ifEnded = "start" } = options;
    const start = dispatcher.start(told, {
      queue: checked("queue", options.queue ?? this.#world.queue),
      at,
      ifClosed: ifEnded === "fail" ? "keep" : ifEnded,
      build: options.build,
      delayMs: options.delay === undefined ? 0 : parseDuration(options.delay, "delay"),
    });
    return { start, started: readPage(start.first.data).events[0] as Started, at };
  }

  /** What is sent to signal one. */
  signalTo(workflowId: string, runId: string | undefined, name: string, input: unknown): Arrival {
    checkWorkflowId(workflowId);
    const id = this.#world.random.id();
    const message = {
      kind: "SignalReceived",
      id,
      name: checked("signal", name),
      input: payload(input, "the input"),
    } as const;
    return this.#to(workflowId, runId, id, message);
  }

  cancelTo(workflowId: string, runId: string | undefined, reason: string): Arrival {
    checkWorkflowId(workflowId);
    return this.#to(workflowId, runId, CANCEL_KEY, { kind: "CancelRequested", reason });
  }

  #to(workflowId: string, runId: string | undefined, key: string, message: Message): Arrival {
    return arrivalOf({ namespace: this.#world.namespace, workflowId, runId, key }, message);
  }

  /** A workflow that was started somewhere. */
  get<W extends AnyWorkflow>(workflow: W, id: string, runId?: string): WorkflowHandle<ResultOf<W>>;
  get<Result = unknown>(id: string, runId?: string): WorkflowHandle<Result>;
  get(of: AnyWorkflow | string, idOrRun?: string, runId?: string): WorkflowHandle<never> {
    const [id, run] = typeof of === "string" ? [of, idOrRun] : [idOrRun, runId];
    checkWorkflowId(id);
    return this.#handle(id, run);
  }

  async list(query: WorkflowQuery = {}): Promise<WorkflowList> {
    const limit = Math.min(query.limit ?? 100, LIMITS.listPage);
    const { store, namespace } = this.#world;
    const runs = await store.list({ ...query, namespace, limit });
    return { runs: runs.map(describeRun), before: runs.length === limit ? runs.at(-1)!.ref : undefined };
  }

  count(query: WorkflowQuery = {}): Promise<number> {
    const { store, namespace } = this.#world;
    return store.count({ ...query, namespace, limit: query.limit ?? 1_000_000 });
  }

  /** `ref`: of that run, where it is known. */
  #handle(id: string, runId: string | undefined, ref?: number): WorkflowHandle<never> {
    return {
      id,
      runId,
      result: (options) => this.#result({ id, runId, ref }, options),
      signal: async (name, input) => {
        await this.#world.arrive(this.signalTo(id, runId, typeof name === "string" ? name : name.signal, input));
      },
      query: async (name: string | { readonly query: string }, input?: unknown) => {
        const run = await this.#find(id, runId);
        return (await this.#world.query(run, typeof name === "string" ? name : name.query, input)) as never;
      },
      update: (name: string | { readonly update: string }, input?: unknown, options?: UpdateOptions) =>
        this.#update(id, runId, typeof name === "string" ? name : name.update, input, options) as never,
      cancel: async (reason = "") => {
        await this.#world.arrive(this.cancelTo(id, runId, reason));
      },
      terminate: (reason = "") => this.#terminate(id, runId, reason),
      describe: async () => describeRun(await this.#find(id, runId)),
      history: () => this.#history(id, runId),
    };
  }

  async #find(workflowId: string, runId: string | undefined): Promise<StoredRun> {
    const { store, namespace } = this.#world;
    const run = await store.find({ namespace, workflowId, runId });
    if (run === undefined)
      throw new LimpetError(
        "WORKFLOW_UNKNOWN",
        `there is no workflow ${workflowId}${runId === undefined ? "" : ` with a run ${runId}`}`,
      );
    return run;
  }

  async #result(
    { id, runId, ref }: { readonly id: string; readonly runId: string | undefined; readonly ref: number | undefined },
    options: { readonly signal?: AbortSignal; readonly timeout?: Duration } = {},
  ): Promise<never> {
    const { clock, ends } = this.#world;
    const timeout = new AbortController();
    const timer =
      options.timeout === undefined
        ? undefined
        : clock.after(parseDuration(options.timeout, "timeout"), () =>
            timeout.abort(new LimpetError("CALL_TIMEOUT", `workflow ${id} has not ended in time; it goes on`)),
          );
    const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([options.signal, timeout.signal]);
    try {
      // What is worked on here need not be looked for.
      const isHere = ref !== undefined && this.#world.isHere(ref);
      let end = isHere ? await ends.wait(ref, signal) : await this.#end(id, runId, signal);
      while (end.status === "continued") end = await this.#end(id, JSON.parse(end.result).result as string, signal);
      return readEnd(id, end) as never;
    } finally {
      timer?.cancel();
    }
  }

  async #end(workflowId: string, runId: string | undefined, signal: AbortSignal): Promise<RunEnd> {
    const { ref, status, result } = await this.#find(workflowId, runId);
    return status === "running" ? this.#world.ends.wait(ref, signal) : { status, result: result ?? "{}" };
  }

  async #update(
    workflowId: string,
    runId: string | undefined,
    name: string,
    input: unknown,
    { id = this.#world.random.id(), signal }: UpdateOptions = {},
  ): Promise<unknown> {
    checked("update", name);
    const run = await this.#find(workflowId, runId);
    const message = { kind: "UpdateRequested", id, name, input: payload(input, "the input") } as const;
    await this.#world.arrive(this.#to(workflowId, run.runId, id, message));
    // The answer is in the history: it is looked for in what is new there, less and less often. That the store is away for a while
    // says nothing about the update, which is durable by now.
    const look = { ref: run.ref, runId: run.runId, after: run.events };
    for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_LOOK_MS)) {
      const answer = await this.#answerOf(workflowId, id, look).catch(unlessAway);
      if (answer?.kind === "UpdateCompleted") return fromWire(answer.result);
      if (answer?.kind === "UpdateFailed") throw rebuildTold(answer.error);
      if (answer?.kind === "UpdateRejected") throw refused(answer.error);
      await new Promise<void>((resolve) => this.#world.clock.after(pauseMs, resolve));
      signal?.throwIfAborted();
    }
  }

  /** What became of an update, if that is among the events behind `look.after`, which moves on. */
  async #answerOf(
    workflowId: string,
    id: string,
    look: { readonly ref: number; readonly runId: string; after: number },
  ): Promise<HistoryEvent | undefined> {
    const { store } = this.#world;
    const { pages } = await store.history(look.ref, look.after, HISTORY_BYTES);
    for (const { from, count, data } of pages) {
      look.after = from + count - 1;
      for (const event of readPage(data).events) {
        if (!("id" in event) || event.id !== id) continue;
        if (event.kind !== "UpdateAccepted" && event.kind !== "UpdateApplied") return event;
      }
    }
    if (pages.length > 0) return undefined;
    const { status } = await this.#find(workflowId, look.runId);
    const isOver = status !== "running" && (await store.history(look.ref, look.after, 1)).pages.length === 0;
    if (isOver)
      throw new LimpetError("WORKFLOW_CLOSED", `workflow ${workflowId} ended (${status}) before the update was done`);
    return undefined;
  }

  async #terminate(workflowId: string, runId: string | undefined, reason: string): Promise<void> {
    const run = await this.#find(workflowId, runId);
    const said = reason === "" ? `workflow ${workflowId} was terminated` : reason;
    const error = tellError(new LimpetError("WORKFLOW_TERMINATED", said));
    if (!(await endFromOutside(run, "terminated", error, this.#world))) {
      throw closed(workflowId, (await this.#find(workflowId, run.runId)).status);
    }
    this.#world.ends.ended(run.ref, { status: "terminated", result: writeError(error) });
  }

  async #history(workflowId: string, runId: string | undefined): Promise<RunHistoryEvent[]> {
    const run = await this.#find(workflowId, runId);
    const events: RunHistoryEvent[] = [];
    for (let after = 0; after < run.events; ) {
      const { pages } = await this.#world.store.history(run.ref, after, HISTORY_BYTES);
      if (pages.length === 0) break;
      for (const { from, count, data } of pages) {
        const step = readPage(data);
        for (const [i, event] of step.events.entries()) events.push({ number: from + i, at: step.at, event });
        after = from + count - 1;
      }
    }
    return events;
  }
}

/** Whoever can wait looks again. */
function unlessAway(error: unknown): undefined {
  if (!isLimpetError(error, "STORE_UNAVAILABLE")) throw error;
}

function unlessClosed(error: unknown): void {
  if (!isLimpetError(error, "WORKFLOW_CLOSED")) throw error;
}

/** What a client or a workflow may hand over in one piece. */
function payload(value: unknown, what: string): unknown {
  const wire = toWire(value, what, "ARGUMENT_INVALID");
  const bytes = JSON.stringify(wire)?.length ?? 0;
  if (bytes > LIMITS.workflowPayloadBytes) {
    throw new LimpetError("BODY_TOO_LARGE", `${what} has ${bytes} bytes; ${LIMITS.workflowPayloadBytes} are allowed`);
  }
  return wire;
}

export const closed = (workflowId: string, status: RunStatus | undefined): LimpetError =>
  status === undefined
    ? new LimpetError("WORKFLOW_UNKNOWN", `there is no workflow ${workflowId}`)
    : new LimpetError("WORKFLOW_CLOSED", `workflow ${workflowId} is over (${status})`);

function refused(told: unknown): Error {
  const error = rebuildTold(told);
  if (error instanceof LimpetError && error.code === "UPDATE_UNKNOWN") return error;
  return new LimpetError("UPDATE_REJECTED", error?.message ?? "the update was refused", { cause: error });
}

function readEnd(workflowId: string, { status, result }: RunEnd): unknown {
  const { result: value, error } = JSON.parse(result) as { result?: unknown; error?: unknown };
  if (status === "completed") return fromWire(value);
  const cause = rebuildTold(error);
  switch (status) {
    case "cancelled":
      throw new LimpetError("WORKFLOW_CANCELLED", `workflow ${workflowId} was cancelled`, { cause });
    case "terminated":
      throw new LimpetError("WORKFLOW_TERMINATED", cause?.message ?? `workflow ${workflowId} was terminated`, {
        cause,
      });
    case "timed out":
      throw new LimpetError("WORKFLOW_TIMED_OUT", `workflow ${workflowId} took too long`, { cause });
    default:
      throw new LimpetError("WORKFLOW_FAILED", `workflow ${workflowId} failed: ${cause?.message}`, { cause });
  }
}

function describeRun(run: StoredRun): RunDescription {
  return {
    workflowId: run.workflowId,
    runId: run.runId,
    type: run.type,
    queue: run.queue,
    status: run.status,
    startedAt: run.startedAt,
    closedAt: run.closedAt,
    historyEvents: run.events,
    historyBytes: run.bytes,
    memo: fromWire(JSON.parse(run.memo)) as Record<string, unknown>,
    attributes: fromWire(JSON.parse(run.attributes)) as Record<string, AttributeValue>,
    blocked: run.task?.problem,
    attempt: run.task?.attempt ?? 0,
    stickyWorker: run.stickyWorker,
    stickyUntil: run.stickyUntil,
  };
}
