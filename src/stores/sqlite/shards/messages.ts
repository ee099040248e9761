// Encodes batches of changes and homes of shards as flat arrays of numbers and strings, between the store and
// its worker thread. Each pair of functions encodes and decodes one message; no other module depends on the
// layout.
import type { RememberedChange, ShardHomeChange, ShardHomeRow } from "../../../ports/store/shards.ts";
import { FlatReader, FlatWriter, type Packed } from "../thread/flat-arrays.ts";

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
    namespace: from.string(),
    type: from.string(),
    shard: from.number(),
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
    namespace: from.string(),
    type: from.string(),
    id: from.string(),
    shard: from.number(),
    isKept: from.number() === 1,
  }));

/** The homes of one type, in the order of their shards. */
export interface TypeHomes {
  readonly namespace: string;
  readonly type: string;
  readonly homes: readonly (readonly [shard: number, incarnation: string])[];
}

/**
 * A leader reads all homes when its term begins, and there may be a hundred thousand. The hosts are few, so
 * each crosses once; numbers in a typed array cross ten times as fast as others.
 */
export interface HomesAnswer {
  readonly types: readonly { readonly namespace: string; readonly type: string; readonly count: number }[];
  readonly hosts: readonly string[];
  /** For each shard of each type its number, and the place of its host. */
  readonly numbers: Uint32Array;
}

export function packHomes(all: readonly TypeHomes[]): HomesAnswer {
  const numbers = new Uint32Array(2 * all.reduce((sum, { homes }) => sum + homes.length, 0));
  const places = new Map<string, number>();
  let at = 0;
  for (const { homes } of all) {
    for (const [shard, incarnation] of homes) {
      let place = places.get(incarnation);
      if (place === undefined) {
        place = places.size;
        places.set(incarnation, place);
      }
      numbers[at++] = shard;
      numbers[at++] = place;
    }
  }
  const types = all.map(({ namespace, type, homes }) => ({ namespace, type, count: homes.length }));
  return { types, hosts: [...places.keys()], numbers };
}

export function unpackHomes({ types, hosts, numbers }: HomesAnswer): ShardHomeRow[] {
  const rows: ShardHomeRow[] = [];
  let at = 0;
  for (const { namespace, type, count } of types) {
    for (let i = 0; i < count; i++, at += 2) {
      rows.push({
        namespace,
        type,
        shard: numbers[at] as number,
        incarnation: hosts[numbers[at + 1] as number] as string,
      });
    }
  }
  return rows;
}
