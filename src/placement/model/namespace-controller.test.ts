// A namespace on the leader, as stories: the messages of hosts, and line by line the leader's effects.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import type { TableVersion } from "../../kernel/versions.ts";
import type { Hello, HostMessage, Operation, SchedulerMessage, TypeTable } from "../../ports/control-messages.ts";
import type { KnownMember } from "./connection-controller.ts";
import { type Effect, NamespaceController, type NamespaceSettings } from "./namespace-controller.ts";

const LEASE_MS = 10_000;
const ROUND_MS = 8_000;
const COALESCE_MS = 100;

/**
 * Hosts are named by single letters. Rounds are shown from 1, versions without their term unless it is
 * another one.
 */
class Stage {
  readonly term: number;
  readonly room: NamespaceController;
  now = 0;
  /** Records are written at once, unless the story is about them. */
  writesNotes = true;

  constructor(members: readonly KnownMember[] = [], settings: Partial<NamespaceSettings> = {}) {
    this.term = settings.term ?? 1;
    this.room = new NamespaceController(
      {
        namespace: "n",
        term: this.term,
        leaseMs: LEASE_MS,
        roundTimeoutMs: ROUND_MS,
        coalesceMs: COALESCE_MS,
        replicationFactor: 10,
        failover: "lease",
        ...settings,
      },
      members,
      LEASE_MS,
    );
  }

  // ——— Inputs.

  #perform(effects: readonly Effect[]): string[] {
    const lines: string[] = [];
    for (const effect of effects) {
      lines.push(...this.#show(effect));
      if (effect.kind !== "save" || !this.writesNotes) continue;
      lines.push(...this.#perform(this.room.saved(effect.host.incarnation, effect.types, this.now)));
    }
    return lines;
  }

  hello(stream: number, incarnation: string, types: readonly string[], more: Partial<Hello> = {}): string[] {
    const hello: Hello = {
      kind: "hello",
      namespace: "n",
      incarnation,
      replaces: undefined,
      address: `${incarnation}:1`,
      name: `host ${incarnation}`,
      types,
      unlocked: new Map(),
      machine: "m",
      pid: 7,
      ...more,
    };
    return this.#perform(this.room.hello(stream, hello, this.now));
  }

  say(stream: number, message: Exclude<HostMessage, Hello>): string[] {
    return this.#perform(this.room.message(stream, message, this.now));
  }

  types(stream: number, ...types: string[]): string[] {
    return this.say(stream, { kind: "types", types });
  }

  ack(streams: readonly number[], operation: Operation, round: number, ...types: string[]): string[] {
    const message = { kind: "ack", operation, round: this.#firstRound + round, types } as const;
    return streams.flatMap((stream) => this.say(stream, message));
  }

  /** All hosts acknowledge a round at once. */
  follow(streams: readonly number[], round: number, ...types: string[]): string[] {
    return [...this.ack(streams, "update", round, ...types), ...this.ack(streams, "unlock", round, ...types)];
  }

  renew(...streams: number[]): string[] {
    return streams.flatMap((stream) => this.say(stream, { kind: "renew", sequence: 5, actors: 3 }));
  }

  closed(stream: number): string[] {
    return this.#perform(this.room.closed(stream, this.now));
  }

  saved(incarnation: string, ...types: string[]): string[] {
    return this.#perform(this.room.saved(incarnation, types, this.now));
  }

  handedOver(incarnation: string): string[] {
    return this.#perform(this.room.handedOver(incarnation, this.now));
  }

  dead(incarnation: string): string[] {
    return this.#perform(this.room.dead(incarnation, this.now));
  }

  wait(ms = COALESCE_MS): string[] {
    this.now += ms;
    return this.#perform(this.room.tick(this.now));
  }

  /** Hosts with these types, on streams 1, 2 …, in tables that have settled. */
  static settled(hosts: string, ...types: string[]): Stage {
    const stage = new Stage();
    const streams = [...hosts].map((incarnation, i) => {
      stage.hello(i + 1, incarnation, types);
      return i + 1;
    });
    for (let round = 1; round < 4; round++) {
      stage.follow(streams, round, ...types);
      stage.wait();
    }
    for (const { phase, finished } of stage.room.view().types) {
      assert.equal(phase, "settled");
      assert.equal(finished?.hosts.length, hosts.length);
    }
    return stage;
  }

  // ——— Effects as text.

  get #firstRound(): number {
    return this.term * 2 ** 24;
  }

  #version({ term, number }: TableVersion): string {
    return term === this.term ? `${number}` : `${number}@${term}`;
  }

  #table({ type, version, base, hosts }: TypeTable): string {
    const names = hosts.map(({ incarnation }) => incarnation).join("");
    return `${type} ${this.#version(version)}${base ? `/${this.#version(base)}` : ""} {${names}}`;
  }

