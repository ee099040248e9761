// Decides the next step of a call to an actor that is not in memory here. It asks placement and keeps the
// order of calls, but sends nothing and wakes no actor: ClusterRouting acts on its verdicts.
//
// - Only the owner runs a call. Another host answers `not owner` with the version of its table. The caller
//   then follows the hint, or waits until its own table is as new. Each rejection counts as a hop, and hops
//   are limited.
// - A call that comes back along its own chain goes to the host where its actor waits, even if the table
//   shows another host.
import { backoffMs } from "../../kernel/backoff.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { ActorHost } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ownership } from "../../ports/links.ts";
import { HERE, NOBODY, type Placement, type Route, WAIT } from "../../ports/placement.ts";
import type { Turn } from "../activation/turn.ts";
import type { CallChains } from "./call-chains.ts";
import { type CallOrder, shardIn } from "./call-order.ts";

/** Deliver the call again, as if it were new. */
export const AGAIN: unique symbol = Symbol("again");
/** Answer `not owner` to the host that sent the call. */
export const REJECT: unique symbol = Symbol("reject");

/**
 * - `HERE`: activate the actor. `WAIT`: wait for a change of the tables.
 * - A number: wait for a change, but at most this many milliseconds.
 * - A text: send the call to the host with this address.
 * - An object: the call fails.
 */
export type RoutingVerdict =
  | typeof HERE
  | typeof WAIT
  | typeof AGAIN
  | typeof REJECT
  | number
  | string
  | { readonly error: unknown };

/** The tables of two hosts differ only for a moment. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;
/** An unreachable host soon returns, or disappears from all tables. */
export const UNREACHABLE_PAUSE_MS = 50;

export interface RouterDeps {
  readonly host: Pick<ActorHost, "types" | "stopping">;
  readonly placement: Placement;
  readonly clock: Clock;
  readonly chains: CallChains;
  readonly order: CallOrder;
  /** How long calls wait for an unresponsive store. */
  readonly storeTimeoutMs: number;
}

