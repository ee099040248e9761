// Sticky actors, as one host sees them: which ones it holds, where others are, and what it has asked the leader for.
//
// - What it was granted it holds, in memory or not, until it lets go or loses its lease. Tables that change move none of it.
// - Where others are it remembers. What is remembered counts only while that very incarnation is in the table of the type, so
//   nobody has to be told that an owner is gone.
// - Who is neither held nor remembered belongs, for a start, to its owner on the ring; and that one asks the leader. Calls that
//   come meanwhile wait for the same answer. What has not been answered when a stream ends is asked again on the next, as long
//   as somebody waits for it.
// Pure. A driver (placement/sticky/sticky-client.ts) sends what is to be sent and wakes those who wait.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { StickyWish, TableHost } from "../../ports/control-messages.ts";
import { HERE, NOBODY, type Route, WAIT } from "../../ports/placement.ts";

/** What the tables of a host know of a type. */
export interface StickyTables {
  /** By the newest table, whether or not anything may come to life there now. */
  owner(type: string, id: string): string | undefined;
  hostAt(type: string, address: string): TableHost | undefined;
}

interface Question extends StickyWish {
  /** Nobody waits for it after this, on the monotonic clock. */
  until: number;
}

interface TypeHoldings {
  /** With the moment since when, on the wall clock. */
  readonly held: Map<string, number>;
  readonly remembered: Map<string, TableHost>;
  readonly asked: Map<string, Question>;
}

export interface CacheFigures {
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
  readonly figures = new Map<string, CacheFigures>();
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

  #figures(type: string): CacheFigures {
    let figures = this.figures.get(type);
    if (figures === undefined) {
      figures = { hits: 0, misses: 0, invalidations: 0 };
      this.figures.set(type, figures);
    }
    return figures;
  }

  // ——— Routing.

  /**
   * Where an actor that is not in memory here may be called, or come to life. WAIT: it is for this host to ask for it; then
   * `ask` says with what.
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
   * The question to be asked for it, unless it has been. `until`: how long somebody waits for the answer. `isFree`: there is nobody
   * who could answer what was asked before, so it may be forgotten.
   */
  ask(type: string, id: string, until: number, now: number, wall: number, isFree: boolean): StickyWish | undefined {
    const { asked } = this.#of(type);
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

  /** Forgets questions for which nobody waits any more. */
  #purge(now: number): void {
    for (const question of this.#questions.values()) if (question.until <= now) this.#drop(question);
  }

  #drop({ correlation, type, id }: Question): void {
    this.#questions.delete(correlation);
    this.#types.get(type)?.asked.delete(id);
  }

  /** Where this host believes it to live: what it tells others that ask the wrong one. */
  belief(type: string, id: string): string | undefined {
    const holdings = this.#types.get(type);
    if (holdings?.held.has(id)) return this.#address;
    const owner = holdings?.remembered.get(id);
    return owner !== undefined && this.#counts(type, owner) ? owner.address : this.#tables.owner(type, id);
  }

  /** That host has run it. */
  learn(type: string, id: string, address: string): void {
    const holdings = this.#of(type);
    const host = this.#tables.hostAt(type, address);
    // Another one may be at the address by now, who is to be believed where the one before is not.
    if (host === undefined || holdings.remembered.get(id)?.incarnation === host.incarnation) return;
    this.#remember(holdings, id, host);
  }

  /** That host, or whichever was remembered, does not have it. */
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

  // ——— What the leader says.

  /** Gives what was asked; undefined when nobody asks that any more. */
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

  /** Its owner is another host. False: that one is in no table here yet. */
  remember(type: string, id: string, host: TableHost): boolean {
    const listed = this.#tables.hostAt(type, host.address);
    if (listed?.incarnation !== host.incarnation) return false;
    // As the table has it: many ids share it.
    this.#remember(this.#of(type), id, listed);
    return true;
  }

  /** True: it was held, and the leader is to be told. */
  letGo(type: string, id: string): boolean {
    return this.#types.get(type)?.held.delete(id) === true;
  }

  // ——— A new stream.

  /** Everything it holds, in parts that fit a message. What is let go meanwhile is left out. */
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

  /** What has been asked and not been answered. */
  unanswered(now: number): StickyWish[] {
    this.#purge(now);
    return [...this.#questions.values()];
  }

  // ——— How much there is.

  holds(type: string, id: string): boolean {
    return this.#types.get(type)?.held.has(id) === true;
  }

  isAsked(type: string, id: string): boolean {
    return this.#types.get(type)?.asked.has(id) === true;
  }

  heldOf(type: string): Iterable<string> {
    return this.#types.get(type)?.held.keys() ?? [];
  }

  /** For people. */
  list(): { readonly type: string; readonly id: string; readonly since: number }[] {
    return [...this.#types].flatMap(([type, { held }]) => [...held].map(([id, since]) => ({ type, id, since })));
  }

  /** Held, and asked for. */
  size(type: string): number {
    const holdings = this.#types.get(type);
    return holdings === undefined ? 0 : holdings.held.size + holdings.asked.size;
  }

  held(type: string): number {
    return this.#types.get(type)?.held.size ?? 0;
  }

  /** The lease is lost: nothing of this counts any more. Who waits asks again. Gives how many were held. */
  clear(): number {
    let held = 0;
    for (const holdings of this.#types.values()) held += holdings.held.size;
    this.#types.clear();
    this.#questions.clear();
    return held;
  }
}
