// The state of each shard of one type on the leader, and its legal transitions.
//
//   (none) → allocating → persisting → home
//   home → buffering → stopping → allocating → persisting → home
//
// - allocating: the strategy was asked for a home. Hosts that ask meanwhile wait for the answer.
// - persisting: the home is being persisted. No host is notified before that, so a later leader knows every
//   announced home.
// - buffering: the shard shall move. Every host buffers calls for it, and acknowledges that.
// - stopping: its home stops its actors. When it reports that none is left, the shard has no home.
//
// A shard that buffers or stops has a home, and it is the one that the move began at. A shard that allocates
// or persists has none. Every transition checks its precondition; a violation is a bug, and its error prints
// the state. Pure. type-shards.ts decides about the transitions.
import { invariant } from "../../kernel/errors.ts";
import type { MoveReason } from "../../ports/shard-admin.ts";
import type { MoveInProgress, ShardPhase } from "./shard-effects.ts";

export interface MoveState {
  readonly number: number;
  readonly reason: MoveReason;
  readonly from: string;
  readonly startedAt: number;
  /** Its home did not stop all actors in time. */
  forced: boolean;
}

/** A shard on its way to a home. */
export interface BusyShard {
  readonly phase: ShardPhase;
  /** Hosts that wait for its home. */
  readonly askers: Set<string>;
  /** The next home, as far as it is known. */
  readonly to: string | undefined;
  /** Hosts that have not acknowledged yet that they buffer calls. */
  readonly waiting: ReadonlySet<string>;
  readonly until: number;
  readonly move: MoveState | undefined;
  /** The lost home, and the time of the first request since, for display. */
  readonly lost: { readonly from: string; readonly askedAt: number } | undefined;
}

interface Busy extends BusyShard {
  phase: ShardPhase;
  to: string | undefined;
  waiting: Set<string>;
  until: number;
}

const UNLIMITED = Number.POSITIVE_INFINITY;

export class ShardStates {
  readonly #homes: Map<number, string>;
  readonly #busy = new Map<number, Busy>();
  /** The entries of `#busy` with a time limit: few, also when very many are being persisted. */
  readonly #timed = new Map<number, Busy>();
  /** The entries of `#busy` that move: few as well. */
  readonly #moving = new Set<number>();
  /** Shards with a lost home, and that home, until they have another one. */
  readonly #lost = new Map<number, string>();
  #lastMove = 0;

  /** `homes`: recorded by the previous leader. */
  constructor(homes: Iterable<readonly [number, string]>) {
    this.#homes = new Map(homes);
  }

  get homes(): ReadonlyMap<number, string> {
    return this.#homes;
  }

  get busy(): ReadonlyMap<number, BusyShard> {
    return this.#busy;
  }

  get moving(): ReadonlySet<number> {
    return this.#moving;
  }

  /** The shards with a phase that has ended by its limit. */
  due(now: number): number[] {
    return [...this.#timed].filter(([, { until }]) => until <= now).map(([shard]) => shard);
  }

  get deadline(): number {
    let first = UNLIMITED;
    for (const { until } of this.#timed.values()) if (until < first) first = until;
    return first;
  }

  /** Moves in progress, for display. */
  moves(): MoveInProgress[] {
    return [...this.#moving].map((shard) => {
      const { phase, to, waiting, move } = this.#busy.get(shard)!;
      const { reason, from, startedAt } = move!;
      const waitsFor = phase === "stopping" ? [from] : [...waiting];
      return { shard, phase, reason, from, to, startedAt, waitsFor };
    });
  }

  // ——— Transitions.

  /** A first request: none → allocating. */
  request(shard: number, asker: string, now: number): void {
    this.#require(!this.#homes.has(shard) && !this.#busy.has(shard), "a requested shard has no home yet", shard);
    const from = this.#lost.get(shard);
    const lost = from === undefined ? undefined : { from, askedAt: now };
    this.#begin(shard, "allocating", asker, undefined, lost);
  }

  /** Its home has let go or is gone, or a persisted choice is void: any phase → allocating. */
  allocate(shard: number): void {
    const busy = this.#busyOf(shard);
    this.#require(!this.#homes.has(shard), "a shard is allocated when it has no home", shard);
    busy.phase = "allocating";
    busy.to = undefined;
  }

  /** A home is chosen: allocating → persisting. */
  persist(shard: number, host: string): void {
    const busy = this.#busyOf(shard);
    this.#require(busy.phase === "allocating", "a home is persisted after its allocation", shard);
    this.#require(!this.#homes.has(shard), "a home is persisted for a shard without one", shard);
    busy.phase = "persisting";
    busy.to = host;
    this.limit(shard, UNLIMITED);
  }

  /** The home is durable: persisting → home. */
  settle(shard: number, host: string): BusyShard {
    const busy = this.#busyOf(shard);
    this.#require(busy.phase === "persisting" && busy.to === host, "a home counts when it is durable", shard);
    this.#setHome(shard, host);
    return busy;
  }

  /** A host runs the shard, and no other one was announced: none, allocating or persisting → home. */
  restore(shard: number, host: string): BusyShard | undefined {
    const busy = this.#busy.get(shard);
    this.#require(!this.#homes.has(shard), "a shard with a home is not restored", shard);
    this.#require(busy?.move === undefined, "a shard that moves is not restored", shard);
    this.#setHome(shard, host);
    return busy;
  }

  #setHome(shard: number, host: string): void {
    this.#end(shard);
    this.#lost.delete(shard);
    this.#homes.set(shard, host);
  }

