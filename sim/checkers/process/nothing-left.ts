// Checks that after all hosts have stopped in an orderly way, nothing of them remains.
import type { CheckerKind } from "../checker.ts";

export const nothingLeft: CheckerKind = {
  name: "nothing left",
  rule: "after all hosts have stopped there is no process, no connection and no member",
  make(stage, report) {
    return {
      over() {
        const { players, world } = stage;
        const running = players.filter(({ host }) => host.process !== undefined).map(({ host }) => host.name);
        if (running.length > 0) report(`${running.join(", ")} still run`);
        if (world.network.open > 0) report(`${world.network.open} connections are still open`);
        void world.database.truth.coordination.members().then((members) => {
          const names = members.map(({ address, incarnation }) => `${address} (${incarnation})`).join(", ");
          if (members.length > 0) report(`the store still lists as members: ${names}`);
        });
      },
    };
  },
};
