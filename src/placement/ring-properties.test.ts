// Properties of rings under any changes, compared with a plain ring that is obviously correct.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Ring } from "./model/ring.ts";
import type { PointSource } from "./model/virtual-nodes.ts";

type Node = { readonly hash: bigint; readonly address: string };
const EDGE = 1n << 64n;

const hashOf = (text: string): bigint => createHash("blake2b512").update(text).digest().readBigUInt64LE(0);
const ownerAt = (ring: Ring, hash: bigint): string | undefined =>
  ring.ownerOfHash(Number(hash >> 32n), Number(hash & 0xffffffffn));

function plainNodes(addresses: readonly string[], replicationFactor: number): Node[] {
  return addresses.flatMap((address) =>
    Array.from({ length: replicationFactor }, (_, index) => ({ hash: hashOf(address + index), address })),
  );
}

/** Scans all virtual nodes, and prefers the nearest, then the smallest address. */
function plainOwner(nodes: readonly Node[], hash: bigint): string | undefined {
  const distance = (node: Node): bigint => (node.hash - hash + EDGE) % EDGE;
  let best: Node | undefined;
  for (const node of nodes) {
    const nearer = best === undefined || distance(node) < distance(best);
    if (nearer || (distance(node) === distance(best!) && node.address < best!.address)) best = node;
  }
  return best?.address;
}

/** Every hash at which the owner may change. */
const edgesOf = (nodes: readonly Node[]): bigint[] =>
  nodes.flatMap(({ hash }) => [(hash - 1n + EDGE) % EDGE, hash, (hash + 1n) % EDGE]);

function assertAgrees(
  ring: Ring,
  addresses: readonly string[],
  nodes: readonly Node[],
  hashes: readonly bigint[],
): void {
  assert.deepEqual(ring.addresses, [...new Set(addresses)].sort());
  for (const hash of hashes) assert.equal(ownerAt(ring, hash), plainOwner(nodes, hash), `${hash}`);
}

// Some of these addresses are equal once a number follows them, so their virtual nodes coincide.
const POOL = ["a:1", "a:11", "a:12", "a:111", "a:2", "a:21", "b:1", "b:10", "b:100", "c:7", "d:7", "e:7"];
const addressLists = fc.subarray(POOL);
const replicationFactors = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 5, max: 25 }));
const changes = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("with" as const), address: fc.constantFrom(...POOL) }),
    fc.record({ kind: fc.constant("without" as const), address: fc.constantFrom(...POOL) }),
    fc.record({ kind: fc.constant("to" as const), addresses: fc.shuffledSubarray(POOL) }),
    fc.record({ kind: fc.constant("swap" as const), addresses: fc.shuffledSubarray(POOL, { maxLength: 5 }) }),
  ),
  { maxLength: 20 },
);
type Change =
  | { readonly kind: "with"; readonly address: string }
  | { readonly kind: "without"; readonly address: string }
  /** `swap`: named hosts join if they are absent and leave if they are present. */
  | { readonly kind: "to" | "swap"; readonly addresses: readonly string[] };

function changed(ring: Ring, change: Change): Ring {
  if (change.kind === "with") return ring.with(change.address);
  if (change.kind === "without") return ring.without(change.address);
  return ring.to([...expected(new Set(ring.addresses), change)]);
}

function expected(addresses: ReadonlySet<string>, change: Change): Set<string> {
  if (change.kind === "with") return addresses.union(new Set([change.address]));
  if (change.kind === "without") return addresses.difference(new Set([change.address]));
  const named = new Set(change.addresses);
  return change.kind === "to" ? named : addresses.symmetricDifference(named);
}

