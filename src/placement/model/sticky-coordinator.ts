// The leader's side of sticky actors in one namespace: hosts request them, claim the ones they hold, and
// release them. sticky-owners.ts keeps the owners; this file decides which requests are allowed, which wait,
// and which answers are sent.
//
// A request waits while it cannot be answered: a new leader does not know all owners yet, or the owner is
// about to let go. Requests of a stream end with it, because the host repeats them on its next stream. Pure.
import { invariant } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type {
  SchedulerMessage,
  StickyAnswer,
  StickyRequest,
  TableHost,
  TypeTable,
} from "../../ports/control-messages.ts";
import { describeRecord, type HostRecord } from "./connection-controller.ts";
import { type Acquisition, type ListedHosts, StickyOwners } from "./sticky-owners.ts";

/** For metrics: the event, by type, with its count. */
export type StickyEvent = "granted" | "owner" | "refused" | "waiting" | "released" | "cleared" | "claimed" | "conflict";

export type StickyEffect =
  | { readonly kind: "send"; readonly streams: readonly number[]; readonly message: SchedulerMessage }
  | { readonly kind: "sticky"; readonly event: StickyEvent; readonly type: string; readonly count: number };

/** The coordinator's view of its namespace. */
export interface StickyCoordinatorDeps {
  host(incarnation: string): HostRecord | undefined;
  /** The newest table of a type that was sent to all hosts. */
  table(type: string): TypeTable | undefined;
}

interface Waiting {
  readonly host: HostRecord;
  readonly stream: number;
  readonly request: StickyRequest;
}

const NOBODY: ListedHosts = { lists: () => false, named: () => undefined };

export class StickyCoordinator {
  readonly owners = new StickyOwners();
  readonly #deps: StickyCoordinatorDeps;
  /** By type and id. */
  readonly #waiting = new Map<string, Map<string, Waiting[]>>();
  #waitingCount = 0;
  /** Waiting requests may have another answer by now, also for ids other than the released ones. */
  #stirred = false;
  readonly #tables = new WeakMap<TypeTable, ListedHosts>();
  readonly #answers = new Map<number, StickyAnswer[]>();
  readonly #events = new Map<string, Map<StickyEvent, number>>();

  constructor(deps: StickyCoordinatorDeps) {
    this.#deps = deps;
  }

  get waiting(): number {
    return this.#waitingCount;
  }

  // ——— Hosts.

  hostJoined(host: HostRecord): void {
    this.#forgetQuestions(host.incarnation);
    this.owners.hostJoined(host);
    this.#stirred = true;
  }

  /** Its stream is gone. The host keeps its actors. */
  closed({ incarnation }: HostRecord): void {
    this.#forgetQuestions(incarnation);
  }

  gone(host: HostRecord, isLost: boolean, now: number): void {
    this.#forgetQuestions(host.incarnation);
    for (const [type, count] of this.owners.gone(host, isLost, now)) this.#count(type, "cleared", count);
    this.#stirred = true;
  }

  tick(now: number): void {
    for (const [type, count] of this.owners.tick(now)) this.#count(type, "cleared", count);
  }

  /** Tables have changed, or the types that hosts may hold. */
  stir(): void {
    this.#stirred = true;
  }

  #forgetQuestions(incarnation: string): void {
    if (this.#waitingCount === 0) return;
    for (const [type, byId] of this.#waiting) {
      for (const [id, all] of byId) {
        const left = all.filter(({ host }) => host.incarnation !== incarnation);
        this.#waitingCount -= all.length - left.length;
        if (left.length > 0) byId.set(id, left);
        else byId.delete(id);
      }
      if (byId.size === 0) this.#waiting.delete(type);
    }
  }

  // ——— Messages of hosts.

  acquire(host: HostRecord, stream: number, requests: readonly StickyRequest[], now: number): void {
    // The end of its stream would not remove a request that came on another one.
    if (host.stream !== stream) this.#broken("a host requests actors on its own stream", host);
    for (const request of requests) this.#consider({ host, stream, request }, now, true);
  }

  claims(
    host: HostRecord,
    claims: { readonly type: string; readonly ids: readonly string[]; readonly since: readonly number[] },
  ): StickyEffect[] {
    const { type, ids, since } = claims;
    const { stream } = host;
    if (stream === undefined) this.#broken("only a connected host claims actors", host);
    const conflicts = this.owners.claims(host, type, ids, since);
    this.#count(type, "claimed", ids.length - conflicts.length);
    if (conflicts.length === 0) return [];
    this.#count(type, "conflict", conflicts.length);
    return [{ kind: "send", streams: [stream], message: { kind: "release", type, ids: conflicts } }];
  }

  claimed(host: HostRecord, now: number): void {
    this.owners.claimed(host, now);
    this.#stirred = true;
  }

  released(host: HostRecord, type: string, ids: readonly string[], now: number): void {
    this.#count(type, "released", this.owners.released(host, type, ids));
    const byId = this.#waiting.get(type);
    if (byId === undefined) return;
    for (const id of ids) this.#reconsider(byId, id, now);
  }

  // ——— Answers.

