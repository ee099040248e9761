import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { isLimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { Hello, PlacementOrder, SchedulerMessage } from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { clusterView, hostMessage, order, schedulerList, schedulerMessage } from "./arbitraries.test.ts";
import { CLUSTER_VIEW, SCHEDULER_LIST } from "./cluster-codec.ts";
import { ReplyReader, readHostMessage, writeHostMessage, writeSchedulerMessage } from "./message-codec.ts";
import { OrderParts, writeOrder } from "./order-codec.ts";

/** Serializes and deserializes, as on the wire. */
const travel = <D extends DescMessage>(schema: D, message: MessageShape<D>): MessageShape<D> =>
  fromBinary(schema, toBinary(schema, message));

function receive(message: SchedulerMessage): (SchedulerMessage | undefined)[] {
  const reader = new ReplyReader();
  return writeSchedulerMessage(message, true).map((reply) => reader.read(travel(proto.SchedulerReplySchema, reply)));
}

describe("control message codec", () => {
  it("every message of a host is decoded as it was encoded", () => {
    fc.assert(
      fc.property(hostMessage, (message) => {
        const report = travel(proto.HostReportSchema, writeHostMessage(message));
        assert.deepEqual(readHostMessage(report), message);
      }),
    );
  });

  it("every message of a scheduler is decoded as it was encoded", () => {
    fc.assert(fc.property(schedulerMessage, (message) => assert.deepEqual(receive(message), [message])));
  });

  it("a large order travels in parts that are joined to one order", () => {
    fc.assert(
      fc.property(order, fc.integer({ min: 1, max: 2_000 }), fc.boolean(), (sent, partBytes, isShort) => {
        const parts = new OrderParts();
        const pieces = writeOrder(sent, isShort, partBytes).map((part) => travel(proto.PlacementOrderSchema, part));
        const received = pieces.map((part) => parts.add(part));
        assert.deepEqual(received.pop(), sent);
        assert.ok(received.every((earlier) => earlier === undefined));
        assert.equal(parts.open, false);
      }),
    );
  });

  it("hosts that several tables share are listed once, and a reference to an unknown list is rejected", () => {
    const hosts = ["a:1", "b:1", "c:1"].map((address) => ({ address, incarnation: `i-${address}`, name: "n" }));
    const version = { term: 1, number: 2 };
    const tables = ["one", "three", "two"].map((type, i) => {
      return { type, version, base: undefined, hosts: i === 1 ? hosts.slice(1) : hosts };
    });
    const about = {
      kind: "order",
      operation: "update",
      namespace: "n",
      term: 1,
      round: 1,
      replicationFactor: 100,
    } as const;
    const message: PlacementOrder = { ...about, types: ["one", "three", "two"], tables };
    const [part] = writeOrder(message, true);
    const [long] = writeOrder(message, false);
    assert.deepEqual(
      Object.values(long!.tables!.entries).map((table) => [Object.keys(table.hosts).length, table.sameHostsAs]),
      [
        [3, ""],
        [2, ""],
        [3, ""],
      ],
      "for a reader that has not asked for less, every table lists its hosts",
    );
    assert.deepEqual(new OrderParts().add(travel(proto.PlacementOrderSchema, long!)), message);
    assert.deepEqual(
      Object.values(part!.tables!.entries).map((table) => [Object.keys(table.hosts).length, table.sameHostsAs]),
      [
        [3, ""],
        [2, ""],
        [0, "one"],
      ],
    );
    assert.deepEqual(new OrderParts().add(travel(proto.PlacementOrderSchema, part!)), message);
    for (const like of ["two", "nobody"]) {
      part!.tables!.entries.two!.sameHostsAs = like;
      assert.throws(
        () => new OrderParts().add(part!),
        (error) => isLimpetError(error, "PROTOCOL"),
      );
    }
    part!.tables!.entries.one!.sameHostsAs = "three";
    assert.throws(
      () => new OrderParts().add(part!),
      (error) => isLimpetError(error, "PROTOCOL"),
    );
  });

  it("every part of a large order stays within the size of a message", () => {
    const hosts = Array.from({ length: 1_000 }, (_, i) => ({
      address: `10.0.${i >> 8}.${i & 255}:7400`,
      incarnation: "i".repeat(36),
      name: "web",
    }));
    const tables = Array.from({ length: 100 }, (_, i) => ({
      type: `Type${i}`,
      version: { term: 1, number: i },
      base: undefined,
      // No two tables have the same hosts.
      hosts: hosts.slice(i),
    }));
    const large: PlacementOrder = { ...ORDER, types: [], tables };
    const parts = writeOrder(large, true).map((part) => toBinary(proto.PlacementOrderSchema, part).length);
    assert.ok(parts.length > 1);
    assert.ok(Math.max(...parts) <= LIMITS.controlMessageBytes / 2, `${parts}`);
  });

  it("the list of schedulers and the cluster view are decoded as they were encoded", () => {
    fc.assert(
      fc.property(schedulerList, (list) => {
        const response = travel(proto.WatchHostsResponseSchema, SCHEDULER_LIST.write(list));
        assert.deepEqual(SCHEDULER_LIST.read(response), list);
      }),
    );
    fc.assert(
      fc.property(clusterView, (view) => {
        const response = travel(proto.DescribeClusterResponseSchema, CLUSTER_VIEW.write(view));
        assert.deepEqual(CLUSTER_VIEW.read(response), view);
      }),
    );
  });

  it("a reason that is too long is cut between two characters", () => {
    const reason = "ä".repeat(LIMITS.reasonBytes);
    const [received] = receive({ kind: "removed", reason }) as unknown as [{ reason: string }];
    assert.ok(Buffer.byteLength(received.reason) <= LIMITS.reasonBytes);
    assert.ok(received.reason.startsWith("ä".repeat(400)));
  });
});

const HELLO: Hello = {
  kind: "hello",
  namespace: "default",
  incarnation: "i-1",
  replaces: undefined,
  address: "10.0.0.1:7400",
  name: "web",
  types: ["Cart"],
  unlocked: new Map(),
  machine: "m",
  pid: 1,
};

const ORDER: PlacementOrder = {
  kind: "order",
  operation: "update",
  namespace: "default",
  term: 1,
  round: 1,
  types: ["Cart"],
  tables: [
    {
      type: "Cart",
      version: { term: 1, number: 1 },
      base: undefined,
      hosts: [{ address: "10.0.0.1:7400", incarnation: "i-1", name: "web" }],
    },
  ],
  replicationFactor: 100,
};

const refused = (read: () => unknown, about: RegExp, name?: string) =>
  assert.throws(read, (error) => isLimpetError(error, "PROTOCOL") && about.test(error.message), name);

describe("invalid input from another process", () => {
  const host = (change: Partial<proto.Host>) => () => {
    const report = writeHostMessage(HELLO);
    Object.assign(report.report.value as proto.Host, change);
    return readHostMessage(report);
  };
  const many = Array.from({ length: LIMITS.typesPerHost + 1 }, (_, i) => `T${i}`);

  const hellos: Record<string, [Partial<proto.Host>, RegExp]> = {
    "a namespace that is none": [{ namespace: "a/b" }, /^namespace must not contain/],
    "no namespace": [{ namespace: "" }, /^namespace must not be empty/],
    "no incarnation": [{ incarnation: "" }, /incarnation of a host is missing/],
    "an endless incarnation": [{ incarnation: "i".repeat(600) }, /at most 512 bytes/],
    "an empty replaced incarnation": [{ replaces: "" }, /replaced incarnation is missing/],
    "no address": [{ name: "" }, /must be an address/],
    "an address without a port": [{ name: "10.0.0.1" }, /must be an address/],
    "an address with a port that is none": [{ name: "10.0.0.1:70000" }, /must be an address/],
    "another port": [{ port: 1n }, /has another port/],
    "a name with a line feed": [{ appID: "a\nb" }, /must not contain control characters/],
    "a type that is none": [{ actorTypes: [""] }, /^actor type must not be empty/],
    "a type twice": [{ actorTypes: ["Cart", "Cart"] }, /given twice/],
    "too many types": [{ actorTypes: many }, /1001 actor types are more than the limit of 1000/],
    "a type that is too long": [{ actorTypes: ["T".repeat(200)] }, /at most 128 bytes/],
    "an unlocked type that is none": [{ unlocked: { "a/b": version(1n, 1n) } }, /^actor type must not/],
    "an unlocked version that is too large": [{ unlocked: { Cart: version(1n, 2n ** 60n) } }, /a version must/],
    "a process id that is too large": [{ pid: 2n ** 63n }, /a process id must/],
  };
  for (const [what, [change, about]] of Object.entries(hellos)) {
    it(`a hello with ${what} is rejected`, () => refused(host(change), about));
  }

  const placement = (change: Partial<proto.PlacementOrder>) => () =>
    new OrderParts().add({ ...writeOrder(ORDER)[0]!, ...change });
  const tables = (change: Partial<proto.PlacementTables>): Partial<proto.PlacementOrder> => ({
    tables: { ...writeOrder(ORDER)[0]!.tables!, ...change },
  });
  const table = (change: Partial<proto.PlacementTable>) =>
    tables({ entries: { Cart: { ...writeOrder(ORDER)[0]!.tables!.entries.Cart!, ...change } } });
  const member = (change: Partial<proto.TableHost>) => {
    const [[address, sent]] = Object.entries(writeOrder(ORDER)[0]!.tables!.entries.Cart!.hosts) as [
      [string, proto.TableHost],
    ];
    return table({ hosts: { [address]: { ...sent, ...change } } });
  };

  const orders: Record<string, [Partial<proto.PlacementOrder>, RegExp]> = {
    "no operation": [{ operation: 0 }, /0 is not an operation/],
    "an unknown operation": [{ operation: 9 as never }, /9 is not an operation/],
    "a term that is too large": [{ term: 2n ** 53n }, /a term must/],
    "a round that is too large": [{ round: 2n ** 53n }, /a round must/],
    "a type twice": [{ actorTypes: ["Cart", "Cart"] }, /given twice/],
    "a version without a table": [{ versions: { Cart: 1n, Order: 1n } }, /the version of Order has no table/],
    "a table without a version": [{ versions: {} }, /table of Cart has no version/],
    "a host under another name": [member({ name: "10.0.0.2:7400" }), /a host under the name of another/],
    "a host with another port": [member({ port: 7n }), /another port/],
    "a host without incarnation": [member({ incarnation: "" }), /incarnation of a host/],
    "a negative replication factor": [tables({ replicationFactor: -1n }), /replication factor must/],
    "a huge replication factor": [tables({ replicationFactor: 10n ** 9n }), /must be at most/],
    "a base that is too large": [table({ base: version(2n ** 53n, 0n) }), /a term must/],
  };
  for (const [what, [change, about]] of Object.entries(orders)) {
    it(`an order with ${what} is rejected`, () => refused(placement(change), about));
  }

  const report = (init: MessageInitShape<typeof proto.HostReportSchema>["report"]) => () =>
    readHostMessage(create(proto.HostReportSchema, init === undefined ? {} : { report: init }));

  it("a report that is empty or of an unknown kind is rejected", () => {
    refused(report(undefined), /has an unknown kind/);
    refused(report({ case: "ack", value: { round: 1n } }), /0 is not an operation/);
    refused(report({ case: "ack", value: { operation: 1, round: 2n ** 53n } }), /a round must/);
    refused(report({ case: "ack", value: { operation: 1, actorTypes: ["a", "a"] } }), /given twice/);
    refused(report({ case: "types", value: { actorTypes: many } }), /more than the limit of 1000/);
    refused(report({ case: "renew", value: { sequence: 2n ** 53n } }), /a sequence must/);
    refused(() => new ReplyReader().read(create(proto.SchedulerReplySchema)), /has an unknown kind/);
  });

  it("parts of an order that do not belong together, or are interrupted, are rejected", () => {
    const part = (changes: Partial<proto.PlacementOrder>) => ({ ...writeOrder(ORDER)[0]!, more: true, ...changes });
    const begun = () => {
      const parts = new OrderParts();
      assert.equal(parts.add(part({})), undefined);
      return parts;
    };
    refused(() => begun().add(part({ round: 2n })), /do not belong together/);
    refused(() => begun().add(part({ more: false })), /given twice/);
    refused(() => {
      const parts = begun();
      for (let i = 0; i < LIMITS.controlParts; i++) parts.add(part({}));
    }, /more than 256 parts/);
    refused(() => {
      const reader = new ReplyReader();
      const reply = { case: "order", value: part({}) } as const;
      reader.read(create(proto.SchedulerReplySchema, { reply }));
      reader.read(create(proto.SchedulerReplySchema, { reply: { case: "drain", value: {} } }));
    }, /interrupted/);
  });

  it("an invalid list of schedulers or cluster view is rejected", () => {
    const leader = { address: "10.0.0.1:1", leader: true, incarnation: "i" };
    const list = (hosts: object[]) => () => SCHEDULER_LIST.read(create(proto.WatchHostsResponseSchema, { hosts }));
    refused(list([leader, { ...leader, incarnation: "j" }]), /more than one scheduler/);
    refused(list([{ ...leader, address: "nowhere" }]), /must be an address/);
    refused(list([{ ...leader, incarnation: "" }]), /incarnation of a scheduler is missing/);

    const one = { namespace: "d", address: "10.0.0.1:1", incarnation: "i", state: 3 };
    const cart = { namespace: "d", type: "Cart", phase: 2 };
    const view = (parts: MessageInitShape<typeof proto.DescribeClusterResponseSchema>) => () =>
      CLUSTER_VIEW.read(create(proto.DescribeClusterResponseSchema, parts));
    assert.doesNotThrow(view({ hosts: [one], tables: [cart] }));
    refused(view({ hosts: [{ ...one, state: 77 as never }] }), /77 is not a state/);
    refused(view({ hosts: [{ ...one, leaseLeftMs: Number.NaN }] }), /must be a number/);
    refused(view({ tables: [{ ...cart, phase: 0 }] }), /0 is not a phase/);
    refused(view({ tables: [{ ...cart, hosts: ["x"] }] }), /must be an address/);
  });

  it("arbitrary bytes decode to a message or fail with PROTOCOL", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readHostMessage(fromBinary(proto.HostReportSchema, bytes));
          new ReplyReader().read(fromBinary(proto.SchedulerReplySchema, bytes));
        } catch (error) {
          // Bytes that are not protobuf are rejected by the library.
          assert.ok(isLimpetError(error, "PROTOCOL") || !isLimpetError(error), String(error));
        }
      }),
    );
  });
});

function version(term: bigint, number: bigint): proto.TableVersion {
  return create(proto.TableVersionSchema, { term, number });
}
