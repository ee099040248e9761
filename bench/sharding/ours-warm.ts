// Limpet: calls to running actors without state, in shards and placed by the hash of their id, in turn.
import { idsOf, warmCalls } from "../warm-calls.ts";
import { answered, HashPinger, openHost, ShardedPinger, settled, startOtherHost } from "./actors.ts";
import { WARM_FIGURES } from "./figures.ts";

export const { local, remote } = warmCalls({
  answered,
  openHost,
  startOtherHost,
  settled,
  figures: WARM_FIGURES,
  async targets(app, count, here) {
    // A shard has no home before its first request. So both kinds have some actors elsewhere, which are not
    // called again.
    const sharded = await idsOf(app, ShardedPinger.name, count, here, (id) => app.actor(ShardedPinger, id).ping(0));
    const hash = await idsOf(app, HashPinger.name, count, here, (id) => app.actor(HashPinger, id).ping(0));
    return [sharded.map((id) => app.actor(ShardedPinger, id)), hash.map((id) => app.actor(HashPinger, id))];
  },
});
