// A store, as one process of a test sees it: records every durable step, can end the process right before or
// right after one, and never answers requests of an ended process. The text of a step is for display: one
// line for a transaction.
import { interceptStore, type StorePart } from "../ports/store/intercept.ts";
import type { Reminders, ReminderWrite } from "../ports/store/reminders.ts";
import type { Store } from "../ports/store/store.ts";
import type { InboxMessage, RunStart, TaskCompletion, Workflows } from "../ports/store/workflows.ts";
import { readMessage } from "../workflows/definition/messages.ts";
import { readEventBatch } from "../workflows/engine/events.ts";
import type { AtStep } from "./durable-steps.ts";
import { type AppLife, never } from "./life.ts";
import { ProcessLeases } from "./process-leases.ts";

export interface MortalStoreDeps {
  readonly store: Store;
  readonly life: AppLife;
  step(text: string): AtStep;
  /** Ends the process here. */
  end(): void;
}

interface Step<Args extends readonly unknown[], Answer> {
  /** Text of a durable step. Undefined: it is not durable. */
  readonly text?: (...args: Args) => string | undefined;
  readonly answered?: (answer: Answer, ...args: Args) => void;
}

type AnyStep = Step<readonly unknown[], unknown>;
type Steps<Part> = {
  readonly [M in keyof Part]?: Step<
    Part[M] extends (...args: infer Args) => unknown ? Args : never,
    Part[M] extends (...args: never[]) => infer Answer ? Awaited<Answer> : never
  >;
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
    const steps: Partial<Record<StorePart, object>> = {
      actors: this.#ofActors(),
      reminders: this.#ofReminders(),
      workflows: this.#ofWorkflows(),
    };
    const view = interceptStore(this.#deps.store, (part, method, args, next) => {
      const asked = steps[part] as Readonly<Record<string, AnyStep>> | undefined;
      return this.#ask(args, asked?.[method], next);
    });
    view.reminders.watch = (...by) => this.#watch("reminders", ...by);
    view.workflows.watch = (...by) => this.#watch("workflows", ...by);
    return view;
  }

  /** Notifications end with the process. */
  #watch(part: "reminders" | "workflows", namespace: string, listener: () => void): (() => void) | undefined {
    const { life, store } = this.#deps;
    const unwatch = store[part].watch(namespace, life.guard(listener));
    void life.over.then(() => unwatch?.());
    return unwatch;
  }

  async #ask(args: readonly unknown[], step: AnyStep | undefined, next: () => unknown): Promise<unknown> {
    const { life, end } = this.#deps;
    if (life.isOver) return never();
    const text = step?.text?.(...args);
    const then = text === undefined ? "writes" : this.#deps.step(text);
    if (then === "ends before") {
      end();
      return never();
    }
    try {
      const answer = await this.#answer(args, step, next);
      if (then === "ends after") end();
      return life.isOver ? never() : answer;
    } catch (error) {
      if (life.isOver) return never();
      throw error;
    }
  }

  async #answer(args: readonly unknown[], step: AnyStep | undefined, next: () => unknown): Promise<unknown> {
    const answering = (async () => next())();
    const heard = answering.then((answer) => step?.answered?.(answer, ...args));
    this.#underWay.add(heard);
    const over = (): void => void this.#underWay.delete(heard);
    heard.then(over, over);
    await heard;
    return answering;
  }

  #ofWorkflows(): Steps<Workflows> {
    const leases = this.#leases;
    return {
      start: {
        text: (batch) => batch.map(startText).join("; "),
        answered: (outcomes, batch) => {
          for (const [i, { ref }] of outcomes.entries()) {
            const { workflowId, lease } = batch[i]!;
            this.#runs.set(ref, workflowId);
            if (lease !== undefined) leases.task(ref, lease.token);
          }
        },
      },
      deliver: { text: (batch) => batch.map(messageText).join("; ") },
      complete: {
        text: (batch) =>
          batch.map((one) => completionText(one, this.#runs.get(one.ref) ?? `run ${one.ref}`)).join("; "),
        answered: (_, batch) => {
          for (const { ref, outcome } of batch) if (outcome.kind !== "keep") leases.taskOver(ref);
        },
      },
      close: { text: ({ workflowId, status }) => `${workflowId}: ${status}` },
      claim: {
        answered: ({ tasks }) => {
          for (const { ref, token, workflowId } of tasks) {
            this.#runs.set(ref, workflowId);
            leases.task(ref, token);
          }
        },
      },
      giveBack: {
        answered: (_, batch) => {
          for (const { ref } of batch) leases.taskOver(ref);
        },
      },
      seen: { answered: (_, { worker, namespace }) => leases.worker(worker, namespace) },
    };
  }

  #ofReminders(): Steps<Reminders> {
    const leases = this.#leases;
    return {
      write: {
        text: (batch) => batch.map(reminderText).join("; "),
        answered: (outcomes, batch) => {
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
        text: (batch) =>
          batch.every(({ kind }) => kind === "release")
            ? undefined
            : batch.map(({ kind }) => `reminder ${kind}`).join("; "),
        answered: (_, batch) => leases.settled(batch),
      },
      rewrite: {
        text: (batch) => batch.map(() => "reminder rewritten").join("; "),
        answered: (_, batch) => leases.settled(batch.map(({ data: _, ...next }) => ({ kind: "next", ...next }))),
      },
    };
  }

  #ofActors(): Steps<Pick<Store, "take" | "commit">> {
    const leases = this.#leases;
    return {
      take: {
        answered: (taken, batch) => {
          for (const [i, one] of taken.entries())
            if (one !== "locked") this.#actors.set(one.ref, `${batch[i]!.type}/${batch[i]!.id}`);
        },
      },
      commit: {
        text: (batch) => batch.map(({ ref }) => `${this.#actors.get(ref)}: state`).join("; "),
        answered: (outcomes, batch) => {
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

const nameIn = (event: object): string =>
  "name" in event && typeof event.name === "string" ? ` ${event.name}` : "change" in event ? ` ${event.change}` : "";

const eventsText = (data: string): string =>
  readEventBatch(data)
    .events.map((event) => `${event.kind}${nameIn(event)}`)
    .join(", ");

const startText = ({ workflowId, first }: RunStart): string => `${workflowId}: ${eventsText(first.data)}`;

function messageText({ workflowId, data }: InboxMessage): string {
  const { message } = readMessage(data);
  return `to ${workflowId}: ${message.kind}${nameIn(message)}`;
}

const completionText = ({ batch, outcome }: TaskCompletion, workflowId: string): string =>
  `${workflowId}: ${batch === undefined ? "nothing new" : eventsText(batch.data)}${outcome.kind === "rest" ? ", rests" : ""}`;

const reminderText = (write: ReminderWrite): string =>
  `reminder ${write.key.type}/${write.key.id}/${write.key.name} ${write.kind === "set" ? "set" : "cancelled"}`;
