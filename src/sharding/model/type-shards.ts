// The leader's decisions about the shards of one type: the home of each shard, and the shards that move.
// shard-states.ts has the states of a shard and their transitions.
//
// A home counts until it has let go, has left, or is lost and its lease is over. So no new home is announced
// while the previous one may run actors. Requests that a dead leader did not answer go to the next one; it
// knows the homes and begins moves anew. A home confirms its shards; until then the leader repeats the
// notification (unconfirmed-homes.ts). Pure. A driver notifies hosts, asks the strategy and writes.
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import type { MoveReason } from "../../ports/shard-admin.ts";
import { Balancing } from "./balancing.ts";
import { PossibleHomes } from "./possible-homes.ts";
import type { MoveInProgress, ShardEffect, ShardHost, ShardSettings } from "./shard-effects.ts";
import { type MoveState, ShardStates } from "./shard-states.ts";
import type { Move } from "./strategy.ts";
import { UnconfirmedHomes } from "./unconfirmed-homes.ts";

export class TypeShards {
  #settings: ShardSettings;
  readonly #states: ShardStates;
  readonly #hosts = new PossibleHomes();
  readonly #unconfirmed = new UnconfirmedHomes();
  readonly #balancing: Balancing;
  /** There were enough hosts for the first home, or an earlier leader recorded homes. */
  #hasBegun: boolean;

  /** `homes`: recorded by the previous leader. */
  constructor(settings: ShardSettings, homes: Iterable<readonly [number, string]>, now: number) {
    this.#settings = settings;
    this.#states = new ShardStates(homes);
    // A host that knows it is the home asks for the shard on its new stream. The previous leader may have
    // died before it notified the host.
    for (const [shard, host] of this.homes) this.#unconfirmed.announced(shard, host, now + settings.startMs);
    this.#hasBegun = this.homes.size > 0;
    this.#balancing = new Balancing(settings, now);
  }

  /** The settings of the type have changed. */
  adopt(settings: ShardSettings): void {
    this.#settings = settings;
    this.#balancing.adopt(settings);
  }

