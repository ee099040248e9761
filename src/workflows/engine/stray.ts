// A failure of a run's code in a callback that nothing awaits. Its timing is random, so a retry soon does not
// help: the run is parked until its code is repaired.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";

export class Stray extends LimpetError {
  constructor(name: string, thrown: unknown) {
    super("WORKFLOW_MISUSED", textOf(name, thrown), { cause: thrown });
  }
}

function textOf(name: string, thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  // The error of a guard already names the run.
  if (isLimpetError(thrown, "WORKFLOW_MISUSED")) return `${text} (in a callback that the workflow does not await)`;
  return `${name}: a callback that the workflow does not await threw: ${text}; use an activity`;
}
