// Least memory of a leader for a sticky actor: its id in a Map, with its host.
import { heapBytes } from "../actors/heap.ts";
import type { Make } from "../case.ts";
import { claimsOf } from "./ours-memory.ts";

export const owners: Make = async ({ params }) => ({
  async run() {
    const count = Number(params.actors);
    const hosts = Array.from({ length: 10 }, (_, number) => ({ address: `10.1.0.${number}:7400` }));
    const fill = (filled: Map<string, object>, actors: number) => {
      for (const { ids } of claimsOf(0, actors)) for (const id of ids) filled.set(id, hosts[id.length % 10]!);
    };
    fill(new Map(), 10_000);
    const before = await heapBytes();
    const filled = new Map<string, object>();
    fill(filled, count);
    const after = await heapBytes();
    if (filled.size !== count) throw new Error(`${filled.size} of ${count} are there`);
    return (after - before) / count;
  },
  close: async () => {},
});
