// Orders on a host: the owners of actors, the allowed activations, and the acknowledgements.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TableVersion } from "../../kernel/versions.ts";
import type { PlacementOrder, TypeTable } from "../../ports/control-messages.ts";
import { HERE, NOBODY, type Route, WAIT } from "../../ports/placement.ts";
import { HostTables, type TablesEffect } from "./host-tables.ts";
import { Ring } from "./ring.ts";

const FACTOR = 10;
const [A, B, C] = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"] as const;

/** An id with this owner among some hosts, and with that one among others. */
function idOf(...owners: readonly (readonly [owner: string, among: readonly string[]])[]): string {
  const rings = owners.map(([owner, among]) => ({ owner, ring: Ring.of(among, FACTOR) }));
  for (let i = 0; i < 10_000; i++) {
    const id = `id-${i}`;
    if (rings.every(({ owner, ring }) => ring.owner(id) === owner)) return id;
  }
  return assert.fail("no such id");
}

const tableOf = (
  type: string,
  version: TableVersion,
  addresses: readonly string[],
  base?: TableVersion,
): TypeTable => ({
  type,
  version,
  base,
  hosts: addresses.map((address) => ({ address, incarnation: `of ${address}`, name: "" })),
});

/** The host at A, and a leader that sends orders to it. */
class Stage {
  readonly tables = new HostTables(A);
  term = 1;

  order(
    operation: PlacementOrder["operation"],
    round: number,
    types: readonly string[],
    tables: readonly TypeTable[] = [],
  ) {
    return this.tables.order(
      { kind: "order", operation, namespace: "n", term: this.term, round, types, tables, replicationFactor: FACTOR },
      77,
    );
  }

  snapshot(tables: readonly TypeTable[], undecided: readonly string[] = []): TablesEffect[] {
    return [
      ...this.order("lock", 0, []),
      ...this.order("update", 0, undecided, tables),
      ...this.order("unlock", 0, []),
    ];
  }

  update(round: number, ...tables: readonly TypeTable[]): TablesEffect[] {
    return this.order(
      "update",
      round,
      tables.map(({ type }) => type),
      tables,
    );
  }

  /** The LOCK and UPDATE of a round. */
  begin(round: number, ...tables: readonly TypeTable[]): TablesEffect[] {
    return [
      ...this.order(
        "lock",
        round,
        tables.map(({ type }) => type),
      ),
      ...this.update(round, ...tables),
    ];
  }

  unlock(round: number, ...types: readonly string[]): TablesEffect[] {
    return this.order("unlock", round, types);
  }

  routes(ids: readonly string[], type = "cart"): Route[] {
    return ids.map((id) => this.tables.route(type, id));
  }
}

const v = (number: number, term = 1): TableVersion => ({ term, number });
const without = (effects: readonly TablesEffect[]): TablesEffect[] => effects.filter(({ kind }) => kind !== "applied");
const acks = (effects: readonly TablesEffect[]): string[] =>
  effects.flatMap((effect) =>
    effect.kind === "ack" ? [`${effect.message.operation} ${effect.message.round} ${effect.message.types}`] : [],
  );

describe("a host without orders", () => {
  it("a host without orders lets every call wait", () => {
    const { tables } = new Stage();
    assert.equal(tables.route("cart", "x"), WAIT);
    assert.equal(tables.informed, false);
    assert.equal(tables.owner("cart", "x"), undefined);
    assert.deepEqual(tables.version("cart"), { term: 0, number: 0 });
    assert.equal(tables.hasAll(["cart"]), false);
    assert.equal(tables.hasAll([]), true);
    assert.deepEqual(tables.view("cart"), { version: { term: 0, number: 0 }, since: undefined, locked: false });
  });
});

