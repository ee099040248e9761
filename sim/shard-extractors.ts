// Application code of a run that maps ids and messages to shards. During the chaos this code fails now and
// then. Callers then get an error, and the call has no effect.
import { shardOf } from "../src/kernel/shards.ts";
import type { ExtractorPlan, ShardedPlan } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** Ids of one group are in one shard. */
const GROUP = 4;

/** Argument of a call whose message carries the id. */
export interface Carrying {
  readonly crate: string;
  readonly op: string;
}

/** The correct result. */
function rightly({ by }: ExtractorPlan, id: string): string | number {
  const number = Number(/\d+$/.exec(id)?.[0] ?? 0);
  return by === "number" ? number : `group ${Math.floor(number / GROUP)}`;
}

/** The shard of an actor. */
export function shardIn({ shards, extractor }: ShardedPlan, id: string): number {
  const extracted = extractor === undefined ? id : rightly(extractor, id);
  return typeof extracted === "number" ? extracted % shards : shardOf(extracted, shards);
}

/**
 * The extractor of one process. It wavers at the first call for an id, because later results come from a
 * cache.
 */
export function extractorOf(
  stage: Stage,
  plan: ShardedPlan,
  extractor: ExtractorPlan,
): (id: string) => string | number {
  let asked = 0;
  return (id) => {
    const right = rightly(extractor, id);
    if (!stage.isChaos || extractor.oddly === 0) return right;
    asked++;
    if (!stage.chance.child(`shard of ${id} ${stage.now}`).chance(extractor.oddly)) return right;
    if (extractor.odd === "throws") throw new Error("no shard");
    return shardIn(plan, id) + (asked % 2);
  };
}

type Envelope = { readonly id: string; readonly message?: unknown };

/** Determines the target of a message to the type. Some messages have an envelope all the same. */
export function messageIdOf(
  stage: Stage,
  { gives, oddly }: NonNullable<ShardedPlan["messages"]>,
): (message: Carrying | Envelope) => string | Envelope {
  return (message) => {
    const chance = stage.chance.child(`message ${JSON.stringify(message)}`);
    if (stage.isChaos && chance.chance(oddly)) throw new Error("for nobody");
    if (!("crate" in message)) return message;
    const { crate: id, op } = message;
    return gives === "id" ? id : { id, message: op };
  };
}

/** The operation in the argument of a call, with or without an id. */
export const opOf = (carried: string | Carrying): string => (typeof carried === "string" ? carried : carried.op);
