// Drives one run by hand, as a worker would, and replays its history from the beginning after every step. The
// run in memory and the replayed run must reach the same state.
import assert from "node:assert/strict";
import type { AnyWorkflow } from "./definition/definition.ts";
import type { CommandEvent, ExternalEvent, HistoryEvent, Step } from "./engine/events.ts";
import { readEventBatch, writeEventBatch } from "./engine/events.ts";
import { Execution, type ExecutionDeps } from "./engine/execution.ts";

export const DEPS: ExecutionDeps = {
  settle: () => new Promise<void>((resolve) => process.nextTick(resolve)),
  namespace: "default",
  queue: "default",
  nameOf: (activity) => (activity as { readonly name?: string }).name,
};

export class DrivenRun {
  readonly workflow: AnyWorkflow;
  readonly steps: Step[] = [];
  readonly execution: Execution;
  /** The time of the next step. */
  at = 1_000;

  constructor(workflow: AnyWorkflow) {
    this.workflow = workflow;
    this.execution = new Execution(workflow, DEPS);
  }

  static async begin(workflow: AnyWorkflow, input?: unknown): Promise<DrivenRun> {
    const run = new DrivenRun(workflow);
    const started = {
      kind: "WorkflowStarted",
      type: workflow.name,
      workflowId: "w",
      runId: "r",
      input,
      flags: 1,
    } as const;
    await run.execution.begin(started, run.at);
    await run.#record([started]);
    return run;
  }

  /** Returns the commands that follow from the event. */
  async deliver(event: ExternalEvent): Promise<CommandEvent[]> {
    this.at += 1_000;
    await this.execution.deliver(event, this.at);
    return this.#record([event]);
  }

  async #record(before: readonly HistoryEvent[]): Promise<CommandEvent[]> {
    const fresh = this.execution.commands.takeFresh();
    this.steps.push(readEventBatch(writeEventBatch({ at: this.at, events: [...before, ...fresh] }).data));
    await this.replay();
    return fresh;
  }

  /** Replays the same history from the beginning; it must reach the same state. */
  async replay(workflow = this.workflow): Promise<Execution> {
    const replayed = new Execution(workflow, DEPS);
    await replayed.replay(this.steps);
    if (workflow === this.workflow) {
      assert.deepEqual(replayed.commands.fresh, []);
      assert.deepEqual(replayed.end, this.execution.end);
      assert.deepEqual(replayed.waitsFor, this.execution.waitsFor);
      assert.deepEqual(replayed.memo, this.execution.memo);
      assert.deepEqual(replayed.attributes, this.execution.attributes);
    }
    return replayed;
  }

  /** All commands so far. */
  get decided(): string[] {
    return this.steps.flatMap(({ events }) => events.filter((event) => "n" in event).map(({ kind }) => kind));
  }

  complete(of: number, result?: unknown): Promise<CommandEvent[]> {
    return this.deliver({ kind: "ActivityCompleted", of, result });
  }

  fire(of: number): Promise<CommandEvent[]> {
    return this.deliver({ kind: "TimerFired", of });
  }

  signal(name: string, input?: unknown): Promise<CommandEvent[]> {
    return this.deliver({ kind: "SignalReceived", id: `${name} ${this.at}`, name, input });
  }
}
