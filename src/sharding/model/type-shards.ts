// The leader's decisions about the shards of one type: the home of each shard, and the shards that move.
//
//   (none) → allocating → persisting → home
//   home → buffering → stopping → allocating → persisting → home
//
// - allocating: the strategy was asked for a home. Hosts that ask meanwhile wait for the answer.
// - persisting: the home is being persisted. No host is notified before that, so a later leader knows every
//   home
//   that was announced.
// - buffering: the shard shall move. Every host buffers calls for it, and acknowledges that.
// - stopping: its home stops its actors. When it reports that none is left, the shard has no home.
//
// A home counts until it has let go, has left, or is lost and its lease is over. So no new home is announced
// while the previous one may run actors. Requests that a dead leader did not answer go to the next one; it
// knows the homes and begins moves anew. A home confirms its shards; until then the leader repeats the
// notification (unconfirmed-homes.ts). Pure. A driver notifies hosts, asks the strategy and writes.
import { Balancing } from "./balancing.ts";
import type { MoveReason, MoveUnderWay, ShardEffect, ShardHost, ShardPhase, ShardSettings } from "./shard-effects.ts";
import { type Move, newest, type Region } from "./strategy.ts";
import { UnconfirmedHomes } from "./unconfirmed-homes.ts";

interface Busy {
  phase: ShardPhase;
  /** Hosts that wait for its home. */
  readonly askers: Set<string>;
  /** Set while it is chosen and saved. */
  to: string | undefined;
  /** Hosts that have not acknowledged yet that they buffer calls. */
  waiting: Set<string>;
  until: number;
  move:
    | {
        readonly number: number;
        readonly reason: MoveReason;
        readonly from: string;
        readonly startedAt: number;
        forced: boolean;
      }
    | undefined;
  /** The lost home, and the time of the first request since, for display. */
  lost: { readonly from: string; readonly askedAt: number } | undefined;
}

export class TypeShards {
  #settings: ShardSettings;
  readonly #homes = new Map<number, string>();
  readonly #busy = new Map<number, Busy>();
  /** The entries of `#busy` with a time limit: few, also when very many are being saved. */
  readonly #timed = new Map<number, Busy>();
  /** The entries of `#busy` that move: few as well. */
  readonly #moving = new Set<number>();
  /** Hosts that may be homes. */
  #regions = new Map<string, ShardHost>();
  /** Homes that shall hand over all their shards. */
  readonly #leaving = new Set<string>();
  readonly #unconfirmed = new UnconfirmedHomes();
  /** Shards with a lost home, and that home, until they have another one. */
  readonly #lost = new Map<number, string>();
  readonly #balancing: Balancing;
  #lastMove = 0;
  /** There were enough hosts for the first home, or an earlier leader recorded homes. */
  #hasBegun: boolean;

  /** `homes`: recorded by the previous leader. */
  constructor(settings: ShardSettings, homes: Iterable<readonly [number, string]>, now: number) {
    this.#settings = settings;
    for (const [shard, host] of homes) {
      this.#homes.set(shard, host);
      // A host that knows it is the home asks for the shard on its new stream. The previous leader may have
      // died before it notified the host.
      this.#unconfirmed.announced(shard, host, now + settings.startMs);
    }
    this.#hasBegun = this.#homes.size > 0;
    this.#balancing = new Balancing(settings, now);
  }

  /** The settings of the type have changed. */
  adopt(settings: ShardSettings): void {
    this.#settings = settings;
    this.#balancing.adopt(settings);
  }

