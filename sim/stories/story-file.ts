// A recorded story: a plan, the reason to keep it, and the expected result. NAME.txt beside NAME.json
// contains the trace of the story.
import { readFileSync } from "node:fs";
import type { Plan } from "../plan.ts";

export interface StoryFile {
  readonly title: string;
  /** The reason to keep it. */
  readonly why: string;
  /** With a bug: that checker reports it, and without the bug every rule holds. */
  readonly expected: "holds" | { readonly reports: string; readonly bug?: string };
  readonly plan: Plan;
}

/** An invalid story file. The message is for the user. */
export class StoryError extends Error {
  override readonly name = "StoryError";
}

export function readStory(file: string): StoryFile {
  let story: Partial<StoryFile>;
  try {
    story = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new StoryError(`${file} cannot be read: ${(error as Error).message}`);
  }
  const { expected, plan } = story;
  const isExpected = expected === "holds" || typeof expected?.reports === "string";
  if (typeof story.title !== "string" || typeof story.why !== "string" || !isExpected || !Array.isArray(plan?.hosts)) {
    throw new StoryError(`${file} is no story: it needs title, why, expected and plan.`);
  }
  return story as StoryFile;
}

/** The file of the trace. */
export const textFileOf = (file: string): string => file.replace(/(?:\.json)?$/, ".txt");
