// Checks that every host of a table is in the store before the table is sent: the next leader must know the
// hosts that it has to wait for.

import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";

export const persistedBeforeGranted: CheckerKind = {
  name: "persisted before granted",
  rule: "every host of a table is a member in the store when the leader first sends the table",
  make(stage, report) {
    const seen = new Set<string>();
    /** Hosts that report to a leader over the network, by incarnation. A table may still list ended ones. */
    const hosts = new Map<string, Process>();
    const current = new Map<Process, string>();
    let term = 0;
    // Hosts that have removed themselves hold nothing, although tables list them until the leader learns it.
    const left = new Set<string>();
    stage.world.database.watchers.push({
      left: (_station, incarnations) => {
        for (const incarnation of incarnations) left.add(incarnation);
      },
    });
    return {
      campaigned(_process, _candidate, standing) {
        term = Math.max(term, standing.term);
      },
      logged({ who, event, fields }) {
        // The host holds nothing under its old incarnation; a round that began before may still list it. A
        // sleeping host does not know it yet.
        const isOver = event === "lease.lost" || event === "membership.removed";
        const isWaitedFor = event === "host.removed" && fields?.why === "its lease is over";
        if (!isOver && !isWaitedFor) return;
        const name = isOver ? who : fields?.name;
        const process = stage.players.find(({ host }) => host.name === name)?.host.process;
        if (process !== undefined) current.delete(process);
      },
      sent(process, _to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about === "host" && sent.message.kind === "hello") {
          hosts.set(sent.message.incarnation, process);
          current.set(process, sent.message.incarnation);
        }
        if (sent.about !== "scheduler" || sent.message.kind !== "order" || sent.message.operation !== "update") return;
        // Hosts do not follow an old leader, and a snapshot repeats earlier decisions.
        if (sent.message.term < term || sent.message.round === 0) return;
        const { namespace, tables } = sent.message;
        const fresh = tables.filter(({ type, version }) => {
          const key = `${namespace}/${type}/${version.term}.${version.number}`;
          return !seen.has(key) && seen.add(key);
        });
        if (fresh.length === 0) return;
        void stage.world.database.truth.coordination.members().then((members) => {
          const persisted = new Map(members.map(({ incarnation, types }) => [incarnation, types]));
          for (const { type, hosts: named } of fresh) {
            for (const { address, incarnation } of named) {
              const host = hosts.get(incarnation);
              if (host === undefined || host.hasEnded || current.get(host) !== incarnation) continue;
              if (left.has(incarnation) || persisted.get(incarnation)?.includes(type)) continue;
              report(
                `${address} (${incarnation}) is in a table of ${type}, and the store does not know that it may be`,
              );
            }
          }
        });
      },
    };
  },
};
