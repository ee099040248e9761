// The shards of one type, as the leader decides about them: who is the home of each, and which are on their way.
//
//   (none) → choosing → saving → home
//   home → gathering → stopping → choosing → saving → home
//
// - choosing: a strategy was asked where it shall live. Who asks for it meanwhile waits for the answer.
// - saving: that is being made durable. Nobody is told before it is, so a later leader knows at least what anybody was told.
// - gathering: it is to move. Everybody keeps calls for it back, and says so.
// - stopping: its home lets its actors come to their end. When it says that none is left the shard has no home.
//
// A home counts until it has let go, has left, or is lost and its lease is over. So nobody is told of a new one while the one before may
// run actors. What is not answered, because a leader is gone, is asked of the next; it knows the homes and begins moves anew.
// A home confirms its shards; until then the leader repeats the notification (unconfirmed-homes.ts).
// Pure. A driver tells hosts, asks the strategy and writes.
import { Balancing } from "./balancing.ts";
import type { MoveReason, MoveUnderWay, ShardEffect, ShardHost, ShardPhase, ShardSettings } from "./shard-effects.ts";
import { type Move, newest, type Region } from "./strategy.ts";
import { UnconfirmedHomes } from "./unconfirmed-homes.ts";

interface Busy {
  phase: ShardPhase;
  /** Who waits to hear where it lives. */
  readonly askers: Set<string>;
  /** While it is chosen and saved. */
  to: string | undefined;
  /** Who has not said yet that it keeps calls back. */
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
  /** Who was its home and is gone, and since when it is asked for, for people. */
  lost: { readonly from: string; readonly askedAt: number } | undefined;
}

export class TypeShards {
  #settings: ShardSettings;
  readonly #homes = new Map<number, string>();
  readonly #busy = new Map<number, Busy>();
  /** Those of them that wait for something only so long: few, also when very many are being saved. */
  readonly #timed = new Map<number, Busy>();
  /** Those of them that move: few as well. */
  readonly #moving = new Set<number>();
  /** Those that may be homes. */
  #regions = new Map<string, ShardHost>();
  /** Those that are homes and are to be none. */
  readonly #leaving = new Set<string>();
  readonly #unconfirmed = new UnconfirmedHomes();
  /** Those whose host was lost, and who that was, until they have another one. */
  readonly #lost = new Map<number, string>();
  readonly #balancing: Balancing;
  #lastMove = 0;
  /** There were enough hosts for the first home, or there are homes from before this leader. */
  #hasBegun: boolean;

  /** `homes`: what the leader before left behind. */
  constructor(settings: ShardSettings, homes: Iterable<readonly [number, string]>, now: number) {
    this.#settings = settings;
    for (const [shard, host] of homes) {
      this.#homes.set(shard, host);
      // A host that knows it is the home asks for the shard on its new stream. The previous leader may have died before it notified the host.
      this.#unconfirmed.announced(shard, host, now + settings.startMs);
    }
    this.#hasBegun = this.#homes.size > 0;
    this.#balancing = new Balancing(settings, now);
  }

  /** What its hosts say of the type has changed. */
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

