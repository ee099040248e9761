// How a class says that its actors are sticky, and how limpet.yaml and its like outweigh that. What was written is checked and
// completed when the class is registered, also where the settings say something else: a wrong word does not wait for its day.
import type { Duration } from "../../kernel/durations.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { LostRule } from "../../kernel/lost-rule.ts";
import { didYouMean } from "../../kernel/nearest.ts";

/** Everything is optional: `sticky()` is `"sticky"`. */
export interface StickyOptions {
  /**
   * What becomes of the actors of a host that is lost. A host that stops or is drained hands its actors over and is not lost.
   *
   * - `"reassign"`, unless given: they may live on another host as soon as the lost one's lease is over.
   * - `{ after: "10m" }`: for this long they are kept for a host of the same name, and calls fail with OWNER_AWAY. Too low: a host that
   *   restarts finds its actors elsewhere. Too high: nobody reaches the actors of a machine that is gone for good.
   * - `"never"`: they are kept until a host of that name is back, or somebody lets go of them by `limpet sticky … --release`.
   *
   * Every host of the type has to say the same.
   */
  readonly lost?: "reassign" | "never" | { readonly after: Duration } | undefined;
  /**
   * Sticky actors of this type that one host holds; no limit unless given. They stay in memory when nobody calls them. Too low:
   * actors lose their place, or calls are refused, although there is room. Too high: memory fills with actors nobody calls any more.
   */
  readonly limit?: number | undefined;
  /**
   * When a host that holds `limit` of them is to hold one more: `"oldest"`, unless given, lets go of the one used least recently, and
   * its next call places it anew; `"refuse"` fails the call with HOST_FULL, so that nobody loses their place.
   */
  readonly full?: "oldest" | "refuse" | undefined;
}

/** What `sticky()` makes. */
export interface StickyPlacement extends StickyOptions {
  readonly kind: "sticky";
}

/** Where actors of a class live: by `"hash"` of their id, unless given, or `"sticky"`, where they first came to life. */
export type Placement = "hash" | "sticky" | StickyPlacement;

/** Which types are sticky: what their classes say, all, none, or exactly these. */
export type StickyTypes = "by class" | "all" | "none" | readonly string[];

export interface ResolvedSticky {
  readonly lost: LostRule;
  /** Infinity: as many as there are. */
  readonly limit: number;
  readonly full: "oldest" | "refuse";
}

/**
 * For `static options`: actors of this class stay on the host on which they came to life while that host lives, also when others
 * join. `placement: sticky({ lost: "never" })`.
 */
export function sticky(options: StickyOptions = {}): StickyPlacement {
  if (!isObject(options as unknown)) throw invalid('sticky() takes an object, such as sticky({ lost: "never" })');
  const { lost } = options;
  // A copy, so that nobody changes what was said by changing what they said it with.
  const kept = typeof lost === "object" && lost !== null ? Object.freeze({ ...lost }) : lost;
  return Object.freeze({ ...options, lost: kept, kind: "sticky" });
}

/** Of a type, by its final name; `where` its placement was written, for errors. Undefined: its actors follow the ring. */
export function resolveSticky(
  name: string,
  placement: Placement | undefined,
  where: string,
  types: StickyTypes = "by class",
): ResolvedSticky | undefined {
  const byClass = readPlacement(placement, where);
  if (types === "by class") return byClass;
  const isSticky = typeof types === "string" ? types === "all" : types.includes(name);
  return isSticky ? (byClass ?? DEFAULTS) : undefined;
}

const DEFAULTS: ResolvedSticky = Object.freeze({ lost: 0, limit: Number.POSITIVE_INFINITY, full: "oldest" });
const PLACEMENTS = ["hash", "sticky"];
const KEYS = ["lost", "limit", "full"];
const LOST = ["reassign", "never"];
const FULL = ["oldest", "refuse"];

function readPlacement(placement: unknown, where: string): ResolvedSticky | undefined {
  if (placement === undefined || placement === "hash") return undefined;
  if (placement === "sticky") return DEFAULTS;
  if (!isObject(placement) || placement.kind !== "sticky") {
    throw invalid(
      `${where} must be "hash", "sticky" or sticky({ … }), not ${show(placement)}${hint(placement, PLACEMENTS)}`,
    );
  }
  for (const key of Object.keys(placement)) {
    if (key === "kind" || KEYS.includes(key)) continue;
    const rest = didYouMean(key, KEYS) || `; known are ${KEYS.join(", ")}`;
    throw invalid(`${where}: sticky() has no option "${key}"${rest}`);
  }
  return {
    lost: readLost(placement.lost, `${where}.lost`),
    limit: readLimit(placement.limit, `${where}.limit`),
    full: readFull(placement.full, `${where}.full`),
  };
}

function readLost(lost: unknown, where: string): LostRule {
  if (lost === undefined || lost === "reassign") return DEFAULTS.lost;
  if (lost === "never") return lost;
  if (!isObject(lost)) {
    throw invalid(`${where} must be "reassign", "never" or { after: "10m" }, not ${show(lost)}${hint(lost, LOST)}`);
  }
  const stranger = Object.keys(lost).find((key) => key !== "after");
  if (stranger !== undefined || lost.after === undefined) {
    const what = stranger === undefined ? "nothing" : JSON.stringify(stranger);
    throw invalid(`${where} must hold "after" alone, as in { after: "10m" }; it holds ${what}`);
  }
  const ms = parseDuration(lost.after as Duration, `${where}.after`);
  if (ms > 0) return ms;
  throw invalid(`${where}.after must be longer than nothing; write lost: "reassign" to keep them for nobody`);
}

function readLimit(limit: unknown, where: string): number {
  if (limit === undefined) return DEFAULTS.limit;
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw invalid(`${where} must be a whole number of at least 1, not ${show(limit)}; leave it out for no limit`);
}

function readFull(full: unknown, where: string): "oldest" | "refuse" {
  if (full === undefined) return DEFAULTS.full;
  if (full === "oldest" || full === "refuse") return full;
  throw invalid(`${where} must be "oldest" or "refuse", not ${show(full)}${hint(full, FULL)}`);
}

const invalid = (what: string): LimpetError => new LimpetError("OPTION_INVALID", what);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "function") return "a function; write sticky() with its parentheses";
  return isObject(value) ? "a plain object" : String(value);
}

const hint = (value: unknown, words: readonly string[]): string =>
  typeof value === "string" ? didYouMean(value, words) : "";
