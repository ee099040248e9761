// `--shrink`: makes a failing plan small, shows it as a script and keeps it.
import type { Terminal } from "../../src/cli/terminal.ts";
import type { Plan } from "../plan.ts";
import { shrink } from "../shrink.ts";
import { readStory } from "../stories/story-file.ts";
import type { Arguments } from "./arguments.ts";
import { circumstances } from "./circumstances.ts";
import { saveFailure } from "./failures.ts";
import { Interrupt } from "./interrupt.ts";
import type { Report } from "./job.ts";
import { perform } from "./perform.ts";
import { planOf } from "./plan-of.ts";
import { headerOf, scriptOf } from "./plan-text.ts";
import { Progress } from "./progress.ts";

/** 0 if there is a small plan that fails; 1 if there was nothing to make small. */
export async function shrinkSeed(options: Arguments, terminal: Terminal): Promise<number> {
  const { seed = 0, hosts, story } = options;
  const plan = story === undefined ? planOf({ seed, hosts }) : readStory(story).plan;
  const whole = await perform({ seed: plan.seed, plan });
  const [violation] = whole.violations;
  if (violation === undefined) {
    terminal.errLine(`seed ${plan.seed} holds: there is nothing to make small.`);
    return 1;
  }
  const { checker } = violation;
  terminal.errLine(`${checker}: ${violation.what.split("\n")[0]}`);

  const small = await makeSmall(plan, checker, terminal);
  const { violations } = await perform({ seed: small.seed, plan: small, once: checker !== "determinism" });
  for (const line of [...headerOf(small), "", ...scriptOf(small), ""]) terminal.line(line);
  for (const { checker, what, at } of violations)
    terminal.line(`${(at / 1_000).toFixed(3).padStart(9)}s ${checker}: ${what}`);
  const file = saveFailure(`${plan.seed}-small`, small, violations, options, circumstances());
  terminal.line(`\nsaved: ${file}\nplay:  npm run sim -- --story ${file}`);
  return 0;
}

async function makeSmall(plan: Plan, checker: string, terminal: Terminal): Promise<Plan> {
  let line = "";
  const progress = new Progress(process.stderr, () => line);
  const interrupt = new Interrupt((text) => {
    progress.clear();
    terminal.errLine(text);
  });
  const isSame = ({ violations }: Report): boolean => violations[0]?.checker === checker;
  const small = await shrink(
    plan,
    // Only what is about two runs needs two runs.
    async (smaller) => isSame(await perform({ seed: smaller.seed, plan: smaller, once: checker !== "determinism" })),
    {
      isOver: () => interrupt.isAsked,
      onRun: ({ runs, smallest: { hosts, calls, faults, chaosMs } }) => {
        line = `${runs} runs: ${hosts.length} hosts, ${calls.length} calls, ${faults.length} faults, ${(chaosMs / 1_000).toFixed(1)} s`;
      },
    },
  );
  progress.show();
  progress.end();
  interrupt.end();
  return small;
}
