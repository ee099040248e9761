// The hosts of a namespace on the leader: their admission, their leases, and the types they may hold.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Hello, NOWHERE } from "../../ports/control-messages.ts";
import { ConnectionController, type HostRecord } from "./connection-controller.ts";

const LEASE_MS = 10_000;

const helloOf = (incarnation: string, more: Partial<Hello> = {}): Hello => ({
  kind: "hello",
  namespace: "n",
  incarnation,
  replaces: undefined,
  address: `${incarnation}:1`,
  name: `host ${incarnation}`,
  types: ["cart"],
  unlocked: new Map(),
  machine: "m",
  pid: 7,
  ...more,
});

const UNLOCKED = new Map([["cart", { term: 1, number: 3 }]]);

class Stage {
  readonly connections = new ConnectionController(LEASE_MS);
  now = 0;

  hello(stream: number, incarnation: string, more?: Partial<Hello>) {
    return this.connections.hello(stream, helloOf(incarnation, more), this.now);
  }

  admit(stream: number, incarnation: string, more?: Partial<Hello>): HostRecord {
    const admission = this.hello(stream, incarnation, more);
    assert.equal(admission.kind, "welcome");
    const { host } = admission as Extract<typeof admission, { kind: "welcome" }>;
    host.isInformed = true;
    return host;
  }

  /** Admitted, and recorded. */
  member(stream: number, incarnation: string, more?: Partial<Hello>): HostRecord {
    const host = this.admit(stream, incarnation, more);
    host.state = "member";
    host.held = host.types;
    this.connections.refresh(host);
    return host;
  }

  expect(incarnation: string, types: readonly string[] = ["cart"]): void {
    const member = { incarnation, address: `${incarnation}:1`, types, machine: "m", pid: 7 };
    this.connections.expect(member, this.now + LEASE_MS);
  }

  eligible(type = "cart"): string[] {
    return [...this.connections.eligible(type).keys()];
  }
}

describe("the hello of a host", () => {
  it("a host is joining until its types are recorded, and no table lists it before", () => {
    const stage = new Stage();
    const host = stage.admit(1, "a");
    assert.equal(host.state, "joining");
    assert.deepEqual(stage.eligible(), []);
    host.state = "member";
    host.held = new Set(["cart"]);
    stage.connections.refresh(host);
    assert.deepEqual(
      [...stage.connections.eligible("cart").values()],
      [{ incarnation: "a", address: "a:1", name: "host a" }],
    );
    assert.equal(stage.connections.of(1), host);
    assert.equal(stage.connections.host("a"), host);
    assert.deepEqual(stage.connections.streams(), [1]);
    assert.equal(stage.connections.size, 1);
  });

  it("a host without types is a member at once, and holds nothing", () => {
    const stage = new Stage();
    const host = stage.admit(1, "a", { types: [] });
    assert.equal(host.state, "member");
    assert.deepEqual(stage.connections.holdersOf("cart"), []);
    assert.deepEqual(stage.connections.streams(), [1]);
  });

  it("a host is rejected while another host has its address, in any state", () => {
    const stage = new Stage();
    const first = stage.member(1, "a", { address: "x:1" });
    const refused = (): boolean => stage.hello(9, "b", { address: "x:1" }).kind === "refused";
    assert.ok(refused());
    stage.connections.closed(1);
    assert.equal(first.state, "suspect");
    assert.ok(refused());
    stage.connections.evict(first);
    assert.ok(refused());
    stage.connections.remove(first);
    assert.ok(!refused());
  });

  it("a host is rejected while a member with its address is expected", () => {
    const stage = new Stage();
    stage.expect("a");
    assert.equal(stage.hello(1, "b", { address: "a:1" }).kind, "refused");
  });

  it("a host with types needs an address; hosts that only call need none", () => {
    const stage = new Stage();
    assert.equal(stage.hello(1, "a", { address: NOWHERE }).kind, "refused");
    assert.equal(stage.hello(2, "b", { address: NOWHERE, types: [] }).kind, "welcome");
    assert.equal(stage.hello(3, "c", { address: NOWHERE, types: [] }).kind, "welcome");
    stage.connections.remove(stage.connections.host("b")!);
    assert.equal(stage.connections.size, 1);
  });

  it("a host with tables that is no member is notified that it was removed", () => {
    const stage = new Stage();
    assert.equal(stage.hello(1, "a", { unlocked: UNLOCKED }).kind, "removed");
    assert.equal(stage.connections.size, 0);
  });

  it("a host with tables may join without types, because every stream receives tables", () => {
    assert.equal(new Stage().hello(1, "a", { types: [], unlocked: UNLOCKED }).kind, "welcome");
  });
});

