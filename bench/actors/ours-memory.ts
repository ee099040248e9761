// Limpet: memory of an idle actor. Its state is on disk, so that only the process counts.
import { join } from "node:path";
import { Actor, limpet } from "../../src/index.ts";
import type { Make } from "../case.ts";
import { eachOnce } from "../load.ts";
import { heapBytes } from "./heap.ts";

class Counter extends Actor<{ n: number }> {
  override initial() {
    return { n: 0 };
  }
  increment(): number {
    return ++this.state.n;
  }
}

const WARMUP = 1_000;

export const resident: Make = async ({ folder, params }) => {
  const count = Number(params.actors);
  const app = await limpet({ actors: [Counter], store: join(folder, "ours.db"), maxResident: count + 2 * WARMUP });
  const activate = (prefix: string, actors: number) =>
    eachOnce(actors, 256, async (i) => {
      const n = await app.actor(Counter, `${prefix}-${i}`).increment();
      if (n !== 1) throw new Error(`a new counter began at ${n}`);
    });
  return {
    async run() {
      // Code, caches and the store's buffers are in place before the measurement begins.
      await activate("warmup", WARMUP);
      const before = await heapBytes();
      await activate("actor", count);
      const after = await heapBytes();
      const resident = app.host.types()[0]?.active;
      if (resident !== count + WARMUP) throw new Error(`${resident} actors are in memory`);
      return (after - before) / count;
    },
    close: () => app.stop(),
  };
};
