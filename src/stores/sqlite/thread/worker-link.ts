// Manages the worker thread from the event loop. The worker responds in the order of the requests, urgent
// ones before all others, so the pending ones are two plain queues.
// - No pending request: the worker does not keep the process alive. With a pending request it does.
// - The worker died, or has not responded for too long: all pending requests are rejected and the worker is
//   given up. The next request starts a new one.
// - Closed: the worker serves the earlier requests and ends; every later request is rejected.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { type ErrorCode, isLimpetError, LimpetError } from "../../../kernel/errors.ts";
import type { Log } from "../../../ports/log.ts";
import type { AnyVerb, Call } from "./verb.ts";
import { type Answer, isAmbiguous, type ThreadRequest, type Verbs, verbOf, type WorkerStart } from "./verbs.ts";

const SCRIPT = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/** Resolution of the response timeout. */
const TICKS = 10;

export interface LinkOptions extends WorkerStart {
  /** A request without a response for this long is given up. */
  readonly stallTimeoutMs: number;
  /** False when a new worker could not find the data of the old one. */
  readonly restartable: boolean;
  readonly log: Log;
  /** Starts the thread; tests replace it. */
  readonly spawn?: (start: WorkerStart) => Worker;
}

/** The thread needs none of the flags and loaders of the process around it. */
export function spawnWorker(start: WorkerStart): Worker {
  // A bundler does not include the file by itself.
  if (!existsSync(SCRIPT)) throw noWorker(fileURLToPath(SCRIPT));
  // Deno rejects flags of Node for a thread.
  const execArgv = process.versions.deno === undefined ? ["--disable-warning=ExperimentalWarning"] : [];
  return new Worker(SCRIPT, { workerData: start, name: "limpet-sqlite", execArgv });
}

export const noWorker = (path: string): LimpetError =>
  new LimpetError(
    "STORE_UNAVAILABLE",
    `the thread of the SQLite store has no code at ${path}; bundle limpet/sqlite-worker as worker.js beside the app (docs/bundling.md)`,
  );

interface Waiting {
  readonly verb: AnyVerb;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: LimpetError) => void;
}

export class WorkerLink {
  readonly #options: LinkOptions;
  #worker: Worker | undefined;
  #started = false;
  /** Oldest first, like all pending requests. */
  #waiting: Waiting[] = [];
  #urgent: Waiting[] = [];
  /** Ticks since the last response, or since the first pending request. */
  #age = 0;
  #ticker: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** The verbs of one feature. Arguments and results are copied between the threads. */
  of<Feature extends keyof Verbs>(feature: Feature): Call<Verbs[Feature]> {
    return async (name, ...args) => {
      if (this.#closing !== undefined) throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
      return this.#post({ feature, name, args }) as Promise<never>;
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    try {
      await this.#post({ feature: "store", name: "close", args: [] });
    } catch {
      // The worker was lost, and all pending requests were rejected. A thread that hangs may never end, so do
      // not wait for it.
      return;
    }
    worker.ref();
    await ended;
  }

  #post(request: ThreadRequest): Promise<unknown> {
    const worker = this.#worker ?? this.#start();
    worker.postMessage(request);
    return new Promise((resolve, reject) => {
      const verb = verbOf(request);
      (verb.isUrgent ? this.#urgent : this.#waiting).push({ verb, resolve, reject });
      if (this.#count > 1) return;
      worker.ref();
      this.#age = 0;
      this.#ticker ??= setInterval(() => this.#tick(), this.#options.stallTimeoutMs / TICKS).unref();
    });
  }

  get #count(): number {
    return this.#waiting.length + this.#urgent.length;
  }

  #start(): Worker {
    const { file, busyTimeoutMs, restartable, spawn = spawnWorker } = this.#options;
    if (this.#started && !restartable) {
      throw new LimpetError("STORE_UNAVAILABLE", "the database in memory was lost with its worker thread");
    }
    let worker: Worker;
    try {
      worker = spawn({ file, busyTimeoutMs });
    } catch (error) {
      throw new LimpetError("STORE_UNAVAILABLE", `the SQLite worker thread cannot be started: ${error}`, {
        cause: error,
      });
    }
    this.#started = true;
    this.#worker = worker;
    let reason: unknown = "it ended";
    worker.on("message", (answer: Answer) => {
      if (this.#worker === worker) this.#onAnswer(answer);
    });
    worker.on("error", (error) => {
      reason = error;
    });
    worker.on("exit", () => {
      if (this.#worker === worker) this.#giveUp(reason);
    });
    return worker;
  }

  #onAnswer(answer: Answer): void {
    if ("fatal" in answer) {
      this.#giveUp(new LimpetError(answer.error.code, answer.error.message));
      return;
    }
    const oldest = (answer.urgent ? this.#urgent : this.#waiting).shift();
    this.#age = 0;
    if (this.#count === 0) this.#worker?.unref();
    if ("error" in answer) oldest?.reject(new LimpetError(answer.error.code, answer.error.message));
    else oldest?.resolve(answer.value);
  }

  /**
   * Time is counted in ticks of the running event loop: when the whole process was suspended for a while, or
   * the loop was blocked, that is one tick and not the end of the worker.
   */
  #tick(): void {
    if (this.#count === 0) this.#stopTicking();
    else if (++this.#age > TICKS) this.#giveUp("it did not respond in time");
  }

  #stopTicking(): void {
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  /** `reason` is a LimpetError when the worker reported the failure; then no pending request was applied. */
  #giveUp(reason: unknown): void {
    const worker = this.#worker;
    const waiting = [...this.#urgent, ...this.#waiting];
    this.#worker = undefined;
    this.#waiting = [];
    this.#urgent = [];
    this.#stopTicking();
    void worker?.terminate();
    if (waiting.length === 0 && this.#closing !== undefined) return;
    this.#options.log.warn("store.worker.lost", { reason: String(reason), waiting: waiting.length });
    for (const { verb, reject } of waiting) reject(isLimpetError(reason) ? reason : lost(verb, reason));
  }
}

/** The worker no longer responds; only the file shows whether its last request was applied. */
function lost(verb: AnyVerb, reason: unknown): LimpetError {
  const code: ErrorCode = isAmbiguous(verb) ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
  return new LimpetError(code, `the SQLite worker thread was lost: ${reason}`, { cause: reason });
}
