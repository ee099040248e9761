// When every host has stopped in an orderly way, nothing is left of any of them.
import type { CheckerKind } from "./checker.ts";

export const nothingLeft: CheckerKind = {
  name: "nothing left",
  rule: "after everybody has stopped there is no process, no connection and no member",
  make(stage, report) {
    const left = new Set<string>();
    stage.world.database.watchers.push({
      left: (_station, incarnations) => {
        for (const incarnation of incarnations) left.add(incarnation);
      },
    });
    return {
      over() {
        const { players, world } = stage;
        const running = players.filter(({ host }) => host.process !== undefined).map(({ host }) => host.name);
        if (running.length > 0) report(`${running.join(", ")} still run`);
        if (world.network.open > 0) report(`${world.network.open} connections are still open`);
        void world.database.truth.coordination.members().then((members) => {
          // A note of the last leader may arrive after the host it is about took itself out, and nobody is left to mend that.
          const strange = members.filter(({ incarnation }) => !left.has(incarnation));
          if (strange.length < members.length) stage.excuse("nothing left");
          const names = strange.map(({ address, incarnation }) => `${address} (${incarnation})`).join(", ");
          if (strange.length > 0) report(`the store still lists as members: ${names}`);
        });
      },
    };
  },
};
