// Converts uncaught exceptions into violations. In a real process such an exception ends the process. Here it
// fails its run, and the command continues.

import type { Plan } from "../plan.ts";
import { type Outcome, run } from "../run.ts";
import type { Stage } from "../stage.ts";

/** The current run of this process: there is one at a time. */
let current: Stage | undefined;

function uncaught(error: unknown): void {
  // Outside a run the command itself has a bug, and Node reports it.
  if (current === undefined) throw error;
  current.violation("no exception", `uncaught: ${(error as Error | undefined)?.stack ?? String(error)}`);
}

/** Like run(), but an uncaught exception becomes a violation as well. */
export async function runCatching(plan: Plan, prepare: (stage: Stage) => void = () => {}): Promise<Outcome> {
  process.on("unhandledRejection", uncaught);
  process.on("uncaughtException", uncaught);
  try {
    const outcome = await run(plan, (stage) => {
      current = stage;
      prepare(stage);
    });
    // Node reports a promise that was rejected in the last step after that step.
    await new Promise<void>((go) => setImmediate(go));
    return outcome;
  } finally {
    current = undefined;
    process.off("unhandledRejection", uncaught);
    process.off("uncaughtException", uncaught);
  }
}
