// A store, as one process of a test sees it: records every durable step, can end the process right before or
// right after one, and never answers requests of an ended process.
import type { ReminderOutcome, Reminders, ReminderWrite, Rewriting, Settlement } from "../ports/store/reminders.ts";
import type { Commit, CommitOutcome, Locked, Store, Taken, TakeRequest } from "../ports/store/store.ts";
import type {
  Closing,
  CompletionOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  TaskClaims,
  TaskCompletion,
  TaskReturn,
  WorkerRow,
  Workflows,
} from "../ports/store/workflows.ts";
import type { AtStep } from "./durable-steps.ts";
import { type AppLife, never } from "./life.ts";
import { ProcessLeases } from "./process-leases.ts";
import { appendText, arrivalText, closingText, reminderText, settlementText, startText } from "./step-text.ts";

export interface MortalStoreDeps {
  readonly store: Store;
  readonly life: AppLife;
  step(text: string): AtStep;
  /** Ends the process here. */
  end(): void;
}

type Method = (...args: never[]) => unknown;
type Ask<Args extends readonly unknown[], Answer> = {
  /** Text of a durable step. Undefined: it is not durable. */
  readonly tell?: (...args: Args) => string | undefined;
  readonly answered?: (answer: Answer, ...args: Args) => void;
};

