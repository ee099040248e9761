// Checks that a sticky actor leaves memory only for a valid reason: its own request, lack of capacity, an
// operator, or the removal of its type from the host. Idle time and new tables are no reasons.

import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { ENDINGS, hostOf, isSticky, labelOf, timesOf } from "../looks.ts";

/** A table without this host may have been sent this long ago, and be applied only now. */
const LATELY_MS = 30_000;

export const stickyStays: CheckerKind = {
  name: "sticky actors stay",
  rule: "a sticky actor does not leave because of idle time or a new table while its host has its type",
  make(stage, report) {
    if (stage.plan.sticky === undefined) return {};
    const { moveTimeoutMs } = timesOf(stage.plan);
    /** Time of the last table that no longer lists the host, by namespace, type and address. */
    const unlistedAt = new Map<string, number>();
    const known = new Map<string, Set<string>>();
    /** Time of the last request to release actors, or of the loss of all actors, by host. */
    const askedAt = new Map<string, number>();

    /** Processes with removed types: a removal takes time, and the types may be added again meanwhile. */
    const givenUp = new Set<Process>();

    return {
      logged({ who, event, fields }) {
        const { process } = stage.players.find(({ host }) => host.name === who)?.host ?? {};
        const isRemoval =
          event === "⚡ types leave" || (event === "⚡ late messages of a host" && fields?.change === "types");
        if (isRemoval && process !== undefined) givenUp.add(process);
        if (event === "sticky.release-requested" || event === "drain.requested" || ENDINGS.has(event)) {
          askedAt.set(who, stage.now);
        }
      },
      sent(_process, _to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about !== "scheduler" || sent.message.kind !== "order") return;
        const { namespace } = sent.message;
        for (const { type, hosts } of sent.message.tables) {
          const addresses = known.get(`${namespace}/${type}`) ?? new Set();
          known.set(`${namespace}/${type}`, addresses);
          const listed = new Set(hosts.map(({ address }) => address));
          for (const address of listed) addresses.add(address);
          for (const address of addresses) {
            if (!listed.has(address)) unlistedAt.set(`${namespace}/${type}/${address}`, stage.now);
          }
        }
      },
      deactivated(life, reason) {
        const { namespace, type, process } = life;
        if (!isSticky(stage.plan, type) || (reason !== "idle" && reason !== "moved")) return;
        const where = `${labelOf(life)} has to leave process ${process.number}`;
        if (reason === "idle") {
          report(`${where} because nobody calls it`);
          return;
        }
        const status = hostOf(process)?.status();
        const player = stage.players.find(({ host }) => host.process === process);
        if (status?.address === undefined || !status.ready || player === undefined) return;
        const isAsked = stage.now - (askedAt.get(player.host.name) ?? Number.NEGATIVE_INFINITY) <= moveTimeoutMs * 2;
        const unlisted = unlistedAt.get(`${namespace}/${type}/${status.address}`) ?? Number.NEGATIVE_INFINITY;
        if (isAsked || stage.now - unlisted <= LATELY_MS || givenUp.has(process) || !player.types.includes(type))
          return;
        report(`${where}, which has its type`);
      },
    };
  },
};
