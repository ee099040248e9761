// How time passes in a virtual world that nobody drives by hand: it stands still until somebody waits, for an answer or for a moment,
// and stands still again when nobody does. Whoever waits for what can never come is told so.
import { LimpetError } from "../kernel/errors.ts";
import type { Timeline } from "./timeline.ts";

/** Somebody who waits for a moment. */
interface Goal {
  readonly until: number;
  readonly reached: () => void;
  readonly fail: (error: unknown) => void;
}

/** Somebody who waits for an answer. */
interface Waiting {
  readonly since: number;
  readonly fail: (error: unknown) => void;
}

/** Whoever has waited this long for an answer, while nobody wanted time to pass for its own sake, waits in vain. */
const PATIENCE_MS = 86_400_000;

export class Passage {
  readonly #timeline: Timeline;
  readonly #isDriven: boolean;
  readonly #waiting = new Set<Waiting>();
  readonly #goals: Goal[] = [];
  #hasNewGoal = false;
  #isRunning = false;

  /** `isDriven`: somebody else runs the timeline. */
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

  /** Time passes until what is begun here has ended. */
  during<T>(begin: () => Promise<T>): Promise<T> {
    const inVain = Promise.withResolvers<never>();
    const waiting = { since: this.#timeline.now, fail: inVain.reject };
    this.#waiting.add(waiting);
    const begun = (async () => begin())();
    const ended = Promise.race([begun, inVain.promise]).finally(() => this.#waiting.delete(waiting));
    this.#run();
    return ended;
  }

  /** Nobody waits any more. */
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
        // Something threw where nobody could catch it: in a real process that is its end, here it is the end of the test.
        this.fail(error);
        // Those who waited take note before anybody is looked at again.
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
    const advice = "is what it waits for part of the world?";
    for (const { fail } of inVain) fail(new LimpetError("CALL_TIMEOUT", `nobody will answer: ${why}; ${advice}`));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
