// Time of a virtual world without a driver: it stands still until the test waits for an answer or a moment,
// and stands still again afterwards. A wait that can never end is rejected.
import { LimpetError } from "../../kernel/errors.ts";
import type { Timeline } from "../timeline.ts";

/** A wait for a moment. */
interface Goal {
  readonly until: number;
  readonly reached: () => void;
  readonly fail: (error: unknown) => void;
}

/** A wait for an answer. */
interface Waiting {
  readonly since: number;
  readonly fail: (error: unknown) => void;
}

/** A wait for an answer is rejected after this long without any wait for a moment. */
const PATIENCE_MS = 86_400_000;

export class Passage {
  readonly #timeline: Timeline;
  readonly #isDriven: boolean;
  readonly #waiting = new Set<Waiting>();
  readonly #goals: Goal[] = [];
  #hasNewGoal = false;
  #isRunning = false;

  /** `isDriven`: other code runs the timeline. */
  constructor(timeline: Timeline, isDriven: boolean) {
    this.#timeline = timeline;
    this.#isDriven = isDriven;
  }

  advance(ms: number): Promise<void> {
    return new Promise((reached, fail) => {
      this.#goals.push({ until: this.#timeline.now + ms, reached, fail });
      this.#goals.sort((a, b) => a.until - b.until);
      this.#hasNewGoal = true;
      this.#run();
    });
  }

  /** Lets time pass until the work has ended. */
  during<T>(begin: () => Promise<T>): Promise<T> {
    const inVain = Promise.withResolvers<never>();
    const waiting = { since: this.#timeline.now, fail: inVain.reject };
    this.#waiting.add(waiting);
    const begun = (async () => begin())();
    const ended = Promise.race([begun, inVain.promise]).finally(() => this.#waiting.delete(waiting));
    this.#run();
    return ended;
  }

  /** Rejects all waits. */
  fail(error: unknown): void {
    for (const goal of this.#goals.splice(0)) goal.fail(error);
    for (const { fail } of this.#waiting) fail(error);
  }

  get #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#goals.length === 0;
  }

  #run(): void {
    if (this.#isDriven || this.#isRunning) return;
    this.#isRunning = true;
    void this.#runUntilIdle().finally(() => {
      this.#isRunning = false;
      if (!this.#isIdle) this.#run();
    });
  }

  async #runUntilIdle(): Promise<void> {
    while (!this.#isIdle) {
      this.#hasNewGoal = false;
      try {
        await this.#timeline.run(this.#nextStop(), () => this.#hasNewGoal || this.#isIdle);
      } catch (error) {
        // An uncaught exception: it would end a real process, and here it ends the test.
        this.fail(error);
        // Pending waits react before the next check.
        await new Promise((resolve) => setImmediate(resolve));
      }
      while (this.#goals[0] !== undefined && this.#goals[0].until <= this.#timeline.now) this.#goals.shift()!.reached();
      if (this.#goals.length === 0) await this.#giveUp();
    }
  }

  #nextStop(): number {
    const [goal] = this.#goals;
    if (goal !== undefined) return goal.until;
    let first = Number.POSITIVE_INFINITY;
    for (const { since } of this.#waiting) first = Math.min(first, since);
    return first + PATIENCE_MS;
  }

  async #giveUp(): Promise<void> {
    const { now, next } = this.#timeline;
    const why =
      next === undefined
        ? "nothing more can happen in this world"
        : "a day of virtual time has passed and it has not come";
    const inVain = [...this.#waiting].filter(({ since }) => next === undefined || since + PATIENCE_MS <= now);
    if (inVain.length === 0) return;
    const advice = "does the test wait for something outside the world?";
    for (const { fail } of inVain) fail(new LimpetError("CALL_TIMEOUT", `there will be no answer: ${why}; ${advice}`));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