  #message(message: SchedulerMessage): string | undefined {
    if (message.kind === "renewed") return `renewed ${message.sequence}`;
    if (message.kind !== "order") return message.kind;
    const { operation, round, types, tables } = message;
    if (round === 0) {
      // Only the middle of a snapshot has contents.
      if (operation !== "update") return undefined;
      return ["snapshot", ...tables.map((table) => this.#table(table)), ...types.map((type) => `${type}?`)].join(" ");
    }
    const what = operation === "update" ? tables.map((table) => this.#table(table)) : types;
    return [operation, round - this.#firstRound, ...what].join(" ");
  }

  #show(effect: Effect): string[] {
    switch (effect.kind) {
      case "send": {
        const message = this.#message(effect.message);
        return message === undefined ? [] : [`${message} → ${effect.streams}`];
      }
      case "close":
        return [`close ${effect.stream} ${effect.code}`];
      case "save":
        return [`save ${effect.host.incarnation} ${effect.types}`];
      case "drop":
        return [`drop ${effect.incarnation}`];
      case "began":
        return [];
      case "settled":
        return [`settled ${effect.type}`];
      case "sticky":
        return [`${effect.event} ${effect.count} ${effect.type}`];
      case "host":
        return [`${effect.host.incarnation} ${effect.event}`];
    }
  }

  phase(type: string): string | undefined {
    return this.room.view().types.find((controller) => controller.type === type)?.phase;
  }

  held(incarnation: string): string {
    return [...(this.room.view().hosts.find((host) => host.incarnation === incarnation)?.held ?? [])].sort().join();
  }
}

const memberOf = (incarnation: string, ...types: string[]): KnownMember => ({
  incarnation,
  address: `${incarnation}:1`,
  types,
  machine: "m",
  pid: 7,
});
const unlocked = (type: string, number: number, term = 1): { unlocked: Map<string, TableVersion> } => ({
  unlocked: new Map([[type, { term, number }]]),
});

describe("a new cluster", () => {
  it("the first host of a new cluster is recorded, and then has a table without any wait", () => {
    const stage = new Stage();
    stage.writesNotes = false;
    assert.deepEqual(stage.hello(1, "a", ["cart"]), ["a joined", "welcome → 1", "save a cart"]);
    assert.deepEqual(stage.wait(), []);
    // The first snapshot of a new host holds its own rings. No other host holds anything, so no
    // acknowledgement is needed.
    assert.deepEqual(stage.saved("a", "cart").at(-1), "snapshot cart 1 {a} → 1");
    assert.equal(stage.phase("cart"), "settled");
    assert.deepEqual(stage.wait(), []);
  });

  it("a host that joins others gets its snapshot when it is recorded, together with the round that names it", () => {
    const stage = Stage.settled("a", "cart");
    stage.writesNotes = false;
    assert.deepEqual(stage.hello(2, "b", ["cart", "room"]), ["b joined", "welcome → 2", "save b cart,room"]);
    assert.deepEqual(stage.saved("b", "cart", "room").at(-1), "settled room");
    assert.deepEqual(stage.wait(), [
      "lock 3 cart → 1",
      "update 3 cart 2/1 {ab} → 1",
      "snapshot cart 1 {a} room 1 {b} → 2",
      "lock 3 cart → 2",
      "update 3 cart 2/1 {ab} → 2",
    ]);
    assert.deepEqual(stage.ack([1], "update", 3, "cart"), [], "the new host is waited for as well");
    assert.deepEqual(stage.ack([2], "update", 3, "cart"), ["unlock 3 cart → 1,2"]);
  });

  it("a host that comes back gets its snapshot at once, also while its types are being recorded", () => {
    const stage = Stage.settled("ab", "cart");
    stage.writesNotes = false;
    stage.closed(2);
    assert.deepEqual(stage.hello(3, "b", ["cart", "room"], unlocked("cart", 2)), [
      ...["b returned", "welcome → 3", "save b cart,room", "snapshot cart 2/1 {ab} room? → 3"],
    ]);
    stage.types(1);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1,3", "update 3 cart 3/2 {b} → 1,3"], "it hears every round");
  });

  it("types that come together begin in one round, and each of them ends it by itself", () => {
    const stage = Stage.settled("a", "cart", "room");
    stage.hello(2, "b", ["cart", "room"]);
    const lines = stage.wait();
    assert.deepEqual(lines.slice(0, 2), ["lock 2 cart room → 1", "update 2 cart 2/1 {ab} room 2/1 {ab} → 1"]);
    assert.deepEqual(stage.ack([1, 2], "update", 2, "room"), ["unlock 2 room → 1,2"]);
    assert.deepEqual(stage.ack([1, 2], "unlock", 2, "room"), ["settled room"]);
    assert.equal(stage.phase("cart"), "updating");
    assert.deepEqual(stage.follow([1, 2], 2, "cart", "room"), ["unlock 2 cart → 1,2", "settled cart"]);
  });

  it("a type whose first host goes before it was recorded has an empty table", () => {
    const stage = new Stage();
    stage.writesNotes = false;
    stage.hello(2, "w", []);
    stage.hello(1, "a", ["cart"]);
    assert.deepEqual(stage.say(1, { kind: "goodbye" }), [
      "a removed",
      "drop a",
      "lock 1 cart → 2",
      "update 1 cart 1 {} → 2",
      "unlock 1 cart → 2",
      "settled cart",
    ]);
    assert.deepEqual(stage.saved("a", "cart"), ["drop a"]);
  });
});

describe("joins and leaves", () => {
  it("joins and leaves within the window become one round", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.hello(3, "c", ["cart"]);
    assert.deepEqual(stage.wait(), [
      ...["lock 2 cart → 1", "update 2 cart 2/1 {abc} → 1"],
      ...["snapshot cart 1 {a} → 2", "lock 2 cart → 2", "update 2 cart 2/1 {abc} → 2"],
      ...["snapshot cart 1 {a} → 3", "lock 2 cart → 3", "update 2 cart 2/1 {abc} → 3"],
    ]);
  });

  it("joins and leaves during a round become one round after it", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    stage.hello(3, "c", ["cart"]);
    stage.hello(4, "d", ["cart"]);
    stage.say(3, { kind: "goodbye" });
    assert.deepEqual(stage.wait(), []);
    stage.ack([1, 2], "update", 2, "cart");
    assert.deepEqual(stage.ack([1, 2], "unlock", 2, "cart"), [
      "settled cart",
      "lock 3 cart → 1,2,4",
      "update 3 cart 3/2 {abd} → 1,2,4",
    ]);
  });

  it("joins and leaves of one type do not touch another one, and their rounds run side by side", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.types(1, "cart");
    assert.deepEqual(stage.wait(), ["lock 3 room → 1,2", "update 3 room 3/2 {b} → 1,2"]);
    stage.types(2, "room");
    assert.deepEqual(stage.wait(), ["lock 4 cart → 1,2", "update 4 cart 3/2 {a} → 1,2"]);
    assert.deepEqual(stage.follow([1, 2], 4, "cart"), ["unlock 4 cart → 1,2", "settled cart", "save b room"]);
    assert.equal(stage.phase("room"), "updating");
    assert.deepEqual(stage.follow([1, 2], 3, "room"), ["unlock 3 room → 1,2", "settled room", "save a cart"]);
  });