  /** A move begins: home → buffering. */
  buffer(shard: number, to: string | undefined, reason: MoveReason, now: number, until: number): number {
    const from = this.#homes.get(shard);
    this.#require(from !== undefined && from !== to, "a shard moves from its home to another one", shard);
    this.#require(!this.#busy.has(shard), "a shard moves once at a time", shard);
    const move = { number: ++this.#lastMove, reason, from: from!, startedAt: now, forced: false };
    const busy = this.#begin(shard, "buffering", undefined, move, undefined);
    busy.to = to;
    this.#moving.add(shard);
    this.limit(shard, until);
    return move.number;
  }

  /** These hosts have to acknowledge that they buffer calls, and learn the next home. */
  waitFor(shard: number, hosts: Iterable<string>): void {
    const busy = this.#busyOf(shard);
    this.#require(busy.phase === "buffering", "hosts acknowledge a shard that buffers", shard);
    busy.waiting = new Set(hosts);
    for (const host of hosts) busy.askers.add(host);
  }

  /** The host has acknowledged, or will not. Returns true if the shard waited for it. */
  waitsNot(shard: number, host: string): boolean {
    return this.#busyOf(shard).waiting.delete(host);
  }

  /** All hosts buffer calls: buffering → stopping. */
  stop(shard: number): BusyShard & { readonly move: MoveState } {
    const busy = this.#busyOf(shard);
    this.#require(busy.phase === "buffering", "a shard stops after its calls are buffered", shard);
    this.#require(busy.waiting.size === 0, "a shard stops when no host is waited for", shard);
    this.#require(this.#homes.get(shard) === busy.move?.from, "a shard stops at the home that it leaves", shard);
    busy.phase = "stopping";
    // The home itself gives up actors that do not end in time. The leader waits for it as long as its lease
    // lasts.
    this.limit(shard, UNLIMITED);
    return busy as BusyShard & { readonly move: MoveState };
  }

  /** Its home has let go, or is gone. A shard that moves has to be allocated next; any other is lost. */
  free(shard: number): void {
    const from = this.#homes.get(shard);
    this.#require(from !== undefined, "a shard with a home becomes free", shard);
    this.#homes.delete(shard);
    if (!this.#busy.has(shard)) this.#lost.set(shard, from!);
  }

  /** The next home is gone. A write in progress finishes first. */
  withdraw(shard: number): void {
    const busy = this.#busyOf(shard);
    this.#require(busy.phase !== "persisting", "a choice in the store is not withdrawn", shard);
    busy.to = undefined;
  }

  /** No host can be its home: allocating → none. */
  abandon(shard: number): void {
    this.#require(this.#busyOf(shard).phase === "allocating", "a shard without a choice is abandoned", shard);
    this.#require(!this.#homes.has(shard), "a shard with a home is not abandoned", shard);
    this.#end(shard);
  }

  /** Limits the duration of the current phase. */
  limit(shard: number, until: number): void {
    const busy = this.#busyOf(shard);
    busy.until = until;
    if (until === UNLIMITED) this.#timed.delete(shard);
    else this.#timed.set(shard, busy);
  }

  #begin(
    shard: number,
    phase: ShardPhase,
    asker: string | undefined,
    move: MoveState | undefined,
    lost: BusyShard["lost"],
  ): Busy {
    const askers = new Set(asker === undefined ? [] : [asker]);
    const busy: Busy = { phase, askers, to: undefined, waiting: new Set(), until: UNLIMITED, move, lost };
    this.#busy.set(shard, busy);
    return busy;
  }

  #end(shard: number): void {
    this.#busy.delete(shard);
    this.#timed.delete(shard);
    this.#moving.delete(shard);
  }

  // ——— Preconditions.

  /** A host is notified that it is the home only if it is. */
  requireHome(shard: number, host: string): void {
    this.#require(this.#homes.get(shard) === host, "only the home of a shard is notified of it again", shard);
  }

  #busyOf(shard: number): Busy {
    const busy = this.#busy.get(shard);
    this.#require(busy !== undefined, "the shard is on its way to a home", shard);
    return busy!;
  }

  /** Builds the text only when the rule is broken. */
  #require(isTrue: boolean, rule: string, shard: number): void {
    if (!isTrue) invariant(false, `${rule}; ${this.describe(shard)}`);
  }

  /** The state in short, for errors. */
  describe(shard: number): string {
    const busy = this.#busy.get(shard);
    const home = this.#homes.get(shard);
    const parts = [`shard ${shard}: ${busy?.phase ?? (home === undefined ? "none" : "home")}`];
    if (home !== undefined) parts.push(`home ${home}`);
    if (busy?.to !== undefined) parts.push(`to ${busy.to}`);
    if (busy?.move !== undefined) parts.push(`move ${busy.move.number} (${busy.move.reason}) from ${busy.move.from}`);
    if (busy !== undefined && busy.waiting.size > 0) parts.push(`waits for ${[...busy.waiting].join(" ")}`);
    const counts = `${this.#homes.size} homes, ${this.#busy.size} busy, ${this.#moving.size} moving`;
    return `${parts.join(", ")}; ${counts}`;
  }
}
