// Where the process of a test runs: one after the other, each with the same store, clock and mocks. Who asks for something while none is
// up waits for the next.

import type { Definitions } from "../host/app.ts";
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { TestProcess, type TestProcessDeps } from "./test-process.ts";

/** What becomes of a question whose process ends before it has answered: it is asked again, or nobody knows. */
type WhenLost = "ask again" | "reject";

/** In which a test may do something between asking for a stop and waiting for it. */
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

  /** The process that runs now, or was the last. */
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

  /** At a step at which it was to. The next one starts at once. */
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
    // From the moment of the call on it takes no more work.
    if (this.#starting !== undefined) await this.#starting;
    // The last start failed, and has closed what it had opened.
    if (!this.#process.isOpen) return;
    const { clock, settings } = this.#deps;
    const { app, life } = this.#process;
    let isDone = false;
    const stopped = Promise.race([app.stop(), life.over]).finally(() => {
      isDone = true;
    });
    // The test may let what still runs come to its end. What hangs would hold a clock that stands still for ever.
    for (let i = 0; i < MOMENTS && !isDone; i++) await clock.settled();
    await Promise.all([stopped, isDone ? undefined : clock.advance(settings.drainTimeout + 1)]);
  }

  async #startAgain(downMs: number): Promise<void> {
    const { clock } = this.#deps;
    const started = this.#startAfter(downMs);
    this.#starting = started;
    // Time that passes while it is down is not time to wait for it.
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

  /** Who is told that its process stops asks the next one, if there is to be one. */
  #unlessRestarting(error: unknown, whenLost: WhenLost): typeof LOST {
    const isToAsk = whenLost === "ask again" && this.#restarting !== undefined;
    if (isToAsk && isLimpetError(error, "STOPPING")) return LOST;
    throw error;
  }

  /** Asks the process that is up, or the next one. */
  async ask<T>(question: (process: TestProcess) => Promise<T>, whenLost: WhenLost): Promise<T> {
    for (;;) {
      if (this.#starting !== undefined) await this.#starting;
      const process = this.#process;
      const lost = process.life.over.then(() => LOST);
      const asked = question(process).catch((error) => this.#unlessRestarting(error, whenLost));
      const answer = await Promise.race([asked, lost]);
      if (answer !== LOST) return answer as T;
      await this.#restarting;
      if (whenLost === "reject")
        throw new LimpetError("ANSWER_LOST", "the process has ended; nobody knows how far it got");
    }
  }
}

const LOST = Symbol("lost");