  get deadline(): number {
    return Math.min(this.#balancing.deadline, this.#unconfirmed.deadline, this.#states.deadline);
  }

  homeOf(shard: number): string | undefined {
    return this.homes.get(shard);
  }

  /** True until the host has let go of its last shard. */
  isHome(incarnation: string): boolean {
    for (const host of this.homes.values()) if (host === incarnation) return true;
    return false;
  }

  get homes(): ReadonlyMap<number, string> {
    return this.#states.homes;
  }

  /** Shards that move, for display. */
  get moving(): ReadonlySet<number> {
    return new Set(this.#states.moving);
  }

  get isPaused(): boolean {
    return this.#balancing.isPaused;
  }

  /** Moves in progress, for display. */
  moves(): MoveInProgress[] {
    return this.#states.moves();
  }

  /** Assignments may have changed: the strategy is asked soon. */
  rebalanceSoon(now: number): void {
    this.#balancing.lookSoon(now);
  }

  /** The regions as strategies see them: a shard that moves counts at its new home. */
  regions(): ShardHostInfo[] {
    return this.#hosts.regions(this.#states);
  }

  // ——— Hosts.

  /**
   * Sets the possible homes. A home that is not among them hands its shards over, and so does a host in
   * `leaving`, which may be a home from before this leader.
   */
  setRegions(hosts: readonly ShardHost[], now: number, leaving: Iterable<string> = []): ShardEffect[] {
    this.#hosts.replace(hosts, leaving);
    this.#balancing.hostsChanged(now);
    const effects: ShardEffect[] = [];
    // Shards that waited for more hosts may be placed now.
    for (const [shard, { phase }] of this.#states.busy) {
      if (phase === "allocating") this.#allocate(shard, now, effects);
    }
    this.#handOver(now, effects);
    return effects;
  }

  /** The host holds nothing any more, or its lease is over: its shards have no home. */
  gone(incarnation: string, now: number): ShardEffect[] {
    const effects: ShardEffect[] = [];
    this.#hosts.remove(incarnation);
    for (const [shard, host] of this.homes) if (host === incarnation) this.#freed(shard, now, effects);
    effects.push(...this.streamLost(incarnation));
    for (const [shard, { to, phase }] of this.#states.busy) {
      // A write in progress finishes first, and `persisted` then finds the host gone.
      if (to === incarnation && phase !== "persisting") this.#states.withdraw(shard);
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
    const region = this.#hosts.get(host);
    // The host does not support confirmation, or it leaves: it gets the home when it asks.
    if (region !== undefined && !region.confirms) {
      this.#unconfirmed.drop(shard);
      return [];
    }
    this.#states.requireHome(shard, host);
    this.#unconfirmed.announced(shard, host, now + this.#settings.startMs);
    // While the shard moves, its home gets hand-off messages instead.
    return this.#states.busy.has(shard) ? [] : [{ kind: "home", shard, host, to: [host] }];
  }

  /** The host has no stream: it asks again on its next one, and no move waits for it. */
  streamLost(incarnation: string): ShardEffect[] {
    const effects: ShardEffect[] = [];
    for (const [shard, { askers }] of this.#states.busy) {
      askers.delete(incarnation);
      if (this.#states.waitsNot(shard, incarnation)) this.#handOffIfAcked(shard, effects);
    }
    return effects;
  }

  // ——— Homes.

  /** A host asks for the home of this shard. */
  requested(shard: number, asker: string, now: number): ShardEffect[] {
    // A host that asks for such a shard has another rule, and is about to be rejected.
    if (shard >= this.#settings.shards) return [{ kind: "noHome", shard, to: [asker] }];
    const home = this.homeOf(shard);
    const busy = this.#states.busy.get(shard);
    if (busy !== undefined) {
      busy.askers.add(asker);
      // Its home asks, so the message to hand it off was lost with a stream.
      if (busy.phase !== "stopping" || busy.move!.from !== asker) return [];
      return [{ kind: "handOff", shard, move: busy.move!.number, host: asker, to: busy.to }];
    }
    if (home !== undefined) return [{ kind: "home", shard, host: home, to: [asker] }];
    const effects: ShardEffect[] = [];
    this.#states.request(shard, asker, now);
    this.#allocate(shard, now, effects);
    return effects;
  }

  /**
   * A host reports on a new stream that it is the home of this shard. The store forgets homes only when it is
   * restored from an earlier point. If this leader has no home for the shard, and has announced none, the
   * host stays its home. Otherwise the home that the leader has counts: the host gets it as the answer to its
   * request, and lets go.
   */
  held(shard: number, host: string): ShardEffect[] {
    const isMoving = this.#states.busy.get(shard)?.move !== undefined;
    if (shard >= this.#settings.shards || this.homes.has(shard) || isMoving) return [];
    const busy = this.#states.restore(shard, host);
    this.#hasBegun = true;
    const effects: ShardEffect[] = [{ kind: "persist", shard, host }];
    const askers = [...(busy?.askers ?? [])];
    if (askers.length > 0) effects.push({ kind: "home", shard, host, to: askers });
    return effects;
  }

  /** The shard has no home: it gets its known next one, or the strategy is asked. */
  #allocate(shard: number, now: number, effects: ShardEffect[]): void {
    const { to } = this.#states.busy.get(shard)!;
    this.#states.allocate(shard);
    if (to !== undefined && this.#hosts.has(to)) this.#persist(shard, to, effects);
    else if (this.#hosts.size === 0) this.#abandon(shard, now, effects);
    else this.#askStrategy(shard, now, effects);
  }

  #askStrategy(shard: number, now: number, effects: ShardEffect[]): void {
    this.#hasBegun ||= this.#hosts.size >= this.#settings.minHosts;
    this.#states.limit(shard, this.#hasBegun ? now + this.#settings.chooseMs : Number.POSITIVE_INFINITY);
    // It is allocated when more hosts have come. Hosts that have asked for it keep their calls until then.
    if (!this.#hasBegun) return;
    const { askers, move } = this.#states.busy.get(shard)!;
    // While it moves all hosts wait for it, so no single asker counts.
    const [asker] = move === undefined ? askers : [];
    effects.push({ kind: "allocate", shard, asker });
  }

  /** No host can be its home. A later request may find one. */
  #abandon(shard: number, now: number, effects: ShardEffect[]): void {
    const { askers, move } = this.#states.busy.get(shard)!;
    this.#states.abandon(shard);
    if (askers.size > 0) effects.push({ kind: "noHome", shard, to: [...askers] });
    if (move === undefined) return;
    effects.push({ kind: "persist", shard, host: undefined });
    this.#moved(shard, move, undefined, now, effects);
    this.#handOver(now, effects);
    this.#beginMoves(now, effects);
  }

  /** Applies the strategy's answer; undefined: no usable answer. */
  allocated(shard: number, host: string | undefined): ShardEffect[] {
    const isAllocating = this.#states.busy.get(shard)?.phase === "allocating";
    if (!isAllocating || this.#hosts.size === 0 || !this.#hasBegun) return [];
    const effects: ShardEffect[] = [];
    this.#persist(
      shard,
      host !== undefined && this.#hosts.has(host) ? host : this.#hosts.emptiest(this.#states),
      effects,
    );
    return effects;
  }

  #persist(shard: number, host: string, effects: ShardEffect[]): void {
    this.#states.persist(shard, host);
    effects.push({ kind: "persist", shard, host });
  }

  /** The home, or that there is none, is durable. */
  persisted(shard: number, host: string | undefined, now: number): ShardEffect[] {
    const busy = this.#states.busy.get(shard);
    // A write that a later decision has overtaken.
    if (busy?.phase !== "persisting" || busy.to !== host || host === undefined) return [];
    const effects: ShardEffect[] = [];
    if (!this.#hosts.has(host)) {
      this.#allocate(shard, now, effects);
      return effects;
    }
    const { move, askers, lost } = this.#states.settle(shard, host);
    if (this.#hosts.get(host)?.confirms) this.#unconfirmed.announced(shard, host, now + this.#settings.startMs);
    // The new home is notified as well: remembered actors start there without a call.
    effects.push({ kind: "home", shard, host, to: [...new Set([...askers, host])] });
    if (move !== undefined) this.#moved(shard, move, host, now, effects);
    else if (lost !== undefined) {
      const tookMs = now - lost.askedAt;
      effects.push({ kind: "moved", shard, from: lost.from, to: host, reason: "lost", tookMs, wasForced: false });
    }
    this.#handOver(now, effects);
    this.#beginMoves(now, effects);
    return effects;
  }

  #moved(shard: number, move: MoveState, to: string | undefined, now: number, effects: ShardEffect[]): void {
    const { reason, from, startedAt, forced } = move;
    effects.push({ kind: "moved", shard, from, to, reason, tookMs: now - startedAt, wasForced: forced });
    if (reason === "balance") this.#balancing.ended(this.#states.moving.size, now);
  }

  /** The shard has no home any more. If no host waits for it, it gets one on its next request. */
  #freed(shard: number, now: number, effects: ShardEffect[]): void {
    this.#states.free(shard);
    this.#unconfirmed.drop(shard);
    if (this.#states.busy.has(shard)) this.#allocate(shard, now, effects);
    else effects.push({ kind: "persist", shard, host: undefined });
  }

  // ——— Moving.

  /** Plans the checked moves of the strategy. The first ones begin now, the others one after the other. */
  movesProposed(moves: readonly Move[], now: number): ShardEffect[] {
    this.#balancing.plan(moves);
    const effects: ShardEffect[] = [];
    this.#beginMoves(now, effects);
    return effects;
  }

  #beginMoves(now: number, effects: ShardEffect[]): void {
    const { moving } = this.#states;
    const begun = this.#balancing.begin(moving.size, now);
    for (const { shard, to } of begun) {
      if (to === undefined || this.#hosts.has(to)) this.#move(shard, to, "balance", now, effects);
    }
    // None of them could begin, or the last ones are over.
    if (begun.length > 0 && moving.size === 0) this.#balancing.ended(0, now);
  }

  /** Moves a shard on an operator's request. Undefined: it has no home, moves already, or is there. */
  moveByHand(shard: number, to: string, now: number): ShardEffect[] | undefined {
    const effects: ShardEffect[] = [];
    return this.#hosts.has(to) && this.#move(shard, to, "by hand", now, effects) ? effects : undefined;
  }

  pause(isPaused: boolean, now: number): void {
    this.#balancing.pause(isPaused, now);
  }

  #move(shard: number, to: string | undefined, reason: MoveReason, now: number, effects: ShardEffect[]): boolean {
    const from = this.homeOf(shard);
    const { busy, moving } = this.#states;
    const isFull = reason !== "by hand" && moving.size >= this.#settings.movesAtOnce;
    if (from === undefined || from === to || busy.has(shard) || isFull) return false;
    const move = this.#states.buffer(shard, to, reason, now, now + this.#settings.handOffMs);
    effects.push({ kind: "beginHandOff", shard, move });
    return true;
  }

  /** These hosts were asked to buffer calls. They do so until they are notified of the home. */
  handOffBegun(shard: number, move: number, hosts: Iterable<string>): ShardEffect[] {
    const effects: ShardEffect[] = [];
    if (!this.#isBuffering(shard, move)) return effects;
    this.#states.waitFor(shard, hosts);
    this.#handOffIfAcked(shard, effects);
    return effects;
  }

  /** The host buffers calls. */
  handOffAcked(shard: number, move: number, host: string): ShardEffect[] {
    const effects: ShardEffect[] = [];
    if (this.#isBuffering(shard, move) && this.#states.waitsNot(shard, host)) this.#handOffIfAcked(shard, effects);
    return effects;
  }

  #isBuffering(shard: number, move: number): boolean {
    const busy = this.#states.busy.get(shard);
    return busy?.phase === "buffering" && busy.move?.number === move;
  }

  #handOffIfAcked(shard: number, effects: ShardEffect[]): void {
    const { phase, waiting } = this.#states.busy.get(shard)!;
    if (phase !== "buffering" || waiting.size > 0) return;
    const { move, to } = this.#states.stop(shard);
    effects.push({ kind: "handOff", shard, move: move.number, host: move.from, to });
  }

  /** None of its actors is left at its home. `wasForced`: some were given up. */
  shardStopped(shard: number, move: number, host: string, wasForced: boolean, now: number): ShardEffect[] {
    const busy = this.#states.busy.get(shard);
    // The report is about a move of an earlier leader, or one that has ended: the host needs the current
    // home.
    if (busy?.phase !== "stopping" || busy.move?.number !== move || busy.move.from !== host)
      return this.requested(shard, host, now);
    const effects: ShardEffect[] = [];
    busy.move.forced = wasForced;
    this.#freed(shard, now, effects);
    return effects;
  }

  /**
   * Hosts that leave hand over their shards, as many as may move at once. Without another host, shards end up
   * without a home.
   */
  #handOver(now: number, effects: ShardEffect[]): void {
    const { leaving } = this.#hosts;
    if (leaving.size === 0) return;
    const homes = new Set<string>();
    for (const [shard, host] of this.homes) {
      if (!leaving.has(host)) continue;
      homes.add(host);
      this.#move(shard, undefined, "leave", now, effects);
    }
    // Later calls need not scan the many shards for the others.
    this.#hosts.stillHomes(homes);
  }

  // ——— Time.

  tick(now: number): ShardEffect[] {
    const effects: ShardEffect[] = [];
    for (const shard of this.#states.due(now)) this.#timeOut(shard, now, effects);
    for (const [shard, host] of this.#unconfirmed.due(now)) effects.push(...this.#announceAgain(shard, host, now));
    if (this.#balancing.isDue(now)) {
      this.#handOver(now, effects);
      const mayMove = this.#hosts.size > 1 && this.homes.size > 0;
      if (mayMove && this.#balancing.requestMoves()) effects.push({ kind: "proposeMoves" });
    }
    this.#beginMoves(now, effects);
    return effects;
  }

  /** The phase has lasted for too long: it goes on without the answers that are missing. */
  #timeOut(shard: number, now: number, effects: ShardEffect[]): void {
    if (this.#states.busy.get(shard)?.phase === "allocating") {
      if (this.#hosts.size === 0) this.#abandon(shard, now, effects);
      else effects.push(...this.allocated(shard, undefined));
      return;
    }
    // A host that has not acknowledged sends its calls to the previous home, which rejects them with "not
    // owner".
    this.#states.waitFor(shard, []);
    this.#handOffIfAcked(shard, effects);
  }
}