describe("a snapshot", () => {
  it("a snapshot is in force at once and is not acknowledged", () => {
    const stage = new Stage();
    const effects = stage.snapshot([tableOf("cart", v(3), [A, B]), tableOf("room", v(9), [B])]);
    assert.deepEqual(without(effects), [
      { kind: "changed", types: [] },
      { kind: "drain", round: 0, types: ["cart", "room"] },
    ]);
    assert.deepEqual(stage.tables.drained(0, ["cart", "room"]), []);
    const [here, there] = [idOf([A, [A, B]]), idOf([B, [A, B]])];
    assert.deepEqual(stage.routes([here, there]), [HERE, B]);
    assert.equal(stage.tables.route("room", here), B);
    assert.equal(stage.tables.hasAll(["cart"]), true);
    assert.deepEqual(
      stage.tables.unlocked(),
      new Map([
        ["cart", v(3)],
        ["room", v(9)],
      ]),
    );
    assert.deepEqual(
      stage.tables.hosts("cart").map(({ address }) => address),
      [A, B],
    );
    assert.deepEqual(stage.tables.addresses(), new Set([A, B]));
    assert.deepEqual(stage.tables.view("cart"), { version: v(3), since: 77, locked: false });
  });

  it("an empty snapshot means that no type has a host", () => {
    const stage = new Stage();
    stage.snapshot([]);
    assert.equal(stage.tables.informed, true);
    assert.equal(stage.tables.route("cart", "x"), NOBODY);
  });

  it("a snapshot lets calls wait for types that have no table yet", () => {
    const stage = new Stage();
    stage.snapshot([], ["cart"]);
    assert.equal(stage.tables.route("cart", "x"), WAIT);
    assert.equal(stage.tables.route("room", "x"), NOBODY);
    assert.equal(stage.tables.hasAll(["cart"]), false);
    assert.equal(stage.tables.unlocked().size, 0);
  });

  it("a snapshot keeps the table of a type that a new leader has not decided yet", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(3), [A, B])]);
    stage.term = 2;
    stage.snapshot([], ["cart"]);
    assert.equal(stage.tables.route("cart", idOf([A, [A, B]])), HERE);
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(3));
  });

  it("a snapshot ends types that it does not list, and their actors here are let go", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(3), [A, B])]);
    stage.begin(7, tableOf("room", v(1), [B]));
    stage.term = 2;
    const effects = stage.snapshot([tableOf("user", v(1, 2), [A])]);
    assert.deepEqual(without(effects).at(-1), { kind: "drain", round: 0, types: ["user", "cart", "room"] });
    for (const type of ["cart", "room"]) {
      assert.equal(stage.tables.route(type, "x"), NOBODY);
      assert.equal(stage.tables.owner(type, "x"), undefined);
    }
    assert.deepEqual([...stage.tables.unlocked().keys()], ["user"]);
  });

  it("a snapshot settles a type whose UNLOCK was missed", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [B])]);
    stage.begin(7, tableOf("cart", v(2), [A], v(1)));
    assert.equal(stage.tables.route("cart", "x"), WAIT);
    stage.snapshot([tableOf("cart", v(2), [A], v(1))]);
    assert.equal(stage.tables.route("cart", "x"), HERE);
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(2));
    assert.equal(stage.tables.view("cart").locked, false);
  });

  it("a snapshot settles a type after a whole round was missed", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [B])]);
    stage.begin(7, tableOf("cart", v(2), [B, C], v(1)));
    stage.snapshot([tableOf("cart", v(3), [A], v(2))]);
    assert.equal(stage.tables.route("cart", "x"), HERE);
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(3));
  });

  it("a snapshot does not settle a round that is still in progress", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [B])]);
    stage.begin(7, tableOf("cart", v(2), [A], v(1)));
    stage.snapshot([tableOf("cart", v(1), [B])]);
    assert.equal(stage.tables.route("cart", "x"), WAIT);
    assert.deepEqual(stage.tables.version("cart"), v(2));
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(1));
    stage.begin(7, tableOf("cart", v(2), [A], v(1)));
    stage.unlock(7, "cart");
    assert.equal(stage.tables.route("cart", "x"), HERE);
  });
});

