// Limpet: memory of the leader for a shard with a home.
import { TypeShards } from "../../src/sharding/model/type-shards.ts";
import { heapBytes } from "../actors/heap.ts";
import type { Make } from "../case.ts";

const HOSTS = 10;
const WARMUP = 1_000;

export const leader: Make = async ({ params }) => ({
  async run() {
    const count = Number(params.shards);
    filled(WARMUP);
    const before = await heapBytes();
    const shards = filled(count);
    const after = await heapBytes();
    if (shards.homes.size !== count) throw new Error(`${shards.homes.size} of ${count} shards have a home`);
    return (after - before) / count;
  },
  close: async () => {},
});

function filled(count: number): TypeShards {
  const settings = {
    shards: count,
    movesAtOnce: 50,
    rebalanceMs: 10_000,
    handOffMs: 10_000,
    chooseMs: 5_000,
    minHosts: 1,
    startMs: 10_000,
  };
  const shards = new TypeShards(settings, [], 0);
  const hosts = Array.from({ length: HOSTS }, (_, number) => ({
    incarnation: `incarnation-${number}`,
    address: `10.1.0.${number}:7400`,
    name: `app-${number}`,
    build: "1",
  }));
  shards.setRegions(hosts, 0);
  for (let shard = 0; shard < count; shard++) {
    const { incarnation } = hosts[shard % HOSTS]!;
    shards.requested(shard, incarnation, 0);
    shards.allocated(shard, incarnation);
    shards.persisted(shard, incarnation, 0);
  }
  return shards;
}
