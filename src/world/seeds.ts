// Runs one test under many seeds. When it fails, the error contains the seed and the command to run only that
// one.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { openWorld, type TestWorld } from "./test-world.ts";
import type { TestWorldOptions } from "./test-world-options.ts";

export interface SeedOptions extends Omit<TestWorldOptions, "seed"> {
  /** The first seed; the others follow. 1 by default. */
  readonly first?: number;
}

/** Number of story lines in an error; `story` has all of them. */
const LINES_SHOWN = 40;

/** A test has failed under a seed. The `cause` is the error of the test. */
export class SeedFailed extends Error {
  override readonly name = "SeedFailed";
  readonly seed: number;
  readonly #story: readonly string[];

  constructor(seed: number, cause: unknown, story: readonly string[]) {
    const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    const shown = story.slice(-LINES_SHOWN).join("\n");
    super(`seed ${seed} fails; LIMPET_SEED=${seed} runs only this one.\n${why}\n\nWhat happened last:\n${shown}`, {
      cause,
    });
    this.seed = seed;
    this.#story = story;
  }

  /** The events of the world, one line each. */
  get story(): readonly string[] {
    return this.#story;
  }
}

/**
 * Runs a test in its own world for every seed, one after the other, and rejects with SeedFailed at the first
 * failure. LIMPET_SEED=17 runs that one only; LIMPET_SEEDS=10000 runs more of them than the test requests.
 */
export async function everySeed(
  count: number,
  test: (world: TestWorld) => Promise<void> | void,
  seedOptions: SeedOptions,
): Promise<void> {
  if (typeof test !== "function" || typeof seedOptions !== "object") {
    throw new LimpetError(
      "ARGUMENT_INVALID",
      "everySeed takes a count, a test and options: everySeed(100, test, { actors: [Cart] })",
    );
  }
  const { first = 1, ...options } = seedOptions;
  const only = numberFrom("LIMPET_SEED");
  const from = only ?? first;
  const seeds = only === undefined ? (numberFrom("LIMPET_SEEDS") ?? count) : 1;
  if (!Number.isSafeInteger(seeds) || seeds < 1 || !Number.isSafeInteger(from)) {
    throw new LimpetError("OPTION_INVALID", `everySeed: ${seeds} seeds from ${from} will not do; count them from 1`);
  }
  for (let seed = from; seed < from + seeds; seed++) await oneSeed(test, { ...options, seed });
}

async function oneSeed(
  test: (world: TestWorld) => Promise<void> | void,
  options: TestWorldOptions & { readonly seed: number },
): Promise<void> {
  const world = await openWorld(options).catch((error: unknown) => {
    throw isLimpetError(error, "OPTION_INVALID") ? error : new SeedFailed(options.seed, error, []);
  });
  try {
    await test(world);
  } catch (error) {
    const { story } = world;
    await world.stop().catch(() => {});
    throw new SeedFailed(world.seed, error, story);
  }
  await world.stop();
}

function numberFrom(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === "") return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new LimpetError("OPTION_INVALID", `${name}: ${JSON.stringify(text)} is not a whole number`);
}