export class Router {
  readonly #deps: RouterDeps;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
  }

  route(turn: Turn): RoutingVerdict {
    const { placement, chains, order } = this.#deps;
    const cameFrom = turn.parent && chains.hostThatWaits(turn);
    if (cameFrom !== undefined) return cameFrom;
    const { name } = turn.type;
    const sharding = placement.inShards(name);
    let route: Route;
    let shard: number | undefined;
    try {
      shard = sharding?.shardOf(turn.id);
      route = sharding === undefined ? placement.route(name, turn.id, turn.deadlineAt) : sharding.route(turn.id, shard);
    } catch (error) {
      return { error };
    }
    if (sharding !== undefined && order.isBehind(turn, route, shard)) return WAIT;
    if (route === HERE) return this.#activate(turn);
    if (route === WAIT) return this.#await(turn);
    // "Not owner" is final, so it is answered only after the actor has left this host.
    if (turn.rejectNotOwner !== undefined) return this.#isActive(turn) ? FIRST_PAUSE_MS : REJECT;
    return route === NOBODY ? { error: this.#noHost(name) } : route;
  }

  #isActive({ type, id }: Turn): boolean {
    return this.#deps.host.types.get(type.name)?.activations.has(id) === true;
  }

  #activate(turn: Turn): RoutingVerdict {
    const { host, placement, clock } = this.#deps;
    // All actors have left or are about to leave, so no actor is activated any more.
    if (host.stopping) return turn.rejectNotOwner === undefined ? { error: stopped(turn) } : REJECT;
    if (!host.types.has(turn.type.name) || !placement.mayBegin(clock.monotonic())) return WAIT;
    // An actor that is still here was leaving when the table changed again. Its next life begins when this
    // one has ended.
    return this.#isActive(turn) ? FIRST_PAUSE_MS : HERE;
  }

  /**
   * A call to an actor that moves here goes to the previous owner first. The actor may still run there; if
   * not, it may be activated here. A host without a lease cannot route, so it rejects calls of other hosts
   * instead of queueing them.
   */
  #await(turn: Turn): RoutingVerdict {
    const { placement, clock } = this.#deps;
    const before = placement.ownerBefore(turn.type.name, turn.id);
    if (before !== undefined) return before;
    const isWithoutLease = turn.rejectNotOwner !== undefined && !placement.mayBegin(clock.monotonic());
    if (isWithoutLease && placement.cachedOwner(turn.type.name, turn.id).version === 0) return REJECT;
    return this.#isStoreSilent(turn) ? { error: storeSilent(turn) } : WAIT;
  }

  /** True: the call waits for a lease that no leader can grant. It fails as soon as a commit would fail. */
  #isStoreSilent({ queuedAt }: Turn): boolean {
    const { placement, clock, storeTimeoutMs } = this.#deps;
    const now = clock.monotonic();
    const silentMs = placement.silentFor?.(now) ?? 0;
    return silentMs > 0 && Math.min(silentMs, now - queuedAt) >= storeTimeoutMs;
  }

  #noHost(type: string): LimpetError {
    const { host, placement } = this.#deps;
    const role = host.types.get(type)?.options.sharded?.role;
    const cure = role === undefined ? "" : `: its class asks for hosts with the role ${role} (cluster.roles)`;
    const known = didYouMean(type, new Set([...host.types.keys(), ...placement.hostedTypes()]));
    return new LimpetError("NO_HOST", `no host of the cluster runs actors of type ${type}${cure}${known}`);
  }

  /** Another host rejected the call, with the owner that it knows. */
  rejected(turn: Turn, from: string, ownership: Ownership): RoutingVerdict {
    const { placement } = this.#deps;
    const { name } = turn.type;
    const route = turn.routed();
    route.obstacle = `${from} does not run it`;
    if (placement.isSticky(name)) return this.#rejectedSticky(turn, from, ownership);
    if (placement.released(name, turn.id, from, ownership)) return AGAIN;
    // The other host lost its lease, and soon leaves all tables. The tables do not disagree.
    if (ownership.version === 0) return UNREACHABLE_PAUSE_MS;
    const mine = placement.cachedOwner(name, turn.id);
    const newer = ownership.term - mine.term || ownership.version - mine.version;
    const { owner } = ownership;
    const isOurs = newer > 0 && owner === placement.address;
    // A host with an older table will catch up or leave by the end of the move, so the call waits for it. The
    // same holds for our own table, when another host already knows that the actor is ours.
    route.hops = newer < 0 || isOurs ? Math.min(route.hops + 1, LIMITS.hops / 2) : route.hops + 1;
    if (route.hops > LIMITS.hops) return { error: notSettled(turn) };
    return newer > 0 && owner !== undefined && !isOurs && owner !== from ? owner : pauseAfter(route.hops);
  }

  /**
   * Tables do not show the owner of a sticky actor. The rejecting host may know the owner. Otherwise the
   * leader is asked again, because the cached owner is invalidated here.
   */
  #rejectedSticky(turn: Turn, from: string, { version, owner }: Ownership): RoutingVerdict {
    const { placement, order } = this.#deps;
    const { name } = turn.type;
    const sharding = placement.inShards(name);
    const shard = shardIn(sharding, turn.id);
    if (sharding !== undefined) order.rejected(turn, from, shard);
    // The host has just started, or lost its lease: the cached owner is either dropped soon, or valid again
    // in a moment.
    if (version === 0) return UNREACHABLE_PAUSE_MS;
    placement.invalidateOwner(name, turn.id, from);
    // A missing update arrives before the deadline, or not at all.
    const hops = Math.min(turn.routed().hops + 1, LIMITS.hops / 2);
    turn.routed().hops = hops;
    // Two hints may be followed at once. After that an update must be in flight, so the call waits for it.
    const isKnown = owner !== undefined && owner !== from && owner !== placement.address;
    const isHint = isKnown && placement.isHost(name, owner);
    if (isHint) placement.cacheOwner(name, turn.id, owner);
    if (hops > 2) return pauseAfter(hops - 2);
    if (!isHint) return AGAIN;
    return sharding !== undefined && order.isBehind(turn, owner, shard) ? WAIT : owner;
  }
}

const pauseAfter = (hops: number): number => backoffMs(hops - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);

const stopped = ({ label }: Turn): LimpetError =>
  new LimpetError("STOPPING", `this process stops; nothing of ${label} has happened`);

const notSettled = ({ label }: Turn): LimpetError =>
  new LimpetError(
    "NOT_SETTLED",
    `${LIMITS.hops} hosts in a row turned ${label} away; where its actor lives does not settle`,
  );

const storeSilent = ({ label, route }: Turn): LimpetError =>
  new LimpetError(
    "STORE_UNAVAILABLE",
    `the store does not answer, so no host may run ${label}; nothing happened${route?.obstacle === undefined ? "" : ` (${route.obstacle})`}`,
  );
