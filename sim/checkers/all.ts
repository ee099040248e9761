// Every checker there is.
import type { CheckerKind } from "./checker.ts";
import { singleCommitter } from "./single-committer.ts";

export const CHECKERS: readonly CheckerKind[] = [singleCommitter];
