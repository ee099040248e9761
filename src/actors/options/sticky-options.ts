// Options of sticky types, and how the setting `sticky` outweighs them. Options are checked and completed
// when the class is registered, even if the setting outweighs them: a misspelt word must not stay hidden
// until the setting changes.
import { invalidOption } from "../../kernel/check.ts";
import type { Duration } from "../../kernel/durations.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { ResolvedSticky } from "../../ports/actor-host.ts";
import type { LostRule } from "../../ports/control-messages.ts";

/** Everything is optional: `sticky()` is `"sticky"`. */
export interface StickyOptions {
  /**
   * Rule for the actors of a lost host. A host that stops or is drained hands its actors over and is not
   * lost.
   *
   * - `"reassign"`, the default: they may live on another host once the lease of the lost host has expired.
   * - `{ after: "10m" }`: they stay reserved for a host of the same name this long, and calls fail with
   * OWNER_AWAY. Too low: a restarted host finds its actors elsewhere. Too high: the actors of a machine that
   * is gone for good stay unreachable.
   * - `"never"`: they stay reserved until a host of that name returns, or an operator runs `limpet sticky …
   * --release`.
   *
   * The rule must be equal on all hosts of the type.
   */
  readonly lost?: "reassign" | "never" | { readonly after: Duration };
  /**
   * Sticky actors of this type that one host holds; no limit by default. They stay in memory without calls.
   * Too low: actors lose their place, or calls are rejected, although memory is free. Too high: unused actors
   * fill the memory.
   */
  readonly limit?: number;
  /**
   * When a host with `limit` actors gets one more: `"oldest"`, the default, releases the least recently used
   * actor, and its next call places it anew. `"refuse"` fails the call with HOST_FULL, and every actor keeps
   * its place.
   */
  readonly full?: "oldest" | "refuse";
}

/** The result of `sticky()`. */
export interface StickyPlacement extends StickyOptions {
  readonly kind: "sticky";
}

/**
 * How the host of an actor is chosen: by `"hash"` of its id, the default, or `"sticky"`, the host that
 * activated it first.
 */
export type PlacementOption = "hash" | "sticky" | StickyPlacement;

/** The sticky types: as their classes declare, all, none, or exactly these. */
export type StickySetting = "by class" | "all" | "none" | readonly string[];

/**
 * For `static options`: actors of this class stay on the host that activated them while that host lives, also
 * when others join. `placement: sticky({ lost: "never" })`.
 */
export function sticky(options: StickyOptions = {}): StickyPlacement {
  if (!isObject(options as unknown)) throw invalidOption('sticky() takes an object, such as sticky({ lost: "never" })');
  const { lost } = options;
  // A copy, so that a later change of the argument has no effect.
  const kept = typeof lost === "object" && lost !== null ? Object.freeze({ ...lost }) : lost;
  return Object.freeze({ ...options, lost: kept, kind: "sticky" });
}

/**
 * `name` is the final name of the type; `where` names the place of its placement in error messages.
 * Undefined: the ring places its actors.
 */
export function resolveSticky(
  name: string,
  placement: PlacementOption | undefined,
  where: string,
  types: StickySetting = "by class",
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
    throw invalidOption(
      `${where} must be "hash", "sticky" or sticky({ … }); got ${show(placement)}${hint(placement, PLACEMENTS)}`,
    );
  }
  for (const key of Object.keys(placement)) {
    if (key === "kind" || KEYS.includes(key)) continue;
    const rest = didYouMean(key, KEYS) || `; known are ${KEYS.join(", ")}`;
    throw invalidOption(`${where}: sticky() has no option "${key}"${rest}`);
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
    throw invalidOption(
      `${where} must be "reassign", "never" or { after: "10m" }; got ${show(lost)}${hint(lost, LOST)}`,
    );
  }
  const stranger = Object.keys(lost).find((key) => key !== "after");
  if (stranger !== undefined || lost.after === undefined) {
    const what = stranger === undefined ? "nothing" : JSON.stringify(stranger);
    throw invalidOption(`${where} must hold "after" alone, as in { after: "10m" }; got ${what}`);
  }
  const ms = parseDuration(lost.after as Duration, `${where}.after`);
  if (ms > 0) return ms;
  throw invalidOption(`${where}.after must be longer than 0; write lost: "reassign" to reassign actors at once`);
}

function readLimit(limit: unknown, where: string): number {
  if (limit === undefined) return DEFAULTS.limit;
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw invalidOption(`${where} must be a whole number of at least 1; got ${show(limit)}; leave it out for no limit`);
}

function readFull(full: unknown, where: string): "oldest" | "refuse" {
  if (full === undefined) return DEFAULTS.full;
  if (full === "oldest" || full === "refuse") return full;
  throw invalidOption(`${where} must be "oldest" or "refuse"; got ${show(full)}${hint(full, FULL)}`);
}

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