describe("the end of a stream", () => {
  it("the end of its stream makes a member suspect; it stays in the tables while its lease lasts", () => {
    const stage = new Stage();
    const host = stage.member(1, "a");
    assert.equal(stage.connections.closed(1), host);
    assert.equal(host.state, "suspect");
    assert.equal(host.stream, undefined);
    assert.deepEqual(stage.eligible(), ["a"]);
    assert.deepEqual(stage.connections.streams(), []);
    assert.deepEqual(stage.connections.expired(LEASE_MS - 1), []);
    assert.deepEqual(stage.connections.expired(LEASE_MS), [host]);
  });

  it("the end of a stream is reported once", () => {
    const stage = new Stage();
    stage.member(1, "a");
    stage.connections.closed(1);
    assert.equal(stage.connections.closed(1), undefined);
    assert.equal(stage.connections.closed(2), undefined);
  });

  it("the end of an old stream does not affect a host that has a newer one", () => {
    const stage = new Stage();
    stage.member(1, "a");
    const admission = stage.hello(2, "a");
    assert.ok(admission.kind === "welcome");
    assert.equal(admission.stale, 1);
    assert.deepEqual(stage.connections.streams(), [], "a stream hears no orders before its snapshot");
    admission.host.isInformed = true;
    assert.equal(stage.connections.closed(1), undefined);
    assert.equal(stage.connections.host("a")?.state, "member");
    assert.deepEqual(stage.connections.streams(), [2]);
  });
});

describe("a host that comes back", () => {
  it("a host that comes back with the same incarnation is a member again, with the lease it had", () => {
    const stage = new Stage();
    stage.member(1, "a");
    stage.connections.closed(1);
    stage.now = 4_000;
    const host = stage.admit(2, "a", { types: ["room"], unlocked: UNLOCKED });
    assert.equal(host.state, "member");
    assert.equal(host.leaseUntil, LEASE_MS);
    assert.deepEqual([...host.types], ["room"]);
    assert.deepEqual([...host.held], ["cart"]);
    assert.equal(host.unlocked, UNLOCKED);
    assert.equal(stage.connections.size, 1);
    assert.deepEqual(stage.eligible(), []);
  });

  it("a host that comes back before it was recorded is still in no table", () => {
    const stage = new Stage();
    stage.admit(1, "a").persisting = new Set(["cart"]);
    stage.connections.closed(1);
    stage.admit(2, "a");
    assert.deepEqual(stage.eligible(), []);
  });

  it("a host that comes back after it was evicted is notified to start over", () => {
    const stage = new Stage();
    stage.connections.evict(stage.member(1, "a"));
    const admission = stage.hello(2, "a", { unlocked: UNLOCKED });
    assert.equal(admission.kind, "removed");
    assert.equal(stage.connections.of(2), undefined);
  });

  it("a host that comes back with another address is rejected", () => {
    const stage = new Stage();
    stage.member(1, "a");
    assert.equal(stage.hello(2, "a", { address: "elsewhere:1" }).kind, "refused");
    assert.deepEqual(stage.connections.streams(), [1]);
  });
});

