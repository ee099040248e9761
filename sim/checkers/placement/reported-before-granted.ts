// Checks that a new leader grants sticky actors of a type only after every host that may hold some has
// reported, or its lease has ended.
import type { HostMessage, SchedulerMessage, TypeTable } from "../../../src/ports/control-messages.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { StoryLine } from "../../../src/world/story.ts";
import type { Stage } from "../../stage.ts";
import type { Checker, CheckerKind, ReportViolation } from "../checker.ts";
import { hostOf, nameOf } from "../looks.ts";

/** One term of a leader, as visible on the network. */
interface Term {
  readonly number: number;
  /** Incarnations that have completed their report. */
  readonly reported: Set<string>;
  /** Addresses of hosts that are no members any more. */
  readonly removed: Set<string>;
}

export const reportedBeforeGranted: CheckerKind = {
  name: "reported before granted",
  rule: "no sticky actor is granted while a host that may hold it has not reported and its lease has not ended",
  make: (stage, report) => (stage.plan.sticky === undefined ? {} : new ReportedBeforeGranted(stage, report)),
};

class ReportedBeforeGranted implements Checker {
  readonly #stage: Stage;
  readonly #report: ReportViolation;
  /** By the place of the leader. */
  readonly #terms = new Map<number, Term>();
  /** Incarnation by the place of the host. */
  readonly #incarnations = new Map<number, string>();
  /**
   * Term of the leader that first put a host into a table: this leader needs no report of earlier actors. A
   * host in no table holds nothing.
   */
  readonly #newTo = new Map<string, Term>();
  /** Requested actor by the place of the host and the correlation. */
  readonly #requested = new Map<string, { readonly namespace: string; readonly type: string; readonly id: string }>();
  readonly #namespaceAt = new Map<number, string>();
  /** A new leader removes hosts before it announces its term. */
  readonly #removedNow = new Map<number, { readonly at: number; readonly addresses: Set<string> }>();

  constructor(stage: Stage, report: ReportViolation) {
    this.#stage = stage;
    this.#report = report;
  }

  logged({ who, event, fields }: StoryLine): void {
    if (event !== "host.removed" && event !== "leader.elected") return;
    const place = this.#stage.players.find(({ host }) => host.name === who)?.host.process?.place;
    if (place === undefined) return;
    // A leader removes the earlier incarnation of a host before it welcomes the host.
    if (typeof fields?.term === "number") this.#beginTerm(place, fields.term);
    if (typeof fields?.host === "string") this.#remove(place, fields.host);
  }

  sent(process: Process, to: number, message: unknown): void {
    const sent = message as VirtualControlMessage;
    if (sent.about === "scheduler") this.#sentByLeader(process, to, sent.message);
    else if (sent.about === "host") this.#sentByHost(process.place, to, sent.message);
  }

  #sentByLeader(leader: Process, to: number, message: SchedulerMessage): void {
    if (message.kind === "welcome") this.#beginTerm(leader.place, message.term);
    if (message.kind === "order") this.#list(leader.place, message.tables);
    if (message.kind !== "acquired") return;
    for (const { kind, correlation } of message.answers) {
      if (kind === "granted") void this.#checkGrant(leader, to, correlation);
    }
  }

  #sentByHost(place: number, leader: number, message: HostMessage): void {
    if (message.kind === "hello") {
      this.#incarnations.set(place, message.incarnation);
      this.#namespaceAt.set(place, message.namespace);
    } else if (message.kind === "claimed") {
      this.#terms.get(leader)?.reported.add(this.#incarnations.get(place) ?? "");
    } else if (message.kind === "acquire") {
      const namespace = this.#namespaceAt.get(place) ?? "";
      for (const { correlation, type, id } of message.requests) {
        this.#requested.set(`${place}/${correlation}`, { namespace, type, id });
      }
    }
  }

  #beginTerm(leader: number, number: number): void {
    if (this.#terms.get(leader)?.number === number) return;
    const { at, addresses } = this.#removedNow.get(leader) ?? {};
    const removed = new Set(at === this.#stage.now ? addresses : []);
    this.#terms.set(leader, { number, reported: new Set(), removed });
  }

  #remove(leader: number, address: string): void {
    const { now } = this.#stage;
    this.#terms.get(leader)?.removed.add(address);
    const removed = this.#removedNow.get(leader);
    if (removed?.at === now) removed.addresses.add(address);
    else this.#removedNow.set(leader, { at: now, addresses: new Set([address]) });
  }

  #list(leader: number, tables: readonly TypeTable[]): void {
    const term = this.#terms.get(leader);
    if (term === undefined) return;
    for (const { incarnation } of tables.flatMap(({ hosts }) => hosts)) {
      if (!this.#newTo.has(incarnation)) this.#newTo.set(incarnation, term);
    }
  }

  async #checkGrant(leader: Process, host: number, correlation: number): Promise<void> {
    const actor = this.#requested.get(`${host}/${correlation}`);
    const term = this.#terms.get(leader.place);
    const own = hostOf(leader)?.status().address;
    if (actor === undefined || term === undefined || own === undefined) return;
    for (const member of await this.#stage.world.database.truth.coordination.members()) {
      const { incarnation, address } = member;
      if (member.namespace !== actor.namespace || !member.types.includes(actor.type) || address === own) continue;
      if (term.reported.has(incarnation) || term.removed.has(address)) continue;
      // No leader has announced this host: it was the leader's own and ended with it, or its row is being
      // written.
      const newTo = this.#newTo.get(incarnation);
      if (newTo === undefined || newTo === term) continue;
      this.#report(`${nameOf(actor)} is granted, and ${address} (${incarnation}) has not reported its actors`);
    }
  }
}
