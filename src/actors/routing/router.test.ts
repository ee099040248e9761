// The way of a call to other hosts, with tables and hosts that a test makes up.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Links, RemoteCaller } from "../../ports/links.ts";
import { silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import { type Placement, type Route, WAIT } from "../../ports/placement.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { Catalog } from "../catalog.ts";
import { Router } from "./router.ts";

/** Whatever is put off happens at once, and what is done in the background never. */
const clock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after(_ms, fn, background) {
    const timer = background === undefined ? setImmediate(fn) : undefined;
    return { cancel: () => clearImmediate(timer) };
  },
  soon: (fn) => void setImmediate(fn),
};

/** A process without actors whose table, in version 5, gives every actor to another host. */
function caller(
  answer: (caller: RemoteCaller, to: string) => void,
  { clock: time = clock, ...more }: Partial<Placement> & { readonly clock?: Clock } = {},
) {
  const settings = {
    namespace: "n",
    idleTimeoutMs: 1_000,
    callTimeoutMs: 10_000,
    mailboxLimit: 1,
    maxResident: 1,
    drainTimeoutMs: 0,
    storeTimeoutMs: 1_000,
  };
  const random = { number: () => 0, id: () => "me" };
  const catalog = new Catalog([], settings, {
    clock: time,
    random,
    log: silentLog,
    meter: silentMeter,
    store: new MemoryStore(),
  });
  const placement: Placement = {
    address: "me:1",
    problem: undefined,
    route: () => "owner:1",
    cachedOwner: () => ({ term: 1, version: 5, owner: "owner:1" }),
    ownerBefore: () => undefined,
    released: () => false,
    isSticky: () => false,
    inShards: () => undefined,
    cacheOwner() {},
    invalidateOwner() {},
    isHost: () => true,
    hasHosts: () => true,
    hostsOf: () => ["owner:1"],
    hostedTypes: () => ["Cart"],
    left() {},
    mayBegin: () => true,
    mayCommit: () => true,
    ...more,
  };
  const links: Links = {
    call(to, _call, caller) {
      setImmediate(() => answer(caller, to));
      return () => {};
    },
    retain() {},
    async close() {},
  };
  const router = new Router(catalog, { placement, links, clock: time });
  catalog.join(router);
  const call = (id = "a") => catalog.send(catalog.target("Cart"), id, "add", [], undefined, undefined);
  return { router, call };
}

/** The same, with all actors in one shard, and hosts that answer when a test says so. */
function shardedCaller(time: Clock = clock) {
  const place: { home: Route; hosts: string[] } = { home: "old:1", hosts: ["old:1", "new:1"] };
  const sent: { readonly to: string; readonly its: RemoteCaller }[] = [];
  const made = caller((its, to) => void sent.push({ to, its }), {
    clock: time,
    inShards: () => ({ shardOf: () => 7, route: () => place.home }),
    isSticky: () => true,
    isHost: (_type, address) => place.hosts.includes(address),
  });
  const settle = async () => {
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...made, place, sent, settle, addresses: () => sent.map(({ to }) => to) };
}

