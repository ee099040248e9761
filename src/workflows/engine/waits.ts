// Tracks all waits of one run's code: for outcomes of commands, signals and conditions. Pure except for the
// promises that it settles.
import type { LimpetError } from "../../kernel/errors.ts";
import type { CommandEvent } from "./events.ts";
import { inside } from "./inside.ts";

interface Wait {
  /** The place in the code where the wait began; recorded only on request. */
  readonly place: string | undefined;
  readonly kind: CommandEvent["kind"];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly isShielded: boolean;
}

interface Timed {
  readonly place: string | undefined;
  readonly reject: (error: unknown) => void;
  /** The number of the timer command that ends the wait. */
  readonly timer: number | undefined;
  readonly isShielded: boolean;
}

interface SignalWait extends Timed {
  readonly resolve: (value: unknown) => void;
}

interface Condition extends Timed {
  readonly test: () => boolean;
  readonly resolve: (value: boolean) => void;
}

/** Issues a command when a wait begins or ends; returns its number. */
type Decide = (decision: {
  readonly kind: "TimerCancelled" | "ActivityCancelRequested";
  readonly of: number;
}) => number;

export class Waits {
  readonly #decide: Decide;
  readonly #placeOf: () => string | undefined;
  readonly #answers = new Map<number, Wait>();
  readonly #signals = new Map<string, SignalWait[]>();
  #conditions: Condition[] = [];

  /** `placeOf`: the line of the waiting code. It is expensive, so most callers leave it out. */
  constructor(decide: Decide, placeOf: () => string | undefined) {
    this.#decide = decide;
    this.#placeOf = placeOf;
  }

  get isEmpty(): boolean {
    return (
      this.#answers.size === 0 &&
      this.#conditions.length === 0 &&
      !this.#signals.values().some(({ length }) => length > 0)
    );
  }

  get hasConditions(): boolean {
    return this.#conditions.length > 0;
  }

  has(n: number): boolean {
    return this.#answers.has(n);
  }

  of(...kinds: readonly CommandEvent["kind"][]): number[] {
    return [...this.#answers].filter(([, { kind }]) => kinds.includes(kind)).map(([n]) => n);
  }

  /** For display. */
  describe(): string[] {
    const answers = [...this.#answers].map(([n, { kind, place }]) => `${kind} ${n}${atPlace(place)}`);
    const signals = [...this.#signals].flatMap(([name, [first]]) =>
      first === undefined ? [] : [`signal ${name}${atPlace(first.place)}`],
    );
    return [...answers, ...signals, ...this.#conditions.map(({ place }) => `condition${atPlace(place)}`)];
  }

  /** Waits for the outcome of a command. 0: the command was not issued, so no outcome follows. */
  forAnswer(n: number, kind: CommandEvent["kind"]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (n > 0) this.#answers.set(n, { kind, resolve, reject, isShielded: isShielded(), place: this.#placeOf() });
    return quiet(promise);
  }

  resolve(n: number, value: unknown): void {
    this.#take(n)?.resolve(value);
  }

  reject(n: number, error: unknown): void {
    this.#take(n)?.reject(error);
  }

  #take(n: number): Wait | undefined {
    const wait = this.#answers.get(n);
    this.#answers.delete(n);
    return wait;
  }

  /**
   * Calls back when the timer fires. A cancellation reaches the code through the signal or condition instead.
   */
  #whenOver(timer: number, resolve: () => void): void {
    if (timer > 0)
      this.#answers.set(timer, {
        kind: "TimerScheduled",
        resolve,
        reject: () => {},
        isShielded: isShielded(),
        place: this.#placeOf(),
      });
  }

  #cancelTimer(timer: number | undefined): void {
    if (timer !== undefined && this.#answers.delete(timer)) this.#decide({ kind: "TimerCancelled", of: timer });
  }

  // ——— Signals.

  forSignal(name: string, timer: number | undefined): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const wait: SignalWait = { resolve, reject, timer, isShielded: isShielded(), place: this.#placeOf() };
    const waits = this.#signals.get(name) ?? [];
    waits.push(wait);
    this.#signals.set(name, waits);
    if (timer !== undefined) {
      this.#whenOver(timer, () => {
        const all = this.#signals.get(name) ?? [];
        this.#signals.set(
          name,
          all.filter((each) => each !== wait),
        );
        resolve(undefined);
      });
    }
    return quiet(promise);
  }

  /** False: no wait for it exists. */
  signalled(name: string, input: unknown): boolean {
    const wait = this.#signals.get(name)?.shift();
    if (wait === undefined) return false;
    this.#cancelTimer(wait.timer);
    wait.resolve(input);
    return true;
  }

  // ——— Conditions.

  forCondition(test: () => boolean, timer: number | undefined): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const place = this.#placeOf();
    const condition: Condition = { test, resolve, reject, timer, isShielded: isShielded(), place };
    this.#conditions.push(condition);
    if (timer !== undefined) {
      this.#whenOver(timer, () => {
        this.#conditions = this.#conditions.filter((each) => each !== condition);
        try {
          resolve(test());
        } catch (thrown) {
          reject(thrown);
        }
      });
    }
    return quiet(promise);
  }

  /** Whether a condition became true. */
  lookAtConditions(): boolean {
    let isAny = false;
    for (const condition of [...this.#conditions]) {
      try {
        if (!condition.test()) continue;
        this.#cancelTimer(condition.timer);
        condition.resolve(true);
      } catch (thrown) {
        condition.reject(thrown);
      }
      this.#conditions = this.#conditions.filter((each) => each !== condition);
      isAny = true;
    }
    return isAny;
  }

  /** Rejects all waits that are not shielded. */
  cancel(error: LimpetError): void {
    for (const [n, wait] of [...this.#answers]) {
      if (wait.isShielded) continue;
      this.#answers.delete(n);
      if (wait.kind === "TimerScheduled") this.#decide({ kind: "TimerCancelled", of: n });
      else if (wait.kind === "ActivityScheduled") this.#decide({ kind: "ActivityCancelRequested", of: n });
      wait.reject(error);
    }
    for (const [name, waits] of this.#signals) this.#signals.set(name, keepShielded(waits, error));
    this.#conditions = keepShielded(this.#conditions, error);
  }
}

function keepShielded<T extends Timed>(waits: readonly T[], error: LimpetError): T[] {
  for (const wait of waits) if (!wait.isShielded) wait.reject(error);
  return waits.filter((wait) => wait.isShielded);
}

const atPlace = (place: string | undefined): string => (place === undefined ? "" : ` at ${place}`);

const isShielded = (): boolean => inside()?.isShielded ?? false;

/** Nothing must await the promise: an error is thrown where it is awaited, and nowhere else. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
