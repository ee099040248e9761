// The port of shards on the event loop, and its verbs in the worker thread, which serves the leader's
// requests about homes before takes and commits.
import type { ShardKey, ShardRule, Shards } from "../../../ports/store/shards.ts";
import { isHosted } from "../../shard-changes.ts";
import type { Packed } from "../thread/flat-arrays.ts";
import type { Statements } from "../thread/statements.ts";
import { type Call, read, write } from "../thread/verb.ts";
import {
  packHomeChanges,
  packHomes,
  packRemembered,
  unpackHomeChanges,
  unpackHomes,
  unpackRemembered,
} from "./messages.ts";

/** Actors that one transaction deletes: it delays other writers by some milliseconds. */
const RESET_ROWS = 5_000;

export const SHARD_VERBS = {
  settle: write((on, rule: ShardRule) => on.shards.settle(rule)),
  reset: write(reset, { rows: ({ forgotten }) => forgotten }),
  homes: read((on) => packHomes(on.shards.homes()), { isUrgent: true }),
  noteHomes: write(noteHomes, { isUrgent: true, rows: (_, __, { count }) => count }),
  remember: write(
    (on, home: string | undefined, changes: Packed) => on.shards.remember(home, unpackRemembered(changes)),
    { rows: (_, __, { count }) => count },
  ),
  remembered: read((on, shard: ShardKey, after: string | undefined, limit: number) =>
    on.shards.remembered(shard, after, limit),
  ),
  rememberedShards: read((on, namespace: string, type: string) => on.shards.rememberedShards(namespace, type)),
};

/**
 * Forgets some actors, and the rest of the type when none is left, unless a member outside `ended` hosts it.
 */
function reset({ coordination, shards }: Statements, namespace: string, type: string, ended: readonly string[]) {
  const hosted = isHosted(coordination.members(), namespace, type, ended);
  const { forgotten, isDone } = hosted ? { forgotten: 0, isDone: false } : shards.reset(namespace, type, RESET_ROWS);
  return { isHosted: hosted, forgotten, isDone };
}

function noteHomes({ coordination, shards }: Statements, term: number, changes: Packed): boolean {
  const isCurrent = coordination.isCurrent(term);
  if (isCurrent) shards.noteHomes(unpackHomeChanges(changes));
  return isCurrent;
}

// Field by field: other properties of the caller's objects need not be cloneable.
export const sqliteShards = (call: Call<typeof SHARD_VERBS>): Shards => ({
  settle: ({ namespace, type, shards, version }) => call("settle", { namespace, type, shards, version }),
  async reset(namespace, type, ended = []) {
    for (;;) {
      const { isDone, isHosted } = await call("reset", namespace, type, [...ended]);
      if (isHosted || isDone) return !isHosted;
    }
  },
  homes: async () => unpackHomes(await call("homes")),
  noteHomes: (term, changes) => call("noteHomes", term, packHomeChanges(changes)),
  remember: (home, changes) => call("remember", home, packRemembered(changes)),
  remembered: ({ namespace, type, shard }, after, limit) =>
    call("remembered", { namespace, type, shard }, after, limit),
  rememberedShards: (namespace, type) => call("rememberedShards", namespace, type),
});
