// Cost of the ring: building it, a host joining or leaving, lookups of ids. Run it with: node
// bench/cluster/ring.ts. Figures are medians of several rounds, for display only.
import { hash64 } from "../../src/kernel/hashes.ts";
import { Ring, Rings } from "../../src/placement/model/ring.ts";
import { VirtualNodes } from "../../src/placement/model/virtual-nodes.ts";
import { spreadOf } from "../report/statistics.ts";

const HOSTS = 1_000;
const REPLICATION = 100;
const IDS = 200_000;
const ROUNDS = 15;
const CHANGES = 20;

const addressOf = (index: number): string => `10.1.${index >> 8}.${index & 255}:50002`;

/** Median milliseconds of one execution. `go` gets the number of the round. */
function milliseconds(go: (round: number) => unknown, times = 1): number {
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    for (let time = 0; time < times; time++) go(round * times + time);
    samples.push((performance.now() - started) / times);
  }
  return spreadOf(samples)!.median;
}

const line = (what: string, figure: string): void => console.log(`${what.padEnd(58)}${figure.padStart(16)}`);
const time = (what: string, ms: number): void =>
  line(what, ms >= 1 ? `${ms.toFixed(1)} ms` : `${(ms * 1_000).toFixed(0)} µs`);
const rate = (what: string, ms: number): void => line(what, `${((IDS / ms) * 1e-3).toFixed(2)} M/s`);

const hosts = Array.from({ length: HOSTS }, (_, index) => addressOf(index)).sort();
const newcomers = Array.from({ length: ROUNDS * CHANGES }, (_, index) => addressOf(HOSTS + index));
const ids = Array.from({ length: IDS }, (_, index) => `actor-${index}`);

const source = new VirtualNodes();
const ring = Ring.of(hosts, REPLICATION, source);
console.log(`ring of ${HOSTS} hosts, ${REPLICATION} virtual nodes each; medians of ${ROUNDS} rounds\n`);

time(
  "first build, no hash known",
  milliseconds(() => Ring.of(hosts, REPLICATION, new VirtualNodes())),
);
time(
  "build, all hashes known",
  milliseconds(() => Ring.of(hosts, REPLICATION, source)),
);
time(
  "hashes of one host",
  milliseconds((round) => source.pointsOf(newcomers[round]!, REPLICATION), CHANGES),
);
time(
  "a host joins, its hashes known",
  milliseconds((round) => ring.with(newcomers[round]!), CHANGES),
);
time(
  "a host leaves",
  milliseconds((round) => ring.without(hosts[round]!), CHANGES),
);
const replaced = Array.from({ length: CHANGES }, (_, index) => hosts.toSpliced(index * 7, 1, newcomers[index]!).sort());
time(
  "a host is replaced, from a whole list in order",
  milliseconds((round) => ring.to(replaced[round % CHANGES]!), CHANGES),
);
const half = [...hosts.slice(0, HOSTS / 2), ...newcomers].sort();
time(
  "half the hosts are replaced",
  milliseconds(() => ring.to(half)),
);
const rings = new Rings(source);
const shared = [...hosts, newcomers[0]!].sort();
const first = rings.of(shared, REPLICATION, ring);
time(
  "the same change for a second type, shared",
  milliseconds(() => rings.of(shared, REPLICATION, ring), CHANGES),
);

console.log();
const hash = new Uint32Array(2);
const hashes = new Uint32Array(2 * IDS);
ids.forEach((id, index) => {
  hash64(id, hashes, 2 * index);
});
rate(
  "hashes of ids",
  milliseconds(() => {
    for (const id of ids) hash64(id, hash);
  }),
);
rate(
  "owners of known hashes",
  milliseconds(() => {
    for (let at = 0; at < hashes.length; at += 2) first.ownerOfHash(hashes[at]!, hashes[at + 1]!);
  }),
);
rate(
  "owners of ids",
  milliseconds(() => {
    for (const id of ids) first.owner(id);
  }),
);
