// Runs one attempt of an activity: calls the user's function, enforces its time limits and receives its
// heartbeats.
import { LimpetError } from "../../kernel/errors.ts";
import { copyValue, readWire, toWire } from "../../kernel/values.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ActivityFunction } from "../definition/context.ts";
import { checked } from "../definition/definition.ts";
import type { SerializedActivityOptions, Wire } from "../engine/events.ts";
import { runOutside } from "../engine/inside.ts";
import { checkPayload } from "../engine/payload-limits.ts";

export interface Attempt {
  readonly workflowId: string;
  readonly runId: string;
  readonly n: number;
  readonly name: string;
  readonly input: Wire;
  readonly options: SerializedActivityOptions | undefined;
  readonly attempt: number;
  /** The time limit of the attempt, counted from this call. */
  limitMs(): number;
  readonly lastHeartbeat: Wire | undefined;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
  heartbeat?(details: Wire): void;
}

/** Counts attempts by outcome. */
type Counted = (outcome: "completed" | "failed") => void;

/** In tests: returns the function that replaces an activity. */
export type StandIn = (name: string, activity: ActivityFunction) => ActivityFunction;

/** Throws unless every activity is a function with a valid name. */
export function checkActivities(activities: Readonly<Record<string, unknown>>): void {
  for (const [name, activity] of Object.entries(activities)) {
    checked("activity", name);
    if (typeof activity !== "function") throw new LimpetError("OPTION_INVALID", `activities: ${name} is no function`);
  }
}

export class ActivityRunner {
  readonly #clock: Clock;
  readonly #counted: Counted;
  readonly #activities: ReadonlyMap<string, ActivityFunction>;
  readonly #names: ReadonlyMap<object, string>;
  readonly #standIn: StandIn | undefined;
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    clock: Clock,
    activities: Readonly<Record<string, ActivityFunction>>,
    counted: Counted,
    standIn?: StandIn,
    /** The number of activities that run at once; further ones wait. */
    most = Number.POSITIVE_INFINITY,
  ) {
    this.#most = most;
    this.#clock = clock;
    this.#counted = counted;
    this.#standIn = standIn;
    this.#activities = new Map(Object.entries(activities));
    this.#names = new Map(Object.entries(activities).map(([name, fn]) => [fn, name]));
  }

  get names(): string[] {
    return [...this.#activities.keys()];
  }

  has(name: string): boolean {
    return this.#activities.has(name);
  }

  nameOf(activity: object): string | undefined {
    return this.#names.get(activity);
  }

  /** The reason why a function is no activity here, for the author of the code. */
  whyUnknown(activity: object): string {
    const own = typeof activity === "function" ? activity.name : "";
    const mend =
      "give limpet({ activities: { … } }) the function that the workflow calls, or call the activity by its name";
    if (this.#activities.has(own)) return `this worker has another function as its activity ${own}: ${mend}`;
    const shown = own || (typeof activity === "function" ? "a function without a name" : String(activity));
    return `${shown} is not among the activities of this worker: ${mend}`;
  }

  /** Returns the result in JSON-ready form. Throws the activity's error, or ACTIVITY_TIMED_OUT. */
  async run(attempt: Attempt): Promise<Wire> {
    const { name, options } = attempt;
    const real = this.#activities.get(name);
    if (real === undefined) throw new LimpetError("ACTIVITY_UNKNOWN", `no activity ${name} in this worker`);
    const fn = this.#standIn?.(name, real) ?? real;
    const limits = new Limits(this.#clock, attempt);
    if (this.#running < this.#most) this.#running++;
    // A run may schedule thousands at once. A finished attempt passes its place to the next.
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      attempt.signal.throwIfAborted();
      const context = {
        workflowId: attempt.workflowId,
        runId: attempt.runId,
        name,
        attempt: attempt.attempt,
        idempotencyKey: `${attempt.runId}:${attempt.n}`,
        signal: limits.signal,
        lastHeartbeat: attempt.lastHeartbeat === undefined ? undefined : readWire(attempt.lastHeartbeat),
        heartbeat: (details?: unknown) => {
          limits.restartSilence();
          // A heartbeat without details keeps the details of the one before.
          if (details === undefined) return;
          const wire = toWire(details, "the details", "ARGUMENT_INVALID");
          checkPayload(wire, "the details");
          attempt.heartbeat?.(wire);
        },
      };
      limits.begin(attempt.limitMs(), options?.heartbeat);
      const result = await Promise.race([runOutside(async () => fn(readWire(attempt.input), context)), limits.over]);
      // A copy, because the activity may change the object afterwards.
      const wire = toWire(copyValue(result, "the result", "RESULT_INVALID"), "the result", "RESULT_INVALID");
      checkPayload(wire, "the result");
      this.#counted("completed");
      return wire;
    } catch (error) {
      this.#counted("failed");
      throw error;
    } finally {
      limits.end();
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

/** The time limits of an attempt: for the whole of it, and for its silence. */
class Limits {
  readonly #clock: Clock;
  readonly #attempt: Attempt;
  readonly #gone = new AbortController();
  readonly #over = Promise.withResolvers<never>();
  #whole: Timer | undefined;
  #silence: Timer | undefined;
  #silenceMs: number | undefined;
  readonly signal: AbortSignal;

  constructor(clock: Clock, attempt: Attempt) {
    this.#clock = clock;
    this.#attempt = attempt;
    this.signal = this.#gone.signal;
    this.#over.promise.catch(() => {});
    attempt.signal.addEventListener("abort", this.#aborted);
  }

  get over(): Promise<never> {
    return this.#over.promise;
  }

  readonly #aborted = (): void => {
    this.#gone.abort(this.#attempt.signal.reason);
    this.#over.reject(this.#attempt.signal.reason);
  };

  begin(wholeMs: number, silenceMs: number | undefined): void {
    if (this.#attempt.signal.aborted) this.#aborted();
    const { name } = this.#attempt;
    this.#whole = this.#clock.after(wholeMs, () => this.#end(`${name} took longer than ${wholeMs} ms`));
    this.#silenceMs = silenceMs;
    this.restartSilence();
  }

  restartSilence(): void {
    const ms = this.#silenceMs;
    if (ms === undefined || this.signal.aborted) return;
    this.#silence?.cancel();
    this.#silence = this.#clock.after(ms, () => this.#end(`${this.#attempt.name} sent no heartbeat for ${ms} ms`));
  }

  #end(what: string): void {
    const error = new LimpetError("ACTIVITY_TIMED_OUT", what);
    this.#gone.abort(error);
    this.#over.reject(error);
  }

  end(): void {
    this.#whole?.cancel();
    this.#silence?.cancel();
    this.#attempt.signal.removeEventListener("abort", this.#aborted);
  }
}