export class MortalStore {
  readonly #deps: MortalStoreDeps;
  readonly #leases = new ProcessLeases();
  /** Names of runs and actors by their refs in the store, for display. */
  readonly #runs = new Map<number, string>();
  readonly #actors = new Map<number, string>();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(deps: MortalStoreDeps) {
    this.#deps = deps;
  }

  /** Releases its leases, also those of pending claims at its end. */
  async giveBack(): Promise<void> {
    await Promise.allSettled([...this.#underWay]);
    await this.#leases.giveBack(this.#deps.store);
  }

  get view(): Store {
    const { store } = this.#deps;
    const views: Partial<Record<string | symbol, unknown>> = {
      workflows: this.#mortal(store.workflows, this.#ofWorkflows()),
      reminders: this.#mortal(store.reminders, this.#ofReminders()),
      coordination: this.#mortal(store.coordination, {}),
    };
    const whole = this.#mortal(store, this.#ofActors());
    return new Proxy(whole, { get: (target, name) => views[name] ?? Reflect.get(target, name) });
  }

  #mortal<T extends object>(target: T, asks: Readonly<Record<string, Ask<never, never>>>): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function") return value;
        const method = value.bind(target) as Method;
        if (name === "watch")
          return (namespace: never, listener: () => void) => this.#watch(method, namespace, listener);
        return (...args: never[]) => this.#ask(method, args, asks[String(name)] as Ask<never[], unknown> | undefined);
      },
    });
  }

  #watch(method: Method, namespace: never, listener: () => void): unknown {
    const { life } = this.#deps;
    const unwatch = method(namespace, life.guard(listener) as never) as (() => void) | undefined;
    void life.over.then(() => unwatch?.());
    return unwatch;
  }

  async #ask(method: Method, args: never[], ask: Ask<never[], unknown> | undefined): Promise<unknown> {
    const { life, step, end } = this.#deps;
    if (life.isOver) return never();
    const text = ask?.tell?.(...args);
    const then = text === undefined ? "writes" : step(text);
    if (then === "ends before") {
      end();
      return never();
    }
    try {
      const answer = await this.#answer(method, args, ask);
      if (then === "ends after") end();
      return life.isOver ? never() : answer;
    } catch (error) {
      if (life.isOver) return never();
      throw error;
    }
  }

  async #answer(method: Method, args: never[], ask: Ask<never[], unknown> | undefined): Promise<unknown> {
    const answering = (async () => method(...args))();
    const heard = answering.then((answer) => ask?.answered?.(answer, ...args));
    this.#underWay.add(heard);
    const over = (): void => void this.#underWay.delete(heard);
    heard.then(over, over);
    await heard;
    return answering;
  }

  #ofWorkflows(): {
    readonly [K in keyof Workflows]?: Ask<Parameters<Workflows[K]>, Awaited<ReturnType<Workflows[K]>>>;
  } {
    const leases = this.#leases;
    return {
      start: {
        tell: (batch: readonly RunStart[]) => batch.map(startText).join("; "),
        answered: (outcomes: readonly StartOutcome[], batch) => {
          for (const [i, { ref }] of outcomes.entries()) {
            const { workflowId, lease } = batch[i]!;
            this.#runs.set(ref, workflowId);
            if (lease !== undefined) leases.task(ref, lease.token);
          }
        },
      },
      deliver: { tell: (batch: readonly InboxMessage[]) => batch.map(arrivalText).join("; ") },
      append: {
        tell: (batch: readonly TaskCompletion[]) =>
          batch.map((append) => appendText(append, this.#runs.get(append.ref) ?? `run ${append.ref}`)).join("; "),
        answered: (_: readonly CompletionOutcome[], batch) => {
          for (const { ref, outcome } of batch) if (outcome.kind !== "keep") leases.taskOver(ref);
        },
      },
      close: { tell: (closing: Closing) => closingText(closing) },
      claim: {
        answered: ({ tasks }: TaskClaims) => {
          for (const { ref, token, workflowId } of tasks) {
            this.#runs.set(ref, workflowId);
            leases.task(ref, token);
          }
        },
      },
      giveBack: {
        answered: (_: readonly boolean[], batch: readonly TaskReturn[]) => {
          for (const { ref } of batch) leases.taskOver(ref);
        },
      },
      seen: { answered: (_: unknown, { worker, namespace }: WorkerRow) => leases.worker(worker, namespace) },
    };
  }

  #ofReminders(): {
    readonly [K in keyof Reminders]?: Ask<
      Parameters<NonNullable<Reminders[K]>>,
      Awaited<ReturnType<NonNullable<Reminders[K]>>>
    >;
  } {
    const leases = this.#leases;
    return {
      write: {
        tell: (batch: readonly ReminderWrite[]) => batch.map(reminderText).join("; "),
        answered: (outcomes: readonly ReminderOutcome[], batch) => {
          for (const [i, outcome] of outcomes.entries()) {
            const write = batch[i]!;
            if (outcome.kind === "set" && write.kind === "set" && write.lease !== undefined)
              leases.reminder(outcome.generation, write.lease.token);
          }
        },
      },
      claim: {
        answered: ({ reminders }, { token }) => {
          for (const { generation } of reminders) leases.reminder(generation, token);
        },
      },
      settle: {
        tell: (batch: readonly Settlement[]) =>
          batch.every(({ kind }) => kind === "release") ? undefined : batch.map(settlementText).join("; "),
        answered: (_: readonly boolean[], batch) => leases.settled(batch),
      },
      rewrite: {
        tell: (batch: readonly Rewriting[]) => batch.map(() => "reminder rewritten").join("; "),
        answered: (_: readonly boolean[], batch: readonly Rewriting[]) =>
          leases.settled(batch.map(({ data: _, ...next }) => ({ kind: "next", ...next }))),
      },
    };
  }

  #ofActors(): { readonly [K in "take" | "commit"]: Ask<Parameters<Store[K]>, Awaited<ReturnType<Store[K]>>> } {
    const leases = this.#leases;
    return {
      take: {
        answered: (taken: readonly (Taken | Locked)[], batch: readonly TakeRequest[]) => {
          for (const [i, one] of taken.entries())
            if (one !== "locked") this.#actors.set(one.ref, `${batch[i]!.type}/${batch[i]!.id}`);
        },
      },
      commit: {
        tell: (batch: readonly Commit[]) => batch.map(({ ref }) => `${this.#actors.get(ref)}: state`).join("; "),
        answered: (outcomes: readonly (CommitOutcome | Locked)[], batch) => {
          for (const [i, outcome] of outcomes.entries()) {
            const { reminders = [], settle = [] } = batch[i]!;
            leases.settled(settle);
            if (typeof outcome !== "object") continue;
            for (const [k, write] of reminders.entries())
              if (write.kind === "set" && write.lease !== undefined)
                leases.reminder(outcome.generations[k], write.lease.token);
          }
        },
      },
    };
  }
}
