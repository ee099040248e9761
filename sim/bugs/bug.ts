// A known bug that can be put back into the program, so that the simulator has to find it. The program itself knows nothing of
// this: a bug is a change of the text of some source files while they are loaded (put-back.ts).
export interface Bug {
  /** kebab-case, unique. */
  readonly name: string;
  readonly family: Family;
  /** What goes wrong, and what can be seen of it from outside. */
  readonly story: string;
  /** Who has had it. */
  readonly knownFrom: string;
  readonly changes: readonly Change[];
  /** The file of a unit test that fails with the bug. It guards bugs that seeds find late or not at all. */
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
  /** Relative to the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly before: string;
  readonly after: string;
}

/** The source of a file with the bug in it. A bug that does not fit its file any more is no bug, so this throws. */
export function withBug(bug: Bug, file: string, source: string): string {
  let changed = source;
  for (const { file: where, before, after } of bug.changes) {
    if (where !== file) continue;
    const parts = changed.split(before);
    if (parts.length !== 2) {
      throw new Error(
        `the bug ${bug.name} does not fit ${file}: what it replaces occurs ${parts.length - 1} times, not once:\n${before}`,
      );
    }
    changed = parts.join(after);
  }
  return changed;
}
