// What the store and its worker thread ask each other about shards. Batches and homes cross as flat arrays of numbers and strings.
// Each pair of functions here reads what the other wrote; nobody else looks inside.
import type { RememberedChange, ShardHomeChange, ShardHomeRow, ShardKey, ShardRule } from "../../ports/shards.ts";
import { FlatReader, FlatWriter } from "./flat-arrays.ts";
import type { Packed } from "./reminder-messages.ts";

/** What the leader writes, ahead of everybody else. */
export type ShardHomesWrite = { readonly kind: "note-homes"; readonly term: number } & Packed;

export type ShardWrite =
  | { readonly kind: "settle-rule"; readonly rule: ShardRule }
  /** Forgets so many actors at most; the rest when there are none left. */
  | { readonly kind: "reset-shards"; readonly namespace: string; readonly type: string; readonly limit: number }
  | ({ readonly kind: "remember" } & Packed);

export interface ShardLook {
  readonly kind: "remembered";
  readonly shard: ShardKey;
  readonly after: string | undefined;
  readonly limit: number;
}

export interface ResetAnswer {
  readonly forgotten: number;
  readonly isDone: boolean;
}

export function packHomeChanges(changes: readonly ShardHomeChange[]): Packed {
  const to = new FlatWriter();
  for (const { namespace, type, shard, incarnation } of changes) {
    to.next()
      .strings(namespace, type)
      .numbers(shard, incarnation === undefined ? 0 : 1);
    if (incarnation !== undefined) to.strings(incarnation);
  }
  return to.packed();
}

export const unpackHomeChanges = (packed: Packed): ShardHomeChange[] =>
  new FlatReader(packed).all((from) => ({
    ...{ namespace: from.string(), type: from.string(), shard: from.number() },
    incarnation: from.number() === 0 ? undefined : from.string(),
  }));

export function packRemembered(changes: readonly RememberedChange[]): Packed {
  const to = new FlatWriter();
  for (const { namespace, type, shard, id, isKept } of changes) {
    to.next()
      .strings(namespace, type, id)
      .numbers(shard, isKept ? 1 : 0);
  }
  return to.packed();
}

export const unpackRemembered = (packed: Packed): RememberedChange[] =>
  new FlatReader(packed).all((from) => ({
    ...{ namespace: from.string(), type: from.string(), id: from.string() },
    ...{ shard: from.number(), isKept: from.number() === 1 },
  }));

/** A row of homes as it is read. */
export type HomeRow = [namespace: string, type: string, shard: number, incarnation: string];

/** There are many shards, and few words: each word crosses once. For each shard its number and the places of its three words. */
export function packHomes(rows: readonly HomeRow[]): Packed {
  const to = new FlatWriter();
  const places = new Map<string, number>();
  const placeOf = (word: string): number => {
    let place = places.get(word);
    if (place === undefined) {
      place = places.size;
      places.set(word, place);
      to.strings(word);
    }
    return place;
  };
  for (const [namespace, type, shard, incarnation] of rows) {
    to.next().numbers(placeOf(namespace), placeOf(type), shard, placeOf(incarnation));
  }
  return to.packed();
}

export function unpackHomes(packed: Packed): ShardHomeRow[] {
  const { strings } = packed;
  const word = (place: number): string => strings[place] as string;
  return new FlatReader(packed).all((from) => ({
    ...{ namespace: word(from.number()), type: word(from.number()), shard: from.number() },
    incarnation: word(from.number()),
  }));
}
