// Least cost of virtual time: events wait in a heap, and are called in order. No promise could ever continue
// between two of them.

import { Heap } from "../../src/kernel/heap.ts";
import type { Make } from "../case.ts";

interface Thing {
  at: number;
  readonly happen: () => void;
}

const STRIDE = 10_000;

export const heap: Make = async ({ durationMs, warmupMs, params }) => {
  const things = new Heap<Thing>((a, b) => a.at < b.at);
  let now = 0;
  for (let i = 0; i < Number(params.things); i++) {
    const thing: Thing = {
      at: i % 7,
      happen: () => {
        thing.at = now + 10 + (i % 7);
        things.push(thing);
      },
    };
    things.push(thing);
  }
  const measured = async (ms: number): Promise<number> => {
    const start = performance.now();
    let count = 0;
    do {
      for (let i = 0; i < STRIDE; i++) {
        const thing = things.pop()!;
        now = thing.at;
        thing.happen();
      }
      count += STRIDE;
    } while (performance.now() - start < ms);
    return count / ((performance.now() - start) / 1_000);
  };
  await measured(warmupMs);
  return { run: () => measured(durationMs), close: async () => {} };
};
