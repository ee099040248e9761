import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { Ring, Rings } from "./ring.ts";

const hosts = (count: number): string[] => Array.from({ length: count }, (_, index) => `10.0.0.${index}:1`);

describe("rings of types", () => {
  it("types with the same hosts share one ring, in any order of their hosts", () => {
    const rings = new Rings();
    const ring = rings.of(hosts(5), 10);
    assert.equal(rings.of(hosts(5).reverse(), 10), ring);
    assert.deepEqual(ring.addresses, hosts(5));
  });

  it("a ring is changed once when a host joins all types", () => {
    const rings = new Rings();
    const before = rings.of(hosts(5), 10);
    const after = rings.of(hosts(6), 10, before);
    assert.notEqual(after, before);
    assert.equal(rings.of(hosts(6), 10, before), after);
    assert.equal(rings.of(hosts(5), 10, after), before);
  });

  it("a ring stays the same object when a type's hosts stay", () => {
    const before = Ring.of(hosts(5), 10);
    assert.equal(new Rings().of(hosts(5), 10, before), before);
  });

  it("rings differ with the replication factor, also from a type's previous ring", () => {
    const rings = new Rings();
    const ten = rings.of(hosts(5), 10);
    const twenty = rings.of(hosts(5), 20, ten);
    assert.equal(ten.replicationFactor, 10);
    assert.equal(twenty.replicationFactor, 20);
  });

  it("shared rings have the same owners as rings built separately", () => {
    const rings = new Rings();
    for (const count of [3, 7, 0, 1, 7, 30, 2]) {
      const ring = rings.of(hosts(count), 10);
      const alone = Ring.of(hosts(count), 10);
      for (let id = 0; id < 100; id++) assert.equal(ring.owner(`${id}`), alone.owner(`${id}`));
    }
  });

  it("the number of remembered rings is bounded", () => {
    const rings = new Rings();
    const held = Array.from({ length: LIMITS.ringsRemembered }, (_, index) => rings.of(hosts(index + 1), 1));
    assert.equal(rings.of(hosts(1), 1), held[0]);
    held.push(rings.of(["another:1"], 1));
    assert.equal(rings.of(hosts(1), 1), held[0]);
    assert.notEqual(rings.of(hosts(2), 1), held[1]);
  });
});
