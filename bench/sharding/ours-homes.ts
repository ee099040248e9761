// Limpet: number of shards per second that get a home. The leader has its own process. Hosts without actors
// send requests from this one, each over its own control stream, for its part of all shards of a type at
// once. A home is announced when it is durable.
import { shardOf } from "../../src/kernel/shards.ts";
import type { Make } from "../case.ts";
import { LeaderProcess } from "../leader.ts";
import { Fleet } from "../stand-in-hosts.ts";
import { until } from "../until.ts";
import { ManyShards } from "./actors.ts";
import { ALLOCATIONS, LEADER_TIME } from "./figures.ts";

const LIMIT_MS = 300_000;

export const homes: Make = async ({ postgres, params }) => {
  const leader = await LeaderProcess.start({ store: postgres });
  const fleet = await Fleet.join(Number(params.hosts), [leader], { answered() {} }, ManyShards);
  const shards = Number(params.shards);
  return {
    async run() {
      const asked = oneOfEach(shards).map((id, i) => ({ id, host: fleet.hosts[i % fleet.hosts.length]! }));
      const [cpu, start] = [await leader.cpuMs(), performance.now()];
      let open = asked.filter(({ id, host }) => !host.knows(id));
      if (open.length !== shards) throw new Error(`${shards - open.length} shards have a home already`);
      await until(
        "a home for every shard",
        () => {
          open = open.filter(({ id, host }) => !host.knows(id));
          return open.length === 0;
        },
        LIMIT_MS,
      );
      const seconds = (performance.now() - start) / 1_000;
      const cpuMs = (await leader.cpuMs()) - cpu;
      return { [ALLOCATIONS]: shards / seconds, [LEADER_TIME]: (cpuMs * 1_000) / shards };
    },
    async close() {
      fleet.leave();
      await leader.end();
    },
  };
};

/** An id in each shard. */
function oneOfEach(shards: number): string[] {
  const ids = new Map<number, string>();
  for (let i = 0; ids.size < shards; i++) {
    const id = `actor-${i}`;
    const shard = shardOf(id, shards);
    if (!ids.has(shard)) ids.set(shard, id);
  }
  return [...ids.values()];
}
