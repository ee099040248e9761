// One test under many seeds. When it fails, the error says under which seed and how to see only that one again.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { openWorld, type TestWorld } from "./test-world.ts";
import type { TestWorldOptions } from "./test-world-options.ts";

export interface SeedOptions extends Omit<TestWorldOptions, "seed"> {
  /** The first seed; the others follow. 1, unless said otherwise. */
  readonly first?: number | undefined;
}

/** The lines of the story that an error shows; `story` has all of them. */
const LINES_SHOWN = 40;

/** A test has failed under a seed. What it failed with is the `cause`. */
export class SeedFailed extends Error {
  override readonly name = "SeedFailed";
  readonly seed: number;
  readonly #story: readonly string[];

  constructor(seed: number, cause: unknown, story: readonly string[]) {
    const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    const told = story.slice(-LINES_SHOWN).join("\n");
    super(`seed ${seed} fails; LIMPET_SEED=${seed} runs only this one.\n${why}\n\nWhat happened last:\n${told}`, {
      cause,
    });
    this.seed = seed;
    this.#story = story;
  }

  /** What happened in the world, one line each. */
  get story(): readonly string[] {
    return this.#story;
  }
}

/**
 * Runs a test in a world of its own for every seed, one after the other, and rejects with SeedFailed at the first that fails.
 * LIMPET_SEED=17 runs that one only; LIMPET_SEEDS=10000 runs more of them than the test asks for.
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
