// Least memory of an actor: its id and its state in a Map.
import type { Make } from "../case.ts";
import { heapBytes } from "./heap.ts";

export const resident: Make = async ({ params }) => ({
  async run() {
    const count = Number(params.actors);
    const before = await heapBytes();
    const states = new Map<string, { n: number }>();
    for (let i = 0; i < count; i++) states.set(`actor-${i}`, { n: 1 });
    const after = await heapBytes();
    if (states.size !== count) throw new Error(`${states.size} of ${count} are there`);
    return (after - before) / count;
  },
  close: async () => {},
});