  /** Of any shard, until it has let go of the last one. */
  isHome(incarnation: string): boolean {
    for (const host of this.#homes.values()) if (host === incarnation) return true;
    return false;
  }

  get homes(): ReadonlyMap<number, string> {
    return this.#homes;
  }

  /** Those that are on their way, for people. */
  get moving(): ReadonlySet<number> {
    return new Set(this.#moving);
  }

  get isPaused(): boolean {
    return this.#balancing.isPaused;
  }

  /** Those that are on their way, for people. */
  moves(): MoveUnderWay[] {
    return [...this.#moving].map((shard) => {
      const { phase, to, waiting, move } = this.#busy.get(shard)!;
      const { reason, from, startedAt } = move!;
      const waitsFor = phase === "stopping" ? [from] : [...waiting];
      return { shard, phase, reason, from, to, startedAt, waitsFor };
    });
  }

  /** What somebody has said may have changed: the strategy is asked soon. */
  lookSoon(now: number): void {
    this.#balancing.lookSoon(now);
  }

  /** As strategies see it: shards that move are counted where they will be. */
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
   * Who may be a home from now on. Whoever was one and may not be any more hands its shards over, and so does whoever has said that it
   * leaves: it may be a home from before this leader, and may never have been one of those that could be.
   */
  setRegions(hosts: readonly ShardHost[], now: number, leaving: Iterable<string> = []): ShardEffect[] {
    const before = this.#regions;
    this.#regions = new Map(hosts.map((host) => [host.incarnation, host]));
    for (const incarnation of this.#regions.keys()) this.#leaving.delete(incarnation);
    for (const incarnation of before.keys()) if (!this.#regions.has(incarnation)) this.#leaving.add(incarnation);
    for (const incarnation of leaving) if (!this.#regions.has(incarnation)) this.#leaving.add(incarnation);
    this.#balancing.hostsChanged(now);
    const effects: ShardEffect[] = [];
    // What could not be placed for want of hosts can be now.
    for (const [shard, busy] of this.#busy) if (busy.phase === "choosing") this.#choose(shard, busy, now, effects);
    this.#handOver(now, effects);
    return effects;
  }

  /** Nothing of it is left, or its lease is over: what it was the home of has none. */
  gone(incarnation: string, now: number): ShardEffect[] {
    const effects: ShardEffect[] = [];
    this.#regions.delete(incarnation);
    this.#leaving.delete(incarnation);
    for (const [shard, host] of this.#homes) if (host === incarnation) this.#freed(shard, now, effects);
    for (const [shard, busy] of this.#busy) {
      busy.askers.delete(incarnation);
      if (busy.waiting.delete(incarnation)) this.#gathered(shard, busy, effects);
      // What was chosen for it is chosen anew. What is being saved comes back, and is then seen to be nowhere.
      if (busy.to === incarnation && busy.phase !== "saving") busy.to = undefined;
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

  /** It hears nothing at the moment: it asks again on its next stream, and is not waited for. */
  deaf(incarnation: string): ShardEffect[] {
    const effects: ShardEffect[] = [];
    for (const [shard, busy] of this.#busy) {
      busy.askers.delete(incarnation);
      if (busy.waiting.delete(incarnation)) this.#gathered(shard, busy, effects);
    }
    return effects;
  }

  // ——— Where a shard lives.

  asked(shard: number, asker: string, now: number): ShardEffect[] {
    // Whoever asks for it has another rule, and is about to hear so.
    if (shard >= this.#settings.shards) return [{ kind: "nobody", shard, to: [asker] }];
    const home = this.#homes.get(shard);
    const busy = this.#busy.get(shard);
    if (busy !== undefined) {
      busy.askers.add(asker);
      // Its home asks, so it has not heard that it shall let go: that was lost with a stream.
      if (busy.phase !== "stopping" || busy.move!.from !== asker) return [];
      return [{ kind: "stop", shard, move: busy.move!.number, host: asker, to: busy.to }];
    }
    if (home !== undefined) return [{ kind: "home", shard, host: home, to: [asker] }];
    const effects: ShardEffect[] = [];
    const begun = this.#begin(shard, "choosing", new Set([asker]));
    const from = this.#lost.get(shard);
    if (from !== undefined) begun.lost = { from, askedAt: now };
    this.#choose(shard, begun, now, effects);
    return effects;
  }

  /**
   * A host reports on a new stream that it is the home of this shard. The store forgets homes only when it is restored from an earlier point.
   * If this leader has no home for the shard, and has announced none, the host stays its home. Otherwise the home that the leader has
   * counts: the host gets it as the answer to its request, and lets go.
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
    busy.phase = "choosing";
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
    // While it moves everybody waits for it, and nobody in particular was called.
    const [asker] = busy.move === undefined ? busy.askers : [];
    effects.push({ kind: "choose", shard, asker });
  }

  /** Nobody could be its home. Whoever asks for it next may have more luck. */
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

  /** What the strategy says; undefined: nothing that can be followed. */
  chosen(shard: number, host: string | undefined): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (busy?.phase !== "choosing" || this.#regions.size === 0 || !this.#hasBegun) return [];
    const effects: ShardEffect[] = [];
    this.#save(shard, busy, host !== undefined && this.#regions.has(host) ? host : this.#emptiest(), effects);
    return effects;
  }

  /** How long its phase may last. */
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
    Object.assign(busy, { phase: "saving", to: host });
    this.#limit(shard, busy, Number.POSITIVE_INFINITY);
    effects.push({ kind: "save", shard, host });
  }

  /** That it lives there, or nowhere, is durable. */
  saved(shard: number, host: string | undefined, now: number): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (busy?.phase !== "saving" || busy.to !== host || host === undefined) return [];
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
    // Its new home hears of it as well: remembered actors come to life there without being called.
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

  /** It has no home any more. Whoever waits for it waits for the next one; if nobody does it gets one when it is asked for. */
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

  /** What the strategy would have moved, checked. The first of them begin now, the others one after the other. */
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
    // None of them could, or they were the last ones and are over.
    if (begun.length > 0 && this.#moving.size === 0) this.#balancing.ended(0, now);
  }

  /** Somebody wants it to live there. False: it has no home, moves already, or is there. */
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
    const busy = this.#begin(shard, "gathering", new Set());
    busy.to = to;
    this.#moving.add(shard);
    busy.move = { number: ++this.#lastMove, reason, from, startedAt: now, forced: false };
    this.#limit(shard, busy, now + this.#settings.handOffMs);
    effects.push({ kind: "gather", shard, move: busy.move.number });
    return true;
  }

  /** These were told to keep calls back. */
  told(shard: number, move: number, hosts: Iterable<string>): ShardEffect[] {
    const busy = this.#busy.get(shard);
    if (busy?.phase !== "gathering" || busy.move?.number !== move) return [];
    const effects: ShardEffect[] = [];
    busy.waiting = new Set(hosts);
    // All of them keep calls back until they hear where it lives.
    for (const host of hosts) busy.askers.add(host);
    this.#gathered(shard, busy, effects);
    return effects;
  }

  /** It keeps calls back. */
  gathered(shard: number, move: number, host: string): ShardEffect[] {
    const busy = this.#busy.get(shard);
    const effects: ShardEffect[] = [];
    if (busy?.phase !== "gathering" || busy.move?.number !== move || !busy.waiting.delete(host)) return effects;
    this.#gathered(shard, busy, effects);
    return effects;
  }

  #gathered(shard: number, busy: Busy, effects: ShardEffect[]): void {
    if (busy.phase !== "gathering" || busy.waiting.size > 0) return;
    const { number, from } = busy.move!;
    busy.phase = "stopping";
    // The home gives up by itself what does not come to its end in time. Longer than that it is not waited for, but for its lease.
    this.#limit(shard, busy, Number.POSITIVE_INFINITY);
    effects.push({ kind: "stop", shard, move: number, host: from, to: busy.to });
  }

  /** None of its actors is left at its home. `wasForced`: some were given up. */
  stopped(shard: number, move: number, host: string, wasForced: boolean, now: number): ShardEffect[] {
    const busy = this.#busy.get(shard);
    // Of a move that an earlier leader began, or that came to its end otherwise: it has to hear where the shard lives.
    if (busy?.phase !== "stopping" || busy.move?.number !== move || busy.move.from !== host)
      return this.asked(shard, host, now);
    const effects: ShardEffect[] = [];
    busy.move.forced = wasForced;
    this.#homes.delete(shard);
    this.#unconfirmed.drop(shard);
    this.#choose(shard, busy, now, effects);
    return effects;
  }

  /** Those that leave hand over what they have, as many as may move at once; if there is nobody else, to nobody. */
  #handOver(now: number, effects: ShardEffect[]): void {
    if (this.#leaving.size === 0) return;
    const homes = new Set<string>();
    for (const [shard, host] of this.#homes) {
      if (!this.#leaving.has(host)) continue;
      homes.add(host);
      if (!this.#busy.has(shard)) this.#move(shard, undefined, "leave", now, effects);
    }
    // Nothing of theirs has to be looked for any more: nobody who leaves becomes a home again. There may be very many shards.
    for (const host of this.#leaving) if (!homes.has(host)) this.#leaving.delete(host);
  }

  // ——— Time.

  tick(now: number): ShardEffect[] {
    const effects: ShardEffect[] = [];
    for (const [shard, busy] of [...this.#timed]) {
      if (busy.until > now) continue;
      if (busy.phase === "choosing" && this.#regions.size === 0) this.#leaveNowhere(shard, busy, now, effects);
      else if (busy.phase === "choosing") effects.push(...this.chosen(shard, undefined));
      if (busy.phase !== "gathering") continue;
      // Who has not said that it keeps calls back sends them to where the shard was, and hears there that it is not any more.
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
