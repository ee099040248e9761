// A sticky actor leaves memory for few reasons: it wants to, there is no room, an operator wants it to, or its host stops having its
// type. That nobody calls it is none, and neither is a table that changes.
import type { Process } from "../../src/world/process.ts";
import type { Said } from "../../src/world/virtual-control.ts";
import type { CheckerKind } from "./checker.ts";
import { doorOf, ENDINGS, isSticky, labelOf, timesOf } from "./looks.ts";

/** How long ago a table without this host may have been told, and be followed only now. */
const LATELY_MS = 30_000;

export const stickyStays: CheckerKind = {
  name: "sticky actors stay",
  rule: "a sticky actor does not leave because it is idle or because the table has changed, while its host has its type",
  make(stage, report) {
    if (stage.plan.sticky === undefined) return {};
    const { moveTimeoutMs } = timesOf(stage.plan);
    /** By namespace, type and address: when a table was last told that does not list it although one did. */
    const unlistedAt = new Map<string, number>();
    const known = new Map<string, Set<string>>();
    /** By host: when it was last asked to let go of some, or has given up everything. */
    const askedAt = new Map<string, number>();

    /** Told to give up types: that may take its time, and they may be taken up again meanwhile. */
    const givenUp = new Set<Process>();

    return {
      told({ who, event }) {
        const { process } = stage.players.find(({ host }) => host.name === who)?.host ?? {};
        if (event === "⚡ types leave" && process !== undefined) givenUp.add(process);
        if (event.startsWith("asked to let go") || event.startsWith("asked to hand over") || ENDINGS.has(event)) {
          askedAt.set(who, stage.now);
        }
      },
      sent(_process, _to, message) {
        const said = message as Said;
        if (said.about !== "scheduler" || said.message.kind !== "order") return;
        const { namespace } = said.message;
        for (const { type, hosts } of said.message.tables) {
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
        const status = doorOf(process)?.status();
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
