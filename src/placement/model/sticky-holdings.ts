// Sticky actors, as one host sees them: the actors it holds, the owners of others, and its requests to the
// leader.
//
// - A host holds a granted actor, in memory or not, until it lets go or loses its lease. A table change moves
//   none of them.
// - A host caches the owners of other actors. An entry counts only while that very incarnation is in the
//   table of the type, so no message has to announce that an owner is gone.
// - An actor that is neither held nor cached belongs at first to its owner on the ring, and that host
//   requests it from the leader. Calls that come meanwhile wait for the same answer. A request without an
//   answer when the stream ends is repeated on the next stream, as long as a call waits for it.
// Pure. A driver (placement/sticky/sticky-client.ts) sends the messages and wakes waiting calls.
import { invariant, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { StickyRequest, TableHost } from "../../ports/control-messages.ts";
import { HERE, NOBODY, type Route, WAIT } from "../../ports/placement.ts";

/** The parts of a host's tables that sticky routing needs. */
export interface StickyTables {
  /** By the newest table, whether or not an activation is allowed there now. */
  owner(type: string, id: string): string | undefined;
  hostAt(type: string, address: string): TableHost | undefined;
}

interface Question extends StickyRequest {
  /** No call waits for it after this, on the monotonic clock. */
  until: number;
}

interface TypeHoldings {
  /** Time since when each actor is held, on the wall clock. */
  readonly held: Map<string, number>;
  readonly remembered: Map<string, TableHost>;
  readonly asked: Map<string, Question>;
}

export interface StickyCacheFigures {
  hits: number;
  misses: number;
  invalidations: number;
}

export interface Claims {
  readonly type: string;
  readonly ids: readonly string[];
  readonly since: readonly number[];
}

export class StickyHoldings {
  readonly #address: string;
  readonly #tables: StickyTables;
  readonly #types = new Map<string, TypeHoldings>();
  readonly #questions = new Map<number, Question>();
  readonly figures = new Map<string, StickyCacheFigures>();
  #lastCorrelation = 0;

  constructor(address: string, tables: StickyTables) {
    this.#address = address;
    this.#tables = tables;
  }

  #of(type: string): TypeHoldings {
    let holdings = this.#types.get(type);
    if (holdings === undefined) {
      holdings = { held: new Map(), remembered: new Map(), asked: new Map() };
      this.#types.set(type, holdings);
    }
    return holdings;
  }

  #figures(type: string): StickyCacheFigures {
    let figures = this.figures.get(type);
    if (figures === undefined) {
      figures = { hits: 0, misses: 0, invalidations: 0 };
      this.figures.set(type, figures);
    }
    return figures;
  }

  // ——— Routing.

  /**
   * Host on which an actor that is not in memory here may be called or activated. WAIT: this host must
   * request it; `ask` returns the request.
   */
  route(type: string, id: string): Route {
    const holdings = this.#of(type);
    const figures = this.#figures(type);
    if (holdings.held.has(id)) {
      figures.hits++;
      return HERE;
    }
    const owner = holdings.remembered.get(id);
    if (owner !== undefined) {
      if (this.#counts(type, owner)) {
        figures.hits++;
        return owner.address;
      }
      holdings.remembered.delete(id);
      figures.invalidations++;
    }
    if (holdings.asked.has(id)) return WAIT;
    figures.misses++;
    const ring = this.#tables.owner(type, id);
    if (ring === undefined) return NOBODY;
    return ring === this.#address ? WAIT : ring;
  }

  #counts(type: string, { address, incarnation }: TableHost): boolean {
    return this.#tables.hostAt(type, address)?.incarnation === incarnation;
  }

  /**
   * The request to send for an actor, unless it was sent already. `until`: end of the caller's wait.
   * `isFree`: no leader can answer earlier requests, so expired ones may be dropped.
   */
  ask(type: string, id: string, until: number, now: number, wall: number, isFree: boolean): StickyRequest | undefined {
    const { asked, held } = this.#of(type);
    if (held.has(id)) this.#broken("a host does not request an actor that it holds", type, id);
    const known = asked.get(id);
    if (known !== undefined) {
      known.until = Math.max(known.until, until);
      return undefined;
    }
    if (isFree && asked.size >= LIMITS.stickyWaiting) this.#purge(now);
    if (asked.size >= LIMITS.stickyWaiting) {
      throw new LimpetError("NOT_READY", `${asked.size} actors of ${type} already wait for a host`);
    }
    const question = { correlation: ++this.#lastCorrelation, type, id, since: wall, until };
    asked.set(id, question);
    this.#questions.set(question.correlation, question);
    return question;
  }

  /** Drops requests for which no call waits any more. */
  #purge(now: number): void {
    for (const question of this.#questions.values()) if (question.until <= now) this.#drop(question);
  }

  #drop(question: Question): void {
    const { correlation, type, id } = question;
    const asked = this.#types.get(type)?.asked;
    if (asked?.get(id) !== question) this.#broken("an actor has one request", type, id);
    this.#questions.delete(correlation);
    asked.delete(id);
  }

  /** The state in short belongs to the error. */
  #broken(rule: string, type: string, id: string): never {
    const { held, remembered, asked } = this.#of(type);
    const actor = `${held.has(id) ? "held" : "not held"}, cached at ${remembered.get(id)?.address ?? "-"}, request ${asked.get(id)?.correlation ?? "-"}`;
    const sizes = `${held.size} held, ${remembered.size} cached, ${asked.size} requested`;
    invariant(false, `${rule}; ${type}/${id}: ${actor}; ${sizes} of the type, ${this.#questions.size} requests in all`);
  }

  /** The owner this host believes in: its answer to callers that reached the wrong host. */
  cachedOwner(type: string, id: string): string | undefined {
    const holdings = this.#types.get(type);
    if (holdings?.held.has(id)) return this.#address;
    const owner = holdings?.remembered.get(id);
    return owner !== undefined && this.#counts(type, owner) ? owner.address : this.#tables.owner(type, id);
  }

  /** That host has run the actor. */
  cacheOwner(type: string, id: string, address: string): void {
    const holdings = this.#of(type);
    const host = this.#tables.hostAt(type, address);
    // Another incarnation may be at the address by now; it replaces the cached one.
    if (host === undefined || holdings.remembered.get(id)?.incarnation === host.incarnation) return;
    this.#remember(holdings, id, host);
  }

  /** That host, or the cached one if left out, does not have the actor. */
  forget(type: string, id: string, address?: string): void {
    const remembered = this.#types.get(type)?.remembered;
    const known = remembered?.get(id);
    if (known === undefined || (address !== undefined && known.address !== address)) return;
    remembered!.delete(id);
    this.#figures(type).invalidations++;
  }

  #remember({ remembered, held }: TypeHoldings, id: string, host: TableHost): void {
    if (held.has(id)) return;
    remembered.delete(id);
    remembered.set(id, host);
    if (remembered.size <= LIMITS.stickyRemembered) return;
    const [oldest] = remembered.keys();
    remembered.delete(oldest!);
  }

  // ——— Messages of the leader.

  /** Returns the request; undefined when it was dropped. */
  answered(
    correlation: number,
    now: number,
  ): { readonly type: string; readonly id: string; readonly isWanted: boolean } | undefined {
    const question = this.#questions.get(correlation);
    if (question === undefined) return undefined;
    this.#drop(question);
    return { type: question.type, id: question.id, isWanted: now < question.until };
  }

  hold(type: string, id: string, wall: number): void {
    const { held, remembered } = this.#of(type);
    held.set(id, wall);
    remembered.delete(id);
  }

  /** Its owner is another host. False: no table here lists that host yet. */
  remember(type: string, id: string, host: TableHost): boolean {
    const listed = this.#tables.hostAt(type, host.address);
    if (listed?.incarnation !== host.incarnation) return false;
    // The table's object: many ids share it.
    this.#remember(this.#of(type), id, listed);
    return true;
  }

  /** Returns true if it was held, so that the leader must be notified. */
  letGo(type: string, id: string): boolean {
    return this.#types.get(type)?.held.delete(id) === true;
  }

  // ——— A new stream.

  /** All held actors, in chunks that fit a message. Actors released meanwhile are left out. */
  *claims(): Generator<Claims> {
    for (const [type, { held }] of this.#types) {
      let part: { type: string; ids: string[]; since: number[] } = { type, ids: [], since: [] };
      let bytes = 0;
      for (const [id, since] of held) {
        part.ids.push(id);
        part.since.push(since);
        bytes += id.length * 3;
        if (part.ids.length < LIMITS.stickyChunk && bytes < LIMITS.stickyChunkBytes) continue;
        yield part;
        part = { type, ids: [], since: [] };
        bytes = 0;
      }
      if (part.ids.length > 0) yield part;
    }
  }

  /** Requests without an answer. */
  unanswered(now: number): StickyRequest[] {
    this.#purge(now);
    return [...this.#questions.values()];
  }

  // ——— Sizes.

  holds(type: string, id: string): boolean {
    return this.#types.get(type)?.held.has(id) === true;
  }

  isAsked(type: string, id: string): boolean {
    return this.#types.get(type)?.asked.has(id) === true;
  }

  heldOf(type: string): Iterable<string> {
    return this.#types.get(type)?.held.keys() ?? [];
  }

  /** For display. */
  list(): { readonly type: string; readonly id: string; readonly since: number }[] {
    return [...this.#types].flatMap(([type, { held }]) => [...held].map(([id, since]) => ({ type, id, since })));
  }

  /** Number of actors held and requested. */
  size(type: string): number {
    const holdings = this.#types.get(type);
    return holdings === undefined ? 0 : holdings.held.size + holdings.asked.size;
  }

  held(type: string): number {
    return this.#types.get(type)?.held.size ?? 0;
  }

  /**
   * The lease is lost, so all of this is void. Waiting calls make new requests. Returns the number of actors
   * that were held.
   */
  clear(): number {
    let held = 0;
    for (const holdings of this.#types.values()) held += holdings.held.size;
    this.#types.clear();
    this.#questions.clear();
    return held;
  }
}