describe("calls to a shard that has moved", () => {
  it("wait for what its former home, which leaves, sends back late", async () => {
    const time = new VirtualClock();
    const { call, place, sent, settle, addresses } = shardedCaller(time);
    const first = call();
    await settle();
    Object.assign(place, { home: "new:1", hosts: ["new:1"] });
    const second = call();
    await time.advance(5_000);
    assert.deepEqual(addresses(), ["old:1"]);
    sent[0]!.its.notOwner({ term: 1, version: 6, owner: "new:1" });
    await settle();
    assert.deepEqual(addresses(), ["old:1", "new:1", "new:1"]);
    sent[1]!.its.value("first");
    sent[2]!.its.value("second");
    assert.deepEqual(await Promise.all([first, second]), ["first", "second"]);
  });

  it("go on when the connection to its former home is lost", async () => {
    const { call, place, sent, settle, addresses } = shardedCaller(new VirtualClock());
    const first = call();
    first.catch(() => {});
    await settle();
    Object.assign(place, { home: "new:1", hosts: ["new:1"] });
    const second = call();
    await settle();
    sent[0]!.its.lost(new LimpetError("ANSWER_LOST", "the connection was lost"));
    await settle();
    assert.deepEqual(addresses(), ["old:1", "new:1"]);
    await assert.rejects(first, { code: "ANSWER_LOST" });
    sent[1]!.its.value("second");
    assert.equal(await second, "second");
  });

  it("do not follow to a host those that it will send back", async () => {
    const { call, sent, settle, addresses } = shardedCaller();
    const calls = [call(), call()];
    await settle();
    sent[0]!.its.notOwner({ term: 1, version: 5, owner: undefined });
    calls.push(call());
    await settle();
    assert.deepEqual(addresses(), ["old:1", "old:1"]);
    sent[1]!.its.notOwner({ term: 1, version: 5, owner: undefined });
    await settle();
    assert.deepEqual(addresses(), Array(5).fill("old:1"));
    for (const [i, { its }] of sent.slice(2).entries()) its.value(i);
    assert.deepEqual(await Promise.all(calls), [0, 1, 2]);
  });
});

describe("calls that come over one line", () => {
  const belief = { term: 1, version: 5, owner: "owner:1" };
  const came = { namespace: "n", type: "Cart", id: "a", method: "add", args: [], timeoutMs: 10_000 };

  it("are sent back behind one to the same shard that was, until their caller has heard of it", async (t) => {
    const { router, place, sent, settle } = shardedCaller();
    t.after(() => router.close());
    const answers: string[] = [];
    const serve = (name: string, hops: number, line: object) =>
      router.serve(
        { ...came, hops, passOn: false, causes: [] },
        {
          value: () => void answers.push(`${name} ran`),
          error: (error) => void answers.push(`${name}: ${error}`),
          notOwner: (told) => void answers.push(`${name} went back ${told.owner === belief.owner}`),
        },
        line,
      );
    const line = {};
    serve("one", 0, line);
    await settle();
    assert.deepEqual(answers, ["one went back true"]);
    // From now on calls stay here until it is clear where they go.
    Object.assign(place, { home: WAIT });
    serve("two", 0, line);
    await settle();
    assert.deepEqual(answers.slice(1), ["two went back true"]);
    serve("three", 0, {});
    serve("one again", 1, line);
    serve("four", 0, line);
    await settle();
    assert.equal(answers.length, 2, "these wait");
    assert.equal(router.waiting, 3);
    assert.equal(sent.length, 0);
  });
});

describe("a call that is turned away", () => {
  it("by a host that knows less waits until it knows as much, however often it asks", async () => {
    let asked = 0;
    const { call } = caller((its) => {
      if (++asked < 100) its.notOwner({ term: 1, version: 4, owner: "former:1" });
      else its.value("done");
    });
    assert.equal(await call(), "done");
    assert.equal(asked, 100);
  });

  it("by hosts that know more follows them, up to a limit", async () => {
    const asked: string[] = [];
    const { call } = caller((its, to) => {
      asked.push(to);
      its.notOwner({ term: 1, version: 5 + asked.length, owner: `host-${asked.length}:1` });
    });
    await assert.rejects(call(), { code: "NOT_SETTLED" });
    assert.deepEqual(asked.slice(0, 3), ["owner:1", "host-1:1", "host-2:1"]);
    assert.equal(asked.length, 17);
  });

  it("and cannot be sent is sent again, until this process stops", async () => {
    let asked = 0;
    const { call, router } = caller((its) => {
      if (++asked === 3) router.close();
      its.unsent(new LimpetError("UNREACHABLE", "nobody is there"));
    });
    await assert.rejects(call(), { code: "STOPPING" });
    assert.equal(asked, 3);
    assert.equal(router.waiting, 0);
  });
});
