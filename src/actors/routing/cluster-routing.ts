// Acts on the verdicts of the router in a cluster: activates the actor of a call here, sends the call to
// another host, or holds it in the waiting queue until its owner is known.
import { invariant, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { CallBufferOptions, EndReason } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Links, Ownership, RemoteCall } from "../../ports/links.ts";
import { HERE, type Placement, WAIT } from "../../ports/placement.ts";
import type { Turn } from "../activation/turn.ts";
import type { Catalog } from "../catalog.ts";
import { REMIND } from "../outbox/remind.ts";
import type { ActorRouting } from "./actor-routing.ts";
import { CallChains } from "./call-chains.ts";
import { CallOrder, shardIn } from "./call-order.ts";
import { InboundCalls } from "./inbound-calls.ts";
import { type MissingMethod, MissingMethods } from "./missing-method.ts";
import { OutboundCall, type OutboundCallDeps } from "./outbound-call.ts";
import { AGAIN, REJECT, Router, type RoutingVerdict, UNREACHABLE_PAUSE_MS } from "./router.ts";
import { LOOK_AGAIN_MS, WaitingQueue } from "./waiting-queue.ts";

/** How often a stopping host checks whether its calls are answered. */
const LOOK_MS = 10;
/** Reserved for the other host's answer about a reminder that timed out. */
const ANSWER_MS = 1_000;

export interface ClusterRoutingDeps {
  readonly placement: Placement;
  readonly links: Links;
  readonly clock: Clock;
  /** A call to a sharded type was rejected because the buffer is full. */
  refused?(type: string): void;
  /** How long calls wait for an unresponsive store; undefined: until they time out. */
  readonly storeTimeoutMs?: number;
}

export class ClusterRouting implements ActorRouting, OutboundCallDeps {
  readonly isAlone = false;
  readonly links: Links;
  /** Serves the calls of other hosts. */
  readonly inbound: InboundCalls;
  readonly #catalog: Catalog;
  readonly #placement: Placement;
  readonly #clock: Clock;
  readonly #refused: ((type: string) => void) | undefined;
  readonly #queue: WaitingQueue;
  readonly #order: CallOrder;
  readonly #chains: CallChains;
  readonly #router: Router;
  readonly #missing: MissingMethods;
  /** Calls in progress on other hosts. */
  #outbound = 0;

