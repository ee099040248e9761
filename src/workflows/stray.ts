// A failure of a run's code in a callback that nothing waits for, outside of its turn. Whether it happens before the code has gone on is
// a matter of chance, so another try is no help: the run is parked until people have mended its code.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";

export class Stray extends LimpetError {
  constructor(name: string, thrown: unknown) {
    super("WORKFLOW_MISUSED", textOf(name, thrown), { cause: thrown });
  }
}

function textOf(name: string, thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  // What a guard refuses names the run already.
  if (isLimpetError(thrown, "WORKFLOW_MISUSED")) return `${text} (in a callback that the workflow does not wait for)`;
  return `${name}: a callback that it does not wait for has thrown: ${text}; use an activity`;
}