  it("joins and leaves of one namespace are unknown to another", () => {
    const [one, other] = [new Stage(), new Stage([], { namespace: "other" })];
    one.hello(1, "a", ["cart"]);
    assert.deepEqual(other.room.view(), { hosts: [], types: [] });
    assert.deepEqual(other.say(1, { kind: "goodbye" }), []);
    assert.deepEqual(other.hello(1, "a", ["cart"]).at(-1), "snapshot cart 1 {a} → 1");
  });

  it("every round has a reason, for metrics", () => {
    const stage = Stage.settled("a", "cart");
    const effects = [...stage.room.dead("a", stage.now), ...stage.room.tick(stage.now + COALESCE_MS)];
    const began = effects.find(({ kind }) => kind === "began");
    assert.equal(began?.kind === "began" && began.reason, "lost");
  });
});

describe("an acknowledgement", () => {
  it("an acknowledgement counts for the round, the operation and the types it names, and for nothing else", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    for (const [operation, round, type] of [
      ["update", 1, "cart"],
      ["update", 3, "cart"],
      ["update", 2, "room"],
      ["unlock", 2, "cart"],
      ["lock", 2, "cart"],
    ] as const) {
      assert.deepEqual(stage.ack([1, 2], operation, round, type), []);
    }
    assert.deepEqual(stage.ack([1, 1, 1], "update", 2, "cart"), []);
    assert.deepEqual(stage.ack([2], "update", 2, "cart"), ["unlock 2 cart → 1,2"]);
  });

  it("an acknowledgement of a round of the previous leader fits no round of this one", () => {
    const stage = new Stage([memberOf("a", "cart")], { term: 2 });
    stage.hello(1, "a", ["cart"], unlocked("cart", 3));
    assert.deepEqual(stage.say(1, { kind: "ack", operation: "update", round: 2 ** 24 + 1, types: ["cart"] }), []);
    assert.equal(stage.phase("cart"), "updating");
  });

  it("an acknowledgement on a stream without a hello, or of a removed host, is ignored", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.wait();
    stage.ack([2], "update", 3, "cart");
    assert.deepEqual(stage.ack([9], "update", 3, "cart"), []);
    stage.hello(4, "a", ["cart"], unlocked("cart", 2));
    assert.deepEqual(stage.ack([1], "update", 3, "cart"), []);
    assert.deepEqual(stage.ack([4], "update", 3, "cart"), ["unlock 3 cart → 2,4"]);
  });
});

