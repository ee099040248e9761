// What nobody caught. In a real process it is the end of the process, so in a run it is a violation: of that run, and not the end
// of the command.

import type { Plan } from "../plan.ts";
import { type Outcome, run } from "../run.ts";
import type { Stage } from "../stage.ts";

/** The run that is going on in this process: there is one at a time. */
let current: Stage | undefined;

function uncaught(error: unknown): void {
  // Not of a run: the command itself is wrong, and says so in the way of Node.
  if (current === undefined) throw error;
  current.violation("no exception", `nobody caught: ${(error as Error | undefined)?.stack ?? String(error)}`);
}

/** As run(), but an exception that nobody catches becomes a violation too. */
export async function runCatching(plan: Plan, prepare: (stage: Stage) => void = () => {}): Promise<Outcome> {
  process.on("unhandledRejection", uncaught);
  process.on("uncaughtException", uncaught);
  try {
    const outcome = await run(plan, (stage) => {
      current = stage;
      prepare(stage);
    });
    // A promise that was rejected in the last step is reported after it.
    await new Promise<void>((go) => setImmediate(go));
    return outcome;
  } finally {
    current = undefined;
    process.off("unhandledRejection", uncaught);
    process.off("uncaughtException", uncaught);
  }
}
