// Routes a call to an actor that is not in memory here: to a new activation, to the host that owns the actor,
// or to the waiting queue until the owner is known. It also serves the calls that other hosts send.
//
// - Only the owner runs a call. Another host answers `not owner` with the version of its table. The caller
// then follows the hint, or waits until its own table is as new. Each rejection counts as a hop, and hops are
// limited.
// - A call that comes back along its own chain goes to the host where its actor waits, even if the
// table shows another host.
// - Calls from this host to a sharded actor do not overtake each other, even when its shard moves. A later
// call queues behind the ones that wait here, and waits for the ones in flight to the old home.
import { backoffMs } from "../../kernel/backoff.ts";
import { invariant, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  Cancel,
  LinkService,
  Links,
  Ownership,
  RemoteAnswer,
  RemoteCall,
  RemoteCause,
} from "../../ports/links.ts";
import { HERE, NOBODY, type Placement, type Route, type ShardRouting, WAIT } from "../../ports/placement.ts";
import { cancelled, Turn } from "../activation/turn.ts";
import type { Catalog, Routes } from "../catalog.ts";
import type { ShardingDefaults } from "../options/sharded-options.ts";
import { REMIND } from "../outbox/remind.ts";
import { type CallOrigin, DistantTurn } from "./call-origin.ts";
import { type Followed, InFlightCalls } from "./in-flight.ts";
import { HAS_METHOD, type MissingMethod, MissingMethods } from "./missing-method.ts";
import { type Dispatcher, OutboundCall } from "./outbound-call.ts";
import { RejectedShards } from "./rejected-shards.ts";
import { LOOK_AGAIN_MS, WaitingQueue } from "./waiting-queue.ts";

/** The tables of two hosts differ only for a moment. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;
/** How often a stopping host checks whether its calls are answered. */
const LOOK_MS = 10;
/** Reserved for the other host's answer about a reminder that timed out. */
const ANSWER_MS = 1_000;
/** An unreachable host soon returns, or disappears from all tables. */
const UNREACHABLE_PAUSE_MS = 50;
export interface RouterDeps {
  readonly placement: Placement;
  readonly links: Links;
  readonly clock: Clock;
  /** A call to a sharded type was rejected because the buffer is full. */
  refused?(type: string): void;
  /** How long calls wait for an unresponsive store; undefined: until they time out. */
  readonly storeTimeoutMs?: number | undefined;
}

export class Router implements Routes, Dispatcher, LinkService {
  readonly links: Links;
  readonly #catalog: Catalog;
  readonly #placement: Placement;
  readonly #clock: Clock;
  readonly #room: WaitingQueue;
  readonly #underway = new InFlightCalls();
  readonly #sentBack = new RejectedShards();
  readonly #missing: MissingMethods;
  readonly #refused: ((type: string) => void) | undefined;
  readonly #storeTimeoutMs: number;
  /** Turns of this host that other hosts know by number, with the number of their calls there. */
  readonly #exportedTurns = new Map<number, { readonly turn: Turn; calls: number }>();
  #lastNumber = 0;
  /** Calls in progress on other hosts. */
  #departed = 0;

