import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { TableHost } from "../../ports/control-messages.ts";
import { HERE, NOBODY, WAIT } from "../../ports/placement.ts";
import { StickyHoldings } from "./sticky-holdings.ts";

const host = (letter: string, start = 1): TableHost => ({
  name: letter,
  address: `${letter}:1`,
  incarnation: `${letter}${start}`,
});

/** A host `me:1`, with tables in which the first letter of an id names its owner on the ring. */
function setting() {
  const listed = new Map([host("m"), host("a"), host("b")].map((one) => [one.address, one]));
  const holdings = new StickyHoldings("m:1", {
    owner: (_type, id) => listed.get(`${id[0]}:1`)?.address,
    hostAt: (_type, address) => listed.get(address),
  });
  const ask = (id: string, until = 100) => holdings.ask("Cart", id, until, 0, 5, false);
  return { listed, holdings, ask, route: (id: string) => holdings.route("Cart", id) };
}

describe("the sticky actors of a host", () => {
  it("a host may activate held actors; for the others it sends a request if the ring names it, and otherwise routes calls there", () => {
    const { holdings, route } = setting();
    assert.equal(route("a-1"), "a:1");
    assert.equal(route("m-1"), WAIT);
    assert.equal(route("x-1"), NOBODY);
    holdings.hold("Cart", "m-1", 7);
    assert.equal(route("m-1"), HERE);
    holdings.hold("Cart", "a-1", 7);
    assert.equal(route("a-1"), HERE, "whatever the ring says");
  });

  it("an actor is requested once for all waiting calls, for as long as the last of them waits", () => {
    const { holdings, ask } = setting();
    const request = ask("m-1", 100);
    assert.deepEqual(request && [request.type, request.id, request.since], ["Cart", "m-1", 5]);
    assert.equal(ask("m-1", 300), undefined);
    assert.equal(ask("m-1", 200), undefined);
    assert.deepEqual(holdings.answered(request!.correlation, 299), { type: "Cart", id: "m-1", isWanted: true });
    assert.equal(holdings.answered(request!.correlation, 299), undefined, "it is answered once");
    const again = ask("m-1", 100);
    assert.deepEqual(holdings.answered(again!.correlation, 100), { type: "Cart", id: "m-1", isWanted: false });
  });

  it("a request is repeated on a new stream, unless no call waits for it any more", () => {
    const { holdings, ask } = setting();
    const [first, second] = [ask("m-1", 100), ask("m-2", 200)];
    assert.deepEqual(
      holdings.unanswered(150).map(({ id }) => id),
      ["m-2"],
    );
    assert.equal(holdings.answered(first!.correlation, 150), undefined);
    assert.notEqual(ask("m-1", 300)?.correlation, first!.correlation);
    assert.equal(holdings.answered(second!.correlation, 150)?.id, "m-2");
  });

  it("the number of requests is limited, and expired ones make room while there is no leader", () => {
    const { holdings } = setting();
    for (let i = 0; i < LIMITS.stickyWaiting; i++) holdings.ask("Cart", `m-${i}`, 100, 0, 0, false);
    const more = (isFree: boolean) => holdings.ask("Cart", "m-more", 200, 150, 0, isFree);
    assert.throws(
      () => more(false),
      (error) => isLimpetError(error, "NOT_READY"),
    );
    assert.equal(more(true)?.id, "m-more");
  });

  it("a cached owner counts while that very incarnation is in the table", () => {
    const { holdings, listed, route } = setting();
    assert.equal(holdings.remember("Cart", "m-1", host("b")), true);
    assert.equal(route("m-1"), "b:1");
    assert.equal(holdings.cachedOwner("Cart", "m-1"), "b:1");
    listed.set("b:1", host("b", 2));
    assert.equal(holdings.cachedOwner("Cart", "m-1"), "m:1", "what the ring says");
    assert.equal(route("m-1"), WAIT);
    assert.deepEqual(holdings.figures.get("Cart"), { hits: 1, misses: 1, invalidations: 1 });
    assert.equal(holdings.remember("Cart", "m-1", host("b", 3)), false, "nobody here knows that one yet");
  });

  it("an owner is cached when it has run the actor, and forgotten when the actor is not there", () => {
    const { holdings, route } = setting();
    holdings.cacheOwner("Cart", "a-1", "b:1");
    assert.equal(route("a-1"), "b:1");
    holdings.forget("Cart", "a-1", "a:1");
    assert.equal(route("a-1"), "b:1", "another one was meant");
    holdings.forget("Cart", "a-1", "b:1");
    assert.equal(route("a-1"), "a:1");
    holdings.cacheOwner("Cart", "a-1", "nobody:1");
    assert.equal(route("a-1"), "a:1");
  });

  it("an owner is cached anew when another host has taken over its address", () => {
    const { holdings, listed } = setting();
    holdings.cacheOwner("Cart", "a-1", "b:1");
    listed.set("b:1", host("b", 2));
    assert.equal(holdings.cachedOwner("Cart", "a-1"), "a:1", "what the ring says");
    holdings.cacheOwner("Cart", "a-1", "b:1");
    assert.equal(holdings.cachedOwner("Cart", "a-1"), "b:1");
  });

  it("the number of cached owners is limited, and the oldest are forgotten", () => {
    const { holdings, route } = setting();
    for (let i = 0; i <= LIMITS.stickyRemembered; i++) holdings.remember("Cart", `a-${i}`, host("b"));
    assert.equal(route("a-0"), "a:1");
    assert.equal(route("a-1"), "b:1");
    assert.equal(route(`a-${LIMITS.stickyRemembered}`), "b:1");
  });

  it("held actors are claimed in chunks that fit a message, without the actors released meanwhile", () => {
    const { holdings } = setting();
    for (let i = 0; i < LIMITS.stickyChunk + 10; i++) holdings.hold("Cart", `m-${i}`, i);
    const long = "x".repeat(500);
    for (let i = 0; i < 1_000; i++) holdings.hold("Long", `${i}${long}`, 0);
    const sizes: number[] = [];
    let seen = 0;
    for (const { type, ids, since } of holdings.claims()) {
      if (sizes.length === 0) assert.ok(holdings.letGo("Cart", `m-${LIMITS.stickyChunk + 5}`));
      sizes.push(ids.length);
      assert.equal(ids.length, since.length);
      assert.ok(ids.length <= LIMITS.stickyChunk);
      assert.ok(ids.join("").length <= LIMITS.stickyChunkBytes);
      if (type === "Cart") seen += ids.length;
    }
    assert.equal(sizes[0], LIMITS.stickyChunk);
    assert.equal(seen, LIMITS.stickyChunk + 9);
    assert.ok(sizes.length > 4);
  });

  it("a host without its lease holds no sticky actors", () => {
    const { holdings, ask, route } = setting();
    holdings.hold("Cart", "a-1", 0);
    const request = ask("m-1");
    assert.equal(holdings.clear(), 1);
    assert.equal(route("a-1"), "a:1");
    assert.equal(holdings.answered(request!.correlation, 0), undefined);
    assert.deepEqual([...holdings.claims()], []);
  });
});

describe("a broken precondition", () => {
  it("a host does not request an actor that it holds", () => {
    const { holdings, ask } = setting();
    holdings.hold("Cart", "m-1", 7);
    const message = /an actor that it holds; Cart\/m-1: held, cached at -, request -; 1 held, 0 cached, 0 requested/;
    assert.throws(() => ask("m-1"), { code: "INVARIANT", message });
  });
});
