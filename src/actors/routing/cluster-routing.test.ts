// Routing of calls to other hosts, with tables and hosts made up by the tests.
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
import { ClusterRouting } from "./cluster-routing.ts";

/** Deferred work runs at once, and background work never. */
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
  const routing = new ClusterRouting(catalog, { placement, links, clock: time });
  catalog.join(routing);
  const call = (id = "a") => catalog.calls.call("Cart", id, "add", [], undefined);
  return { routing, call };
}

/** The same, with all actors in one shard, and hosts that answer on command of the test. */
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
  it("a call to a moved shard waits for the calls that its leaving former home rejects late", async () => {
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

  it("a call to a moved shard continues when the connection to the former home is lost", async () => {
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

  it("a call does not follow earlier calls to a host that will reject them", async () => {
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

describe("calls over one connection", () => {
  const ownership = { term: 1, version: 5, owner: "owner:1" };
  const came = { namespace: "n", type: "Cart", id: "a", method: "add", args: [], timeoutMs: 10_000 };

  it("a call behind a rejected one to the same shard is rejected, until its caller has received the rejection", async (t) => {
    const { routing, place, sent, settle } = shardedCaller();
    t.after(() => routing.close());
    const answers: string[] = [];
    const serve = (name: string, hops: number, line: object) =>
      routing.inbound.serve(
        { ...came, hops, passOn: false, causes: [] },
        {
          value: () => void answers.push(`${name} ran`),
          error: (error) => void answers.push(`${name}: ${error}`),
          notOwner: (answered) => void answers.push(`${name} went back ${answered.owner === ownership.owner}`),
        },
        line,
      );
    const line = {};
    serve("one", 0, line);
    await settle();
    assert.deepEqual(answers, ["one went back true"]);
    // From now on calls wait here until their route is known.
    Object.assign(place, { home: WAIT });
    serve("two", 0, line);
    await settle();
    assert.deepEqual(answers.slice(1), ["two went back true"]);
    serve("three", 0, {});
    serve("one again", 1, line);
    serve("four", 0, line);
    await settle();
    assert.equal(answers.length, 2, "these wait");
    assert.equal(routing.waiting, 3);
    assert.equal(sent.length, 0);
  });
});

describe("a rejected call", () => {
  it("a call rejected by a host with an older table waits until that table is as new", async () => {
    let asked = 0;
    const { call } = caller((its) => {
      if (++asked < 100) its.notOwner({ term: 1, version: 4, owner: "former:1" });
      else its.value("done");
    });
    assert.equal(await call(), "done");
    assert.equal(asked, 100);
  });

  it("a call rejected by hosts with newer tables follows them, up to a limit", async () => {
    const asked: string[] = [];
    const { call } = caller((its, to) => {
      asked.push(to);
      its.notOwner({ term: 1, version: 5 + asked.length, owner: `host-${asked.length}:1` });
    });
    await assert.rejects(call(), { code: "NOT_SETTLED" });
    assert.deepEqual(asked.slice(0, 3), ["owner:1", "host-1:1", "host-2:1"]);
    assert.equal(asked.length, 17);
  });

  it("a rejected call that cannot be sent is retried until this process stops", async () => {
    let asked = 0;
    const { call, routing } = caller((its) => {
      if (++asked === 3) routing.close();
      its.unsent(new LimpetError("UNREACHABLE", "nobody is there"));
    });
    await assert.rejects(call(), { code: "STOPPING" });
    assert.equal(asked, 3);
    assert.equal(routing.waiting, 0);
  });
});
