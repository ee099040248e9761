// Limpet: speed of a simulated cluster relative to real time.
import type { Make } from "../case.ts";
import { EVENTS, SPEED } from "./figures.ts";
import { Workload, type WorkloadOptions } from "./workload.ts";

/** A whole cluster is a lot of code to warm up. */
const WARM_UPS = 3;

export const cluster: Make = async ({ durationMs, warmupMs, params }) => {
  const { hosts, schedulers, replicationFactor } = params as unknown as WorkloadOptions;
  const workload = new Workload({ hosts, schedulers, replicationFactor });
  await workload.start();
  await measured(workload, warmupMs * WARM_UPS);
  return { run: () => measured(workload, durationMs), close: async () => {} };
};

/** Whole minutes: the crash is part of each. */
async function measured(workload: Workload, ms: number) {
  const [start, steps] = [performance.now(), workload.steps];
  let minutes = 0;
  do {
    await workload.minute();
    minutes++;
  } while (performance.now() - start < ms);
  const seconds = (performance.now() - start) / 1_000;
  return { [SPEED]: (minutes * 60) / seconds, [EVENTS]: (workload.steps - steps) / seconds };
}
