// The way of a call to other hosts, with tables and hosts that a test makes up.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Links, RemoteCaller } from "../ports/links.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import type { Placement } from "../ports/placement.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { Catalog } from "./catalog.ts";
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
function caller(answer: (caller: RemoteCaller, to: string) => void) {
  const settings = {
    namespace: "n",
    idleTimeoutMs: 1_000,
    callTimeoutMs: 1_000,
    mailboxLimit: 1,
    maxResident: 1,
    drainTimeoutMs: 0,
    storeTimeoutMs: 1_000,
  };
  const random = { number: () => 0, id: () => "me" };
  const catalog = new Catalog([], settings, {
    clock,
    random,
    log: silentLog,
    meter: silentMeter,
    store: new MemoryStore(),
  });
  const placement: Placement = {
    address: "me:1",
    problem: undefined,
    route: () => "owner:1",
    belief: () => ({ term: 1, version: 5, owner: "owner:1" }),
    ownerBefore: () => undefined,
    released: () => false,
    isSticky: () => false,
    inShards: () => undefined,
    learn() {},
    mistaken() {},
    isHost: () => true,
    hasHosts: () => true,
    left() {},
    mayBegin: () => true,
    mayCommit: () => true,
  };
  const links: Links = {
    call(to, _call, caller) {
      setImmediate(() => answer(caller, to));
      return () => {};
    },
    retain() {},
    async close() {},
  };
  const router = new Router(catalog, { placement, links, clock });
  catalog.join(router);
  return { router, call: () => catalog.send(catalog.target("Cart"), "a", "add", [], undefined, undefined) };
}

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
