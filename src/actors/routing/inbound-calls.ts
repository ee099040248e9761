// Serves the calls that other hosts send. It runs a call only if this host owns the actor. Otherwise it
// answers `not owner`, with the owner that it knows.
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Cancel, LinkService, Ownership, RemoteAnswer, RemoteCall } from "../../ports/links.ts";
import type { Placement } from "../../ports/placement.ts";
import { cancelled, Turn } from "../activation/turn.ts";
import type { Catalog } from "../catalog.ts";
import type { CallChains } from "./call-chains.ts";
import { shardIn } from "./call-order.ts";
import { HAS_METHOD } from "./missing-method.ts";
import { RejectedShards } from "./rejected-shards.ts";

export interface InboundCallsDeps {
  readonly catalog: Catalog;
  readonly placement: Placement;
  readonly chains: CallChains;
  readonly clock: Clock;
}

export class InboundCalls implements LinkService {
  readonly #deps: InboundCallsDeps;
  readonly #rejected = new RejectedShards();

  constructor(deps: InboundCallsDeps) {
    this.#deps = deps;
  }

  serve(call: RemoteCall, answer: RemoteAnswer, connection: object): Cancel {
    const { catalog } = this.#deps;
    const { type, method, args } = call;
    if (call.namespace !== catalog.namespace) {
      answer.error(new LimpetError("NO_HOST", "this host belongs to another namespace"));
    } else if (method === HAS_METHOD) {
      answer.value(catalog.types.get(type)?.methods.has(String(args[0])) === true);
    } else if (catalog.stopping || (!call.passOn && this.#isBehindRejected(call, connection))) {
      this.#reject(call, answer, connection);
    } else {
      return this.#run(call, answer, connection);
    }
    return NOTHING_TO_CANCEL;
  }

  #run(call: RemoteCall, answer: RemoteAnswer, connection: object): Cancel {
    const { catalog, placement, chains, clock } = this.#deps;
    const { type, id, method, args, timeoutMs, hops } = call;
    try {
      const turn = new Turn({
        type: catalog.calls.target(type),
        id,
        method,
        args,
        parent: chains.import(call.causes),
        timeoutMs,
        now: clock.monotonic(),
        deadlines: catalog.deadlines,
        work: undefined,
      });
      if (hops > 0) turn.routed().hops = hops;
      if (hops > 0 && placement.isSticky(type)) placement.invalidateOwner(type, id);
      if (!call.passOn) {
        turn.rejectNotOwner = () => {
          turn.dismiss();
          this.#reject(call, answer, connection);
        };
      }
      catalog.calls.deliver(turn);
      turn.respondTo(answer);
      return () => turn.cancel(cancelled(turn.label, "its host gave up"));
    } catch (error) {
      answer.error(error);
      return NOTHING_TO_CANCEL;
    }
  }

  /**
   * True: an earlier call to the same shard was rejected on this connection, and the caller did not know it
   * when it sent this one. This call must follow it.
   */
  #isBehindRejected(call: RemoteCall, connection: object): boolean {
    if (this.#rejected.isEmpty) return false;
    const shard = shardIn(this.#deps.placement.inShards(call.type), call.id);
    return shard !== undefined && this.#rejected.isBehind(connection, call.type, shard, call);
  }

  #reject({ type, id }: RemoteCall, answer: RemoteAnswer, connection: object): void {
    const { catalog, placement } = this.#deps;
    const shard = shardIn(placement.inShards(type), id);
    if (shard !== undefined) this.#rejected.add(connection, type, shard, id);
    answer.notOwner(catalog.stopping ? this.#lastOwner(type, id) : placement.cachedOwner(type, id));
  }

  /**
   * A stopping host's answer about an actor. "Not here" must be final, because the next owner relies on it,
   * and an actor with a running turn is still here. The previous owner cannot know the next one.
   */
  #lastOwner(type: string, id: string): Ownership {
    const { catalog, placement } = this.#deps;
    const cached = placement.cachedOwner(type, id);
    const isHere = catalog.types.get(type)?.activations.has(id) === true;
    return isHere || cached.owner === placement.address ? NOTHING_KNOWN : cached;
  }
}

const NOTHING_TO_CANCEL: Cancel = () => {};
/** Equivalent to no table: the receiver asks again when the tables have changed. */
const NOTHING_KNOWN: Ownership = { term: 0, version: 0, owner: undefined };
