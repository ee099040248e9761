// Checks that actors of a shard run only on hosts with the role of their type, and that the leader assigns
// shards only to such hosts. Other hosts with the class forward calls.

import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Player } from "../../stage.ts";
import type { CheckerKind } from "../checker.ts";
import { hasRole, labelOf, shardKey } from "../looks.ts";

export const homesHaveTheRole: CheckerKind = {
  name: "homes have the role",
  rule: "the home of a shard has the role of its type, and so has every host that runs one of its actors",
  make(stage, report) {
    const { plan } = stage;
    if (!Object.values(plan.sharded ?? {}).some(({ role }) => role !== undefined)) return {};
    const playerOf = (process: Process): Player | undefined =>
      stage.players.find(({ host }) => host.place === process.place);
    return {
      activated(life) {
        const player = playerOf(life.process);
        if (player === undefined || hasRole(plan, player.planned, life.type)) return;
        report(
          `${labelOf(life)} lives at ${player.planned.name}, which has not the role ${plan.sharded?.[life.type]?.role}`,
        );
      },
      sent(_process, to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about !== "scheduler" || sent.message.kind !== "shardHomes") return;
        const { type, homes } = sent.message;
        const namespace = stage.players.find(({ host }) => host.place === to)?.planned.namespace ?? "";
        for (const { shard, host } of homes) {
          const home = stage.players.find((player) => addressOf(player) === host?.address);
          if (host === undefined || home === undefined || hasRole(plan, home.planned, type)) continue;
          report(
            `${shardKey(namespace, type, shard)} is announced to live at ${home.planned.name}, which has not its role`,
          );
        }
      },
    };
  },
};

const addressOf = ({ host }: Player): string | undefined => host.process?.app?.host.status().address;
