// Prints and saves failed seeds.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Paint } from "../../src/cli/common/terminal.ts";
import type { Plan } from "../plan.ts";
import type { Violation } from "../stage.ts";
import type { StoryFile } from "../stories/story-file.ts";
import { type Circumstances, replayCommand, type Variation } from "./circumstances.ts";
import type { Report } from "./job.ts";

const FOLDER = join(import.meta.dirname, "../failures");
/** The first violations are sufficient for a diagnosis. */
const MOST_SHOWN = 3;

export function failureText(
  { seed, violations }: Report,
  variation: Variation,
  { commit, node }: Circumstances,
  paint: Paint,
): string {
  const found = violations.slice(0, MOST_SHOWN).map(({ checker, what, at }) => {
    return `  ${(at / 1_000).toFixed(3)} s  ${checker}: ${what.replaceAll("\n", "\n    ")}`;
  });
  return [
    `${paint("red", `seed ${seed} failed`)} (commit ${commit}, Node ${node})`,
    ...found,
    ...(violations.length > MOST_SHOWN ? [`  and ${violations.length - MOST_SHOWN} more`] : []),
    `  replay: ${replayCommand(seed, variation)}`,
  ].join("\n");
}

/** Saves a failed plan as a story that can be played. Returns its path. */
export function saveFailure(
  name: string,
  plan: Plan,
  violations: readonly Violation[],
  { bug }: Variation,
  { commit, node }: Circumstances,
): string {
  const checker = violations[0]!.checker;
  const story: StoryFile & { violations: readonly Violation[] } = {
    title: `Seed ${plan.seed} breaks "${checker}"`,
    why: `Found at commit ${commit} with Node ${node}.`,
    expected: bug === undefined ? "holds" : { reports: checker, bug },
    violations,
    plan,
  };
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name}.json`);
  writeFileSync(file, `${JSON.stringify(story, null, 2)}\n`);
  return relative(process.cwd(), file);
}