  constructor(catalog: Catalog, deps: ClusterRoutingDeps) {
    const { placement, links, clock, refused, storeTimeoutMs = Number.POSITIVE_INFINITY } = deps;
    this.links = links;
    this.#catalog = catalog;
    this.#placement = placement;
    this.#clock = clock;
    this.#refused = refused;
    this.#queue = new WaitingQueue(clock, {
      leave: (turn) => catalog.calls.deliver(turn),
      problem: () => placement.problem,
      shardOf: ({ type, id }) => shardIn(placement.inShards(type.name), id),
      capacity: (type) => this.#sharding(type)?.bufferSize ?? LIMITS.waitingCalls,
      lookAgainMs: (type) => this.#sharding(type)?.retryMs ?? LOOK_AGAIN_MS,
      full: (type) => this.#full(type),
    });
    this.#order = new CallOrder(placement, this.#queue);
    this.#chains = new CallChains(placement.address);
    const chains = this.#chains;
    this.#router = new Router({ host: catalog, placement, clock, chains, order: this.#order, storeTimeoutMs });
    this.inbound = new InboundCalls({ catalog, placement, chains, clock });
    this.#missing = new MissingMethods({
      namespace: catalog.namespace,
      clock,
      links,
      hostsOf: (type) => placement.hostsOf(type).filter((address) => address !== placement.address),
    });
  }

  /** Undefined: the type is not sharded. */
  #sharding(type: string): CallBufferOptions | undefined {
    return this.#placement.inShards(type) === undefined ? undefined : this.#catalog.sharding(type);
  }

  #full(type: string): LimpetError {
    const sharding = this.#sharding(type);
    if (sharding === undefined)
      return new LimpetError("NOT_READY", `${LIMITS.waitingCalls} calls already wait for a host of ${type}`);
    this.#refused?.(type);
    const cure = "try again later, or raise sharding.bufferSize";
    return new LimpetError(
      "BUFFER_FULL",
      `${sharding.bufferSize} calls already wait here for the homes of shards of ${type}; ${cure}`,
    );
  }

  // ——— Routing, as actors and their callers use it.

  route(turn: Turn): void {
    this.#act(turn, this.#router.route(turn));
  }

  reroute(turn: Turn): void {
    this.route(turn);
  }

  #act(turn: Turn, verdict: RoutingVerdict): void {
    if (typeof verdict === "string") this.#send(turn, verdict);
    else if (verdict === HERE) this.#wake(turn);
    else if (verdict === WAIT) this.#queue.add(turn);
    else if (typeof verdict === "number") this.#queue.add(turn, verdict);
    else if (verdict === REJECT) turn.rejectNotOwner!();
    else if (verdict === AGAIN) this.#catalog.calls.deliver(turn);
    else turn.fail(verdict.error);
  }

  #wake(turn: Turn): void {
    try {
      this.#catalog.wake(turn);
    } catch (error) {
      turn.fail(error);
    }
  }

  #send(turn: Turn, to: string): void {
    invariant(to !== this.#placement.address, "a host does not call itself over the network");
    const { name } = turn.type;
    this.#catalog.types.get(name)?.instruments.remote.add(1);
    this.#outbound++;
    this.#order.left(turn, to);
    // Only the leader can change the home of a known shard.
    const isWorthCaching = turn.route?.lanes?.areShards !== true && this.#placement.isSticky(name);
    new OutboundCall(turn, to, isWorthCaching, this);
  }

  queueBehindEarlier(turn: Turn): boolean {
    if (!this.#order.isBehindHere(turn)) return false;
    this.#queue.add(turn);
    return true;
  }

  isQuiet(type: string, id: string): boolean {
    return this.#order.isQuiet(type, id);
  }

  left(type: string, id: string, reason: EndReason | undefined): void {
    this.#placement.left(type, id, reason);
  }

  reaches(type: string): boolean {
    return this.#placement.hasHosts(type);
  }

  askElsewhere(turn: Turn, missing: MissingMethod): boolean {
    this.#missing.answer(turn, missing);
    return true;
  }

  mayBegin(now: number): boolean {
    return this.#placement.mayBegin(now);
  }

  mayCommit(): boolean {
    return this.#placement.mayCommit(this.#clock.monotonic());
  }

  confirmLease(settled: (isKept: boolean) => void): void {
    if (this.#placement.confirmLease === undefined) settled(false);
    else this.#placement.confirmLease(settled);
  }

  // ——— Outcomes of outbound calls.

  describe(turn: Turn): RemoteCall {
    return {
      namespace: this.#catalog.namespace,
      type: turn.type.name,
      id: turn.id,
      method: turn.method,
      args: turn.args,
      timeoutMs: timeLeft(turn, this.#clock.monotonic()),
      hops: turn.route?.hops ?? 0,
      passOn: false,
      causes: this.#chains.export(turn.parent),
    };
  }

  returned(turn: Turn, from: string): void {
    this.#outbound--;
    this.#order.returned(turn, from);
    this.#chains.returned(turn.parent);
  }

  cacheOwner({ type, id }: Turn, address: string): void {
    this.#placement.cacheOwner(type.name, id, address);
  }

  rejected(turn: Turn, from: string, ownership: Ownership): void {
    this.#act(turn, this.#router.rejected(turn, from, ownership));
  }

  unsent(turn: Turn, error: LimpetError): void {
    turn.routed().obstacle = error.message;
    this.#queue.add(turn, UNREACHABLE_PAUSE_MS);
  }

  // ——— Waiting calls.

  get waiting(): number {
    return this.#queue.size;
  }

  /** Calls of a type in the waiting queue. */
  buffered(type: string): number {
    return this.#queue.waiting(type);
  }

  /** Tables have changed, or the lease is back. Empty: all types. */
  changed(types: readonly string[]): void {
    if (types.length === 0) this.#queue.releaseAll();
    for (const type of types) this.#queue.release(type);
  }

  /** The homes of these shards are known. */
  opened(type: string, shards: Iterable<number>): void {
    for (const shard of shards) this.#queue.release(type, shard);
  }

  /** The host of this actor is known, or the error of its calls. */
  answered(type: string, id: string, error?: LimpetError): void {
    this.#queue.releaseOne(type, id, error);
  }

  /** Resolves when every call that started here has been answered elsewhere, or on timeout. */
  async settled(ms: number): Promise<void> {
    const end = this.#clock.monotonic() + ms;
    while (this.#outbound + this.#queue.size > 0 && this.#clock.monotonic() < end) {
      await new Promise<void>((resolve) => this.#clock.after(LOOK_MS, resolve));
    }
  }

  /** Rejects the waiting calls, because this process stops. */
  close(): void {
    this.#queue.close();
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