describe("a host without types", () => {
  it("a host without types receives all orders, and no round waits for it", () => {
    const stage = new Stage();
    assert.deepEqual(stage.hello(9, "w", []), ["w joined", "welcome → 9", "snapshot → 9"]);
    assert.deepEqual(stage.hello(1, "a", ["cart"]).slice(3), [
      ...["lock 1 cart → 9", "update 1 cart 1 {a} → 9", "unlock 1 cart → 9", "settled cart"],
      "snapshot cart 1 {a} → 1",
    ]);
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    assert.deepEqual(stage.ack([1, 2], "update", 2, "cart"), ["unlock 2 cart → 9,1,2"]);
    assert.deepEqual(stage.ack([1, 2], "unlock", 2, "cart"), ["settled cart"]);
    assert.deepEqual(stage.ack([9], "unlock", 2, "cart"), []);
  });

  it("a host without types is gone with its stream, without a write and without a round", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(9, "w", []);
    assert.deepEqual(stage.closed(9), ["w removed"]);
    assert.deepEqual(stage.wait(), []);
  });

  it("a host without types that does not renew is removed, and is notified", () => {
    const stage = new Stage();
    stage.hello(9, "w", []);
    stage.wait(LEASE_MS - 1);
    assert.deepEqual(stage.wait(1), ["w removed", "removed → 9"]);
    assert.deepEqual(stage.renew(9), []);
  });

  it("a host without types becomes a host of a type when it reports one", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", []);
    assert.deepEqual(stage.types(2, "cart"), ["save b cart"]);
    assert.deepEqual(stage.wait(), ["lock 2 cart → 1,2", "update 2 cart 2/1 {ab} → 1,2"]);
  });
});

describe("a silent host", () => {
  it("a silent host in a round loses only its stream; the round goes on when its lease is over", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    stage.hello(3, "c", ["cart"]);
    stage.wait();
    stage.ack([1, 3], "update", 3, "cart");
    stage.renew(1, 2, 3);
    // The leader repeats the orders to this host alone before it closes the stream.
    assert.deepEqual(stage.wait(ROUND_MS / 2), ["lock 3 cart → 2", "update 3 cart 3/2 {abc} → 2"]);
    assert.deepEqual(stage.wait(ROUND_MS / 2 - 1), []);
    assert.deepEqual(stage.wait(1), ["b evicted", "close 2 NOT_READY"]);
    assert.deepEqual(stage.renew(2), []);
    assert.deepEqual(stage.renew(1, 3), ["renewed 5 → 1", "renewed 5 → 3"]);
    assert.deepEqual(stage.wait(LEASE_MS - ROUND_MS - 1), []);
    assert.equal(stage.phase("cart"), "updating");
    assert.deepEqual(stage.wait(1), ["b removed", "drop b", "unlock 3 cart → 1,3"]);
    assert.deepEqual(stage.ack([1, 3], "unlock", 3, "cart"), [
      "settled cart",
      "lock 4 cart → 1,3",
      "update 4 cart 4/3 {ac} → 1,3",
    ]);
  });

  it("a host that does not acknowledge UNLOCK is sent UNLOCK again, of all types at once", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.types(1);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart", "room");
    stage.ack([1], "unlock", 3, "cart", "room");
    assert.deepEqual(stage.wait(ROUND_MS / 2), ["unlock 3 cart room → 2"]);
    assert.deepEqual(stage.ack([2], "unlock", 3, "cart", "room"), ["settled cart", "drop a", "settled room"]);
  });

  it("an evicted host is notified to start over, and the round goes on when it has", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    stage.types(1);
    stage.wait();
    stage.ack([1], "update", 3, "cart");
    stage.renew(1, 2);
    stage.wait(ROUND_MS);
    assert.deepEqual(stage.hello(5, "b", ["cart"], unlocked("cart", 2)), ["removed → 5"]);
    const lines = stage.hello(6, "B", ["cart"], { address: "b:1", replaces: "b" });
    assert.deepEqual(lines.slice(0, 4), ["b removed", "drop b", "unlock 3 cart → 1", "B joined"]);
    assert.equal(stage.phase("cart"), "unlocking");
  });

  it("the only host of a type may start over without an empty table in between", () => {
    const stage = Stage.settled("a", "cart");
    stage.writesNotes = false;
    stage.hello(2, "b", ["cart"], { replaces: "a", address: "a:1" });
    assert.deepEqual(stage.wait(), []);
    assert.deepEqual(stage.saved("b", "cart"), []);
    assert.deepEqual(stage.wait().at(-1), "snapshot cart 2/1 {b} → 2");
  });

  it("a silent host is evicted in every type, and no other host is", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.renew(1, 2);
    stage.types(1, "room");
    stage.wait();
    stage.ack([1], "update", 3, "cart");
    stage.renew(1, 2);
    assert.deepEqual(stage.wait(ROUND_MS), ["b evicted", "close 2 NOT_READY"]);
    // Its other types are given to others as well; they, too, wait for its lease.
    assert.deepEqual(stage.wait(), ["lock 4 room → 1", "update 4 room 3/2 {a} → 1"]);
    stage.ack([1], "update", 4, "room");
    assert.equal(stage.phase("room"), "updating");
    stage.renew(1);
    stage.wait(LEASE_MS - ROUND_MS - COALESCE_MS);
    assert.equal(stage.phase("room"), "unlocking");
    assert.equal(stage.phase("cart"), "unlocking");
  });

  it("a silent host stays in the tables while its lease lasts, and leaves them afterwards", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    assert.deepEqual(stage.closed(2), ["b suspect"]);
    stage.wait(LEASE_MS / 2);
    stage.renew(1);
    assert.deepEqual(stage.wait(LEASE_MS / 2 - 1), []);
    assert.deepEqual(stage.wait(1), ["b removed", "drop b"]);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
  });

  it("a host with a stream is notified when its lease is over", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    stage.wait(LEASE_MS / 2);
    stage.renew(1);
    assert.deepEqual(stage.wait(LEASE_MS / 2), ["b removed", "removed → 2", "drop b"]);
  });

  it("the leader does not wait for a silent host whose process is known to have ended", () => {
    const stage = Stage.settled("ab", "cart");
    stage.closed(2);
    assert.deepEqual(stage.dead("b"), ["b removed", "drop b"]);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
    assert.deepEqual(stage.dead("b"), []);
  });

  it("the leader does not wait for a silent host when it trusts a closed connection", () => {
    const stage = new Stage([], { failover: "fast" });
    stage.hello(1, "a", ["cart"]);
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    stage.ack([1], "update", 2, "cart");
    assert.deepEqual(stage.closed(2), ["b removed", "drop b", "unlock 2 cart → 1"]);
    assert.deepEqual(stage.hello(3, "b", ["cart"], unlocked("cart", 1)), ["removed → 3"]);
  });
});

