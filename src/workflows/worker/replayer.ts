// Loads a run into memory from its history, with the code of this process.
import { invariant, isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Workflows } from "../../ports/store/workflows.ts";
import type { CodeGuards, Settle } from "../../ports/workflow-code.ts";
import type { ActivityRunner } from "../activities/runner.ts";
import type { AnyWorkflow } from "../definition/definition.ts";
import { describeCommand } from "../engine/divergence.ts";
import { readEventBatch, type Step, writeEventBatch } from "../engine/events.ts";
import { Execution } from "../engine/execution.ts";
import type { WorkflowInstruments } from "../instruments.ts";
import { LoadedRun } from "./loaded-run.ts";

export interface ReplayerDeps {
  readonly clock: Clock;
  readonly settle: Settle;
  readonly store: Pick<Workflows, "history">;
  readonly activities: ActivityRunner;
  readonly instruments: WorkflowInstruments;
  readonly guards?: CodeGuards;
}

/** Bytes of a history in one read. */
const READ_BYTES = 4 * 1024 * 1024;

export class Replayer {
  readonly #definitions: ReadonlyMap<string, AnyWorkflow>;
  readonly #settings: { readonly namespace: string; readonly queue: string };
  readonly #deps: ReplayerDeps;

  constructor(
    definitions: readonly AnyWorkflow[],
    settings: { readonly namespace: string; readonly queue: string },
    deps: ReplayerDeps,
  ) {
    this.#definitions = new Map(definitions.map((definition) => [definition.name, definition]));
    this.#settings = settings;
    this.#deps = deps;
  }

  get types(): string[] {
    return [...this.#definitions.keys()];
  }

  has(type: string): boolean {
    return this.#definitions.has(type);
  }

  /** A new execution, before its first event. */
  execution(type: string, knowsPlaces = false): Execution {
    const definition = this.#definitions.get(type);
    if (definition === undefined) throw new LimpetError("WORKFLOW_TYPE_UNKNOWN", `this worker has no workflow ${type}`);
    const { settle, activities, guards } = this.#deps;
    const { namespace, queue } = this.#settings;
    return new Execution(definition, {
      settle,
      namespace,
      queue,
      knowsPlaces,
      guards,
      nameOf: (activity) => activities.nameOf(activity),
      whyUnknown: (activity) => activities.whyUnknown(activity),
    });
  }

  /** Replays the history; new commands are not written. */
  async replay(task: {
    readonly ref: number;
    readonly type: string;
    readonly last: number;
    readonly taken: number;
  }): Promise<LoadedRun> {
    const execution = this.execution(task.type);
    const run = new LoadedRun(task.ref, execution, task.last, task.taken);
    const steps = await this.#read(task.ref, task.last);
    for (const { at, events } of steps) {
      run.at = at;
      for (const event of events) run.note(event);
    }
    const { clock, instruments } = this.#deps;
    const from = clock.monotonic();
    await execution.replay(steps).catch((error: unknown) => this.#explain(error, task.type, steps));
    instruments.replayed((clock.monotonic() - from) / 1_000);
    return run;
  }

  /** Replays once more with places recorded, for a better message. */
  async #explain(error: unknown, type: string, steps: readonly Step[]): Promise<void> {
    if (isLimpetError(error, "WORKFLOW_DIVERGED")) await this.execution(type, true).replay(steps);
    throw error;
  }

  async #read(ref: number, last: number): Promise<Step[]> {
    const steps: Step[] = [];
    for (let after = 0; after < last; ) {
      const { batches } = await this.#deps.store.history(ref, after, READ_BYTES);
      invariant(batches.length > 0, `the history of ${ref} goes on after ${after} of ${last}`);
      for (const { from, count, data } of batches) {
        steps.push({ ...readEventBatch(data), bytes: data.length });
        after = from + count - 1;
      }
    }
    return steps;
  }

  /** Throws when a replay of the history with this step does not reach the state of the run. */
  async check({ ref, last, execution }: LoadedRun, step: Step): Promise<void> {
    const again = this.execution(execution.workflow.name);
    // Other code, corrected since, may have issued the earlier commands.
    again.commands.exactFrom = execution.commands.ownFrom;
    const steps = await this.#read(ref, last);
    // In the form in which a replay reads it.
    await again.replay([...steps, readEventBatch(writeEventBatch(step).data)]);
    const [here, there] = [execution, again].map((each) =>
      [...each.waitsFor, ...each.commands.fresh.map(describeCommand)].join(", "),
    );
    if (here === there) return;
    const difference = `it waits for ${here || "nothing"}, and when it is replayed, for ${there || "nothing"}`;
    throw new LimpetError(
      "WORKFLOW_DIVERGED",
      `${execution.workflow.name} ${execution.started.workflowId} is not the same again: ${difference}`,
    );
  }
}