  constructor(catalog: Catalog, { placement, links, clock, refused, storeTimeoutMs }: RouterDeps) {
    this.#storeTimeoutMs = storeTimeoutMs ?? Number.POSITIVE_INFINITY;
    this.#catalog = catalog;
    this.#placement = placement;
    this.links = links;
    this.#clock = clock;
    this.#refused = refused;
    this.#missing = new MissingMethods({
      namespace: catalog.namespace,
      clock,
      links,
      hostsOf: (type) => placement.hostsOf(type).filter((address) => address !== placement.address),
    });
    this.#room = new WaitingQueue(clock, {
      leave: (turn) => catalog.deliver(turn),
      problem: () => placement.problem,
      shardOf: ({ type, id }) => shardIn(placement.inShards(type.name), id),
      capacity: (type) => this.#sharding(type)?.bufferSize ?? LIMITS.waitingRoom,
      lookAgainMs: (type) => this.#sharding(type)?.retryMs ?? LOOK_AGAIN_MS,
      full: (type) => this.#full(type),
    });
  }

  /** Undefined: the type is not sharded. */
  #sharding(type: string): Pick<ShardingDefaults, "bufferSize" | "retryMs"> | undefined {
    return this.#placement.inShards(type) === undefined ? undefined : this.#catalog.sharding(type);
  }

  get waiting(): number {
    return this.#room.size;
  }

  /** Calls of a type in the waiting queue. */
  buffered(type: string): number {
    return this.#room.waiting(type);
  }

  askElsewhere(turn: Turn, missing: MissingMethod): void {
    this.#missing.answer(turn, missing);
  }

  #full(type: string): LimpetError {
    const sharding = this.#sharding(type);
    if (sharding === undefined)
      return new LimpetError("NOT_READY", `${LIMITS.waitingRoom} calls already wait for a host of ${type}`);
    this.#refused?.(type);
    const cure = "try again later, or raise sharding.bufferSize";
    return new LimpetError(
      "BUFFER_FULL",
      `${sharding.bufferSize} calls already wait here for the homes of shards of ${type}; ${cure}`,
    );
  }

  #nobody(type: string): LimpetError {
    const role = this.#catalog.types.get(type)?.options.sharded?.role;
    const cure = role === undefined ? "" : `: its class asks for hosts with the role ${role} (cluster.roles)`;
    const known = didYouMean(type, new Set([...this.#catalog.types.keys(), ...this.#placement.hostedTypes()]));
    return new LimpetError("NO_HOST", `no host of the cluster runs actors of type ${type}${cure}${known}`);
  }

  /** Resolves when every call that started here has been answered elsewhere, or on timeout. */
  async settled(ms: number): Promise<void> {
    const end = this.#clock.monotonic() + ms;
    while (this.#departed + this.#room.size > 0 && this.#clock.monotonic() < end) {
      await new Promise<void>((resolve) => this.#clock.after(LOOK_MS, resolve));
    }
  }

  /** Rejects the waiting calls, because this process stops. */
  close(): void {
    this.#room.close();
  }

  reaches(type: string): boolean {
    return this.#placement.hasHosts(type);
  }

  mayBegin(now: number): boolean {
    return this.#placement.mayBegin(now);
  }

  mayCommit(now: number): boolean {
    return this.#placement.mayCommit(now);
  }

  confirmLease(settled: (isKept: boolean) => void): void {
    if (this.#placement.confirmLease === undefined) settled(false);
    else this.#placement.confirmLease(settled);
  }

  isQuiet(type: string, id: string): boolean {
    const shard = shardIn(this.#placement.inShards(type), id);
    return !this.#underway.has(type, id, shard) && !this.#room.has(type, id, shard);
  }

  /** Tables have changed, or the lease is back. Empty: all types. */
  changed(types: readonly string[]): void {
    if (types.length === 0) this.#room.releaseAll();
    for (const type of types) this.#room.release(type);
  }

  /** The homes of these shards are known. */
  opened(type: string, shards: Iterable<number>): void {
    for (const shard of shards) this.#room.release(type, shard);
  }

  /** The host of this actor is known, or the error of its calls. */
  answered(type: string, id: string, error?: LimpetError): void {
    this.#room.releaseOne(type, id, error);
  }

  left(type: string, id: string, reason: string | undefined): void {
    this.#placement.left(type, id, reason);
  }

  // ——— Calls that start here, or are routed again.

  route(turn: Turn): void {
    const cameFrom = turn.parent && this.#waitsFor(turn.parent, turn);
    if (cameFrom !== undefined) {
      this.#depart(turn, cameFrom);
      return;
    }
    const { name } = turn.type;
    const way = this.#placement.inShards(name);
    let route: Route;
    let shard: number | undefined;
    try {
      shard = way?.shardOf(turn.id);
      route = way === undefined ? this.#placement.route(name, turn.id, turn.deadlineAt) : way.route(turn.id, shard);
    } catch (error) {
      turn.fail(error);
      return;
    }
    if (way !== undefined && this.#queueBehindEarlier(turn, route, shard)) return;
    if (route === HERE) this.#wake(turn);
    else if (route === WAIT) this.#wait(turn);
    else if (turn.rejectNotOwner !== undefined) this.#rejectNotOwner(turn, turn.rejectNotOwner);
    else if (route === NOBODY) turn.fail(this.#nobody(name));
    else this.#depart(turn, route);
  }

  /** Another call may have activated the actor here while earlier calls were in flight to its old host. */
  queueBehindEarlier(turn: Turn): boolean {
    // Every turn gets a number, even if it need not wait: a turn in a mailbox may be routed again.
    this.#room.number(turn);
    if (turn.parent !== undefined || (this.#room.size === 0 && this.#underway.isEmpty)) return false;
    const way = this.#placement.inShards(turn.type.name);
    return way !== undefined && this.#queueBehindEarlier(turn, HERE, shardIn(way, turn.id));
  }

  /** True: the route is known, but earlier calls have not arrived yet. */
  #queueBehindEarlier(turn: Turn, route: Route, shard: number | undefined): boolean {
    this.#room.number(turn);
    if (route === WAIT || route === NOBODY || !this.#isBehind(turn, route, shard)) return false;
    this.#room.add(turn);
    return true;
  }

  #isBehind(turn: Turn, route: Route, shard: number | undefined): boolean {
    if (this.#room.size > 0 && this.#room.isBehind(turn)) return true;
    if (route === HERE && this.#underway.isEmpty) return false;
    const to = typeof route === "string" ? route : undefined;
    return this.#underway.waitsFor(turn, to, shard);
  }

  /** "Not owner" is final, so it is answered only after the actor has left this host. */
  #rejectNotOwner(turn: Turn, reject: () => void): void {
    if (this.#catalog.types.get(turn.type.name)?.activations.has(turn.id)) this.#room.add(turn, FIRST_PAUSE_MS);
    else reject();
  }

  /**
   * A call to an actor that moves here goes to the previous owner first. The actor may still run there; if
   * not, it may be activated here. A host without a lease cannot route, so it rejects calls of other hosts
   * instead of queueing them.
   */
  #wait(turn: Turn): void {
    const before = this.#placement.ownerBefore(turn.type.name, turn.id);
    if (before !== undefined) {
      this.#depart(turn, before);
      return;
    }
    const knowsNothing = (): boolean =>
      !this.mayBegin(this.#clock.monotonic()) && this.#placement.cachedOwner(turn.type.name, turn.id).version === 0;
    if (turn.rejectNotOwner !== undefined && knowsNothing()) turn.rejectNotOwner();
    else if (this.#isStoreSilent(turn)) turn.fail(storeSilent(turn));
    else this.#room.add(turn);
  }

  /** True: the call waits for a lease that no leader can grant. It fails as soon as a commit would fail. */
  #isStoreSilent({ queuedAt }: Turn): boolean {
    const now = this.#clock.monotonic();
    const silentMs = this.#placement.silentFor?.(now) ?? 0;
    return silentMs > 0 && Math.min(silentMs, now - queuedAt) >= this.#storeTimeoutMs;
  }

  #wake(turn: Turn): void {
    const type = this.#catalog.types.get(turn.type.name);
    if (this.#catalog.stopping) {
      // All actors have left or are about to leave, so no actor is activated any more.
      if (turn.rejectNotOwner !== undefined) turn.rejectNotOwner();
      else turn.fail(new LimpetError("STOPPING", `this process stops; nothing of ${turn.label} has happened`));
    } else if (type === undefined || !this.#placement.mayBegin(this.#clock.monotonic())) {
      this.#room.add(turn);
    } else if (type.activations.has(turn.id)) {
      // The actor was leaving when the table changed again. Its next life begins when this one has ended.
      this.#room.add(turn, FIRST_PAUSE_MS);
    } else {
      try {
        this.#catalog.wake(turn);
      } catch (error) {
        turn.fail(error);
      }
    }
  }

  /** The host on which the actor waits for this very call. */
  #waitsFor(cause: CallOrigin, { type, id }: Turn): string | undefined {
    for (let at: CallOrigin | undefined = cause; at !== undefined; at = at.parent) {
      if (!(at instanceof DistantTurn) || at.host === this.#placement.address) continue;
      if (at.id === id && at.type.name === type.name) return at.host;
    }
    return undefined;
  }

  #depart(turn: Turn, to: string): void {
    invariant(to !== this.#placement.address, "a host does not call itself over the network");
    this.#catalog.types.get(turn.type.name)?.instruments.remote.add(1);
    this.#departed++;
    if (turn.lanes !== undefined) this.#underway.left(turn, to, undefined);
    else if (turn.arrival > 0) {
      const way = this.#placement.inShards(turn.type.name);
      if (way !== undefined) this.#underway.left(turn, to, shardIn(way, turn.id));
    }
    // Only the leader can change the home of a known shard.
    const isNews = turn.lanes?.areShards !== true && this.#placement.isSticky(turn.type.name);
    new OutboundCall(turn, to, isNews, this);
  }

  describe(turn: Turn): RemoteCall {
    return {
      namespace: this.#catalog.namespace,
      type: turn.type.name,
      id: turn.id,
      method: turn.method,
      args: turn.args,
      timeoutMs: timeLeft(turn, this.#clock.monotonic()),
      hops: turn.hops,
      passOn: false,
      causes: turn.parent === undefined ? NO_CAUSES : this.#causesOf(turn.parent),
    };
  }

  ran({ type, id }: Turn, at: string): void {
    this.#placement.cacheOwner(type.name, id, at);
  }

  turnedAway(turn: Turn, from: string, belief: Ownership): void {
    turn.obstacle = `${from} does not run it`;
    if (this.#placement.isSticky(turn.type.name)) {
      this.#turnedAwaySticky(turn, from, belief);
      return;
    }
    if (this.#placement.released(turn.type.name, turn.id, from, belief)) {
      this.#catalog.deliver(turn);
      return;
    }
    // The other host lost its lease, and soon leaves all tables. The tables do not disagree.
    if (belief.version === 0) {
      this.#room.add(turn, UNREACHABLE_PAUSE_MS);
      return;
    }
    const mine = this.#placement.cachedOwner(turn.type.name, turn.id);
    const newer = belief.term - mine.term || belief.version - mine.version;
    const { owner } = belief;
    const isOurs = newer > 0 && owner === this.#placement.address;
    // A host with an older table will catch up or leave by the end of the move, so the call waits for it. The
    // same holds for our own table, when another host already knows that the actor is ours.
    turn.hops = newer < 0 || isOurs ? Math.min(turn.hops + 1, LIMITS.hops / 2) : turn.hops + 1;
    if (this.#isAstray(turn)) return;
    if (newer > 0 && owner !== undefined && !isOurs && owner !== from) {
      this.#depart(turn, owner);
    } else {
      this.#room.add(turn, pauseAfter(turn.hops));
    }
  }

  /**
   * Tables do not show the owner of a sticky actor. The rejecting host may know the owner. Otherwise the
   * leader is asked again, because the cached owner is invalidated here.
   */
  #turnedAwaySticky(turn: Turn, from: string, { version, owner }: Ownership): void {
    const { name } = turn.type;
    const way = this.#placement.inShards(name);
    if (way !== undefined) this.#underway.refused(turn, from, shardIn(way, turn.id));
    // The host has just started, or lost its lease: the cached owner is either dropped soon, or valid again
    // in a moment.
    if (version === 0) {
      this.#room.add(turn, UNREACHABLE_PAUSE_MS);
      return;
    }
    this.#placement.invalidateOwner(name, turn.id, from);
    // A missing update arrives before the deadline, or not at all.
    turn.hops = Math.min(turn.hops + 1, LIMITS.hops / 2);
    // Two hints may be followed at once. After that an update must be in flight, so the call waits for it.
    const isKnown = owner !== undefined && owner !== from && owner !== this.#placement.address;
    const isHint = isKnown && this.#placement.isHost(name, owner);
    if (isHint) this.#placement.cacheOwner(name, turn.id, owner);
    if (turn.hops <= 2 && isHint) {
      if (way === undefined || !this.#queueBehindEarlier(turn, owner, shardIn(way, turn.id))) this.#depart(turn, owner);
    } else if (turn.hops <= 2) this.#catalog.deliver(turn);
    else this.#room.add(turn, pauseAfter(turn.hops - 2));
  }

  #isAstray(turn: Turn): boolean {
    if (turn.hops <= LIMITS.hops) return false;
    const message = `${LIMITS.hops} hosts in a row turned ${turn.label} away; where its actor lives does not settle`;
    turn.fail(new LimpetError("NOT_SETTLED", message));
    return true;
  }

  unsent(turn: Turn, error: LimpetError): void {
    turn.obstacle = error.message;
    this.#room.add(turn, UNREACHABLE_PAUSE_MS);
  }

  // ——— Chains of calls across hosts.

  /** Oldest first. Turns of this host get a number, which finds them when the chain comes back. */
  #causesOf(parent: CallOrigin): RemoteCause[] {
    const causes: RemoteCause[] = [];
    for (let at: CallOrigin | undefined = parent; at !== undefined; at = at.parent) {
      const { type, id, method } = at;
      if (at instanceof DistantTurn) {
        causes.unshift({ host: at.host, turn: at.number, type: type.name, id, method });
      } else {
        causes.unshift({ host: this.#placement.address, turn: this.#number(at as Turn), type: type.name, id, method });
      }
    }
    return causes;
  }

  #number(turn: Turn): number {
    if (turn.number === 0) turn.number = ++this.#lastNumber;
    const known = this.#exportedTurns.get(turn.number);
    if (known === undefined) this.#exportedTurns.set(turn.number, { turn, calls: 1 });
    else known.calls++;
    return turn.number;
  }

  arrived(turn: Turn, at: string): void {
    this.#departed--;
    const followed = this.#underway.landed(turn, at);
    if (followed !== undefined) this.#followed(followed);
    const { parent } = turn;
    for (let at: CallOrigin | undefined = parent; at !== undefined; at = at.parent) {
      if (!(at instanceof Turn)) continue;
      const known = this.#exportedTurns.get(at.number);
      if (known !== undefined && --known.calls === 0) this.#exportedTurns.delete(at.number);
    }
  }

  /**
   * Releases the calls behind this one, after its own next step is decided: if it is routed again, it goes
   * first.
   */
  #followed({ type, key }: Followed): void {
    void Promise.resolve().then(() => {
      if (typeof key === "number") this.#room.release(type, key);
      else this.#room.releaseOne(type, key);
    });
  }

  #parentOf(causes: readonly RemoteCause[]): CallOrigin | undefined {
    let parent: CallOrigin | undefined;
    for (const { host, turn, type, id, method } of causes) {
      const own = host === this.#placement.address ? this.#exportedTurns.get(turn)?.turn : undefined;
      parent = own ?? new DistantTurn(type, id, method, host, turn, parent);
    }
    return parent;
  }

  /**
   * A stopping host's answer about an actor. "Not here" must be final, because the next owner relies on it,
   * and an actor with a running turn is still here. The previous owner cannot know the next one.
   */
  #lastBelief(type: string, id: string): Ownership {
    const belief = this.#placement.cachedOwner(type, id);
    const isHere = this.#catalog.types.get(type)?.activations.has(id) === true;
    return isHere || belief.owner === this.#placement.address ? NOTHING_KNOWN : belief;
  }

  // ——— Calls from other hosts.

  /**
   * True: an earlier call to the same shard was rejected on this connection, and the caller did not know it
   * when it sent this one. This call must follow it.
   */
  #follows({ type, id, hops }: RemoteCall, line: object): boolean {
    const shard = this.#sentBack.isEmpty ? undefined : shardIn(this.#placement.inShards(type), id);
    return shard !== undefined && this.#sentBack.isBehind(line, type, shard, hops);
  }

  #sendBack({ type, id }: RemoteCall, answer: RemoteAnswer, line: object): void {
    const shard = shardIn(this.#placement.inShards(type), id);
    if (shard !== undefined) this.#sentBack.add(line, type, shard);
    answer.notOwner(this.#catalog.stopping ? this.#lastBelief(type, id) : this.#placement.cachedOwner(type, id));
  }

  serve(call: RemoteCall, answer: RemoteAnswer, line: object): Cancel {
    const { type, id, method, args, timeoutMs } = call;
    if (call.namespace !== this.#catalog.namespace) {
      answer.error(new LimpetError("NO_HOST", "this host belongs to another namespace"));
      return () => {};
    }
    if (method === HAS_METHOD) {
      answer.value(this.#catalog.types.get(type)?.methods.has(String(args[0])) === true);
      return () => {};
    }
    if (this.#catalog.stopping || (!call.passOn && this.#follows(call, line))) {
      this.#sendBack(call, answer, line);
      return () => {};
    }
    try {
      const target = this.#catalog.target(type);
      const parent = call.causes.length === 0 ? undefined : this.#parentOf(call.causes);
      const now = this.#clock.monotonic();
      const turn = new Turn(target, id, method, args, parent, timeoutMs, now, this.#catalog.deadlines, undefined);
      turn.hops = call.hops;
      if (call.hops > 0 && this.#placement.isSticky(type)) this.#placement.invalidateOwner(type, id);
      if (!call.passOn) {
        turn.rejectNotOwner = () => {
          turn.dismiss();
          this.#sendBack(call, answer, line);
        };
      }
      this.#catalog.deliver(turn);
      turn.tell(answer);
      return () => turn.cancel(cancelled(turn.label, "its host gave up"));
    } catch (error) {
      answer.error(error);
      return () => {};
    }
  }
}

/** Undefined: the application's `shardOf` failed. Callers of such an actor got the error already. */
function shardIn(way: ShardRouting | undefined, id: string): number | undefined {
  try {
    return way?.shardOf(id);
  } catch {
    return undefined;
  }
}

/**
 * The actor's host answers a reminder before its deliverer gives up: only that host knows whether the handler
 * began.
 */
function timeLeft({ method, deadlineAt }: Turn, now: number): number {
  const left = deadlineAt - now;
  return Math.max(method === REMIND ? left - Math.min(left / 4, ANSWER_MS) : left, 1);
}

const pauseAfter = (hops: number): number => backoffMs(hops - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);

const storeSilent = ({ label, obstacle }: Turn): LimpetError =>
  new LimpetError(
    "STORE_UNAVAILABLE",
    `the store does not answer, so no host may run ${label}; nothing happened${obstacle === undefined ? "" : ` (${obstacle})`}`,
  );

const NO_CAUSES: readonly RemoteCause[] = [];
/** Equivalent to no table: the receiver asks again when the tables have changed. */
const NOTHING_KNOWN: Ownership = { term: 0, version: 0, owner: undefined };