describe("a host that returns during a round", () => {
  it("a host that returns during a round gets the last finished table and then the round, and its acknowledgement counts", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(1);
    stage.wait();
    stage.closed(2);
    assert.deepEqual(stage.hello(7, "b", ["cart"], unlocked("cart", 2)), [
      "b returned",
      "welcome → 7",
      "snapshot cart 2/1 {ab} → 7",
      "lock 3 cart → 7",
      "update 3 cart 3/2 {b} → 7",
    ]);
    assert.deepEqual(stage.ack([1, 7], "update", 3, "cart"), ["unlock 3 cart → 1,7"]);
  });

  it("a host that returns during a round gets UNLOCK, if it was sent", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(1);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.hello(7, "b", ["cart"], unlocked("cart", 2)).slice(-3), [
      "lock 3 cart → 7",
      "update 3 cart 3/2 {b} → 7",
      "unlock 3 cart → 7",
    ]);
    assert.deepEqual(stage.ack([1, 7], "unlock", 3, "cart").slice(0, 1), ["settled cart"]);
  });

  it("a host that returns before the end of its old stream is noticed has the old stream closed", () => {
    const stage = Stage.settled("a", "cart");
    assert.deepEqual(stage.hello(7, "a", ["cart"], unlocked("cart", 1)), [
      "close 1 PROTOCOL",
      "a returned",
      "welcome → 7",
      "snapshot cart 1 {a} → 7",
    ]);
    assert.deepEqual(stage.closed(1), []);
    assert.deepEqual(stage.renew(7), ["renewed 5 → 7"]);
  });

  it("the types of a host that returns with other ones change", () => {
    const stage = Stage.settled("ab", "cart");
    stage.closed(2);
    assert.ok(stage.hello(7, "b", ["room"], unlocked("cart", 2)).includes("save b cart,room"));
    assert.deepEqual(stage.wait(), ["lock 4 cart → 1,7", "update 4 cart 3/2 {a} → 1,7"]);
  });
});

describe("a goodbye", () => {
  it("a goodbye costs one round, which does not wait for the host", () => {
    const stage = Stage.settled("ab", "cart");
    assert.deepEqual(stage.say(2, { kind: "goodbye" }), ["b removed", "drop b"]);
    assert.deepEqual(stage.closed(2), []);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
  });

  it("a round goes on without a host that sends goodbye, in either half", () => {
    const stage = Stage.settled("abc", "cart");
    stage.types(1);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.say(3, { kind: "goodbye" }), ["c removed", "drop c", "unlock 3 cart → 1,2"]);
    stage.ack([1], "unlock", 3, "cart");
    stage.now += COALESCE_MS;
    assert.deepEqual(stage.say(2, { kind: "goodbye" }), [
      "b removed",
      "drop b",
      "settled cart",
      "drop a",
      "lock 4 cart → 1",
      "update 4 cart 4/3 {} → 1",
      "unlock 4 cart → 1",
      "settled cart",
    ]);
  });
});