describe("properties of rings", () => {
  it("a ring agrees with a plain scan of all virtual nodes", () => {
    fc.assert(
      fc.property(addressLists, replicationFactors, fc.array(fc.string(), { maxLength: 50 }), (addresses, rf, ids) => {
        const nodes = plainNodes(addresses, rf);
        const ring = Ring.of(addresses, rf);
        assertAgrees(ring, addresses, nodes, [0n, EDGE - 1n, ...edgesOf(nodes.slice(0, 60))]);
        for (const id of ids) assert.equal(ring.owner(id), plainOwner(nodes, hashOf(id)));
      }),
    );
  });

  it("a changed ring equals one built from scratch, and leaves the previous ring as it was", () => {
    fc.assert(
      fc.property(addressLists, replicationFactors, changes, (start, rf, steps) => {
        const edges = [0n, EDGE - 1n, ...edgesOf(plainNodes(POOL, rf))];
        let addresses = new Set(start);
        let ring = Ring.of(start, rf);
        const passed: { ring: Ring; addresses: Set<string> }[] = [{ ring, addresses }];
        for (const step of steps) {
          ring = changed(ring, step);
          addresses = expected(addresses, step);
          passed.push({ ring, addresses });
        }
        for (const each of passed) {
          const fresh = Ring.of([...each.addresses], rf);
          assert.deepEqual(each.ring.addresses, fresh.addresses);
          for (const hash of edges) assert.equal(ownerAt(each.ring, hash), ownerAt(fresh, hash));
        }
      }),
    );
  });

  it("a joining host takes only its own ids, and only the ids of a leaving host move", () => {
    fc.assert(
      fc.property(addressLists, replicationFactors, fc.constantFrom(...POOL), (addresses, rf, host) => {
        const without = Ring.of(addresses, rf).without(host);
        const joined = without.with(host);
        for (const hash of edgesOf(plainNodes(POOL, rf))) {
          const before = ownerAt(without, hash);
          const after = ownerAt(joined, hash);
          if (after !== host) assert.equal(after, before);
          assert.equal(ownerAt(joined.without(host), hash), before);
        }
      }),
    );
  });

  it("a ring agrees with the plain scan when hashes are crowded, shared and at the edges", () => {
    const crowded = fc.constantFrom(
      0n,
      1n,
      2n,
      0xfffffffen,
      0xffffffffn,
      0x100000000n,
      EDGE / 2n,
      EDGE - 2n,
      EDGE - 1n,
    );
    const rf = 3;
    const placements = fc.array(fc.tuple(crowded, crowded, crowded), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(placements, fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 12 }), (places, toggles) => {
        const hosts = places.map((_, index) => `h:${index}`);
        const hashesOf = (host: string): bigint[] =>
          places[hosts.indexOf(host)]!.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        const source: PointSource = {
          pointsOf: (host) =>
            Uint32Array.from(hashesOf(host).flatMap((hash) => [Number(hash >> 32n), Number(hash & 0xffffffffn), 0])),
        };
        let ring = Ring.of([], rf, source);
        for (const toggle of toggles) {
          const host = hosts[toggle]!;
          ring = ring.addresses.includes(host) ? ring.without(host) : ring.with(host);
          const nodes = ring.addresses.flatMap((address) => hashesOf(address).map((hash) => ({ hash, address })));
          assertAgrees(ring, ring.addresses, nodes, edgesOf(nodes));
        }
      }),
    );
  });

  it("a ring stays correct while it grows to many hosts and shrinks to one", () => {
    const hosts = Array.from({ length: 120 }, (_, index) => `10.0.${index % 7}.${index}:50002`);
    const ids = Array.from({ length: 200 }, (_, index) => `actor-${index}`);
    const same = (ring: Ring): void => {
      const fresh = Ring.of(ring.addresses, 100);
      for (const id of ids) assert.equal(ring.owner(id), fresh.owner(id));
    };
    let ring = Ring.of([], 100);
    for (const host of hosts) {
      ring = ring.with(host);
      if (ring.size % 13 === 0) same(ring);
    }
    for (const host of hosts.slice(1)) {
      ring = ring.without(host);
      if (ring.size % 13 === 0) same(ring);
    }
    assert.deepEqual(ring.addresses, [hosts[0]]);
    same(ring);
  });
});
