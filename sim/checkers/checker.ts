// A checker looks at one run and says what must not have happened. One file each; the list is in all.ts.
import type { Observer } from "../observer.ts";
import type { Stage } from "../stage.ts";

export interface Checker extends Observer {
  /** Everything is healed, and everything that was asked then has been answered. */
  healed?(): void;
  /** Every host has been stopped in an orderly way: nothing may be left. */
  over?(): void;
}

export interface CheckerKind {
  /** As violations name it. */
  readonly name: string;
  /** What must be true, in one sentence. */
  readonly rule: string;
  make(stage: Stage, report: (what: string) => void): Checker;
}