describe("changes of types at run time", () => {
  it("new types of a host are recorded before they are granted, one write at a time", () => {
    const stage = Stage.settled("a", "cart");
    stage.writesNotes = false;
    assert.deepEqual(stage.types(1, "cart", "room"), ["save a cart,room"]);
    assert.deepEqual(stage.types(1, "cart", "room", "user"), []);
    assert.deepEqual(stage.wait(), []);
    assert.deepEqual(stage.saved("a", "cart", "room"), [
      "save a cart,room,user",
      "lock 2 room → 1",
      "update 2 room 1 {a} → 1",
    ]);
    assert.deepEqual(stage.saved("a", "cart", "room", "user"), ["lock 3 user → 1", "update 3 user 1 {a} → 1"]);
  });

  it("types given up stay in the record until a finished round has shown that no actor is left", () => {
    const stage = Stage.settled("ab", "cart", "room");
    assert.deepEqual(stage.types(2, "room"), []);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.ack([2], "unlock", 3, "cart"), []);
    assert.equal(stage.held("b"), "cart,room");
    assert.deepEqual(stage.ack([1], "unlock", 3, "cart"), ["settled cart", "save b room"]);
    assert.equal(stage.held("b"), "room");
  });

  it("types given up one after the other leave the record, although one write is still in progress", () => {
    const stage = Stage.settled("ab", "cart", "room", "user");
    stage.writesNotes = false;
    stage.types(2, "user");
    stage.wait();
    assert.deepEqual(stage.follow([1, 2], 3, "cart").slice(1), ["settled cart", "save b room,user"]);
    assert.deepEqual(stage.follow([1, 2], 3, "room").slice(1), ["settled room"]);
    assert.deepEqual(stage.saved("b", "room", "user"), ["save b user"]);
    assert.deepEqual(stage.saved("b", "user"), []);
    assert.equal(stage.held("b"), "user");
  });

  it("types given up before they were recorded leave the record when it is written", () => {
    const stage = Stage.settled("ab", "cart");
    stage.writesNotes = false;
    stage.hello(3, "c", ["cart"]);
    stage.types(3);
    assert.deepEqual(stage.saved("c", "cart"), ["drop c", "snapshot cart 2/1 {ab} → 3"]);
    assert.equal(stage.held("c"), "");
    assert.deepEqual(stage.wait(), []);
  });

  it("types given up after they were recorded, but before a round has begun, leave the record at once", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.hello(3, "c", ["cart", "room"]);
    assert.deepEqual(stage.types(3, "room"), ["save c room"]);
    stage.closed(3);
    assert.equal(stage.hello(4, "c", []).at(-1), "drop c");
    assert.deepEqual(stage.wait(), []);
  });

  it("types given up by a host that has no others leave no record", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.wait();
    assert.deepEqual(stage.follow([1, 2], 3, "cart"), ["unlock 3 cart → 1,2", "settled cart", "drop b"]);
    // The host has no types now.
    assert.deepEqual(stage.closed(2), ["b removed"]);
  });

  it("types given up by the home of some of their shards stay in its record until it has handed those over", () => {
    const stage = Stage.settled("ab", "cart");
    let isHome = true;
    stage.room.isHome = (incarnation) => incarnation === "b" && isHome;
    stage.types(2);
    stage.wait();
    assert.deepEqual(stage.follow([1, 2], 3, "cart"), ["unlock 3 cart → 1,2", "settled cart"]);
    assert.equal(stage.held("b"), "cart");
    // Its actors may run for as long as its lease lasts.
    assert.deepEqual(stage.closed(2), ["b suspect"]);
    assert.deepEqual(stage.handedOver("b"), []);
    isHome = false;
    assert.deepEqual(stage.handedOver("b"), ["drop b"]);
    assert.deepEqual(stage.handedOver("nobody"), []);
  });

  it("types given up and taken back in time cost nothing", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.types(2, "cart");
    assert.deepEqual(stage.wait(), []);
  });

  it("types taken back during the round that removes them lead to another one, without a write", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.wait();
    stage.types(2, "cart");
    stage.now += COALESCE_MS;
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.ack([1, 2], "unlock", 3, "cart"), [
      "settled cart",
      "lock 4 cart → 1,2",
      "update 4 cart 4/3 {ab} → 1,2",
    ]);
  });

  it("the number of types of a host is limited", () => {
    const stage = new Stage();
    const many = Array.from({ length: LIMITS.typesPerHost + 1 }, (_, i) => `type-${i}`);
    assert.deepEqual(stage.hello(1, "a", many), ["close 1 PROTOCOL"]);
    stage.hello(2, "b", ["cart"]);
    assert.deepEqual(stage.types(2, ...many), ["close 2 PROTOCOL"]);
    assert.equal(stage.held("b"), "cart");
  });

  it("a type without a host ends with an empty table", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(9, "w", []);
    stage.types(1);
    assert.deepEqual(stage.wait(), ["lock 2 cart → 1,9", "update 2 cart 2/1 {} → 1,9"]);
    assert.deepEqual(stage.follow([1], 2, "cart"), ["unlock 2 cart → 1,9", "settled cart", "drop a"]);
  });
});

