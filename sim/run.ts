// One run of a plan: chaos for the planned time, then healing, then the check that everything works.
import { LIMITS } from "../src/kernel/limits.ts";
import { KIND } from "../src/world/timeline.ts";
import { beginNumbers } from "./application.ts";
import { planCalls } from "./callers.ts";
import { CHECKERS } from "./checkers/all.ts";
import type { Checker } from "./checkers/checker.ts";
import { Coverage } from "./coverage/coverage.ts";
import { ShardCodeCoverage } from "./coverage/shard-code-coverage.ts";
import { ShardCoverage } from "./coverage/shard-coverage.ts";
import { WorkflowCoverage } from "./coverage/workflow-coverage.ts";
import { planDeeds } from "./deeds.ts";
import { FAULTS } from "./faults/all.ts";
import { demand } from "./heal/heal.ts";
import type { Plan } from "./plan.ts";
import { beginScripts } from "./scripts.ts";
import { Stage, type Violation } from "./stage.ts";

export interface Outcome {
  readonly violations: readonly Violation[];
  /** Hash of the trace: equal for equal runs. */
  readonly trace: string;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly reached: ReadonlySet<string>;
  readonly operations: number;
}

/** A run with more steps than this for its simulated time is an endless loop. */
const MOST_STEPS = 500_000;

/** The production limit. */
const STICKY_CHUNK: number = LIMITS.stickyChunk;

/** Thrown at pending waits when a violation ends the run: virtual time stops. */
const OVER = Symbol("over");

export async function run(plan: Plan, prepare: (stage: Stage) => void = () => {}): Promise<Outcome> {
  beginNumbers();
  beginScripts();
  // Only the simulator changes a limit, and every run sets it.
  Object.assign(LIMITS, { stickyChunk: plan.stickyChunk ?? STICKY_CHUNK });
  const stage = new Stage(plan);
  const checkers = CHECKERS.map((kind): Checker => kind.make(stage, (what) => stage.violation(kind.name, what)));
  stage.observers.push(...checkers, new Coverage(stage), new WorkflowCoverage(stage));
  stage.observers.push(new ShardCoverage(stage), new ShardCodeCoverage(stage));
  prepare(stage);
  const { timeline } = stage.world;
  const stepped = stage.observers.filter((one) => one.stepped !== undefined);
  const after = (): void => {
    for (const one of stepped) one.stepped!();
  };
  const isStuck = (): boolean => timeline.steps > MOST_STEPS;
  const isOver = (): boolean => stage.violations.length > 0 || isStuck();
  const until = async (ms: number, isDone: () => boolean = () => false): Promise<void> => {
    await timeline.run(ms, () => isOver() || isDone(), after);
    if (isOver()) throw OVER;
  };

  for (const player of stage.players) {
    timeline.plan(player.planned.startsAt, KIND.script, undefined, () => stage.start(player));
  }
  for (const planned of plan.faults) {
    const fault = FAULTS.find(({ name }) => name === planned.fault);
    if (fault === undefined) throw new TypeError(`there is no fault called ${planned.fault}`);
    timeline.plan(planned.at, KIND.script, undefined, () => fault.happen(stage, planned));
  }
  planCalls(stage);
  planDeeds(stage);
  try {
    await until(plan.chaosMs);
    await demand(stage, checkers, until);
  } catch (error) {
    // An unexpected exception: it would end a real process.
    if (error !== OVER) stage.violation("no exception", String((error as Error).stack ?? error));
  }
  if (isStuck()) stage.violation("progress", `more than ${MOST_STEPS} steps: something goes round in circles`);
  return {
    violations: stage.violations,
    trace: timeline.trace,
    steps: timeline.steps,
    simulatedMs: timeline.now,
    faults: stage.faults,
    reached: stage.reached,
    operations: stage.operations.length + stage.deeds.length,
  };
}
