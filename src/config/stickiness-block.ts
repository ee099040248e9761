// Reads the block of a published format that names the sticky types. limpet.yaml may hold it besides our own
// settings:
//
//   kind: Configuration
//   metadata: { name: shop }
//   spec: { actor: { placement: { stickiness: { enabled: true, byType: [Player, Cart] } } } }
//
// It is another way to write the setting `sticky`. The kind and the name are accepted and ignored. Pure.

import { LimpetError } from "../kernel/errors.ts";
import { didYouMean } from "../kernel/nearest.ts";
import { STICKY_WORDS } from "./limpet-settings.ts";
import { describeOrigin, type Entry, type Origin, type OriginOf } from "./origin.ts";
import { readValue, readYesNo, refuseValue } from "./read-value.ts";

const PATH = ["spec", "actor", "placement", "stickiness"] as const;
const KIND = "Configuration";
/** Suggestions for a misspelt name at the top level. */
export const BLOCK_NAMES: readonly string[] = ["kind", "metadata", PATH[0], PATH.join(".")];

type Values = Readonly<Record<string, unknown>>;

/** The setting equal to the block, which consists of `kind`, `metadata` and `spec`. */
export function stickinessEntries(block: Values, originOf: OriginOf): Entry[] {
  const { kind } = block;
  if (isSet(kind) && kind !== KIND) {
    const hint = typeof kind === "string" ? didYouMean(kind, [KIND]) : "";
    throw refuseValue("sticky", originOf(["kind"]), kind, `is not ${KIND}, the one kind that is understood${hint}`);
  }
  below(block, ["metadata"], ["name"], originOf);
  let at: Values | undefined = block;
  for (let depth = 1; depth < PATH.length && at !== undefined; depth++) {
    at = below(at, PATH.slice(0, depth), [PATH[depth]!], originOf);
  }
  const stickiness = at && below(at, PATH, ["enabled", "byType"], originOf);
  return stickiness === undefined ? [] : [stickinessEntry(stickiness, originOf)];
}

function stickinessEntry(stickiness: Values, originOf: OriginOf): Entry {
  const [named, switched] = [originOf([...PATH, "byType"]), originOf([...PATH, "enabled"])];
  if (!isSet(stickiness.enabled)) {
    const what = 'write "enabled: true" to have sticky types, or "enabled: false" to have none';
    throw new LimpetError("OPTION_INVALID", `${describeOrigin(originOf(PATH))}: enabled is missing; ${what}`);
  }
  const enabled = readYesNo({ key: "sticky", value: stickiness.enabled, origin: switched });
  // A disabled block is checked as well: it would be wrong when it is enabled.
  const types = "byType" in stickiness ? namedTypes(stickiness.byType, enabled, named) : undefined;
  if (!enabled) return { key: "sticky", value: "none", origin: switched };
  if (types === undefined) return { key: "sticky", value: "all", origin: switched };
  return { key: "sticky", value: types, origin: named };
}

/**
 * A key without a value is a list without items. Reading it as all types would be the opposite of the
 * intention.
 */
function namedTypes(byType: unknown, enabled: boolean, origin: Origin): unknown {
  const types = byType ?? [];
  if (!Array.isArray(types)) {
    throw refuseValue("sticky", origin, byType, "is not a list of types; write for example [Player, Cart]");
  }
  if (types.length === 0) {
    if (!enabled) return undefined;
    const what = 'name some, leave byType out to mean all types, or write "enabled: false"';
    throw new LimpetError(
      "OPTION_INVALID",
      `${describeOrigin(origin)}: names no type, so that none would be sticky; ${what}`,
    );
  }
  const word = types.find((type) => STICKY_WORDS.includes(type));
  if (word !== undefined) {
    const what = 'leave byType out to mean all types, or write "enabled: false" to mean none';
    throw refuseValue("sticky", origin, word, `is not the name of a type here; ${what}`);
  }
  return readValue({ key: "sticky", value: types, origin });
}

/**
 * The value at the end of the path, whose last key is one of `map`; only `known` keys are allowed below it.
 */
function below(map: Values, path: readonly string[], known: readonly string[], originOf: OriginOf): Values | undefined {
  const value = map[path.at(-1)!];
  if (!isSet(value)) return undefined;
  const full = (key: string): string => [...path, key].join(".");
  if (typeof value !== "object" || Array.isArray(value)) {
    throw refuseValue(
      "sticky",
      originOf(path),
      value,
      `is no block; below it belongs ${known.map(full).join(" and ")}`,
    );
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known, (hit) => `"${full(hit)}"`) || `; known is ${known.map(full).join(" and ")}`;
    throw new LimpetError(
      "OPTION_INVALID",
      `${describeOrigin(originOf([...path, key]))}: there is no such setting${hint}`,
    );
  }
  return value as Values;
}

const isSet = (value: unknown): value is NonNullable<unknown> => value !== undefined && value !== null;