describe("the address of a host", () => {
  it("an address has one host; another one is rejected until the first is gone", () => {
    const stage = Stage.settled("a", "cart");
    stage.renew(1);
    assert.deepEqual(stage.hello(2, "b", ["cart"], { address: "a:1" }), ["close 2 ADDRESS_IN_USE"]);
    stage.closed(1);
    assert.deepEqual(stage.hello(3, "b", ["cart"], { address: "a:1" }), ["close 3 ADDRESS_IN_USE"]);
    stage.wait(LEASE_MS);
    assert.equal(stage.hello(4, "b", ["cart"], { address: "a:1" })[0], "b joined");
  });

  it("an address is free at once for the incarnation that replaces its host", () => {
    const stage = Stage.settled("a", "cart");
    const lines = stage.hello(2, "A", ["cart"], { address: "a:1", replaces: "a" });
    assert.deepEqual(lines.slice(0, 3), ["a removed", "drop a", "A joined"]);
    assert.deepEqual(stage.wait().at(-1), "snapshot cart 2/1 {A} → 2");
  });

  it("an address is not freed by a host that replaces another one, or none", () => {
    const stage = Stage.settled("ab", "cart");
    for (const replaces of ["x", "c"]) {
      assert.deepEqual(stage.hello(3, "c", ["cart"], { address: "a:1", replaces }), ["close 3 ADDRESS_IN_USE"]);
    }
  });

  it("a new host at the address of an earlier one owns nothing: the leader withholds tables that list the earlier one", () => {
    const stage = Stage.settled("ab", "cart");
    stage.writesNotes = false;
    stage.say(2, { kind: "goodbye" });
    assert.deepEqual(stage.hello(3, "B", ["cart"], { address: "b:1" }), ["B joined", "welcome → 3", "save B cart"]);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
    // The new host would find its address in the finished table, and no round would wait for actors it then
    // holds.
    assert.deepEqual(stage.saved("B", "cart"), [
      ...["snapshot cart? → 3", "lock 3 cart → 3", "update 3 cart 3/2 {a} → 3"],
    ]);
  });

  it("a table of a round in progress that lists an earlier host at the address is withheld as well", () => {
    const stage = Stage.settled("ab", "cart");
    stage.writesNotes = false;
    stage.types(1);
    stage.wait();
    stage.say(2, { kind: "goodbye" });
    stage.hello(3, "B", ["cart"], { address: "b:1" });
    assert.deepEqual(stage.saved("B", "cart"), ["snapshot cart? → 3"]);
  });

  it("a host that reports types later needs an address, too", () => {
    const stage = new Stage();
    stage.hello(1, "a", [], { address: "nowhere:1" });
    assert.deepEqual(stage.types(1, "cart"), ["close 1 PROTOCOL"]);
    assert.equal(stage.held("a"), "");
  });
});

describe("an incarnation that was removed", () => {
  it("a removed incarnation that comes back with its tables is notified", () => {
    const stage = Stage.settled("ab", "cart");
    stage.dead("b");
    assert.deepEqual(stage.hello(7, "b", ["cart"], unlocked("cart", 2)), ["removed → 7"]);
  });

  it("a removed incarnation that comes back without types is notified while a table still lists it", () => {
    const stage = Stage.settled("ab", "cart");
    stage.dead("b");
    // The host drains: it has no types, but by its table it may hold actors, and no round waits for it.
    assert.deepEqual(stage.hello(7, "b", [], unlocked("cart", 2)), ["removed → 7"]);
  });

  it("a removed incarnation that comes back before it had a table is notified while a table lists it", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    stage.dead("b");
    assert.deepEqual(stage.hello(7, "b", ["cart"]), ["removed → 7"]);
  });

  it("messages of a removed incarnation are ignored", () => {
    const stage = Stage.settled("ab", "cart");
    stage.dead("b");
    assert.deepEqual(stage.renew(2), []);
    assert.deepEqual(stage.types(2, "room"), []);
  });
});

