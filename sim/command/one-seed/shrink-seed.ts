// Task `--shrink`: reduces a failing plan, prints it as a script and saves it.
import type { Terminal } from "../../../src/cli/common/terminal.ts";
import type { Plan } from "../../plan.ts";
import { shrink } from "../../shrink.ts";
import { readStory, type StoryFile } from "../../stories/story-file.ts";
import type { Arguments } from "../arguments.ts";
import { circumstances } from "../circumstances.ts";
import { saveFailure } from "../failures.ts";
import { Interrupt } from "../interrupt.ts";
import type { Job, Report, Worker } from "../job.ts";
import { Crew } from "../many-seeds/crew.ts";
import { planOf } from "../plan-of.ts";
import { Progress } from "../progress.ts";
import { headerOf, scriptOf } from "./plan-text.ts";

/** Real time for one run. */
const MOST_MS = 30_000;

/** Returns 0 if a reduced plan fails; 1 if there was nothing to reduce. */
export async function shrinkSeed(options: Arguments, terminal: Terminal): Promise<number> {
  const { seed = 0, hosts, story } = options;
  const kept = story === undefined ? undefined : readStory(story);
  const plan = kept?.plan ?? planOf({ seed, hosts });
  // In its own process: a reduced plan may hang where the whole plan did not.
  const crew = new Crew({ jobs: 1, mostMs: MOST_MS });
  try {
    return await shrinkPlan(plan, crew, options, terminal, bugOf(kept));
  } finally {
    crew.close();
  }
}

/** The bug with which a recorded story fails. */
function bugOf(kept: StoryFile | undefined): string | undefined {
  return typeof kept?.expected === "object" ? kept.expected.bug : undefined;
}

async function shrinkPlan(
  plan: Plan,
  worker: Worker,
  options: Arguments,
  terminal: Terminal,
  itsBug: string | undefined,
): Promise<number> {
  const { violations: found, overran } = await worker.perform({ seed: plan.seed, plan });
  if (overran !== undefined) {
    terminal.errLine(`seed ${plan.seed} cannot be shrunk: ${overran}`);
    return 1;
  }
  const [violation] = found;
  if (violation === undefined) {
    const hint =
      itsBug === undefined || options.bug === itsBug ? "" : ` Add --bug ${itsBug}: with it, it does not hold.`;
    terminal.errLine(`seed ${plan.seed} holds: there is nothing to make small.${hint}`);
    return 1;
  }
  const { checker } = violation;
  terminal.errLine(`${checker}: ${violation.what.split("\n")[0]}`);

  const small = await makeSmall(plan, checker, worker, terminal);
  const { violations } = await worker.perform(jobOf(small, checker));
  for (const line of [...headerOf(small), "", ...scriptOf(small), ""]) terminal.line(line);
  for (const { checker, what, at } of violations)
    terminal.line(`${(at / 1_000).toFixed(3).padStart(9)}s ${checker}: ${what}`);
  const file = saveFailure(`${plan.seed}-small`, small, violations, options, circumstances());
  terminal.line(`\nsaved: ${file}\nplay:  npm run sim -- --story ${file}`);
  return 0;
}

/** Only a violation of determinism needs two runs. */
const jobOf = (plan: Plan, checker: string): Job => ({ seed: plan.seed, plan, once: checker !== "determinism" });

async function makeSmall(plan: Plan, checker: string, worker: Worker, terminal: Terminal): Promise<Plan> {
  let line = "";
  const progress = new Progress(process.stderr, () => line);
  const interrupt = new Interrupt((text) => {
    progress.clear();
    terminal.errLine(text);
  });
  const isSame = ({ violations }: Report): boolean => violations[0]?.checker === checker;
  const small = await shrink(plan, async (smaller) => isSame(await worker.perform(jobOf(smaller, checker))), {
    isOver: () => interrupt.isAsked,
    onRun: ({ runs, smallest: { hosts, calls, faults, chaosMs } }) => {
      line = `${runs} runs: ${hosts.length} hosts, ${calls.length} calls, ${faults.length} faults, ${(chaosMs / 1_000).toFixed(1)} s`;
    },
  });
  progress.show();
  progress.end();
  interrupt.end();
  return small;
}
