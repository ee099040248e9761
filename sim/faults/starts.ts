// Starts that fail halfway: the process is a member already, and is not up yet.

import { fault, lengths, times } from "./fault.ts";
import { between } from "./network/between.ts";

/** How long a process continues after its start has failed, like a process whose code catches the error. */
const LINGER_MS = 20_000;
/** The start is given up long before. */
const LONGEST_MS = 120_000;

export const failingStart = fault<{ host: string; downMs: number }>({
  name: "failing start",
  summary:
    "a process joins the cluster, then loses the database before its start is complete: the start fails, and the process goes on",
  draw(chance, plan) {
    // Only a worker sends a request to the database between joining and being up.
    const workers = Object.keys(plan.workflows?.workers ?? {});
    if (workers.length === 0) return [];
    const downMs = lengths(chance, 10, 10_000);
    return times(chance, plan, 2, () => ({ host: chance.pick(workers), downMs: downMs() }));
  },
  happen(stage, { host, downMs }, strike) {
    const player = stage.player(host);
    if (player.host.process === undefined) return;
    stage.crash(player);
    stage.later(downMs, () => {
      if (player.host.process !== undefined) return;
      player.host.lingerMs = LINGER_MS;
      stage.start(player);
      const starting = player.host.process!;
      const { failing } = between(stage.world);
      let isFailing = false;
      const fails: Parameters<typeof failing.add>[0] = (station, question) => {
        if (station !== starting || starting.app !== undefined) return false;
        if (!isFailing && question === "worker") strike(host);
        isFailing ||= question === "worker";
        return isFailing;
      };
      failing.add(fails);
      stage.undoAfter(LONGEST_MS, () => {
        failing.delete(fails);
        player.host.lingerMs = 0;
        if (isFailing && starting.app === undefined) starting.end(false);
      });
    });
  },
});
