// A story: a plan that is kept because of what it showed, and what must come of it. Beside NAME.json lies NAME.txt, what is told
// when it is played.
import { readFileSync } from "node:fs";
import type { Plan } from "../plan.ts";

export interface StoryFile {
  readonly title: string;
  /** Why it is kept. */
  readonly why: string;
  /** With a bug: that checker reports it, and without the bug everything holds. */
  readonly expected: "holds" | { readonly reports: string; readonly bug?: string };
  readonly plan: Plan;
}

/** A file that is no story. The message is for the person who named it. */
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

/** Where what it tells is kept. */
export const textFileOf = (file: string): string => file.replace(/(?:\.json)?$/, ".txt");
