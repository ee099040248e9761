// Plays a story without and with its bug, and reports unexpected results.

import type { Job } from "../command/job.ts";
import { Crew } from "../command/many-seeds/crew.ts";
import type { StoryFile } from "./story-file.ts";

export interface Played {
  /** Contents for NAME.txt. */
  readonly text: string;
  /** Unexpected results; empty if there are none. */
  readonly problems: readonly string[];
}

interface Part {
  readonly heading: string;
  readonly bug: string | undefined;
  /** The checker that must report a violation; undefined if every rule must hold. */
  readonly reports: string | undefined;
}

export async function playStory(story: StoryFile, detail: Job["detail"] = "coarsely"): Promise<Played> {
  const parts = await Promise.all(
    partsOf(story).map(async (part) => ({ ...part, ...(await playPart(story, part, detail)) })),
  );
  const sections = parts.map(({ heading, story: lines }) => `# ${heading}\n\n${lines.join("\n")}`);
  return {
    text: `${[story.title, story.why, ...sections].join("\n\n")}\n`,
    problems: parts.flatMap(({ heading, wrong }) => wrong.map((problem) => `${heading}: ${problem}`)),
  };
}

function partsOf({ expected }: StoryFile): Part[] {
  const holds: Part = { heading: "Without the bug, every rule holds", bug: undefined, reports: undefined };
  if (expected === "holds") return [holds];
  const { reports, bug } = expected;
  if (bug === undefined) return [{ heading: `"${reports}" is broken`, bug, reports }];
  return [{ heading: `With the bug ${bug}, "${reports}" is broken`, bug, reports }, holds];
}

/** Runs twice in the same process; both runs must have the same story. */
async function playPart({ plan }: StoryFile, { bug, reports }: Part, detail: Job["detail"]) {
  const crew = new Crew({ jobs: 1, bug });
  try {
    const job = { seed: plan.seed, plan, detail };
    const { story: lines, violations } = await crew.perform(job);
    const again = await crew.perform(job);
    const wrong = violations
      .filter(({ checker }) => checker !== reports)
      .map(({ checker, what }) => `"${checker}" is broken: ${what}`);
    if (reports !== undefined && !violations.some(({ checker }) => checker === reports)) {
      wrong.push(`"${reports}" is not broken any more`);
    }
    if (again.story.join("\n") !== lines.join("\n")) wrong.push("the second time something else happens");
    return { story: lines, wrong };
  } finally {
    crew.close();
  }
}
