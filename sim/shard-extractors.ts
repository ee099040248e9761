// How the application finds the shard of an actor, and for whom a message is, where it has code of its own for that. That code fails now and
// then while there is chaos: callers are told so, and nothing has happened.
import { shardOf } from "../src/kernel/shards.ts";
import type { ExtractorPlan, ShardedPlan } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** Ids of one group are in one shard. */
const GROUP = 4;

/** What an actor is called with, if its message carries its id. */
export interface Carrying {
  readonly crate: string;
  readonly op: string;
}

/** What it says when it is well. */
function rightly({ by }: ExtractorPlan, id: string): string | number {
  const number = Number(/\d+$/.exec(id)?.[0] ?? 0);
  return by === "number" ? number : `group ${Math.floor(number / GROUP)}`;
}

/** The shard an actor is in. */
export function shardIn({ shards, extractor }: ShardedPlan, id: string): number {
  const said = extractor === undefined ? id : rightly(extractor, id);
  return typeof said === "number" ? said % shards : shardOf(said, shards);
}

/** As one process has it. It always wavers at once: what it said before is remembered, and would not be noticed. */
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

/** Finds out for whom a message is that was sent to the type as a whole. Some have an envelope all the same. */
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

/** What the actor has to do, however it was told. */
export const opOf = (said: string | Carrying): string => (typeof said === "string" ? said : said.op);
