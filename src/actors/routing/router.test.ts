// The verdicts of the router, with a placement made up by the tests.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { HERE, NOBODY, type Placement, WAIT } from "../../ports/placement.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { Deadlines } from "../activation/deadlines.ts";
import { Turn } from "../activation/turn.ts";
import { CallChains } from "./call-chains.ts";
import { CallOrder } from "./call-order.ts";
import { DistantTurn } from "./call-origin.ts";
import { AGAIN, REJECT, Router, type RoutingVerdict } from "./router.ts";
import { WaitingQueue } from "./waiting-queue.ts";

const clock = new VirtualClock();
const deadlines = new Deadlines(clock);

function call({ from, isForeign = false }: { from?: DistantTurn; isForeign?: boolean } = {}): Turn {
  const type = { name: "Cart", options: { callTimeoutMs: 1_000 } };
  const turn = new Turn({
    type,
    id: "a",
    method: "add",
    args: [],
    parent: from,
    timeoutMs: 1_000,
    now: 0,
    deadlines,
    work: undefined,
  });
  if (isForeign) turn.rejectNotOwner = () => {};
  return turn;
}

function routerOf(more: Partial<Placement>, { isActive = false, stopping = false } = {}): Router {
  const placement = {
    address: "me:1",
    route: () => "owner:1",
    cachedOwner: () => ({ term: 1, version: 5, owner: "owner:1" }),
    ownerBefore: () => undefined,
    released: () => false,
    isSticky: () => false,
    inShards: () => undefined,
    hostedTypes: () => [],
    mayBegin: () => true,
    ...more,
  } as unknown as Placement;
  const types = new Map([["Cart", { options: {}, activations: new Map(isActive ? [["a", {}]] : []) }]]);
  const queue = new WaitingQueue(clock, { leave() {}, problem: () => undefined });
  const order = new CallOrder(placement, queue);
  const chains = new CallChains("me:1");
  return new Router({ host: { types, stopping } as never, placement, clock, chains, order, storeTimeoutMs: 1_000 });
}

const codeIn = (verdict: RoutingVerdict): string | undefined =>
  typeof verdict === "object" && isLimpetError(verdict.error) ? verdict.error.code : undefined;

describe("the verdict about a new call", () => {
  it("a call to another host's actor goes to the owner, or to the host on which its own chain waits", () => {
    assert.equal(routerOf({}).route(call()), "owner:1");
    const from = new DistantTurn("Cart", "a", "pay", "waiting:1", 1, undefined);
    assert.equal(routerOf({}).route(call({ from })), "waiting:1");
  });

  it("an own actor is activated, unless its last life is still leaving or the host has no lease", () => {
    const here: Partial<Placement> = { route: () => HERE };
    assert.equal(routerOf(here).route(call()), HERE);
    assert.equal(typeof routerOf(here, { isActive: true }).route(call()), "number");
    assert.equal(routerOf({ ...here, mayBegin: () => false }).route(call()), WAIT);
  });

  it("a stopping host rejects the calls of other hosts and fails its own", () => {
    const router = routerOf({ route: () => HERE }, { stopping: true });
    assert.equal(router.route(call({ isForeign: true })), REJECT);
    assert.equal(codeIn(router.route(call())), "STOPPING");
  });

  it("a call of another host is rejected only after the actor has left this host", () => {
    assert.equal(routerOf({}).route(call({ isForeign: true })), REJECT);
    assert.equal(typeof routerOf({}, { isActive: true }).route(call({ isForeign: true })), "number");
  });

  it("a call without a known owner goes to the previous owner, or waits", () => {
    const wait: Partial<Placement> = { route: () => WAIT };
    assert.equal(routerOf({ ...wait, ownerBefore: () => "before:1" }).route(call()), "before:1");
    assert.equal(routerOf(wait).route(call()), WAIT);
  });

  it("a call without a host, or with an error of placement, fails", () => {
    assert.equal(codeIn(routerOf({ route: () => NOBODY }).route(call())), "NO_HOST");
    const error = new RangeError("no");
    const failing = (): never => {
      throw error;
    };
    assert.deepEqual(routerOf({ route: failing }).route(call()), { error });
  });
});

describe("the verdict about a rejected call", () => {
  const newer = { term: 1, version: 6, owner: "next:1" };

  it("the call follows a newer owner, and waits for a host with an older table", () => {
    assert.equal(routerOf({}).rejected(call(), "owner:1", newer), "next:1");
    assert.equal(typeof routerOf({}).rejected(call(), "owner:1", { ...newer, version: 4 }), "number");
  });

  it("the call is delivered again when the rejection shows that the actor may be activated here", () => {
    assert.equal(routerOf({ released: () => true }).rejected(call(), "owner:1", newer), AGAIN);
  });

  it("the call fails after too many rejections", () => {
    const turn = call();
    turn.routed().hops = LIMITS.hops;
    assert.equal(codeIn(routerOf({}).rejected(turn, "owner:1", newer)), "NOT_SETTLED");
  });
});
