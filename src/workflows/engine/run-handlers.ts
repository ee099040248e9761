// Keeps the handlers of a run's signals, updates and queries, and the signals that wait for one. The run
// records the outcome of each handler.
import { LimpetError } from "../../kernel/errors.ts";
import { copyValue, toWire } from "../../kernel/values.ts";
import type { NewCommand } from "./commands.ts";
import { Continued } from "./continued.ts";
import type { Wire } from "./events.ts";
import { type Inside, runInside } from "./inside.ts";
import { checkPayload, keptError } from "./payload-limits.ts";

export interface UpdateHandler {
  readonly handle: (input: unknown) => unknown;
  readonly validate: ((input: unknown) => void) | undefined;
}

/** A received signal. */
export interface Signal {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface RunHandlersDeps {
  /** The name of the run, for display. */
  name(): string;
  /** The mark under which the code runs. */
  inside(how?: Partial<Inside>): Inside;
  /** Resolves the oldest wait for a signal of that name; false: none exists. */
  give(name: string, input: unknown): boolean;
  /** Records the command of an update or an end; it must not throw. */
  conclude(decision: NewCommand): void;
  /** The end of the run when a signal handler throws, or when an update handler continues as new. */
  endBy(thrown: unknown): NewCommand;
}

type Handler = (input: unknown) => unknown;

export class RunHandlers {
  readonly #deps: RunHandlersDeps;
  readonly #unheard = new Map<string, (Signal & { readonly place: number })[]>();
  #came = 0;
  readonly #signals = new Map<string, Handler>();
  readonly #queries = new Map<string, Handler>();
  readonly #updates = new Map<string, UpdateHandler>();

  constructor(deps: RunHandlersDeps) {
    this.#deps = deps;
  }

  /** Signals without a wait or a handler, in order of arrival. */
  get unheard(): Signal[] {
    const all = [...this.#unheard.values()].flat().sort((a, b) => a.place - b.place);
    return all.map(({ id, name, input }) => ({ id, name, input }));
  }

  signalled(signal: Signal): void {
    const { name, input } = signal;
    const handler = this.#signals.get(name);
    if (handler !== undefined) {
      this.#handleSignal(handler, input);
    } else if (!this.#deps.give(name, input)) {
      const list = this.#unheard.get(name);
      const kept = { ...signal, place: this.#came++ };
      if (list === undefined) this.#unheard.set(name, [kept]);
      else list.push(kept);
    }
  }

  /** The oldest unhandled signal of that name. */
  next(name: string): { readonly input: unknown } | undefined {
    return this.#unheard.get(name)?.shift();
  }

  #handleSignal(handler: Handler, input: unknown): void {
    const { conclude, endBy } = this.#deps;
    void this.#inside(async () => handler(input)).catch((thrown) => conclude(endBy(thrown)));
  }

  onSignal(name: string, handler: Handler): void {
    this.#signals.set(name, handler);
    const before = this.#unheard.get(name) ?? [];
    this.#unheard.delete(name);
    for (const { input } of before) this.#handleSignal(handler, input);
  }

  onUpdate(name: string, handler: UpdateHandler): void {
    this.#updates.set(name, handler);
  }

  /** Throws the error of the validator; false: no such update exists. */
  validate(name: string, input: unknown): boolean {
    const update = this.#updates.get(name);
    if (update === undefined) return false;
    const answer: unknown = this.#looking(() => update.validate?.(input));
    if (answer instanceof Promise) {
      answer.catch(() => {});
      throw new LimpetError("WORKFLOW_MISUSED", `${this.#deps.name()}: the validator of ${name} must not be async`);
    }
    return true;
  }

  update(id: string, name: string, input: unknown): void {
    const update = this.#updates.get(name);
    const done = this.#inside(async () => {
      if (update === undefined) throw this.#unknown("UPDATE_UNKNOWN", `has no update called ${name}`, this.#updates);
      return answerOf(await update.handle(input));
    });
    const { conclude, endBy } = this.#deps;
    void done.then(
      (result) => conclude({ kind: "UpdateCompleted", id, result }),
      (thrown) =>
        conclude(thrown instanceof Continued ? endBy(thrown) : { kind: "UpdateFailed", id, error: keptError(thrown) }),
    );
  }

  onQuery(name: string, handler: Handler): void {
    this.#queries.set(name, handler);
  }

  /** Both sides get copies, so neither sees the changes of the other. */
  query(name: string, input: unknown): unknown {
    const handler = this.#queries.get(name);
    if (handler === undefined) throw this.#unknown("QUERY_UNKNOWN", `answers no query called ${name}`, this.#queries);
    const answer = this.#looking(() => handler(copyValue(input, "the input", "ARGUMENT_INVALID")));
    return answer instanceof Promise ? answer.then(copyOf) : copyOf(answer);
  }

  #unknown(
    code: "QUERY_UNKNOWN" | "UPDATE_UNKNOWN",
    problem: string,
    known: ReadonlyMap<string, unknown>,
  ): LimpetError {
    return new LimpetError(
      code,
      `${this.#deps.name()} ${problem}; there are: ${[...known.keys()].join(", ") || "none"}`,
    );
  }

  #inside<T>(fn: () => T): T {
    return runInside(this.#deps.inside(), fn);
  }

  #looking<T>(fn: () => T): T {
    return runInside(this.#deps.inside({ isLooking: true }), fn);
  }
}

const copyOf = (answer: unknown): unknown => copyValue(answer, "the result", "RESULT_INVALID");

/** A copy: the result may be the state of the run, which changes before this answer is written. */
export function answerOf(result: unknown): Wire {
  const wire = toWire(copyOf(result), "the result", "RESULT_INVALID");
  checkPayload(wire, "the result");
  return wire;
}
