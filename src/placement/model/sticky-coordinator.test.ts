import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import type { Hello, HostMessage, SchedulerMessage, StickyAnswer } from "../../ports/control-messages.ts";
import type { Effect } from "./leader-effects.ts";
import { NamespaceController } from "./namespace-controller.ts";

const settings = {
  namespace: "default",
  term: 2,
  leaseMs: 10_000,
  roundTimeoutMs: 8_000,
  coalesceMs: 0,
  replicationFactor: 10,
  failover: "lease",
} as const;

type Word = Exclude<HostMessage, Hello>;

/**
 * A leader, and hosts that follow its orders. Streams are numbered from 1, and a host is known by that
 * number.
 */
class Leader {
  readonly controller: NamespaceController;
  readonly received = new Map<number, SchedulerMessage[]>();
  readonly events: string[] = [];
  now = 0;
  /** False: the hosts do not acknowledge orders, so that a round stays in progress. */
  acknowledges = true;
  #correlation = 0;

  constructor(members: readonly string[] = []) {
    const known = members.map((incarnation) => {
      return { incarnation, address: `${incarnation}:1`, types: ["Cart"], machine: "m", pid: 1 };
    });
    this.controller = new NamespaceController(settings, known, 10_000);
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.kind === "save") this.#perform(this.controller.saved(effect.host.incarnation, effect.types, this.now));
      if (effect.kind === "sticky") this.events.push(`${effect.event} ${effect.count}`);
      if (effect.kind === "close") this.events.push(`closed ${effect.stream}: ${effect.why}`);
      if (effect.kind !== "send") continue;
      for (const stream of effect.streams) {
        this.received.set(stream, [...(this.received.get(stream) ?? []), effect.message]);
        const { message } = effect;
        if (message.kind !== "order" || message.operation === "lock" || message.round === 0) continue;
        if (!this.acknowledges) continue;
        this.send(stream, { kind: "ack", operation: message.operation, round: message.round, types: message.types });
      }
    }
  }

  join(stream: number, name = `host-${stream}`, more: Partial<Hello> = {}): void {
    const hello: Hello = {
      kind: "hello",
      namespace: "default",
      replaces: undefined,
      machine: "m",
      pid: stream,
      unlocked: new Map(),
      incarnation: name,
      name,
      address: `${name}:1`,
      types: ["Cart"],
      sticky: new Map([["Cart", 0]]),
      ...more,
    };
    this.#perform(this.controller.hello(stream, hello, this.now));
  }

  send(stream: number, word: Word): void {
    this.#perform(this.controller.message(stream, word, this.now));
  }

  close(stream: number): void {
    this.#perform(this.controller.closed(stream, this.now));
  }

  pass(ms: number): void {
    this.now += ms;
    this.#perform(this.controller.tick(this.now));
  }

  claim(stream: number, ids: readonly string[]): void {
    const since = ids.map(() => 0);
    if (ids.length > 0) this.send(stream, { kind: "claims", part: 1, type: "Cart", ids, since });
    this.send(stream, { kind: "claimed" });
  }

  ask(stream: number, id: string, type = "Cart"): number {
    const correlation = ++this.#correlation;
    this.send(stream, { kind: "acquire", requests: [{ correlation, type, id, since: 0 }] });
    return correlation;
  }

  answer(stream: number, correlation: number): StickyAnswer | undefined {
    const answers = (this.received.get(stream) ?? []).flatMap((one) => (one.kind === "acquired" ? one.answers : []));
    return answers.findLast((one) => one.correlation === correlation);
  }

  /** `granted`, the name of the owner, the code of a refusal, or nothing yet. */
  outcome(stream: number, correlation: number): string | undefined {
    const answer = this.answer(stream, correlation);
    if (answer?.kind === "owner") return answer.host.name;
    return answer?.kind === "refused" ? answer.code : answer?.kind;
  }
}

