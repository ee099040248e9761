// Wraps the application's `shardOf`, which may throw, return an invalid value, or change its result. The
// caller gets an error before anything else happens. Each new id is extracted twice and the result is cached.
// Otherwise an inconsistent function could activate one actor on two hosts, and only the fence of the store
// would stop it.
import { LimpetError } from "../../kernel/errors.ts";
import { shardOf } from "../../kernel/shards.ts";

/** Ids in the cache. */
const REMEMBERED = 10_000;

/** `where` names the place of the option in error messages. */
export function ownExtractor(own: (id: string) => unknown, shards: number, where: string): (id: string) => number {
  const said = new Map<string, number>();

  const ask = (id: string): number => {
    let answer: unknown;
    try {
      answer = own(id);
    } catch (error) {
      throw new LimpetError("SHARD_INVALID", `${where}.shardOf failed for ${id}: ${textOf(error)}`, { cause: error });
    }
    if (typeof answer === "number" && Number.isSafeInteger(answer) && answer >= 0) return answer % shards;
    if (typeof answer === "string") return shardOf(answer, shards);
    disown(answer);
    throw invalid(`${where}.shardOf must return a text or a whole number of at least 0; got ${show(answer)} for ${id}`);
  };

  return (id) => {
    const known = said.get(id);
    if (known !== undefined) return known;
    const shard = ask(id);
    if (ask(id) !== shard)
      throw invalid(`${where}.shardOf must return the same shard for the same id; got two for ${id}`);
    if (said.size >= REMEMBERED) said.clear();
    said.set(id, shard);
    return shard;
  };
}

const invalid = (what: string): LimpetError => new LimpetError("SHARD_INVALID", what);

/** Characters of a thrown value that an error message quotes. */
const MOST_TEXT = 1_000;

/**
 * A value thrown by application code, as text. It need not be an error, and an error need not have a message.
 */
export function textOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return show(error);
    const text = String(error.message);
    return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
  } catch {
    return "something that cannot be read";
  }
}

/** Text for an error message. Converting an object may throw, and a long text may be a whole message. */
export function show(value: unknown): string {
  if (typeof value === "object" && value !== null) return value instanceof Promise ? "a promise" : "an object";
  return typeof value === "string" && value.length > 60 ? "a text" : String(value);
}

/**
 * Ignores the failure of a promise from code that must be synchronous; an unhandled rejection would end the
 * process.
 */
export function disown(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
}
