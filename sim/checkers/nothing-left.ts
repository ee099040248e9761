// When every host has stopped in an orderly way, nothing is left of any of them. Members may be: when all hosts stop at once there
// is nobody left to hear the last goodbyes, and whoever starts next waits for their leases.
import type { CheckerKind } from "./checker.ts";

export const nothingLeft: CheckerKind = {
  name: "nothing left",
  rule: "after everybody has stopped there is no process and no connection",
  make(stage, report) {
    return {
      over() {
        const { players, world } = stage;
        const running = players.filter(({ host }) => host.process !== undefined).map(({ host }) => host.name);
        if (running.length > 0) report(`${running.join(", ")} still run`);
        if (world.network.open > 0) report(`${world.network.open} connections are still open`);
      },
    };
  },
};