  #consider(waiting: Waiting, now: number, isFirst: boolean): void {
    const { host, stream, request } = waiting;
    const { correlation, type } = request;
    const outcome = this.#outcome(host, request, now);
    switch (outcome.kind) {
      case "granted":
        this.#answer(stream, { correlation, kind: "granted" });
        break;
      case "owner": {
        const owner = outcome.isUnaware ? this.#deps.host(outcome.host.incarnation) : undefined;
        if (owner?.stream !== undefined) this.#grantsToNotify.push({ stream: owner.stream, type, id: request.id });
        this.#answer(stream, { correlation, kind: "owner", host: outcome.host });
        break;
      }
      case "refused":
        this.#answer(stream, { correlation, kind: "refused", code: outcome.code, why: outcome.why });
        break;
      case "later":
        this.#keep(waiting, isFirst);
        return;
    }
    this.#count(type, outcome.kind, 1);
  }

  /** Actors granted to hosts without a request. */
  #grantsToNotify: { readonly stream: number; readonly type: string; readonly id: string }[] = [];

  #outcome(host: HostRecord, request: StickyRequest, now: number): Acquisition {
    const { type } = request;
    if (!host.types.has(type)) {
      return {
        kind: "refused",
        code: "NOT_READY",
        why: `the requesting host does not run actors of type ${type}`,
      };
    }
    // A later leader has to know that the host may hold actors of the type.
    if (!host.held.has(type)) return { kind: "later" };
    return this.owners.acquire(host, request, this.#hostsOf(type), now);
  }

  #hostsOf(type: string): ListedHosts {
    const table = this.#deps.table(type);
    if (table === undefined) return NOBODY;
    let hosts = this.#tables.get(table);
    if (hosts === undefined) {
      const listed = new Set(table.hosts.map(({ incarnation }) => incarnation));
      // The newest table may list a host that is gone, until the next table is sent. A host without a stream
      // receives nothing.
      const isThere = ({ incarnation }: TableHost): boolean => this.#deps.host(incarnation)?.stream !== undefined;
      hosts = {
        lists: (incarnation) => listed.has(incarnation),
        named: (name) => table.hosts.find((host) => host.name === name && isThere(host)),
      };
      this.#tables.set(table, hosts);
    }
    return hosts;
  }

  #keep(waiting: Waiting, isFirst: boolean): void {
    const { correlation, type, id } = waiting.request;
    if (this.#waitingCount >= LIMITS.stickyWaiting) {
      const why = `${LIMITS.stickyWaiting} requests for sticky actors already wait for an answer`;
      this.#answer(waiting.stream, { correlation, kind: "refused", code: "NOT_READY", why });
      this.#count(type, "refused", 1);
      return;
    }
    let byId = this.#waiting.get(type);
    if (byId === undefined) {
      byId = new Map();
      this.#waiting.set(type, byId);
    }
    const others = byId.get(id);
    if (others === undefined) byId.set(id, [waiting]);
    else others.push(waiting);
    this.#waitingCount++;
    if (isFirst) this.#count(type, "waiting", 1);
  }

  #reconsider(byId: Map<string, Waiting[]>, id: string, now: number): void {
    const waiting = byId.get(id);
    if (waiting === undefined) return;
    byId.delete(id);
    this.#waitingCount -= waiting.length;
    if (this.#waitingCount < 0) this.#broken("requests that wait are counted once", waiting[0]!.host);
    for (const one of waiting) this.#consider(one, now, false);
  }

  /** The state in short belongs to the error. */
  #broken(rule: string, host: HostRecord): never {
    const types = [...this.#waiting].map(([type, byId]) => `${type} ${byId.size}`);
    const state = `${describeRecord(host)}; ${this.#waitingCount} requests wait, actors by type [${types}]`;
    invariant(false, `${rule}; ${state}`);
  }

  #answer(stream: number, answer: StickyAnswer): void {
    const answers = this.#answers.get(stream);
    if (answers === undefined) this.#answers.set(stream, [answer]);
    else answers.push(answer);
  }

  #count(type: string, event: StickyEvent, count: number): void {
    if (count === 0) return;
    let events = this.#events.get(type);
    if (events === undefined) {
      events = new Map();
      this.#events.set(type, events);
    }
    events.set(event, (events.get(event) ?? 0) + count);
  }

  /** Last step of every input: sends all answers together. */
  *finish(now: number): Generator<StickyEffect> {
    if (this.#stirred) {
      this.#stirred = false;
      for (const [type, byId] of [...this.#waiting]) {
        // None of its requests can be answered yet, and there may be very many.
        if (!this.owners.isOpen(type)) continue;
        for (const id of [...byId.keys()]) this.#reconsider(byId, id, now);
      }
    }
    // New owners are notified first: other hosts are about to call them.
    for (const { stream, type, id } of this.#grantsToNotify) {
      yield { kind: "send", streams: [stream], message: { kind: "granted", type, ids: [id] } };
    }
    this.#grantsToNotify = [];
    for (const [stream, answers] of this.#answers) {
      for (let i = 0; i < answers.length; i += LIMITS.stickyChunk) {
        const part = answers.length <= LIMITS.stickyChunk ? answers : answers.slice(i, i + LIMITS.stickyChunk);
        yield { kind: "send", streams: [stream], message: { kind: "acquired", answers: part } };
      }
    }
    this.#answers.clear();
    for (const [type, events] of this.#events) {
      for (const [event, count] of events) yield { kind: "sticky", event, type, count };
    }
    this.#events.clear();
  }

  // ——— For display and operators.

  /** Requests that the owner lets go. Undefined: there is no owner; "silent": the owner has no stream now. */
  release(type: string, id: string, now: number): StickyEffect[] | "silent" | undefined {
    const found = this.owners.find(type, id, now);
    if (found === undefined) return undefined;
    if (found.away) {
      this.owners.giveUp(type, id);
      return [];
    }
    const stream = this.#deps.host(found.host.incarnation)?.stream;
    if (stream === undefined) return "silent";
    return [{ kind: "send", streams: [stream], message: { kind: "release", type, ids: [id] } }];
  }
}
