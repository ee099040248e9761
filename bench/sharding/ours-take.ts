// Limpet: cost of reading the state of an actor from the store when its shard moves. All actors of a shard
// are taken in one step, as their new home does: some without state, and as many with.
import { openStore } from "../../src/host/open-store.ts";
import type { Locked, Taken } from "../../src/ports/store/store.ts";
import type { Make } from "../case.ts";
import { compareInTurn } from "../in-turn.ts";
import { WITH_STATE, WITH_STATE_RATIO, WITHOUT_STATE } from "./figures.ts";

export const take: Make = async ({ postgres, params, warmupMs, durationMs }) => {
  const store = await openStore(postgres);
  const requests = (type: string) =>
    Array.from({ length: Number(params.actors) }, (_, i) => ({
      namespace: "default",
      type,
      id: `actor-${i}`,
      owner: "me",
    }));
  const [bare, full] = [requests("Bare"), requests("Full")];
  const write = { kind: "whole", data: JSON.stringify("x".repeat(Number(params.bytes))) } as const;
  const taken = await store.take(full);
  const commits = taken.map((one, i) => ({
    ref: free(one).ref,
    epoch: free(one).epoch,
    version: free(one).version,
    id: `c${i}`,
    write,
  }));
  await store.commit(commits);

  /** Rate of one step. */
  async function rateOf(batch: typeof bare, bytes: number): Promise<number> {
    const start = performance.now();
    const [first] = await store.take(batch);
    const ms = performance.now() - start;
    if ((free(first!).state?.whole.length ?? 0) < bytes) throw new Error("the state did not come along");
    return 1_000 / ms;
  }
  const compare = (ms: number) =>
    compareInTurn(
      ms,
      () => rateOf(full, write.data.length),
      () => rateOf(bare, 0),
    );
  await compare(warmupMs);
  return {
    async run() {
      const { one, other, ratio } = await compare(durationMs);
      return { [WITH_STATE]: 1_000 / one, [WITHOUT_STATE]: 1_000 / other, [WITH_STATE_RATIO]: 1 / ratio };
    },
    close: () => store.close(),
  };
};

/** No other process holds a row here. */
function free(taken: Taken | Locked): Taken {
  if (taken === "locked") throw new Error("a row is locked");
  return taken;
}
