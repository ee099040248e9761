// Runs one test with a crash at every point: first without one, to record its steps, then once for each step
// with a crash right before it and once with a crash right after it.
import { LimpetError } from "../kernel/errors.ts";
import { type Activities, type TestApp, type TestOptions, testLimpet } from "./test-app.ts";

/** A test has failed with a crash at some point, or without any. The `cause` is the error of the test. */
export class CrashFailed extends Error {
  override readonly name = "CrashFailed";
  /** Steps until the failure; the message marks the step of the crash. */
  readonly steps: readonly string[];

  constructor(where: string, cause: unknown, steps: readonly string[]) {
    const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    const written = steps.map((step, i) => `  ${i + 1}. ${step}`).join("\n");
    super(`the test fails ${where}.\n${why}\n\nWhat was written:\n${written}`, { cause });
    this.steps = steps;
  }
}

/**
 * Runs a test in its own app for every point at which its process may crash, and rejects with CrashFailed at
 * the first failure. Requests to workflows continue after the crash; a call to an actor may reject with
 * ANSWER_LOST. Resolves with the number of crashes.
 */
export async function everyCrash<const A extends Activities = Record<never, never>>(
  options: TestOptions<A>,
  test: (app: TestApp<A>) => Promise<void> | void,
): Promise<number> {
  if (typeof test !== "function") {
    throw new LimpetError(
      "ARGUMENT_INVALID",
      "everyCrash takes options and a test: everyCrash({ workflows: [order] }, async (app) => …)",
    );
  }
  if (options.stateStore !== undefined || options.clock !== undefined) {
    throw new LimpetError("OPTION_INVALID", "everyCrash: every run of the test has a store and a clock of its own");
  }
  const steps = await once(options, test, "without any crash", () => {});
  for (const [i, step] of steps.entries()) {
    const where = `step ${i + 1}, ${step}`;
    await once(options, test, `with a crash before ${where}`, (app) => app.crashBefore(i + 1));
    await once(options, test, `with a crash after ${where}`, (app) => app.crashAfter(i + 1));
  }
  return 2 * steps.length;
}

async function once<A extends Activities>(
  options: TestOptions<A>,
  test: (app: TestApp<A>) => Promise<void> | void,
  where: string,
  prepare: (app: TestApp<A>) => void,
): Promise<readonly string[]> {
  await using app = await testLimpet<A>(options);
  prepare(app);
  try {
    await test(app);
  } catch (error) {
    throw new CrashFailed(where, error, app.steps);
  }
  return [...app.steps];
}