  get deadline(): number {
    let first = Math.min(this.#balancing.deadline, this.#unconfirmed.deadline);
    for (const { until } of this.#timed.values()) if (until < first) first = until;
    return first;
  }

  homeOf(shard: number): string | undefined {
    return this.#homes.get(shard);
  }

  /** True until the host has let go of its last shard. */
  isHome(incarnation: string): boolean {
    for (const host of this.#homes.values()) if (host === incarnation) return true;
    return false;
  }

  get homes(): ReadonlyMap<number, string> {
    return this.#homes;
  }

  /** Shards that move, for display. */
  get moving(): ReadonlySet<number> {
    return new Set(this.#moving);
  }

  get isPaused(): boolean {
    return this.#balancing.isPaused;
  }

  /** Moves in progress, for display. */
  moves(): MoveUnderWay[] {
    return [...this.#moving].map((shard) => {
      const { phase, to, waiting, move } = this.#busy.get(shard)!;
      const { reason, from, startedAt } = move!;
      const waitsFor = phase === "stopping" ? [from] : [...waiting];
      return { shard, phase, reason, from, to, startedAt, waitsFor };
    });
  }

  /** Assignments may have changed: the strategy is asked soon. */
  lookSoon(now: number): void {
    this.#balancing.lookSoon(now);
  }

  /** The regions as strategies see them: a shard that moves counts at its new home. */
  regions(): Region[] {
    const byHost = new Map([...this.#regions.keys()].map((incarnation) => [incarnation, [] as number[]]));
    for (const [shard, host] of this.#homes) byHost.get(this.#busy.get(shard)?.to ?? host)?.push(shard);
    for (const [shard, { to }] of this.#busy)
      if (to !== undefined && !this.#homes.has(shard)) byHost.get(to)?.push(shard);
    return [...this.#regions.values()].map(({ incarnation, address, name, build }) => {
      return { incarnation, address, name, build, shards: byHost.get(incarnation)! };
    });
  }

  // ——— Hosts.

  /**
   * Sets the possible homes. A home that is not among them hands its shards over, and so does a host in
   * `leaving`. Such a host may be a home from before this leader, and need never have been a possible home
   * here.
   */
  setRegions(hosts: readonly ShardHost[], now: number, leaving: Iterable<string> = []): ShardEffect[] {
    const before = this.#regions;
    this.#regions = new Map(hosts.map((host) => [host.incarnation, host]));
    for (const incarnation of this.#regions.keys()) this.#leaving.delete(incarnation);
    for (const incarnation of before.keys()) if (!this.#regions.has(incarnation)) this.#leaving.add(incarnation);
    for (const incarnation of leaving) if (!this.#regions.has(incarnation)) this.#leaving.add(incarnation);
    this.#balancing.hostsChanged(now);
    const effects: ShardEffect[] = [];
    // Shards that waited for more hosts may be placed now.
    for (const [shard, busy] of this.#busy) if (busy.phase === "allocating") this.#choose(shard, busy, now, effects);
    this.#handOver(now, effects);
    return effects;
  }

  /** The host holds nothing any more, or its lease is over: its shards have no home. */
  gone(incarnation: string, now: number): ShardEffect[] {
    const effects: ShardEffect[] = [];
    this.#regions.delete(incarnation);
    this.#leaving.delete(incarnation);
    for (const [shard, host] of this.#homes) if (host === incarnation) this.#freed(shard, now, effects);
    for (const [shard, busy] of this.#busy) {
      busy.askers.delete(incarnation);
      if (busy.waiting.delete(incarnation)) this.#gathered(shard, busy, effects);
      // A choice of this host is void. A write in progress finishes first, and `saved` then finds the host
      // gone.
      if (busy.to === incarnation && busy.phase !== "persisting") busy.to = undefined;
    }
    return effects;
  }

  /** The host has a new stream: a notification on the old one may be lost. */
  returned(incarnation: string, now: number): ShardEffect[] {
    return this.#unconfirmed.of(incarnation).flatMap((shard) => this.#announceAgain(shard, incarnation, now));
  }

  /** The host confirms that it is the home of this shard. */
  confirmed(shard: number, host: string): void {
    this.#unconfirmed.confirmed(shard, host);
  }

  #announceAgain(shard: number, host: string, now: number): ShardEffect[] {
    const region = this.#regions.get(host);
    // The host does not support confirmation, or it leaves: it gets the home when it asks.
    if (region !== undefined && !region.confirms) {
      this.#unconfirmed.drop(shard);
      return [];
    }
    this.#unconfirmed.announced(shard, host, now + this.#settings.startMs);
    // While the shard moves, its home gets hand-off messages instead.
    return this.#busy.has(shard) ? [] : [{ kind: "home", shard, host, to: [host] }];
  }

  /** The host has no stream: it asks again on its next one, and no move waits for it. */
  streamLost(incarnation: string): ShardEffect[] {
    const effects: ShardEffect[] = [];
    for (const [shard, busy] of this.#busy) {
      busy.askers.delete(incarnation);
      if (busy.waiting.delete(incarnation)) this.#gathered(shard, busy, effects);
    }
    return effects;
  }

  // ——— Homes.

  asked(shard: number, asker: string, now: number): ShardEffect[] {
    // A host that asks for such a shard has another rule, and is about to be rejected.
    if (shard >= this.#settings.shards) return [{ kind: "nobody", shard, to: [asker] }];
    const home = this.#homes.get(shard);
    const busy = this.#busy.get(shard);
    if (busy !== undefined) {
      busy.askers.add(asker);
      // Its home asks, so the message to hand it off was lost with a stream.
      if (busy.phase !== "stopping" || busy.move!.from !== asker) return [];
      return [{ kind: "stop", shard, move: busy.move!.number, host: asker, to: busy.to }];
    }
    if (home !== undefined) return [{ kind: "home", shard, host: home, to: [asker] }];
    const effects: ShardEffect[] = [];
    const begun = this.#begin(shard, "allocating", new Set([asker]));
    const from = this.#lost.get(shard);
    if (from !== undefined) begun.lost = { from, askedAt: now };
    this.#choose(shard, begun, now, effects);
    return effects;
  }

  /**
   * A host reports on a new stream that it is the home of this shard. The store forgets homes only when it is
   * restored from an earlier point. If this leader has no home for the shard, and has announced none, the
   * host stays its home. Otherwise the home that the leader has counts: the host gets it as the answer to its
   * request, and lets go.
   */
  held(shard: number, host: string): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (shard >= this.#settings.shards || this.#homes.has(shard) || busy?.move !== undefined) return [];
    this.#busy.delete(shard);
    this.#timed.delete(shard);
    this.#lost.delete(shard);
    this.#homes.set(shard, host);
    this.#hasBegun = true;
    const effects: ShardEffect[] = [{ kind: "save", shard, host }];
    const askers = [...(busy?.askers ?? [])];
    if (askers.length > 0) effects.push({ kind: "home", shard, host, to: askers });
    return effects;
  }

  #begin(shard: number, phase: Busy["phase"], askers: Set<string>): Busy {
    const busy: Busy = {
      phase,
      askers,
      to: undefined,
      waiting: new Set(),
      until: Number.POSITIVE_INFINITY,
      move: undefined,
      lost: undefined,
    };
    this.#busy.set(shard, busy);
    return busy;
  }

  #choose(shard: number, busy: Busy, now: number, effects: ShardEffect[]): void {
    busy.phase = "allocating";
    if (busy.to !== undefined && this.#regions.has(busy.to)) {
      this.#save(shard, busy, busy.to, effects);
      return;
    }
    busy.to = undefined;
    if (this.#regions.size === 0) {
      this.#leaveNowhere(shard, busy, now, effects);
      return;
    }
    this.#hasBegun ||= this.#regions.size >= this.#settings.minHosts;
    if (!this.#hasBegun) {
      // It is chosen when more hosts have come. Hosts that have asked for it keep their calls until then.
      this.#limit(shard, busy, Number.POSITIVE_INFINITY);
      return;
    }
    this.#limit(shard, busy, now + this.#settings.chooseMs);
    // While it moves all hosts wait for it, so no single asker counts.
    const [asker] = busy.move === undefined ? busy.askers : [];
    effects.push({ kind: "choose", shard, asker });
  }

  /** No host can be its home. A later request may find one. */
  #leaveNowhere(shard: number, { askers, move }: Busy, now: number, effects: ShardEffect[]): void {
    this.#busy.delete(shard);
    this.#timed.delete(shard);
    this.#moving.delete(shard);
    if (askers.size > 0) effects.push({ kind: "nobody", shard, to: [...askers] });
    if (move === undefined) return;
    effects.push({ kind: "save", shard, host: undefined });
    this.#moved(shard, move, undefined, now, effects);
    this.#handOver(now, effects);
    this.#beginMoves(now, effects);
  }

  /** Applies the strategy's answer; undefined: no usable answer. */
  chosen(shard: number, host: string | undefined): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (busy?.phase !== "allocating" || this.#regions.size === 0 || !this.#hasBegun) return [];
    const effects: ShardEffect[] = [];
    this.#save(shard, busy, host !== undefined && this.#regions.has(host) ? host : this.#emptiest(), effects);
    return effects;
  }

  /** Limits the duration of the current phase. */
  #limit(shard: number, busy: Busy, until: number): void {
    busy.until = until;
    if (until === Number.POSITIVE_INFINITY) this.#timed.delete(shard);
    else this.#timed.set(shard, busy);
  }

  #emptiest(): string {
    return newest(this.regions()).reduce((best, region) => (region.shards.length < best.shards.length ? region : best))
      .incarnation;
  }

  #save(shard: number, busy: Busy, host: string, effects: ShardEffect[]): void {
    Object.assign(busy, { phase: "persisting", to: host });
    this.#limit(shard, busy, Number.POSITIVE_INFINITY);
    effects.push({ kind: "save", shard, host });
  }

  /** The home, or that there is none, is durable. */
  saved(shard: number, host: string | undefined, now: number): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (busy?.phase !== "persisting" || busy.to !== host || host === undefined) return [];
    const effects: ShardEffect[] = [];
    if (!this.#regions.has(host)) {
      this.#choose(shard, busy, now, effects);
      return effects;
    }
    this.#homes.set(shard, host);
    if (this.#regions.get(host)?.confirms) this.#unconfirmed.announced(shard, host, now + this.#settings.startMs);
    this.#busy.delete(shard);
    this.#moving.delete(shard);
    const { move, askers } = busy;
    // The new home is notified as well: remembered actors start there without a call.
    effects.push({ kind: "home", shard, host, to: [...new Set([...askers, host])] });
    if (move !== undefined) this.#moved(shard, move, host, now, effects);
    else if (busy.lost !== undefined) {
      const { from, askedAt } = busy.lost;
      const tookMs = now - askedAt;
      effects.push({ kind: "moved", shard, from, to: host, reason: "lost", tookMs, wasForced: false });
    }
    this.#lost.delete(shard);
    this.#handOver(now, effects);
    this.#beginMoves(now, effects);
    return effects;
  }

  #moved(
    shard: number,
    move: NonNullable<Busy["move"]>,
    to: string | undefined,
    now: number,
    effects: ShardEffect[],
  ): void {
    const { reason, from, startedAt, forced } = move;
    effects.push({ kind: "moved", shard, from, to, reason, tookMs: now - startedAt, wasForced: forced });
    if (reason === "balance") this.#balancing.ended(this.#moving.size, now);
  }

  /**
   * The shard has no home any more. Waiting hosts get the next one; without any, the shard gets a home on its
   * next request.
   */
  #freed(shard: number, now: number, effects: ShardEffect[]): void {
    const from = this.#homes.get(shard);
    this.#homes.delete(shard);
    this.#unconfirmed.drop(shard);
    const busy = this.#busy.get(shard);
    if (busy !== undefined) {
      this.#choose(shard, busy, now, effects);
      return;
    }
    if (from !== undefined) this.#lost.set(shard, from);
    effects.push({ kind: "save", shard, host: undefined });
  }

  // ——— Moving.

  /**
   * Plans the checked moves that the strategy proposed. The first ones begin now, the others one after the
   * other.
   */
  proposed(moves: readonly Move[], now: number): ShardEffect[] {
    this.#balancing.plan(moves);
    const effects: ShardEffect[] = [];
    this.#beginMoves(now, effects);
    return effects;
  }

  #beginMoves(now: number, effects: ShardEffect[]): void {
    const begun = this.#balancing.begin(this.#moving.size, now);
    for (const { shard, to } of begun) {
      if (to === undefined || this.#regions.has(to)) this.#move(shard, to, "balance", now, effects);
    }
    // None of them could begin, or the last ones are over.
    if (begun.length > 0 && this.#moving.size === 0) this.#balancing.ended(0, now);
  }

  /**
   * Moves a shard to a host on an operator's request. Undefined: it has no home, moves already, or is there.
   */
  moveByHand(shard: number, to: string, now: number): ShardEffect[] | undefined {
    const effects: ShardEffect[] = [];
    return this.#regions.has(to) && this.#move(shard, to, "by hand", now, effects) ? effects : undefined;
  }

  pause(isPaused: boolean, now: number): void {
    this.#balancing.pause(isPaused, now);
  }

  #move(shard: number, to: string | undefined, reason: MoveReason, now: number, effects: ShardEffect[]): boolean {
    const from = this.#homes.get(shard);
    const isFull = reason !== "by hand" && this.#moving.size >= this.#settings.movesAtOnce;
    if (from === undefined || from === to || this.#busy.has(shard) || isFull) return false;
    const busy = this.#begin(shard, "buffering", new Set());
    busy.to = to;
    this.#moving.add(shard);
    busy.move = { number: ++this.#lastMove, reason, from, startedAt: now, forced: false };
    this.#limit(shard, busy, now + this.#settings.handOffMs);
    effects.push({ kind: "gather", shard, move: busy.move.number });
    return true;
  }

  /** These hosts were asked to buffer calls. */
  told(shard: number, move: number, hosts: Iterable<string>): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (busy?.phase !== "buffering" || busy.move?.number !== move) return [];
    const effects: ShardEffect[] = [];
    busy.waiting = new Set(hosts);
    // All of them buffer calls until they are notified of the home.
    for (const host of hosts) busy.askers.add(host);
    this.#gathered(shard, busy, effects);
    return effects;
  }

  /** The host buffers calls. */
  gathered(shard: number, move: number, host: string): ShardEffect[] {
    const busy = this.#busy.get(shard);
    const effects: ShardEffect[] = [];
    if (busy?.phase !== "buffering" || busy.move?.number !== move || !busy.waiting.delete(host)) return effects;
    this.#gathered(shard, busy, effects);
    return effects;
  }

  #gathered(shard: number, busy: Busy, effects: ShardEffect[]): void {
    if (busy.phase !== "buffering" || busy.waiting.size > 0) return;
    const { number, from } = busy.move!;
    busy.phase = "stopping";
    // The home itself gives up actors that do not end in time. The leader waits for it as long as its lease
    // lasts.
    this.#limit(shard, busy, Number.POSITIVE_INFINITY);
    effects.push({ kind: "stop", shard, move: number, host: from, to: busy.to });
  }

  /** None of its actors is left at its home. `wasForced`: some were given up. */
  stopped(shard: number, move: number, host: string, wasForced: boolean, now: number): ShardEffect[] {
    const busy = this.#busy.get(shard);
    // The report is about a move of an earlier leader, or one that has ended: the host needs the current
    // home.
    if (busy?.phase !== "stopping" || busy.move?.number !== move || busy.move.from !== host)
      return this.asked(shard, host, now);
    const effects: ShardEffect[] = [];
    busy.move.forced = wasForced;
    this.#homes.delete(shard);
    this.#unconfirmed.drop(shard);
    this.#choose(shard, busy, now, effects);
    return effects;
  }

  /**
   * Hosts that leave hand over their shards, as many as may move at once. Without another host, shards end up
   * without a home.
   */
  #handOver(now: number, effects: ShardEffect[]): void {
    if (this.#leaving.size === 0) return;
    const homes = new Set<string>();
    for (const [shard, host] of this.#homes) {
      if (!this.#leaving.has(host)) continue;
      homes.add(host);
      if (!this.#busy.has(shard)) this.#move(shard, undefined, "leave", now, effects);
    }
    // A host without shards that leaves never becomes a home again, so later scans of the many shards can
    // skip it.
    for (const host of this.#leaving) if (!homes.has(host)) this.#leaving.delete(host);
  }

  // ——— Time.

  tick(now: number): ShardEffect[] {
    const effects: ShardEffect[] = [];
    for (const [shard, busy] of [...this.#timed]) {
      if (busy.until > now) continue;
      if (busy.phase === "allocating" && this.#regions.size === 0) this.#leaveNowhere(shard, busy, now, effects);
      else if (busy.phase === "allocating") effects.push(...this.chosen(shard, undefined));
      if (busy.phase !== "buffering") continue;
      // A host that has not acknowledged sends its calls to the previous home, which rejects them with "not
      // owner".
      busy.waiting.clear();
      this.#gathered(shard, busy, effects);
    }
    for (const [shard, host] of this.#unconfirmed.due(now)) effects.push(...this.#announceAgain(shard, host, now));
    if (this.#balancing.isDue(now)) {
      this.#handOver(now, effects);
      if (this.#regions.size > 1 && this.#homes.size > 0 && this.#balancing.ask()) effects.push({ kind: "propose" });
    }
    this.#beginMoves(now, effects);
    return effects;
  }
}
