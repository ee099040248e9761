import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WORDS } from "./ring-points.ts";
import { VirtualNodes } from "./virtual-nodes.ts";

function hashesOf(points: Uint32Array): bigint[] {
  const hashes: bigint[] = [];
  for (let at = 0; at < points.length; at += WORDS) {
    assert.equal(points[at + 2], 0);
    hashes.push((BigInt(points[at]!) << 32n) | BigInt(points[at + 1]!));
  }
  return hashes;
}

const ascending = (hashes: bigint[]): bigint[] => hashes.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

describe("virtual nodes", () => {
  it("a host has the same virtual nodes as in Dapr, in order", () => {
    const nodes = new VirtualNodes();
    assert.deepEqual(
      hashesOf(nodes.pointsOf("192.168.1.83:60992", 5)),
      ascending([
        11414427053803968138n,
        6110756290993384529n,
        13876541546109691082n,
        12165331075625862737n,
        9528020266818944582n,
      ]),
    );
    assert.deepEqual(
      hashesOf(nodes.pointsOf("192.168.1.89:62362", 3)),
      ascending([13384490355354205375n, 11281728843146723001n, 694935339057032644n]),
    );
  });

  it("virtual nodes are in order for every replication factor", () => {
    const nodes = new VirtualNodes();
    for (const replicationFactor of [1, 2, 3, 100, 1000]) {
      const hashes = hashesOf(nodes.pointsOf("10.0.0.1:50002", replicationFactor));
      assert.equal(hashes.length, replicationFactor);
      assert.deepEqual(hashes, ascending([...hashes]));
    }
  });

  it("virtual nodes are computed once per host and replication factor", () => {
    const nodes = new VirtualNodes();
    const points = nodes.pointsOf("10.0.0.1:50002", 10);
    assert.equal(nodes.pointsOf("10.0.0.1:50002", 10), points);
    assert.equal(nodes.pointsOf("10.0.0.1:50002", 11).length, 11 * WORDS);
    assert.equal(nodes.pointsOf("10.0.0.1:50002", 10), points);
  });

  it("the least recently used virtual nodes are forgotten when there are too many", () => {
    const nodes = new VirtualNodes(30);
    const first = nodes.pointsOf("a:1", 10);
    const second = nodes.pointsOf("a:2", 10);
    nodes.pointsOf("a:3", 10);
    assert.equal(nodes.pointsOf("a:1", 10), first);
    nodes.pointsOf("a:4", 10);
    assert.deepEqual(nodes.view(), { hosts: 3, points: 30 });
    assert.equal(nodes.pointsOf("a:1", 10), first);
    assert.notEqual(nodes.pointsOf("a:2", 10), second);
    assert.deepEqual(nodes.pointsOf("a:2", 10), second);
  });

  it("a host with more virtual nodes than may be cached still gets them", () => {
    const nodes = new VirtualNodes(5);
    assert.equal(nodes.pointsOf("a:1", 10).length, 10 * WORDS);
    assert.deepEqual(nodes.view(), { hosts: 0, points: 0 });
  });
});
