// Any message that may travel, for the tests of the codec.
import fc from "fast-check";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import {
  type Hello,
  type HostMessage,
  OPERATIONS,
  type PlacementOrder,
  type SchedulerMessage,
  type TableHost,
  type TypeTable,
} from "../../placement/messages.ts";
import type { ClusterHost, ClusterTable, ClusterView } from "../../ports/host.ts";
import type { SchedulerHost, SchedulerList } from "./service.ts";

const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;

/** Names that are hard on maps and sorting, among ordinary ones. */
const word = fc.oneof(
  fc.constantFrom("Cart", "__proto__", "constructor", "toString", "10", "9", "ä", "A B"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((name) => !nameProblem(name, LIMITS.wordBytes)),
);
const words = fc.uniqueArray(word, { maxLength: 6 });
const id = fc.constantFrom("i-1", "8f0c", "boot/4026531836", "ü".repeat(100));
const text = fc.constantFrom("", "web-1", "name of a host");
const whole = fc.oneof(fc.maxSafeNat(), fc.nat(5), fc.constant(Number.MAX_SAFE_INTEGER));
const version = record({ term: whole, number: whole });
const port = fc.integer({ min: 1, max: 65_535 });
const host = fc.oneof(fc.ipV4(), fc.constantFrom("[::1]", "[fe80::1%eth0]", "node-1.internal"));
const address = fc.tuple(host, port).map(([name, number]) => `${name}:${number}`);
const addresses = fc.uniqueArray(address, { maxLength: 5 });
const byText = (a: string, b: string) => (a < b ? -1 : 1);

const tableHost: fc.Arbitrary<TableHost> = record({ address, incarnation: id, name: text });
const table: fc.Arbitrary<TypeTable> = record({
  type: word,
  version,
  base: fc.option(version, { nil: undefined }),
  hosts: fc
    .uniqueArray(tableHost, { selector: (one) => one.address, maxLength: 5 })
    .map((hosts) => hosts.toSorted((a, b) => byText(a.address, b.address))),
});

export const order: fc.Arbitrary<PlacementOrder> = record({
  kind: fc.constant("order" as const),
  operation: fc.constantFrom(...OPERATIONS),
  namespace: word,
  term: whole,
  round: whole,
  types: words,
  tables: fc
    .uniqueArray(table, { selector: (one) => one.type, maxLength: 8 })
    .map((tables) => tables.toSorted((a, b) => byText(a.type, b.type))),
  replicationFactor: fc.nat(LIMITS.replicationFactor),
});

const hello: fc.Arbitrary<Hello> = record({
  kind: fc.constant("hello" as const),
  namespace: word,
  incarnation: id,
  replaces: fc.option(id, { nil: undefined }),
  address,
  name: text,
  types: words,
  unlocked: fc.uniqueArray(fc.tuple(word, version), { selector: ([type]) => type }).map((pairs) => new Map(pairs)),
  machine: id,
  pid: whole,
});

export const hostMessage: fc.Arbitrary<HostMessage> = fc.oneof(
  hello,
  record({ kind: fc.constant("types" as const), types: words }),
  record({ kind: fc.constant("ack" as const), operation: fc.constantFrom(...OPERATIONS), round: whole, types: words }),
  record({ kind: fc.constant("renew" as const), sequence: whole, actors: whole }),
  fc.constant({ kind: "goodbye" } as const),
);

export const schedulerMessage: fc.Arbitrary<SchedulerMessage> = fc.oneof(
  record({ kind: fc.constant("welcome" as const), term: whole, leaseMs: whole }),
  order,
  record({ kind: fc.constant("renewed" as const), sequence: whole }),
  record({ kind: fc.constant("removed" as const), reason: fc.string({ unit: "grapheme" }) }),
  fc.constant({ kind: "drain" } as const),
);

const scheduler: fc.Arbitrary<SchedulerHost> = record({
  address: fc.oneof(fc.constant(""), address),
  leader: fc.constant(false),
  dedicated: fc.boolean(),
  incarnation: id,
});

export const schedulerList: fc.Arbitrary<SchedulerList> = record({
  term: whole,
  hosts: fc
    .tuple(fc.array(scheduler, { maxLength: 4 }), fc.nat(4))
    .map(([hosts, leader]) => hosts.map((one, i) => ({ ...one, leader: i === leader }))),
});

const clusterHost: fc.Arbitrary<ClusterHost> = record({
  namespace: word,
  address,
  name: text,
  incarnation: id,
  state: fc.constantFrom("expected", "joining", "member", "suspect", "evicted"),
  leaseLeftMs: fc.double({ noNaN: true, noDefaultInfinity: true }),
  types: words,
  actors: whole,
});

const clusterTable: fc.Arbitrary<ClusterTable> = record({
  namespace: word,
  type: word,
  version: whole,
  term: whole,
  hosts: addresses,
  phase: fc.constantFrom("closed", "settled", "updating", "unlocking"),
  waitsFor: addresses,
});

export const clusterView: fc.Arbitrary<ClusterView> = record({
  term: whole,
  schedulers: fc.array(scheduler, { maxLength: 4 }),
  hosts: fc.array(clusterHost, { maxLength: 4 }),
  tables: fc.array(clusterTable, { maxLength: 4 }),
});
