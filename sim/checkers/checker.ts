// Interface of checkers. A checker observes one run and reports violations of its rule. One file each; the
// list is in all.ts.
import type { Observer } from "../observer.ts";
import type { Stage } from "../stage.ts";

export interface Checker extends Observer {
  /** Healing is complete, and all calls of the healing phase have answers. */
  healed?(): void;
  /** Every host has stopped in an orderly way: nothing may remain. */
  over?(): void;
}

/** Reports one violation of the rule. */
export type ReportViolation = (what: string) => void;

export interface CheckerKind {
  /** Name in violations. */
  readonly name: string;
  /** The rule, in one sentence. */
  readonly rule: string;
  make(stage: Stage, report: ReportViolation): Checker;
}
