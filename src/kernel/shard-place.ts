// Checks a shard number and a host name or address from an operator. The input is checked where it enters,
// and again by the leader before it is persisted: an invalid row would block every home behind it.
import { LimpetError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { nameProblem } from "./names.ts";
import { MOST_SHARDS } from "./shards.ts";

export const isShardNumber = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < MOST_SHARDS;

/** Returns the problem with a name or an address of a host, as the end of a sentence. */
export const hostProblem = (value: unknown): string | undefined => nameProblem(value, LIMITS.idBytes);

/** Throws ARGUMENT_INVALID. */
export function checkPlace(shard: unknown, host: unknown): void {
  if (!isShardNumber(shard)) {
    const given = typeof shard === "string" ? JSON.stringify(shard) : String(shard);
    throw new LimpetError("ARGUMENT_INVALID", `a shard is a whole number from 0 to ${MOST_SHARDS - 1}, not ${given}`);
  }
  const problem = hostProblem(host);
  if (problem === undefined) return;
  throw new LimpetError("ARGUMENT_INVALID", `the host for shard ${shard}, by name or address, ${problem}`);
}
