// A known bug that the simulator can put back, to prove that it finds the bug. The program itself contains no
// trace of it: a bug changes the text of some source files while they are loaded (put-back.ts).
export interface Bug {
  /** kebab-case, unique. */
  readonly name: string;
  readonly family: Family;
  /** The defect and its visible effect. */
  readonly story: string;
  /** The system or the issue that it comes from. */
  readonly knownFrom: string;
  readonly changes: readonly Change[];
  /**
   * The file of a unit test, or a story, that fails with the bug. It guards bugs that seeds find late or not
   * at all.
   */
  readonly guard?: string;
}

export type Family =
  | "ownership overlap"
  | "rejected design"
  | "control plane stuck"
  | "store"
  | "calls"
  | "sticky actors"
  | "reminders"
  | "workflows"
  | "shards"
  | "late messages";

export interface Change {
  /** Path relative to the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly before: string;
  readonly after: string;
}

/** Returns the source of a file with the bug in it. Throws if the bug does not fit the file any more. */
export function withBug(bug: Bug, file: string, source: string): string {
  let changed = source;
  for (const { file: where, before, after } of bug.changes) {
    if (where !== file) continue;
    const parts = changed.split(before);
    if (parts.length !== 2) {
      throw new Error(
        `the bug ${bug.name} does not fit ${file}: the text it replaces occurs ${parts.length - 1} times, not once:\n${before}`,
      );
    }
    changed = parts.join(after);
  }
  return changed;
}
