// Wraps the application's `shardOf`, which may throw, return an invalid value, or change its result. The
// caller gets an error before anything else happens. Each new id is extracted twice and the result is cached.
// Otherwise an inconsistent function could activate one actor on two hosts, and only the fence of the store
// would stop it.

import { briefText, ignoreRejection, thrownText } from "../../kernel/check.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { shardOf } from "../../kernel/shards.ts";

/** Ids in the cache. */
const REMEMBERED = 10_000;

/** `where` names the place of the option in error messages. */
export function ownExtractor(own: (id: string) => unknown, shards: number, where: string): (id: string) => number {
  const cached = new Map<string, number>();

  const ask = (id: string): number => {
    let answer: unknown;
    try {
      answer = own(id);
    } catch (error) {
      throw new LimpetError("SHARD_INVALID", `${where}.shardOf failed for ${id}: ${thrownText(error)}`, {
        cause: error,
      });
    }
    if (typeof answer === "number" && Number.isSafeInteger(answer) && answer >= 0) return answer % shards;
    if (typeof answer === "string") return shardOf(answer, shards);
    ignoreRejection(answer);
    throw invalid(
      `${where}.shardOf must return a text or a whole number of at least 0; got ${briefText(answer)} for ${id}`,
    );
  };

  return (id) => {
    const known = cached.get(id);
    if (known !== undefined) return known;
    const shard = ask(id);
    if (ask(id) !== shard)
      throw invalid(`${where}.shardOf must return the same shard for the same id; got two for ${id}`);
    if (cached.size >= REMEMBERED) cached.clear();
    cached.set(id, shard);
    return shard;
  };
}

const invalid = (what: string): LimpetError => new LimpetError("SHARD_INVALID", what);