describe("a round on a host", () => {
  const stays = idOf([A, [A, B]], [A, [A, B, C]]);
  const moves = idOf([A, [A, B]], [C, [A, B, C]]);

  it("ids that stay here are free at once in a round, and ids that move away are routed to their new owner", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    stage.begin(5, tableOf("cart", v(2), [A, B, C], v(1)));
    assert.deepEqual(stage.routes([stays, moves]), [HERE, C]);
    assert.equal(stage.tables.view("cart").locked, true);
  });

  it("ids that come here wait for UNLOCK", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B, C])]);
    stage.begin(5, tableOf("cart", v(2), [A, B], v(1)));
    assert.deepEqual(stage.routes([stays, moves]), [HERE, WAIT]);
    stage.unlock(5, "cart");
    assert.deepEqual(stage.routes([stays, moves]), [HERE, HERE]);
  });

  for (const [what, base] of [
    ["no base", undefined],
    ["another base", v(7)],
    ["the same number of another term as base", v(1, 9)],
  ] as const) {
    it(`every activation here waits in a round with ${what}`, () => {
      const stage = new Stage();
      stage.snapshot([tableOf("cart", v(1), [A, B])]);
      stage.begin(5, tableOf("cart", v(2), [A, B, C], base));
      assert.deepEqual(stage.routes([stays, moves]), [WAIT, C]);
      stage.unlock(5, "cart");
      assert.equal(stage.tables.route("cart", stays), HERE);
    });
  }

  it("a round compares with the last unlocked table, not with an update that was never unlocked", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B, C])]);
    // The leader dies here: it is unknown whether any host has unlocked this.
    stage.begin(5, tableOf("cart", v(2), [A, B], v(1)));
    stage.term = 2;
    stage.begin(6, tableOf("cart", v(3, 2), [A, B], v(1)));
    assert.deepEqual(stage.routes([stays, moves]), [HERE, WAIT]);
    stage.begin(7, tableOf("cart", v(4, 2), [A, B], v(2)));
    assert.deepEqual(stage.routes([stays, moves]), [WAIT, WAIT]);
  });

  it("LOCK alone locks a type", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    assert.deepEqual(acks(stage.order("lock", 5, ["cart"])), []);
    assert.equal(stage.tables.route("cart", stays), WAIT);
    assert.equal(stage.tables.route("cart", idOf([B, [A, B]])), B);
  });

  it("a call to a type that is locked and has no table yet waits", () => {
    const stage = new Stage();
    stage.snapshot([]);
    stage.order("lock", 5, ["cart"]);
    assert.equal(stage.tables.route("cart", "x"), WAIT);
  });

  it("a round is acknowledged when the moved actors are gone, and again when it is unlocked", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A]), tableOf("room", v(1), [A])]);
    const effects = stage.begin(5, tableOf("cart", v(2), [B], v(1)), tableOf("room", v(2), [B], v(1)));
    assert.deepEqual(without(effects), [
      { kind: "changed", types: ["cart", "room"] },
      { kind: "drain", round: 5, types: ["cart", "room"] },
    ]);
    assert.deepEqual(acks(stage.tables.drained(5, ["room"])), ["update 5 room"]);
    assert.deepEqual(acks(stage.tables.drained(5, ["cart"])), ["update 5 cart"]);
    const over = stage.unlock(5, "cart", "room");
    assert.deepEqual(without(over)[0], { kind: "changed", types: ["cart", "room"] });
    assert.deepEqual(acks(over), ["unlock 5 cart,room"]);
  });

  it("a host counts the orders that it applied, for metrics", () => {
    const stage = new Stage();
    const effects = [...stage.begin(5, tableOf("cart", v(1), [A])), ...stage.unlock(5, "cart")];
    assert.deepEqual(
      effects.flatMap((effect) => (effect.kind === "applied" ? [`${effect.operation} ${effect.type}`] : [])),
      ["lock cart", "update cart", "unlock cart"],
    );
  });

  it("a type has no owners after the round in which its last host left", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A])]);
    stage.begin(5, tableOf("cart", v(2), [], v(1)));
    assert.equal(stage.tables.route("cart", "x"), NOBODY);
    stage.unlock(5, "cart");
    assert.equal(stage.tables.route("cart", "x"), NOBODY);
    assert.equal(stage.tables.hasAll(["cart"]), false);
  });

  it("a round of one type does not touch another", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B]), tableOf("room", v(4), [A, B])]);
    stage.begin(5, tableOf("cart", v(2), [A, B, C]));
    assert.equal(stage.tables.route("cart", stays), WAIT);
    assert.equal(stage.tables.route("room", stays), HERE);
    assert.deepEqual(
      stage.tables.unlocked(),
      new Map([
        ["cart", v(1)],
        ["room", v(4)],
      ]),
    );
  });

  it("a round side by side with another one is unlocked alone", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [B]), tableOf("room", v(1), [B])]);
    stage.begin(5, tableOf("cart", v(2), [A], v(1)));
    stage.begin(6, tableOf("room", v(2), [A], v(1)));
    stage.unlock(6, "room");
    assert.equal(stage.tables.route("room", "x"), HERE);
    assert.equal(stage.tables.route("cart", "x"), WAIT);
  });

  it("an order that is sent again on the same stream is acknowledged again, and does not lock unlocked types", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    const table = tableOf("cart", v(2), [A, B, C], v(1));
    stage.begin(5, table);
    assert.deepEqual(without(stage.begin(5, table)).at(-1), { kind: "drain", round: 5, types: ["cart"] });
    assert.deepEqual(stage.routes([stays, moves]), [HERE, C]);
    stage.unlock(5, "cart");
    stage.begin(5, table);
    assert.equal(stage.tables.view("cart").locked, false);
    assert.deepEqual(acks(stage.unlock(5, "cart")), ["unlock 5 cart"]);
  });

  it("a round that is repeated on a new stream is acknowledged again and changes nothing", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    const table = tableOf("cart", v(2), [A, B, C], v(1));
    stage.begin(5, table);
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    assert.deepEqual(without(stage.begin(5, table)).at(-1), { kind: "drain", round: 5, types: ["cart"] });
    assert.deepEqual(stage.routes([stays, moves]), [HERE, C]);
    stage.unlock(5, "cart");
    // The leader still waits for another host.
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    stage.begin(5, table);
    assert.deepEqual(acks(stage.unlock(5, "cart")), ["unlock 5 cart"]);
    assert.deepEqual(stage.routes([stays, moves]), [HERE, C]);
  });
});

