// Runs one job in this process: draws the plan, runs it, and runs it again to compare.
import { showLine } from "../../src/world/story.ts";
import type { Outcome } from "../run.ts";
import type { Stage, Violation } from "../stage.ts";
import { CoarseStory } from "../stories/coarse-story.ts";
import { firstDifference } from "./determinism.ts";
import { runCatching } from "./exceptions.ts";
import type { Job, Report } from "./job.ts";
import { planOf } from "./plan-of.ts";

export async function perform(job: Job, prepare: (stage: Stage) => void = () => {}): Promise<Report> {
  const plan = planOf(job);
  let story: readonly string[] = [];
  const first = await runCatching(plan, (stage) => {
    if (job.detail === "coarsely") story = new CoarseStory(stage).lines;
    if (job.detail === "everything") story = everythingOf(stage);
    prepare(stage);
  });
  const violations = [...first.violations];
  if (!job.once) {
    const second = await runCatching(plan, prepare);
    if (!isSame(first, second)) violations.push(await determinismBroken(first, () => firstDifference(plan, prepare)));
  }
  return {
    seed: job.seed,
    violations,
    trace: first.trace,
    runs: job.once ? 1 : 2,
    steps: first.steps,
    simulatedMs: first.simulatedMs,
    operations: first.operations,
    faults: Object.fromEntries(first.faults),
    reached: [...first.reached],
    story,
  };
}

function everythingOf(stage: Stage): readonly string[] {
  const lines: string[] = [];
  stage.observers.push({ logged: (line) => lines.push(showLine(line)) });
  return lines;
}

const isSame = (one: Outcome, other: Outcome): boolean =>
  one.trace === other.trace && one.steps === other.steps && one.violations.length === other.violations.length;

async function determinismBroken(
  { simulatedMs }: Outcome,
  find: () => ReturnType<typeof firstDifference>,
): Promise<Violation> {
  const found = await find();
  if (found === undefined) {
    const what = "two runs of the same plan differ; further runs did not, so the place is unknown";
    return { checker: "determinism", what, at: simulatedMs };
  }
  return { checker: "determinism", what: `two runs of the same plan differ ${found.text}`, at: found.at };
}
