// An idle worker that reports its memory.
import { setTimeout as pause } from "node:timers/promises";
import { heapBytes } from "../actors/heap.ts";
import { beTheOther } from "../cluster/other-process.ts";
import { openSleepers } from "./sleeper.ts";

/** It polls the store several times before the request. */
const SETTLE_MS = 2_000;

await beTheOther<{ store: string }>(async ({ store }) => {
  const app = await openSleepers(store);
  await pause(SETTLE_MS);
  return { answer: () => heapBytes(), stop: () => app.stop() };
});
