// Runs the processes of a test one after the other, each with the same store, clock and mocks. Requests while
// none is up wait for the next.

import type { Definitions } from "../host/app.ts";
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { TestProcess, type TestProcessDeps } from "./test-process.ts";

/** Handling of a request whose process ends before the answer: it is repeated, or its outcome is unknown. */
type WhenLost = "ask again" | "reject";

/** Rounds in which a test may act between requesting a stop and waiting for it. */
const MOMENTS = 10;

export class TestMachine {
  readonly #deps: TestProcessDeps;
  #definitions: Definitions;
  #process: TestProcess;
  #starting: Promise<void> | undefined;
  #restarting: Promise<void> | undefined;

  constructor(definitions: Definitions, deps: TestProcessDeps) {
    this.#definitions = definitions;
    this.#deps = deps;
    this.#process = this.#next();
  }

  /** The present process, or the last one. */
  get process(): TestProcess {
    return this.#process;
  }

  #next(): TestProcess {
    return new TestProcess(this.#deps, (process) => this.#ended(process));
  }

  async start(): Promise<void> {
    for (;;) {
      const process = this.#process;
      await Promise.race([process.open(this.#definitions, this.#deps), process.life.over]);
      if (!process.life.isOver) return;
      await process.giveBack();
      this.#process = this.#next();
    }
  }

  /** The process ended at its crash step. The next one starts at once. */
  #ended(process: TestProcess): void {
    process.end();
    if (process !== this.#process || this.#starting !== undefined) return;
    void this.#startAgain(0).catch(() => {});
  }

  async crash(downFor: Duration): Promise<void> {
    await this.#starting;
    this.#process.end();
    await this.#startAgain(parseDuration(downFor, "downFor"));
  }

  async restart(changes: Definitions): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#restarting = promise;
    try {
      await this.stop();
      this.#definitions = { ...this.#definitions, ...changes };
      await this.#startAgain(0);
    } finally {
      this.#restarting = undefined;
      resolve();
    }
  }

  async stop(): Promise<void> {
    // From the call on it takes no more work.
    if (this.#starting !== undefined) await this.#starting;
    // The last start failed, and has closed everything it had opened.
    if (!this.#process.isOpen) return;
    const { clock, settings } = this.#deps;
    const { app, life } = this.#process;
    let isDone = false;
    const stopped = Promise.race([app.stop(), life.over]).finally(() => {
      isDone = true;
    });
    // The test may let running work complete. Hanging work would hold a clock that stands still for ever.
    for (let i = 0; i < MOMENTS && !isDone; i++) await clock.settled();
    await Promise.all([stopped, isDone ? undefined : clock.advance(settings.drainTimeout + 1)]);
  }

  async #startAgain(downMs: number): Promise<void> {
    const { clock } = this.#deps;
    const started = this.#startAfter(downMs);
    this.#starting = started;
    // Time that passes while it is down does not count as a wait for it.
    if (downMs === 0) clock.hold(started);
    try {
      await started;
    } finally {
      this.#starting = undefined;
    }
  }

  async #startAfter(downMs: number): Promise<void> {
    await this.#process.giveBack();
    if (downMs > 0) await this.#deps.clock.advance(downMs);
    this.#process = this.#next();
    await this.start();
  }

  /** A request that a stopping process rejects is repeated at the next one, if there will be one. */
  #unlessRestarting(error: unknown, whenLost: WhenLost): typeof LOST {
    const isToAsk = whenLost === "ask again" && this.#restarting !== undefined;
    if (isToAsk && isLimpetError(error, "STOPPING")) return LOST;
    throw error;
  }

  /** Sends the request to the process that is up, or to the next one. */
  async ask<T>(question: (process: TestProcess) => Promise<T>, whenLost: WhenLost): Promise<T> {
    for (;;) {
      if (this.#starting !== undefined) await this.#starting;
      const process = this.#process;
      const lost = process.life.over.then(() => LOST);
      const asked = question(process).catch((error) => this.#unlessRestarting(error, whenLost));
      const answer = await Promise.race([asked, lost]);
      if (answer !== LOST) return answer as T;
      await this.#restarting;
      if (whenLost === "reject") throw new LimpetError("ANSWER_LOST", "the process has ended; the outcome is unknown");
    }
  }
}

const LOST = Symbol("lost");
