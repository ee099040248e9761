// Checks that a new leader grants sticky actors of a type only after every host that may hold some has
// reported, or its lease has ended.
import type { TypeTable } from "../../../src/ports/control-messages.ts";
import type { Said } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { doorOf } from "../looks.ts";

/** One term of a leader, as visible on the network. */
interface Term {
  readonly number: number;
  /** Incarnations that have completed their report. */
  readonly heard: Set<string>;
  /** Addresses of hosts that are no members any more. */
  readonly removed: Set<string>;
}

export const heardBeforeGranted: CheckerKind = {
  name: "heard before granted",
  rule: "no sticky actor is granted while a host that may hold it has not reported and its lease has not ended",
  make(stage, report) {
    if (stage.plan.sticky === undefined) return {};
    /** By the place of the leader. */
    const terms = new Map<number, Term>();
    /** Incarnation by the place of the host. */
    const incarnations = new Map<number, string>();
    /**
     * Term of the leader that first put a host into a table: this leader needs no report of earlier actors. A
     * host in no table holds nothing.
     */
    const newTo = new Map<string, Term>();
    /** Requested actor by the place of the host and the correlation. */
    const asked = new Map<string, { readonly namespace: string; readonly type: string; readonly id: string }>();
    const namespaceAt = new Map<number, string>();

    /** A new leader removes hosts before it announces its term. */
    const removedNow = new Map<number, { readonly at: number; readonly addresses: Set<string> }>();

    function welcomed(leader: number, number: number): void {
      if (terms.get(leader)?.number === number) return;
      const { at, addresses } = removedNow.get(leader) ?? {};
      terms.set(leader, { number, heard: new Set(), removed: new Set(at === stage.now ? addresses : []) });
    }

    function removed(leader: number, address: string): void {
      terms.get(leader)?.removed.add(address);
      const now = removedNow.get(leader);
      if (now?.at === stage.now) now.addresses.add(address);
      else removedNow.set(leader, { at: stage.now, addresses: new Set([address]) });
    }

    function listed(leader: number, tables: readonly TypeTable[]): void {
      const term = terms.get(leader);
      if (term === undefined) return;
      for (const { hosts } of tables) {
        for (const { incarnation } of hosts) if (!newTo.has(incarnation)) newTo.set(incarnation, term);
      }
    }

    async function granted(leader: Process, host: number, correlation: number): Promise<void> {
      const what = asked.get(`${host}/${correlation}`);
      const term = terms.get(leader.place);
      const own = doorOf(leader)?.status().address;
      if (what === undefined || term === undefined || own === undefined) return;
      const { namespace, type, id } = what;
      for (const member of await stage.world.database.truth.coordination.members()) {
        const { incarnation, address } = member;
        if (member.namespace !== namespace || !member.types.includes(type) || address === own) continue;
        if (term.heard.has(incarnation) || term.removed.has(address) || newTo.get(incarnation) === term) continue;
        // No leader has announced this host: it was the leader's own and ended with it, or its row is being
        // written.
        if (!newTo.has(incarnation)) continue;
        report(`${namespace}/${type}/${id} is granted, and ${address} (${incarnation}) has not said what it holds`);
      }
    }

    return {
      told({ who, event, fields }) {
        if (event !== "host.removed" && event !== "leader.elected") return;
        const place = stage.players.find(({ host }) => host.name === who)?.host.process?.place;
        if (place === undefined) return;
        // A leader removes the earlier incarnation of a host before it welcomes the host.
        if (typeof fields?.term === "number") welcomed(place, fields.term);
        if (typeof fields?.host === "string") removed(place, fields.host);
      },
      sent(process, to, message) {
        const said = message as Said;
        if (said.about === "scheduler") {
          if (said.message.kind === "welcome") welcomed(process.place, said.message.term);
          if (said.message.kind === "order") listed(process.place, said.message.tables);
          if (said.message.kind !== "acquired") return;
          for (const { kind, correlation } of said.message.answers) {
            if (kind === "granted") void granted(process, to, correlation);
          }
        }
        if (said.about !== "host") return;
        const { message: word } = said;
        if (word.kind === "hello") {
          incarnations.set(process.place, word.incarnation);
          namespaceAt.set(process.place, word.namespace);
        } else if (word.kind === "claimed") {
          terms.get(to)?.heard.add(incarnations.get(process.place) ?? "");
        } else if (word.kind === "acquire") {
          const namespace = namespaceAt.get(process.place) ?? "";
          for (const { correlation, type, id } of word.wishes) {
            asked.set(`${process.place}/${correlation}`, { namespace, type, id });
          }
        }
      },
    };
  },
};
