import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { Ring } from "./ring.ts";
import type { PointSource } from "./virtual-nodes.ts";

const TOP = 2 ** 32 - 1;

/** Hosts placed by hand, at pairs of upper and lower halves. */
function placed(places: Record<string, [hi: number, lo: number][]>): PointSource {
  return { pointsOf: (address) => Uint32Array.from(places[address]!.flatMap(([hi, lo]) => [hi, lo, 0])) };
}

describe("a ring", () => {
  it("a ring gives ids the same owners as Dapr", () => {
    const ring = Ring.of(["10.0.0.1:50002", "10.0.0.2:50002", "10.0.0.3:50002"], 100);
    const owners = { "actor-1": 1, "actor-2": 3, "actor-3": 2, "actor-4": 1, "actor-5": 2, "0": 2, "": 1 };
    for (const [id, host] of Object.entries(owners)) assert.equal(ring.owner(id), `10.0.0.${host}:50002`, id);
  });

  it("an empty ring owns nothing", () => {
    const ring = Ring.of([], 100);
    assert.equal(ring.size, 0);
    assert.deepEqual(ring.addresses, []);
    assert.equal(ring.owner("actor-1"), undefined);
    assert.equal(ring.ownerOfHash(0, 0), undefined);
    assert.equal(Ring.of(["a:1"], 100).without("a:1").owner("actor-1"), undefined);
  });

  it("a ring of one host owns everything", () => {
    for (const replicationFactor of [1, 100, 1000]) {
      const ring = Ring.of(["a:1"], replicationFactor);
      for (let id = 0; id < 200; id++) assert.equal(ring.owner(`actor-${id}`), "a:1");
      assert.equal(ring.ownerOfHash(0, 0), "a:1");
      assert.equal(ring.ownerOfHash(TOP, TOP), "a:1");
    }
  });

  it("a ring lists its hosts in order, each once", () => {
    const ring = Ring.of(["b:1", "a:9", "a:10", "b:1"], 10);
    assert.deepEqual(ring.addresses, ["a:10", "a:9", "b:1"]);
    assert.equal(ring.size, 3);
    assert.equal(ring.replicationFactor, 10);
  });

  it("an id belongs to the first virtual node at or after its hash, and past the last to the first", () => {
    const source = placed({ "a:1": [[100, 7]], "b:1": [[TOP - 5, 7]], "c:1": [[2 ** 31, 0]] });
    const ring = Ring.of(["a:1", "b:1", "c:1"], 1, source);
    const owners: [hi: number, lo: number, owner: string][] = [
      [0, 0, "a:1"],
      [100, 6, "a:1"],
      [100, 7, "a:1"],
      [100, 8, "c:1"],
      [2 ** 31 - 1, TOP, "c:1"],
      [2 ** 31, 0, "c:1"],
      [2 ** 31, 1, "b:1"],
      [TOP - 5, 7, "b:1"],
      [TOP - 5, 8, "a:1"],
      [TOP, TOP, "a:1"],
    ];
    for (const [hi, lo, owner] of owners) assert.equal(ring.ownerOfHash(hi, lo), owner, `${hi} ${lo}`);
  });

  it("a lookup skips the empty stretches after an id, and around the end", () => {
    const source = placed({ "a:1": Array.from({ length: 1_000 }, (_, index) => [5, index]) });
    const ring = Ring.of(["a:1"], 1_000, source);
    assert.equal(ring.ownerOfHash(5, 1_000), "a:1");
    assert.equal(ring.ownerOfHash(TOP, TOP), "a:1");
  });

  it("a hash that several hosts share belongs to the smallest address, in any order of joins and leaves", () => {
    const shared: [number, number][] = [[100, 100]];
    const source = placed({ "a:1": shared, "b:1": shared, "c:1": shared, "d:1": [[200, 0]] });
    const all = Ring.of(["d:1", "c:1", "b:1", "a:1"], 1, source);
    assert.equal(all.ownerOfHash(100, 100), "a:1");
    assert.equal(all.without("a:1").ownerOfHash(100, 100), "b:1");
    assert.equal(all.without("b:1").ownerOfHash(100, 100), "a:1");
    assert.equal(all.without("a:1").without("b:1").with("a:1").ownerOfHash(50, 0), "a:1");
    assert.equal(all.without("a:1").with("a:1").without("b:1").without("a:1").ownerOfHash(50, 0), "c:1");
    assert.equal(Ring.of(["c:1", "d:1"], 1, source).to(["a:1", "b:1", "d:1"]).ownerOfHash(50, 0), "a:1");
    assert.equal(Ring.of(["a:1", "b:1", "d:1"], 1, source).to(["c:1", "d:1"]).ownerOfHash(50, 0), "c:1");
  });

  // h:5000 followed by 10 to 19 has the same text as h:50001 followed by 0 to 9.
  it("a ring is the same in every order of joins when ports make hosts share virtual nodes", () => {
    const one = Ring.of(["h:5000"], 100).with("h:50001");
    const other = Ring.of(["h:50001"], 100).with("h:5000");
    for (let index = 0; index < 10; index++) {
      assert.equal(one.owner(`h:50001${index}`), "h:5000");
      assert.equal(other.owner(`h:50001${index}`), "h:5000");
      assert.equal(one.without("h:5000").owner(`h:50001${index}`), "h:50001");
    }
  });

  it("a ring adds a host whose virtual nodes coincide, and removes it again", () => {
    const source = placed({
      "a:1": [
        [100, 0],
        [100, 0],
      ],
      "b:1": [
        [50, 0],
        [100, 0],
      ],
      "c:1": [
        [60, 0],
        [70, 0],
      ],
    });
    const ring = Ring.of(["b:1", "c:1"], 2, source).with("a:1");
    assert.equal(ring.ownerOfHash(80, 0), "a:1");
    assert.equal(ring.without("a:1").ownerOfHash(80, 0), "b:1");
  });

  it("a ring stays the same object when nothing changes", () => {
    const ring = Ring.of(["a:1", "b:1"], 10);
    assert.equal(ring.with("a:1"), ring);
    assert.equal(ring.without("c:1"), ring);
    assert.equal(ring.to(["b:1", "a:1"]), ring);
  });

  it("a ring grows neither with hosts that come and go nor with hosts that are gone", () => {
    let ring = Ring.of(["a:1", "b:1", "c:1"], 10);
    for (let index = 0; index < 50; index++) ring = ring.to(["a:1", "b:1", `d:${index}`]);
    assert.ok(ring.view().numbers <= 4);
    const many = Array.from({ length: 200 }, (_, index) => `e:${index}`);
    for (const host of many) ring = ring.with(host);
    const { segments } = ring.view();
    assert.ok(segments >= 8);
    for (const host of many.slice(2)) ring = ring.without(host);
    assert.ok(ring.view().numbers <= 2 * ring.size);
    assert.ok(ring.view().segments < segments);
  });

  it("a ring does not follow the list it was made from", () => {
    const list = ["a:1", "b:1"];
    const ring = Ring.of(list, 10);
    list.push("c:1");
    assert.deepEqual(ring.addresses, ["a:1", "b:1"]);
    assert.deepEqual(ring.to(["a:1", "b:1", "c:1"]).addresses, list);
  });

  it("a ring rejects an invalid replication factor", () => {
    for (const replicationFactor of [0, -1, 1.5, Number.NaN, 1_000_000]) {
      assert.throws(
        () => Ring.of(["a:1"], replicationFactor),
        (error) => isLimpetError(error, "INVARIANT"),
      );
    }
  });
});
