// Mocks of activities, with a record of their calls. Types follow from the activity: a mock has the same
// input and the same result.
import { LimpetError } from "../kernel/errors.ts";
import type { ActivityContext, ActivityFunction } from "../workflows/definition/context.ts";

export type ActivityInput<F extends ActivityFunction> = Parameters<F>[0];
export type ActivityResult<F extends ActivityFunction> = Awaited<ReturnType<F>>;

/** Runs in place of the activity. */
export type ActivityStandIn<F extends ActivityFunction> = (
  input: ActivityInput<F>,
  activity: ActivityContext,
) => ActivityResult<F> | Promise<ActivityResult<F>>;

/** One attempt. */
export interface ActivityCall<F extends ActivityFunction> {
  readonly input: ActivityInput<F>;
  readonly workflowId: string;
  readonly runId: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** Milliseconds since 1970, on the clock of the test. */
  readonly at: number;
  /** `running`: it has not answered yet, or its process ended first. */
  readonly outcome: "running" | "completed" | "failed";
  readonly result: ActivityResult<F> | undefined;
  readonly error: unknown;
}

export interface ActivityFailureOptions {
  /** Number of attempts that fail; later ones behave as before. Default: all of them. */
  readonly times?: number;
  /** The error that they throw. */
  readonly error?: unknown;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export class ActivityMock<F extends ActivityFunction> {
  readonly name: string;
  readonly #now: () => number;
  readonly #restored: () => void;
  #isRestored = false;
  readonly #calls: Writable<ActivityCall<F>>[] = [];
  #standIn: ActivityStandIn<F> | undefined;
  #failures = 0;
  #error: unknown;

  constructor(name: string, standIn: ActivityStandIn<F> | undefined, now: () => number, restored: () => void) {
    this.name = name;
    this.#standIn = standIn;
    this.#now = now;
    this.#restored = restored;
  }

  /** Every attempt, in the order in which they began; also those of crashed processes. */
  get calls(): readonly ActivityCall<F>[] {
    return this.#calls;
  }

  /** Sets the function that runs from now on. */
  does(standIn: ActivityStandIn<F>): this {
    this.#checkInPlace();
    this.#standIn = standIn;
    return this;
  }

  /** Sets the result from now on. */
  returns(result: ActivityResult<F>): this {
    return this.does(() => result);
  }

  /** Makes the next attempts fail. */
  fails({ times = Number.POSITIVE_INFINITY, error }: ActivityFailureOptions = {}): this {
    if (!(times >= 0)) throw new LimpetError("OPTION_INVALID", `fails: times is ${times}; count them from 0`);
    this.#checkInPlace();
    this.#failures = times;
    this.#error = error ?? new LimpetError("ACTIVITY_FAILED", `${this.name} fails, as the test wants it to`);
    return this;
  }

  /** Never answers from now on: for tests of timeouts and of cancellation. */
  hangs(): this {
    return this.does(() => new Promise(() => {}));
  }

  /** Restores the activity itself, and ends the recording. */
  restore(): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    this.#restored();
  }

  /** Rejects the use of a mock that was restored, which would have no effect. */
  #checkInPlace(): void {
    if (!this.#isRestored) return;
    const problem = "was restored, so it does nothing any more; app.mock() gives a new one";
    throw new LimpetError("OPTION_INVALID", `the mock of ${this.name} ${problem}`);
  }

  /** One attempt. */
  async run(real: ActivityFunction, input: ActivityInput<F>, activity: ActivityContext): Promise<unknown> {
    const { workflowId, runId, attempt, idempotencyKey } = activity;
    const call: Writable<ActivityCall<F>> = {
      input,
      workflowId,
      runId,
      attempt,
      idempotencyKey,
      at: this.#now(),
      outcome: "running",
      result: undefined,
      error: undefined,
    };
    this.#calls.push(call);
    try {
      if (this.#failures > 0) {
        this.#failures--;
        throw this.#error;
      }
      call.result = await (this.#standIn ?? (real as ActivityStandIn<F>))(input, activity);
      call.outcome = "completed";
      return call.result;
    } catch (error) {
      call.outcome = "failed";
      call.error = error;
      throw error;
    }
  }
}

/** The mocks of one test, by the names of their activities. */
export class ActivityMocks {
  readonly #activities: Map<string, ActivityFunction>;
  readonly #mocks = new Map<string, ActivityMock<ActivityFunction>>();
  readonly #now: () => number;

  constructor(activities: Readonly<Record<string, ActivityFunction>>, now: () => number) {
    this.#activities = new Map(Object.entries(activities));
    this.#now = now;
  }

  /** Replaces the activities after a change of code. Mocks stay in place. */
  know(activities: Readonly<Record<string, ActivityFunction>>): void {
    for (const [name, activity] of Object.entries(activities)) this.#activities.set(name, activity);
  }

  /** An existing mock gets the new function and keeps its calls. */
  mock(of: ActivityFunction | string, standIn: ActivityStandIn<ActivityFunction> | undefined): never {
    const name = this.#nameOf(of);
    const known = this.#mocks.get(name);
    if (known !== undefined) return (standIn === undefined ? known : known.does(standIn)) as never;
    const mock = new ActivityMock(name, standIn, this.#now, () => this.#mocks.delete(name));
    this.#mocks.set(name, mock);
    return mock as never;
  }

  #nameOf(of: ActivityFunction | string): string {
    const found =
      typeof of === "string"
        ? this.#activities.has(of) && of
        : [...this.#activities].find(([, activity]) => activity === of)?.[0];
    if (typeof found === "string") return found;
    const shown = typeof of === "string" ? of : of.name || "a function without a name";
    const known = [...this.#activities.keys()].join(", ") || "none";
    throw new LimpetError(
      "ACTIVITY_UNKNOWN",
      `mock: ${shown} is not among the activities of this test; it has ${known}`,
    );
  }

  standInFor(name: string, activity: ActivityFunction): ActivityFunction {
    const mock = this.#mocks.get(name);
    return mock === undefined ? activity : (input, context) => mock.run(activity, input, context);
  }
}
