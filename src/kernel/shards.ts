// The shard function. A shard is a group of actors of one type that live on the same host and move together.
// The shard of an actor depends only on its id and never changes: otherwise an actor could be active on two
// hosts. Operators' shard numbers and host names are checked where they enter, and again by the leader before
// it persists them: an invalid row would block every home behind it.
import { LimpetError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { nameProblem } from "./names.ts";

/** Ten times the greatest expected number of hosts. A change requires a stop of every host of the type. */
export const DEFAULT_SHARDS = 1_000;
/** More shards cost memory in the leader and bring no benefit. */
export const MOST_SHARDS = 100_000;
/** A larger number could not be started within a reasonable time. */
export const MOST_DAEMONS = 100_000;

/** Whether a type may have this number of actors that always run. */
export const isDaemonCount = (count: unknown): count is number =>
  typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MOST_DAEMONS;

/**
 * The shard of an id, from 0 to `shards` - 1. It is computed several times for every call, and colliding ids
 * give an attacker no advantage. So it is FNV-1a over the UTF-16 units of the id, with the final steps of
 * MurmurHash3 against its weaknesses.
 */
export function shardOf(id: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}

export const isShardNumber = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < MOST_SHARDS;

/** Returns the problem with a name or an address of a host, as the end of a sentence. */
export const hostNameProblem = (value: unknown): string | undefined => nameProblem(value, LIMITS.idBytes);

/** Throws ARGUMENT_INVALID. */
export function checkPlace(shard: unknown, host: unknown): void {
  if (!isShardNumber(shard)) {
    const given = typeof shard === "string" ? JSON.stringify(shard) : String(shard);
    throw new LimpetError("ARGUMENT_INVALID", `a shard is a whole number from 0 to ${MOST_SHARDS - 1}, not ${given}`);
  }
  const problem = hostNameProblem(host);
  if (problem === undefined) return;
  throw new LimpetError("ARGUMENT_INVALID", `the host for shard ${shard}, by name or address, ${problem}`);
}
