// Which shard an actor is in, as the application says. That is code of others: it may throw, answer nonsense, or say something else the next
// time. Whatever it does, the caller hears of it before anything has happened. What it has said of an id is remembered for a while, and it is
// asked twice before that: one that changes its mind would have an actor come to life in two places, where only the store could tell them apart.
import { LimpetError } from "../../kernel/errors.ts";
import { shardOf } from "../../kernel/shards.ts";

/** Ids of which it is remembered. */
const REMEMBERED = 10_000;

/** `where` it was written, for errors. */
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
    throw invalid(
      `${where}.shardOf must give a text or a whole number of at least 0, and gave ${show(answer)} for ${id}`,
    );
  };

  return (id) => {
    const known = said.get(id);
    if (known !== undefined) return known;
    const shard = ask(id);
    if (ask(id) !== shard)
      throw invalid(`${where}.shardOf must always say the same of an id, and changed its mind on ${id}`);
    if (said.size >= REMEMBERED) said.clear();
    said.set(id, shard);
    return shard;
  };
}

const invalid = (what: string): LimpetError => new LimpetError("SHARD_INVALID", what);

/** Of what is told of something that was thrown. */
const MOST_TEXT = 1_000;

/** What code of others threw, as a text. It need not be an error, and an error need not have a text in it. */
export function textOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return show(error);
    const text = String(error.message);
    return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
  } catch {
    return "something that cannot be read";
  }
}

/** An object may not even be willing to become text, and a text may be a whole message. */
export function show(value: unknown): string {
  if (typeof value === "object" && value !== null) return value instanceof Promise ? "a promise" : "an object";
  return typeof value === "string" && value.length > 60 ? "a text" : String(value);
}

/** Code that must not wait, and did, may yet fail: nobody is there to hear of it, and that must not end the process. */
export function disown(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
}