describe("a takeover", () => {
  const both = [memberOf("a", "cart"), memberOf("b", "cart")];
  const term = { term: 2 };

  it("a new leader decides nothing about a type until every member that may hold it has connected", () => {
    const stage = new Stage(both, term);
    assert.deepEqual(stage.hello(1, "a", ["cart"], unlocked("cart", 5)), [
      "a returned",
      "welcome → 1",
      "snapshot cart? → 1",
    ]);
    assert.equal(stage.phase("cart"), "closed");
    assert.deepEqual(stage.hello(2, "b", ["cart"], unlocked("cart", 5)).slice(-2), [
      "lock 1 cart → 1,2",
      "update 1 cart 6/5@1 {ab} → 1,2",
    ]);
  });

  it("a new leader goes on without members whose lease is over", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    stage.wait(LEASE_MS / 2);
    stage.renew(1);
    assert.deepEqual(stage.wait(LEASE_MS / 2 - 1), []);
    assert.deepEqual(stage.wait(1), ["b removed", "drop b", "lock 1 cart → 1", "update 1 cart 6/5@1 {a} → 1"]);
  });

  it("a new leader goes on at once without members whose process has ended, or that replaced themselves", () => {
    const stage = new Stage([...both, memberOf("c", "cart")], term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.deepEqual(stage.dead("b"), ["b removed", "drop b"]);
    const lines = stage.hello(3, "C", [], { address: "c:1", replaces: "c" });
    assert.deepEqual(lines.slice(0, 3), ["c removed", "drop c", "C joined"]);
    assert.equal(lines.at(-1), "update 1 cart 6/5@1 {a} → 1,3");
  });

  it("a new leader waits in a type for the members that may hold it, and in no other type", () => {
    const stage = new Stage([memberOf("a", "cart", "room"), memberOf("b", "cart")], term);
    const lines = stage.hello(1, "a", ["cart", "room"], unlocked("room", 2));
    assert.deepEqual(lines.slice(-2), ["lock 1 room → 1", "update 1 room 3/2@1 {a} → 1"]);
    assert.equal(stage.phase("cart"), "closed");
  });

  it("a first round has no base when members have unlocked different versions; numbers go on from the highest", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.equal(stage.hello(2, "b", ["cart"], unlocked("cart", 6)).at(-1), "update 1 cart 7 {ab} → 1,2");
  });

  it("a first round has no base when the same numbers come from different terms, or a member has unlocked none", () => {
    const stage = new Stage(both, { term: 3 });
    stage.hello(1, "a", ["cart"], unlocked("cart", 5, 1));
    assert.equal(stage.hello(2, "b", ["cart"], unlocked("cart", 5, 2)).at(-1), "update 1 cart 6 {ab} → 1,2");
    const other = new Stage(both, { term: 3 });
    other.hello(1, "a", ["cart"], unlocked("cart", 5, 1));
    assert.equal(other.hello(2, "b", ["cart"]).at(-1), "update 1 cart 6 {ab} → 1,2");
  });

  it("the base of a first round does not depend on members that are gone", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    stage.hello(2, "b", [], unlocked("cart", 6));
    const other = new Stage(both, term);
    other.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.equal(other.dead("b").at(-1), "update 1 cart 6/5@1 {a} → 1");
  });

  it("the first round waits for a member that has given the type up since, and then removes it from the record", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.equal(stage.hello(2, "b", [], unlocked("cart", 5)).at(-1), "update 1 cart 6/5@1 {a} → 1,2");
    assert.deepEqual(stage.ack([1], "update", 1, "cart"), []);
    assert.deepEqual(stage.ack([2], "update", 1, "cart"), ["unlock 1 cart → 1,2"]);
    assert.deepEqual(stage.ack([1, 2], "unlock", 1, "cart"), ["settled cart", "drop b"]);
  });

  it("a type whose hosts are all gone gets an empty table", () => {
    const stage = new Stage(both, term);
    stage.hello(9, "w", [], unlocked("cart", 5));
    stage.dead("a");
    assert.deepEqual(stage.dead("b").slice(-4), [
      "lock 1 cart → 9",
      "update 1 cart 1 {} → 9",
      "unlock 1 cart → 9",
      "settled cart",
    ]);
  });

  it("a new host waits for types that are not decided, and joins with the first round", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.deepEqual(stage.hello(3, "c", ["cart"]), ["c joined", "welcome → 3", "save c cart", "snapshot cart? → 3"]);
    assert.equal(stage.dead("b").at(-1), "update 1 cart 6 {ac} → 1,3");
  });

  it("no other host is admitted at the address of a member that the leader waits for", () => {
    const stage = new Stage(both, term);
    assert.deepEqual(stage.hello(1, "x", ["cart"], { address: "a:1" }), ["close 1 ADDRESS_IN_USE"]);
  });

  it("a new leader without members has nothing to wait for", () => {
    const stage = new Stage([], term);
    assert.equal(stage.hello(1, "a", ["cart"]).at(-1), "snapshot cart 1 {a} → 1");
  });
});

describe("a drain by an operator", () => {
  it("an operator can drain a host by address, name or incarnation", () => {
    const stage = Stage.settled("ab", "cart");
    for (const which of ["b:1", "host b", "b"]) {
      assert.deepEqual(stage.room.drain(which), [{ kind: "send", streams: [2], message: { kind: "drain" } }]);
    }
    assert.equal(stage.room.drain("nobody"), undefined);
    stage.closed(2);
    assert.equal(stage.room.drain("b"), undefined);
  });
});

describe("a renewal", () => {
  it("a renewal is answered with its sequence and records the number of actors", () => {
    const stage = Stage.settled("a", "cart");
    assert.deepEqual(stage.renew(1), ["renewed 5 → 1"]);
    assert.equal(stage.room.view().hosts[0]?.actors, 3);
    assert.equal(stage.room.view().hosts[0]?.leaseUntil, stage.now + LEASE_MS);
  });
});

describe("the next deadline", () => {
  it("the next deadline is the first of leases, windows and rounds", () => {
    const stage = new Stage();
    assert.equal(stage.room.deadline, Number.POSITIVE_INFINITY);
    stage.hello(1, "a", ["cart"]);
    assert.equal(stage.room.deadline, LEASE_MS);
    stage.hello(2, "b", ["cart"]);
    assert.equal(stage.room.deadline, COALESCE_MS);
    stage.wait();
    assert.equal(stage.room.deadline, stage.now + ROUND_MS / 2);
  });
});