function cluster(...names: readonly string[]): Leader {
  const leader = new Leader();
  for (const [i, name] of names.entries()) {
    leader.join(i + 1, name);
    leader.claim(i + 1, []);
  }
  return leader;
}

describe("the coordinator of sticky actors", () => {
  it("the coordinator gives an actor to the first host that asks, even if the ring names another one", () => {
    const leader = cluster("a", "b");
    for (let i = 0; i < 20; i++) assert.equal(leader.outcome(2, leader.ask(2, `id-${i}`)), "granted");
    for (let i = 0; i < 20; i++) assert.equal(leader.outcome(1, leader.ask(1, `id-${i}`)), "b");
    assert.equal(leader.events.filter((event) => event === "granted 1").length, 20);
  });

  it("the coordinator rejects types that are not sticky, and hosts without the type", () => {
    const leader = cluster("a");
    leader.join(2, "b", { types: ["Order"], sticky: new Map() });
    leader.claim(2, []);
    assert.equal(leader.outcome(2, leader.ask(2, "x", "Order")), "OPTION_INVALID");
    assert.equal(leader.outcome(2, leader.ask(2, "x", "Cart")), "NOT_READY");
    assert.equal(leader.outcome(1, leader.ask(1, "x")), "granted");
  });

  it("the coordinator answers many requests of a host in one message, or in chunks when they are too many", () => {
    const leader = cluster("a");
    const requests = Array.from({ length: LIMITS.stickyChunk + 1 }, (_, i) => {
      return { correlation: i, type: "Cart", id: `id-${i}`, since: 0 };
    });
    leader.send(1, { kind: "acquire", requests });
    const answers = leader.received.get(1)!.flatMap((one) => (one.kind === "acquired" ? [one.answers.length] : []));
    assert.deepEqual(answers, [LIMITS.stickyChunk, 1]);
  });

  it("requests wait until every host of an earlier leader has claimed its actors", () => {
    const leader = new Leader(["a", "b"]);
    leader.join(1, "a", { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) });
    leader.claim(1, ["mine"]);
    const [fresh, theirs] = [leader.ask(1, "fresh"), leader.ask(1, "theirs")];
    assert.equal(leader.outcome(1, fresh), undefined);
    leader.join(2, "b", { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) });
    assert.equal(leader.outcome(1, fresh), undefined);
    leader.claim(2, ["theirs"]);
    assert.equal(leader.outcome(1, fresh), "granted");
    assert.equal(leader.outcome(1, theirs), "b");
  });

  it("requests wait for the claims of a silent host until its lease is over", () => {
    const leader = new Leader(["a", "b"]);
    leader.join(1, "a", { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) });
    leader.claim(1, []);
    const fresh = leader.ask(1, "fresh");
    leader.send(1, { kind: "renew", sequence: 1, actors: 0 });
    leader.pass(9_000);
    leader.send(1, { kind: "renew", sequence: 2, actors: 0 });
    assert.equal(leader.outcome(1, fresh), undefined);
    leader.pass(1_001);
    assert.equal(leader.outcome(1, fresh), "granted");
  });

  it("the requests of a stream that has ended are dropped, because they come again on the next", () => {
    const leader = new Leader(["a", "b"]);
    const returns = { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) };
    leader.join(1, "a", returns);
    leader.claim(1, []);
    const lost = leader.ask(1, "x");
    assert.equal(leader.controller.sticky.waiting, 1);
    leader.close(1);
    assert.equal(leader.controller.sticky.waiting, 0);
    leader.join(2, "b", returns);
    leader.claim(2, []);
    assert.equal(leader.outcome(1, lost), undefined);
    assert.equal(leader.outcome(2, leader.ask(2, "x")), "granted");
  });

  it("the actors of a silent host stay with it until its lease is over, and are free then", () => {
    const leader = cluster("a", "b");
    leader.ask(1, "x");
    leader.close(1);
    assert.equal(leader.outcome(2, leader.ask(2, "x")), "a");
    leader.pass(5_000);
    leader.send(2, { kind: "renew", sequence: 1, actors: 0 });
    leader.pass(5_001);
    assert.equal(leader.outcome(2, leader.ask(2, "x")), "granted");
    assert.ok(leader.events.includes("cleared 1"));
  });

  it("a request waits for a host that hands over its types, and is answered when that host has let go", () => {
    const leader = cluster("a", "b");
    leader.ask(1, "x");
    // The host acknowledges before it has let go here, so that there is a moment in between.
    leader.send(1, { kind: "types", types: [], sticky: new Map([["Cart", 0]]) });
    const waits = leader.ask(2, "x");
    assert.equal(leader.outcome(2, waits), undefined);
    leader.send(1, { kind: "released", type: "Cart", ids: ["x"] });
    assert.equal(leader.outcome(2, waits), "granted");
  });

  it("a host must let go of claimed actors that another host was granted, and keeps the rest", () => {
    const leader = cluster("a", "b");
    leader.ask(1, "x");
    leader.join(3, "b");
    leader.claim(3, ["x", "y", "y"]);
    assert.deepEqual(
      leader.received.get(3)!.filter(({ kind }) => kind === "release"),
      [{ kind: "release", type: "Cart", ids: ["x"] }],
    );
    assert.equal(leader.outcome(1, leader.ask(1, "y")), "b");
    assert.equal(leader.outcome(3, leader.ask(3, "x")), "a");
  });

  it("a claim of an actor that was never granted makes the host its owner", () => {
    const leader = cluster("a", "b");
    leader.join(3, "b");
    leader.claim(3, ["never-granted"]);
    assert.equal(leader.outcome(1, leader.ask(1, "never-granted")), "b");
  });

  it("the coordinator acknowledges each chunk of claims", () => {
    const leader = cluster("a");
    leader.send(1, { kind: "claims", part: 7, type: "Cart", ids: ["x"], since: [0] });
    assert.deepEqual(leader.received.get(1)!.at(-2), { kind: "release", type: "Cart", ids: ["x"] });
    assert.deepEqual(leader.received.get(1)!.at(-1), { kind: "acknowledged", part: 7 });
  });

  it("a host that reports another rule for a type than its hosts is rejected, until those hosts are gone", () => {
    const leader = cluster("a");
    leader.join(2, "b", { sticky: new Map() });
    assert.match(leader.events.at(-1)!, /closed 2: Cart is sticky on the other hosts and not sticky here/);
    leader.join(3, "c", { sticky: new Map([["Cart", "never"]]) });
    assert.match(leader.events.at(-1)!, /closed 3: .* and sticky for ever here/);
    leader.send(1, { kind: "goodbye" });
    leader.join(4, "d", { sticky: new Map([["Cart", "never"]]) });
    leader.claim(4, []);
    assert.equal(leader.outcome(4, leader.ask(4, "x")), "granted");
  });

  it("a host that only has the table of a type does not count as its host", () => {
    const leader = new Leader(["a"]);
    const returns = { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) };
    leader.join(1, "caller", { ...returns, types: [], sticky: new Map() });
    leader.join(2, "a", returns);
    leader.claim(2, ["x"]);
    assert.deepEqual(
      leader.events.filter((event) => event.startsWith("closed")),
      [],
    );
    assert.equal(leader.outcome(2, leader.ask(2, "x")), "granted");
  });

  it("a new host with another rule for a type is evicted when the host that may hold its actors comes back", () => {
    const leader = new Leader(["a"]);
    leader.join(1, "new", { types: ["Cart", "Order"], sticky: new Map([["Order", 0]]) });
    leader.claim(1, []);
    assert.equal(leader.outcome(1, leader.ask(1, "o", "Order")), "granted");
    leader.join(2, "a", { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) });
    assert.match(leader.events.at(-1)!, /closed 1: Cart has hosts with another setting;/);
    // The host keeps actors of its other types until its lease is over.
    leader.join(3, "c", { types: ["Order"], sticky: new Map([["Order", 0]]) });
    leader.claim(3, []);
    const waits = leader.ask(3, "o", "Order");
    assert.equal(leader.outcome(3, waits), undefined);
    for (const stream of [2, 3]) leader.send(stream, { kind: "renew", sequence: 1, actors: 0 });
    leader.pass(9_999);
    for (const stream of [2, 3]) leader.send(stream, { kind: "renew", sequence: 2, actors: 0 });
    assert.equal(leader.outcome(3, waits), undefined);
    leader.pass(1);
    assert.equal(leader.outcome(3, waits), "granted");
  });

  it("actors reserved for a lost host go to the next host of its name, which is notified before others call it", () => {
    const never = { sticky: new Map([["Cart", "never" as const]]) };
    const leader = new Leader();
    leader.join(1, "a", never);
    leader.claim(1, []);
    leader.join(2, "b", never);
    leader.claim(2, []);
    leader.ask(1, "x");
    leader.close(1);
    leader.pass(5_000);
    leader.send(2, { kind: "renew", sequence: 1, actors: 0 });
    leader.pass(5_001);
    assert.equal(leader.outcome(2, leader.ask(2, "x")), "OWNER_AWAY");
    leader.join(3, "a-again", { ...never, name: "a" });
    const early = leader.ask(2, "x");
    assert.equal(leader.outcome(2, early), undefined, "it has not said what it holds");
    leader.claim(3, []);
    assert.equal(leader.outcome(2, early), "a");
    assert.deepEqual(leader.received.get(3)!.at(-1), { kind: "granted", type: "Cart", ids: ["x"] });
  });

  it("actors reserved for a lost host do not go back to it while the table of a round still lists it", () => {
    const never = { sticky: new Map([["Cart", "never" as const]]) };
    const leader = new Leader();
    for (const [stream, name] of [
      [1, "a"],
      [2, "b"],
    ] as const) {
      leader.join(stream, name, never);
      leader.claim(stream, []);
    }
    leader.ask(1, "x");
    leader.close(1);
    leader.pass(5_000);
    leader.send(2, { kind: "renew", sequence: 1, actors: 0 });
    leader.acknowledges = false;
    leader.join(3, "c", never);
    leader.claim(3, []);
    leader.pass(5_001);
    const newest = leader.received.get(2)!.findLast((message) => message.kind === "order" && message.tables.length > 0);
    assert.deepEqual(
      newest?.kind === "order" && newest.tables[0]!.hosts.map(({ name }) => name),
      ["a", "b", "c"],
      "the round with the lost host is still in progress",
    );
    assert.equal(leader.outcome(2, leader.ask(2, "x")), "OWNER_AWAY");
  });

  it("the coordinator rejects requests beyond the number that may wait", () => {
    const leader = new Leader(["a", "b"]);
    leader.join(1, "a", { unlocked: new Map([["Cart", { term: 1, number: 1 }]]) });
    leader.claim(1, []);
    for (let from = 0; from < LIMITS.stickyWaiting; from += 1_000) {
      const requests = Array.from({ length: 1_000 }, (_, i) => {
        return { correlation: from + i, type: "Cart", id: `id-${from + i}`, since: 0 };
      });
      leader.send(1, { kind: "acquire", requests });
    }
    leader.send(1, { kind: "acquire", requests: [{ correlation: 1e9, type: "Cart", id: "more", since: 0 }] });
    assert.equal(leader.outcome(1, 1e9), "NOT_READY");
  });
});

describe("a broken precondition", () => {
  it("a host requests actors only on its own stream", () => {
    const leader = new Leader();
    leader.join(1);
    const { sticky } = leader.controller;
    const message = /on its own stream; host host-1: member, stream 1, types \[Cart\], .*; 0 requests wait/;
    assert.throws(() => sticky.acquire(leader.controller.host("host-1")!, 2, [], 0), { code: "INVARIANT", message });
  });
});
