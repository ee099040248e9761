// Shared parts of the workflow API tests: an app with a server, a client of plain JSON, and a worker that
// replays scripts like workers in other languages replay their code.
import type { TestContext } from "node:test";
import type { LimpetSettings } from "../../config/settings.ts";
import { resolveSettings } from "../../config/settings.ts";
import { type App, type Definitions, openApp } from "../../host/app.ts";
import { silentLog } from "../../ports/log.ts";
import { decodeAvro, encodeAvro } from "../avro-value.ts";

export type Json = Record<string, unknown>;

export interface ApiResponse {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
}

export const blob = (value: unknown): string => encodeAvro(value);
export const envelope = (value: unknown): Json => ({ codec: "avro", blob: blob(value) });
export const unwrap = (payload: unknown): unknown =>
  decodeAvro(typeof payload === "string" ? payload : ((payload as Json).blob as string));

export class Api {
  readonly app: App;
  readonly #url: string;

  constructor(app: App) {
    this.app = app;
    this.#url = app.url!;
  }

  async send(
    verb: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<ApiResponse> {
    const isWorker = path.startsWith("/worker/");
    const version = isWorker
      ? { "x-durable-workflow-protocol-version": "1.18" }
      : { "x-durable-workflow-control-plane-version": "2" };
    const response = await fetch(`${this.#url}/api${path}`, {
      method: verb,
      headers: { ...version, ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Json), headers: response.headers };
  }

  post(path: string, body: unknown = {}, signal?: AbortSignal): Promise<ApiResponse> {
    return this.send("POST", path, body, {}, signal);
  }

  get(path: string): Promise<ApiResponse> {
    return this.send("GET", path);
  }

  async worker(id: string, more: Json = {}): Promise<ApiResponse> {
    const registration = {
      worker_id: id,
      task_queue: "orders",
      runtime: "python",
      supported_workflow_types: ["order"],
    };
    return this.post("/worker/register", { ...registration, supported_activity_types: ["charge"], ...more });
  }

  async poll(worker: string, kind = "workflow", more: Json = {}): Promise<ApiResponse> {
    const path = `/worker/${kind}-tasks/poll`;
    return this.post(path, { worker_id: worker, task_queue: "orders", timeout_seconds: 5, ...more });
  }

  /** The task that a poll finds; there must be one. */
  async task(worker: string, kind = "workflow", more: Json = {}): Promise<Json> {
    const { body } = await this.poll(worker, kind, more);
    if (body.task === null || body.task === undefined)
      throw new Error(`no task: ${JSON.stringify({ ...body, server_capabilities: 0 })}`);
    return body.task as Json;
  }

  complete(task: Json, commands: readonly Json[], more: Json = {}): Promise<ApiResponse> {
    const holder = { lease_owner: task.lease_owner, workflow_task_attempt: task.workflow_task_attempt };
    return this.post(`/worker/workflow-tasks/${task.task_id}/complete`, { ...holder, commands, ...more });
  }

  activity(task: Json, verb: string, more: Json): Promise<ApiResponse> {
    const holder = { lease_owner: task.lease_owner, activity_attempt_id: task.activity_attempt_id };
    return this.post(`/worker/activity-tasks/${task.task_id}/${verb}`, { ...holder, ...more });
  }

  start(id: string, input: unknown[] = [], more: Json = {}): Promise<ApiResponse> {
    return this.post("/workflows", { workflow_id: id, workflow_type: "order", task_queue: "orders", input, ...more });
  }
}

/** On the real clock, and in memory by default. */
export async function openApi(
  t: Pick<TestContext, "after">,
  definitions: Definitions = {},
  code: LimpetSettings = { store: "memory:" },
): Promise<Api> {
  const settings = resolveSettings({ code: { http: { port: 0 }, ...code }, file: false, env: {} });
  const app = await openApp(definitions, settings, { log: silentLog });
  t.after(() => app.stop());
  return new Api(app);
}

export const eventTypes = (task: Json): string[] =>
  (task.history_events as Json[]).map(({ event_type }) => String(event_type));

// ——— A worker that replays.

/** A step that a script yields; the script receives its result. */
export type Step = Json & { readonly type: string };
export type Script = (input: unknown[], state: Json) => Generator<Step, unknown, unknown>;

export interface Scripted {
  readonly run: Script;
  readonly signals?: Readonly<Record<string, (state: Json, args: unknown[]) => void>>;
  readonly updates?: Readonly<Record<string, (state: Json, args: unknown[]) => unknown>>;
  readonly queries?: Readonly<Record<string, (state: Json, args: unknown[]) => unknown>>;
}

const RESOLVED =
  /^(ActivityCompleted|ActivityFailed|ActivityTimedOut|TimerFired|ChildRun\w+|SideEffectRecorded|VersionMarkerRecorded)$/;

/**
 * Replays a history to its end: results are handed out in their recorded order. A wait for a condition is
 * over as soon as its test holds.
 */
export function replay({ run, signals = {}, updates = {} }: Scripted, input: unknown[], history: readonly Json[]) {
  const state: Json = {};
  const results: Json[] = [];
  for (const { event_type, payload } of history as { event_type: string; payload: Json }[]) {
    if (RESOLVED.test(event_type) && payload.timer_kind !== "condition_timeout") results.push(payload);
    if (event_type === "TimerFired" && payload.timer_kind === "condition_timeout") state.timedOut = true;
    if (event_type === "SignalReceived")
      signals[String(payload.signal_name)]?.(state, unwrap(payload.arguments) as unknown[]);
    if (event_type === "UpdateApplied") {
      try {
        updates[String(payload.update_name)]?.(state, unwrap(payload.arguments) as unknown[]);
      } catch {
        // The requester was notified at that time.
      }
    }
  }
  const commands: Json[] = [];
  const script = run(input, state);
  let step = script.next();
  while (step.done !== true) {
    const { test, ...command } = step.value as Step & { test?: (state: Json) => boolean };
    if (test !== undefined) {
      const isOver = test(state) || state.timedOut === true;
      if (!isOver) return { state, commands: [...commands, command] };
      step = script.next(test(state));
      continue;
    }
    const result = results.shift();
    if (result === undefined) return { state, commands: [...commands, command] };
    step = script.next(result.result === undefined ? (result.message ?? null) : unwrap(result.result));
  }
  return { state, commands: [...commands, { type: "complete_workflow", result: envelope(step.value ?? null) }] };
}

const AFTER_FAULT_MS = 50;

/** Executes workflow tasks one after the other until there are none. */
export class ScriptedWorker {
  readonly modes: string[] = [];
  readonly #api: Api;
  readonly #id: string;
  readonly #scripts: Readonly<Record<string, Scripted>>;
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];

  constructor(api: Api, id: string, scripts: Readonly<Record<string, Scripted>>) {
    this.#api = api;
    this.#id = id;
    this.#scripts = scripts;
  }

  begin(activities: Readonly<Record<string, (...args: unknown[]) => unknown>> = {}): this {
    this.#loops.push(this.#loop("workflow", (task) => this.#work(task)));
    this.#loops.push(this.#loop("query", (task) => this.#answer(task)));
    this.#loops.push(this.#loop("activity", (task) => this.#act(task, activities)));
    return this;
  }

  /** Resolves or rejects when the first of its polls has ended. */
  get ended(): Promise<void> {
    return Promise.race(this.#loops);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#loops);
  }

  async #loop(kind: string, work: (task: Json) => Promise<unknown>): Promise<void> {
    const body = { worker_id: this.#id, task_queue: "orders", timeout_seconds: 5 };
    while (!this.#stop.signal.aborted) {
      const response = await this.#api
        .post(`/worker/${kind}-tasks/poll`, body, this.#stop.signal)
        .catch(() => undefined);
      if (response === undefined) return;
      // The store of a busy machine sometimes times out; such a poll is repeated.
      if (response.status >= 500) await new Promise((resolve) => setTimeout(resolve, AFTER_FAULT_MS));
      else if (response.status !== 200) return;
      else if (response.body.task != null && !(await work(response.body.task as Json).then(() => true, isServerThere)))
        return;
    }
  }

  async #work(task: Json): Promise<void> {
    this.modes.push(String((task.sticky_execution as Json).replay_mode));
    const script = this.#scripts[String(task.workflow_type)]!;
    const input = unwrap(task.arguments) as unknown[];
    const history = task.history_events as Json[];
    const { state, commands } = replay(script, input, history);
    const update = history.find(({ payload }) => (payload as Json).update_id === task.workflow_update_id)
      ?.payload as Json;
    if (task.workflow_update_id === null) return void (await this.#api.complete(task, commands));
    const id = task.workflow_update_id;
    try {
      const result = script.updates![String(update.update_name)]!(state, unwrap(update.arguments) as unknown[]);
      await this.#api.complete(task, [{ type: "complete_update", update_id: id, result: envelope(result ?? null) }]);
    } catch (error) {
      await this.#api.complete(task, [{ type: "fail_update", update_id: id, message: (error as Error).message }]);
    }
  }

  async #answer(task: Json): Promise<void> {
    const script = this.#scripts[String(task.workflow_type)]!;
    const { state } = replay(script, unwrap(task.workflow_arguments) as unknown[], task.history_events as Json[]);
    const result = script.queries![String(task.query_name)]!(state, unwrap(task.query_arguments) as unknown[]);
    const holder = { lease_owner: task.lease_owner, query_task_attempt: task.query_task_attempt };
    await this.#api.post(`/worker/query-tasks/${task.query_task_id}/complete`, {
      ...holder,
      result_envelope: envelope(result),
    });
  }

  async #act(task: Json, activities: Readonly<Record<string, (...args: unknown[]) => unknown>>): Promise<void> {
    try {
      const result = await activities[String(task.activity_type)]!(...(unwrap(task.arguments) as unknown[]));
      await this.#api.activity(task, "complete", { result: envelope(result ?? null) });
    } catch (error) {
      await this.#api.activity(task, "fail", {
        failure: { message: (error as Error).message, type: (error as Error).name },
      });
    }
  }
}

/** Handles an error. False: the server is gone, and the worker ends. Any other error is a bug. */
function isServerThere(error: unknown): false {
  if (error instanceof TypeError && error.cause !== undefined) return false;
  throw error;
}

/** Generous limit for a busy machine. */
const PATIENCE_MS = 300_000;

/** Polls until the condition holds. */
export async function eventually<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came true");
}
