// Generators of any valid message, for the tests of the codecs.
import fc from "fast-check";
import { LIMITS } from "../../../kernel/limits.ts";
import { nameProblem } from "../../../kernel/names.ts";
import type { SchedulerHost, SchedulerList } from "../../../ports/cluster/control-service.ts";
import {
  CHANGE_REASONS,
  type Hello,
  type HostMessage,
  OPERATIONS,
  type PlacementOrder,
  type SchedulerMessage,
  STICKY_REFUSALS,
  type StickyAnswer,
  type StickyRequest,
  type TableHost,
  type TypeTable,
} from "../../../ports/control-messages.ts";
import type {
  ClusterHost,
  ClusterSticky,
  ClusterTable,
  ClusterView,
  StickyActor,
  StickyHolder,
  StickyPage,
  StickyQuery,
} from "../../../ports/host-admin.ts";

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
const lost = fc.oneof(fc.constantFrom("never" as const, 0), whole);
const actorId = fc.oneof(
  fc.constantFrom("__proto__", "10", "a b", "i".repeat(LIMITS.idBytes), "ä".repeat(LIMITS.idBytes / 2)),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((name) => !nameProblem(name, LIMITS.idBytes)),
);
const actorIds = fc.array(actorId, { maxLength: 6 });
const key = record({ type: word, id: actorId });
const reason = fc.string({ unit: "grapheme" });
const optional = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined });
const byText = (a: string, b: string) => (a < b ? -1 : 1);

const tableHost: fc.Arbitrary<TableHost> = record({ address, incarnation: id, name: text });
/** Leaves an absent part out instead of setting it to undefined. */
const perhaps = <T extends object>(some: fc.Arbitrary<T>, part: fc.Arbitrary<object>): fc.Arbitrary<T> =>
  fc.tuple(some, fc.oneof(fc.constant({}), part)).map(([one, more]) => ({ ...one, ...more }));
const stickyRules = record({
  sticky: fc
    .uniqueArray(fc.tuple(word, lost), { selector: ([type]) => type, minLength: 1, maxLength: 6 })
    .map((rules) => new Map(rules)),
});

const table: fc.Arbitrary<TypeTable> = perhaps(
  record<TypeTable>({
    type: word,
    version,
    base: optional(version),
    hosts: fc
      .uniqueArray(tableHost, { selector: (one) => one.address, maxLength: 5 })
      .map((hosts) => hosts.toSorted((a, b) => byText(a.address, b.address))),
  }),
  fc.oneof(fc.constant({ sticky: true }), record({ reason: fc.constantFrom(...CHANGE_REASONS) })),
);

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

const hello: fc.Arbitrary<Hello> = perhaps(
  record<Hello>({
    kind: fc.constant("hello" as const),
    namespace: word,
    incarnation: id,
    replaces: optional(id),
    address,
    name: text,
    types: words,
    unlocked: fc.uniqueArray(fc.tuple(word, version), { selector: ([type]) => type }).map((pairs) => new Map(pairs)),
    machine: id,
    pid: whole,
  }),
  fc.oneof(stickyRules, fc.constant({ confirmsHomes: true })),
);

const stickyRequest: fc.Arbitrary<StickyRequest> = record({
  correlation: whole,
  type: word,
  id: actorId,
  since: whole,
});
const answer: fc.Arbitrary<StickyAnswer> = fc.oneof(
  record({ correlation: whole, kind: fc.constant("granted" as const) }),
  record({ correlation: whole, kind: fc.constant("owner" as const), host: tableHost }),
  record({
    correlation: whole,
    kind: fc.constant("refused" as const),
    code: fc.constantFrom(...STICKY_REFUSALS),
    why: reason,
  }),
);

export const hostMessage: fc.Arbitrary<HostMessage> = fc.oneof(
  hello,
  perhaps(record({ kind: fc.constant("types" as const), types: words }), stickyRules),
  record({ kind: fc.constant("ack" as const), operation: fc.constantFrom(...OPERATIONS), round: whole, types: words }),
  record({ kind: fc.constant("renew" as const), sequence: whole, actors: whole }),
  record({ kind: fc.constant("acquire" as const), requests: fc.array(stickyRequest, { maxLength: 6 }) }),
  actorIds.chain((ids) =>
    record({
      kind: fc.constant("claims" as const),
      part: whole,
      type: word,
      ids: fc.constant(ids),
      since: fc.array(whole, { minLength: ids.length, maxLength: ids.length }),
    }),
  ),
  fc.constant({ kind: "claimed" } as const),
  record({ kind: fc.constant("released" as const), type: word, ids: actorIds }),
  fc.constant({ kind: "goodbye" } as const),
);

export const schedulerMessage: fc.Arbitrary<SchedulerMessage> = fc.oneof(
  record({ kind: fc.constant("welcome" as const), term: whole, leaseMs: whole }),
  order,
  record({ kind: fc.constant("renewed" as const), sequence: whole }),
  record({ kind: fc.constant("acquired" as const), answers: fc.array(answer, { maxLength: 6 }) }),
  record({ kind: fc.constant("acknowledged" as const), part: whole }),
  record({ kind: fc.constant("granted" as const), type: word, ids: actorIds }),
  record({ kind: fc.constant("release" as const), type: word, ids: actorIds }),
  record({ kind: fc.constant("removed" as const), reason }),
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

const holder: fc.Arbitrary<StickyHolder> = record({ address, name: text, actors: whole, away: fc.boolean() });
const clusterSticky: fc.Arbitrary<ClusterSticky> = record({ lost, holders: fc.array(holder, { maxLength: 4 }) });

const clusterTable: fc.Arbitrary<ClusterTable> = record({
  namespace: word,
  type: word,
  version: whole,
  term: whole,
  hosts: addresses,
  phase: fc.constantFrom("closed", "settled", "updating", "unlocking"),
  waitsFor: addresses,
  sticky: optional(clusterSticky),
});

export const clusterView: fc.Arbitrary<ClusterView> = record({
  term: whole,
  schedulers: fc.array(scheduler, { maxLength: 4 }),
  hosts: fc.array(clusterHost, { maxLength: 4 }),
  tables: fc.array(clusterTable, { maxLength: 4 }),
});

/** Every field is present, possibly as undefined: the form in which the wire delivers it. */
export const stickyQuery: fc.Arbitrary<StickyQuery> = fc.oneof(
  record<StickyQuery>({
    type: optional(word),
    id: fc.constant(undefined),
    prefix: optional(fc.constantFrom("", ".", "a/", "customer-")),
    after: optional(key),
    limit: fc.integer({ min: 1, max: LIMITS.listPage }),
  }),
  record<StickyQuery>({
    type: word,
    id: actorId,
    prefix: fc.constant(undefined),
    after: fc.constant(undefined),
    limit: fc.constant(1),
  }),
);

const stickyActor: fc.Arbitrary<StickyActor> = record({
  type: word,
  id: actorId,
  address,
  name: text,
  since: whole,
  away: fc.boolean(),
});

export const stickyPage: fc.Arbitrary<StickyPage> = record({
  actors: fc.array(stickyActor, { maxLength: 5 }),
  next: optional(key),
});