describe("a lease", () => {
  it("a lease counts on the leader from its answer", () => {
    const stage = new Stage();
    const host = stage.member(1, "a");
    assert.equal(host.leaseUntil, LEASE_MS);
    assert.equal(stage.connections.renew(host, 12, 3_000), true);
    assert.equal(host.leaseUntil, 3_000 + LEASE_MS);
    assert.equal(host.actors, 12);
    assert.equal(stage.connections.deadline, 3_000 + LEASE_MS);
  });

  it("the lease of an evicted host is not renewed", () => {
    const stage = new Stage();
    const host = stage.member(1, "a");
    stage.connections.evict(host);
    assert.equal(stage.connections.renew(host, 0, 3_000), false);
    assert.equal(host.leaseUntil, LEASE_MS);
    assert.deepEqual(stage.eligible(), []);
    assert.deepEqual(stage.connections.holdersOf("cart"), [host]);
    assert.deepEqual(stage.connections.streams(), []);
  });

  it("the lease that ends first sets the deadline", () => {
    const stage = new Stage();
    assert.equal(stage.connections.deadline, Number.POSITIVE_INFINITY);
    stage.connections.renew(stage.member(1, "a"), 0, 5_000);
    stage.connections.renew(stage.member(2, "b"), 0, 2_000);
    assert.equal(stage.connections.deadline, 12_000);
  });
});

describe("a member that an earlier leader recorded", () => {
  it("a member that an earlier leader recorded is in no table until it has connected", () => {
    const stage = new Stage();
    stage.expect("a");
    assert.equal(stage.connections.host("a")?.state, "expected");
    assert.deepEqual(stage.eligible(), []);
    assert.equal(stage.connections.isKnown("cart"), false);
    assert.deepEqual(
      stage.connections.holdersOf("cart").map(({ incarnation }) => incarnation),
      ["a"],
    );
    stage.admit(1, "a", { unlocked: UNLOCKED });
    assert.deepEqual(stage.eligible(), ["a"]);
    assert.equal(stage.connections.isKnown("cart"), true);
  });

  it("the leader waits for an expected member in no other type", () => {
    const stage = new Stage();
    stage.expect("a", ["room"]);
    assert.equal(stage.connections.isKnown("cart"), true);
    assert.equal(stage.connections.isKnown("room"), false);
  });

  it("a member that comes back without a type may still hold actors of it", () => {
    const stage = new Stage();
    stage.expect("a");
    stage.admit(1, "a", { types: [], unlocked: UNLOCKED });
    assert.deepEqual(stage.eligible(), []);
    assert.deepEqual(
      stage.connections.holdersOf("cart").map(({ incarnation }) => incarnation),
      ["a"],
    );
  });
});

describe("the known holders of a type", () => {
  it("the holders of a type are unknown while its first host is being recorded", () => {
    const stage = new Stage();
    assert.equal(stage.connections.isKnown("cart"), true);
    const host = stage.admit(1, "a");
    assert.equal(stage.connections.isKnown("cart"), false);
    host.held = host.types;
    host.state = "member";
    stage.connections.refresh(host);
    assert.equal(stage.connections.isKnown("cart"), true);
    stage.admit(2, "b");
    assert.equal(stage.connections.isKnown("cart"), true);
  });
});

describe("a broken precondition", () => {
  it("a host is neither evicted nor removed twice", () => {
    const stage = new Stage();
    const host = stage.member(1, "a");
    stage.connections.evict(host);
    const state = /a host is evicted once; host a: evicted, stream -, types \[cart\], held \[cart\], saving -/;
    assert.throws(() => stage.connections.evict(host), { code: "INVARIANT", message: state });
    stage.connections.remove(host);
    const removed = /only a known host is removed; host a: evicted/;
    assert.throws(() => stage.connections.remove(host), { code: "INVARIANT", message: removed });
  });

  it("the record of a host before it came back cannot change any more", () => {
    const stage = new Stage();
    const before = stage.member(1, "a");
    stage.admit(2, "a", { unlocked: UNLOCKED });
    const stale = { code: "INVARIANT", message: /only a known host is evicted; host a: member, stream 1/ };
    assert.throws(() => stage.connections.evict(before), stale);
  });

  it("a host that is known cannot be expected", () => {
    const stage = new Stage();
    stage.member(1, "a");
    assert.throws(() => stage.expect("a"), {
      code: "INVARIANT",
      message: /only an unknown host is expected; host a: member/,
    });
  });
});
