// Checks that the home of a shard is durable before hosts are notified: the next leader knows every announced
// home. Writes of a leader whose term has ended have no effect.

import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { shardKey } from "../looks.ts";

export const homesPersisted: CheckerKind = {
  name: "homes persisted",
  rule: "the home of a shard is in the store before hosts are notified, and only the leader of the newest term changes it there",
  make(stage, report) {
    if (stage.plan.sharded === undefined) return {};
    const persisted = new Map<string, { readonly incarnation: string | undefined; readonly term: number }>();
    const terms = new Map<Process, number>();
    let newest = 0;
    stage.world.database.watchers.push({
      notedHomes: (_station, term, changes, isCurrent) => {
        if (!isCurrent) return;
        if (term < newest) report(`homes are persisted in term ${term}, and there is term ${newest}`);
        for (const { namespace, type, shard, incarnation } of changes) {
          persisted.set(shardKey(namespace, type, shard), { incarnation, term });
        }
      },
    });
    return {
      campaigned(process, _candidate, { leading, term }) {
        newest = Math.max(newest, term);
        if (leading) terms.set(process, term);
      },
      sent(process, to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about !== "scheduler" || sent.message.kind !== "shardHomes") return;
        const player = stage.players.find(({ host }) => host.place === to);
        if (player === undefined) return;
        const { type, homes } = sent.message;
        for (const { shard, host } of homes) {
          const key = shardKey(player.planned.namespace, type, shard);
          const known = persisted.get(key);
          // A later leader may have decided otherwise, and this one does not know it yet.
          if (host === undefined || (known !== undefined && known.term > (terms.get(process) ?? 0))) continue;
          if (known?.incarnation === host.incarnation) continue;
          report(
            `${key} is announced to live at ${host.address} (${host.incarnation}), and the store has ${known?.incarnation}`,
          );
        }
      },
    };
  },
};
