// Finds the first difference between two runs of one plan: runs the plan again and records the trace after
// every step.
import { KIND } from "../../src/world/timeline.ts";
import type { Plan } from "../plan.ts";
import type { Stage } from "../stage.ts";
import { runCatching } from "./exceptions.ts";

export interface Difference {
  /** The first step that differs, from 1. */
  readonly step: number;
  /** Milliseconds since the start of the world. */
  readonly at: number;
  /** Story of both runs at that time. */
  readonly text: string;
}

interface Step {
  readonly at: number;
  readonly who: string;
  readonly kind: string;
  readonly trace: string;
}

/** Nondeterminism may not show in every run. */
const MOST_RUNS = 8;

const KINDS = new Map<number, string>(Object.entries(KIND).map(([name, number]) => [number, name]));

/** Returns undefined if all runs were equal this time. */
export async function firstDifference(
  plan: Plan,
  prepare: (stage: Stage) => void = () => {},
): Promise<Difference | undefined> {
  const first = await record(plan, prepare);
  for (let runs = 1; runs < MOST_RUNS; runs++) {
    const found = compare(first, await record(plan, prepare));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function record(plan: Plan, prepare: (stage: Stage) => void): Promise<Step[]> {
  const steps: Step[] = [];
  await runCatching(plan, (stage) => {
    const { timeline } = stage.world;
    const names = new Map<number, string>();
    let current = { who: "", kind: "" };
    const plan = timeline.plan.bind(timeline);
    timeline.plan = (at, kind, actee, run) =>
      plan(at, kind, actee, () => {
        const who = actee === undefined ? "the world" : (names.get(actee.number) ?? `process ${actee.number}`);
        current = { who, kind: KINDS.get(kind) ?? `${kind}` };
        run();
      });
    stage.observers.push({
      started: (host, process) => names.set(process.number, host.name),
      stepped: () => steps.push({ at: stage.now, ...current, trace: timeline.trace }),
    });
    prepare(stage);
  });
  return steps;
}

function compare(one: readonly Step[], other: readonly Step[]): Difference | undefined {
  const length = Math.max(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const [a, b] = [one[i], other[i]];
    if (a?.trace === b?.trace) continue;
    const at = Math.min(a?.at ?? Number.POSITIVE_INFINITY, b?.at ?? Number.POSITIVE_INFINITY);
    const [left, right] = [show(a), show(b)];
    const both = left === right ? `${left} in both, with another result` : `${left} in one run, ${right} in the other`;
    return { step: i + 1, at, text: `from step ${i + 1} on: ${both}` };
  }
  return undefined;
}

function show(step: Step | undefined): string {
  return step === undefined ? "nothing more" : `a ${step.kind} of ${step.who} at ${(step.at / 1_000).toFixed(3)} s`;
}