describe("late orders", () => {
  it("an order of an older term changes nothing and is not answered", () => {
    const stage = new Stage();
    stage.term = 3;
    stage.snapshot([tableOf("cart", v(4, 3), [B])]);
    stage.term = 2;
    assert.equal(stage.tables.accept(2), false);
    assert.deepEqual(stage.begin(5, tableOf("cart", v(9, 2), [A])), []);
    assert.deepEqual(stage.unlock(5, "cart"), []);
    assert.deepEqual(stage.snapshot([]), []);
    assert.equal(stage.tables.route("cart", "x"), B);
    assert.equal(stage.tables.term, 3);
    assert.equal(stage.tables.accept(3), true);
    assert.equal(stage.tables.accept(4), true);
    assert.equal(stage.tables.term, 4);
  });

  it("a table that is not newer does not replace the newest", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(5), [B])]);
    for (const number of [4, 5]) {
      stage.snapshot([tableOf("cart", v(number), [A])]);
      assert.equal(stage.tables.route("cart", "x"), B);
      assert.deepEqual(stage.tables.version("cart"), v(5));
    }
  });

  it("a late UNLOCK of an earlier round does not unlock the one in progress", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [B])]);
    stage.begin(5, tableOf("cart", v(2), [B, C], v(1)));
    stage.begin(6, tableOf("cart", v(3), [A], v(2)));
    stage.unlock(5, "cart");
    assert.equal(stage.tables.route("cart", "x"), WAIT);
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(1));
    stage.unlock(6, "cart");
    assert.equal(stage.tables.route("cart", "x"), HERE);
  });

  it("a late LOCK or UPDATE of an earlier round does not lock again", () => {
    const stage = new Stage();
    stage.begin(6, tableOf("cart", v(3), [A]));
    stage.unlock(6, "cart");
    stage.begin(5, tableOf("cart", v(2), [B]));
    assert.equal(stage.tables.route("cart", "x"), HERE);
    assert.equal(stage.tables.view("cart").locked, false);
  });

  it("an UNLOCK of an unknown round unlocks and acknowledges nothing", () => {
    const stage = new Stage();
    stage.snapshot([], ["cart"]);
    assert.deepEqual(acks(stage.unlock(5, "cart")), []);
    assert.equal(stage.tables.route("cart", "x"), WAIT);
  });
});

