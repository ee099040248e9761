// Reads the block of a published format that switches sticky execution of workflows. limpet.yaml may hold it
// besides our own settings:
//
//   workflows: { v2: { sticky_execution: { enabled: true, ttl_seconds: 300 } } }
//
// It is another way to write the settings `worker.sticky` and `worker.stickyTtl`. Pure.

import { LimpetError } from "../kernel/errors.ts";
import { didYouMean } from "../kernel/nearest.ts";
import { describeOrigin, type Entry, type Origin, type OriginOf } from "./origin.ts";

type Values = Readonly<Record<string, unknown>>;

const PATH = ["workflows", "v2", "sticky_execution"] as const;
const NAMES = ["enabled", "ttl_seconds"] as const;

/** Suggestions for a misspelt name at the top level. */
export const STICKY_EXECUTION_NAMES: readonly string[] = [PATH[0], PATH.join(".")];

/** The settings equal to the block. */
export function stickyExecutionEntries(workflows: unknown, originOf: OriginOf): Entry[] {
  let at: unknown = workflows;
  for (const depth of [1, 2]) {
    const map = mapAt(at, PATH.slice(0, depth), [PATH[depth]!], originOf);
    if (map === undefined) return [];
    at = map[PATH[depth]!];
  }
  const block = mapAt(at, PATH, NAMES, originOf);
  if (block === undefined) return [];
  const { enabled, ttl_seconds: seconds } = block;
  const entries: Entry[] = [];
  if (isSet(enabled)) entries.push({ key: "workerSticky", value: enabled, origin: originOf([...PATH, "enabled"]) });
  if (isSet(seconds)) {
    const origin = originOf([...PATH, "ttl_seconds"]);
    entries.push({ key: "workerStickyTtl", value: duration(seconds, origin), origin });
  }
  return entries;
}

/** A number without a unit means seconds here. */
function duration(seconds: unknown, origin: Origin): string {
  if (typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0) return `${seconds}s`;
  const given = JSON.stringify(seconds);
  throw new LimpetError(
    "OPTION_INVALID",
    `${describeOrigin(origin)}: must be a number of seconds above 0; got ${given}`,
  );
}

function mapAt(
  value: unknown,
  path: readonly string[],
  known: readonly string[],
  originOf: OriginOf,
): Values | undefined {
  if (!isSet(value)) return undefined;
  const names = known.map((key) => [...path, key].join(".")).join(" and ");
  const at = describeOrigin(originOf(path));
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new LimpetError("OPTION_INVALID", `${at}: must be a block with ${names}; got ${JSON.stringify(value)}`);
  }
  for (const key of Object.keys(value as Values)) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known);
    throw new LimpetError("OPTION_INVALID", `${at}: there is no ${key} below it, only ${names}${hint}`);
  }
  return value as Values;
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;