describe("a host that starts over", () => {
  it("a host that starts over forgets its tables, and remembers the term it has seen", () => {
    const stage = new Stage();
    stage.term = 3;
    stage.snapshot([tableOf("cart", v(1, 3), [A])]);
    assert.equal(stage.tables.route("cart", "x"), HERE);
    stage.tables.clear();
    assert.equal(stage.tables.route("cart", "x"), WAIT);
    assert.equal(stage.tables.informed, false);
    assert.equal(stage.tables.unlocked().size, 0);
    assert.equal(stage.tables.accept(2), false);
    stage.snapshot([tableOf("cart", v(1, 3), [B])]);
    assert.equal(stage.tables.route("cart", "x"), B);
  });
});

describe("the cache of owners", () => {
  it("cached owners are forgotten with their table, regardless of their number", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A])]);
    for (let i = 0; i < 10_050; i++) assert.equal(stage.tables.route("cart", `id-${i}`), HERE);
    stage.snapshot([tableOf("cart", v(2), [B])]);
    assert.equal(stage.tables.route("cart", "id-0"), B);
    assert.equal(stage.tables.route("cart", "id-10049"), B);
  });

  it("cached owners agree with the ring after the number of virtual nodes has changed", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    stage.tables.order(
      {
        kind: "order",
        operation: "update",
        namespace: "n",
        term: 1,
        round: 0,
        types: [],
        tables: [tableOf("cart", v(2), [A, B])],
        replicationFactor: 3,
      },
      0,
    );
    const ring = Ring.of([A, B], 3);
    for (let i = 0; i < 50; i++) assert.equal(stage.tables.owner("cart", `id-${i}`), ring.owner(`id-${i}`));
  });
});

describe("an actor that moves here", () => {
  const moving = (): { stage: Stage; id: string } => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [B])]);
    stage.begin(5, tableOf("cart", v(2), [A, B], v(1)));
    return { stage, id: idOf([A, [A, B]]) };
  };

  it("an actor that moves here is activated after its previous owner released it", () => {
    const { stage, id } = moving();
    assert.equal(stage.tables.route("cart", id), WAIT);
    assert.equal(stage.tables.ownerBefore("cart", id), B);
    assert.equal(stage.tables.released("cart", id, B, v(2)), true);
    assert.equal(stage.tables.route("cart", id), HERE);
  });

  it("an actor that moves here waits on when another host responds, or the previous owner has another table", () => {
    const { stage, id } = moving();
    assert.equal(stage.tables.released("cart", id, "c:1", v(2)), false);
    assert.equal(stage.tables.released("cart", id, B, v(1)), false);
    assert.equal(stage.tables.route("cart", id), WAIT);
  });

  it("an actor released early keeps the unlocked version from being reported, until UNLOCK", () => {
    const { stage, id } = moving();
    assert.equal(stage.tables.released("cart", id, B, v(2)), true);
    assert.equal(stage.tables.unlocked().has("cart"), false);
    stage.unlock(5, "cart");
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(2));
  });

  it("an actor that moves here waits for UNLOCK once a leader has received the unlocked version", () => {
    const { stage, id } = moving();
    assert.deepEqual(stage.tables.unlocked().get("cart"), v(1));
    assert.equal(stage.tables.ownerBefore("cart", id), undefined);
    assert.equal(stage.tables.released("cart", id, B, v(2)), false);
  });

  it("an actor has no previous owner to ask when the tables cannot be compared, or when it stays", () => {
    const stage = new Stage();
    stage.snapshot([tableOf("cart", v(1), [A, B])]);
    stage.begin(5, tableOf("cart", v(2), [A], undefined));
    assert.equal(stage.tables.ownerBefore("cart", idOf([B, [A, B]])), undefined);
    const other = moving();
    assert.equal(other.stage.tables.ownerBefore("cart", idOf([B, [A, B]])), undefined);
  });
});

describe("a broken precondition", () => {
  it("a host does not acknowledge a round that has not begun", () => {
    const stage = new Stage();
    stage.begin(3, tableOf("cart", { term: 1, number: 2 }, [A, B]));
    const message = /only rounds that have begun; newest 2 of term 1, unlocked none, round 3, locked, 0 released/;
    assert.throws(() => stage.tables.drained(4, ["cart"]), { code: "INVARIANT", message });
  });
});
