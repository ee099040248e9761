// Encodes the messages of a host's stream as protobuf, and decodes them. Decoding checks every field, so
// other files can rely on the messages.
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { LIMITS } from "../../../kernel/limits.ts";
import type { Hello, HostMessage, PlacementOrder, SchedulerMessage } from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import {
  cutReason,
  readHostAddress,
  readId,
  readText,
  readTypes,
  readWhole,
  readWord,
  refuseMessage,
  writePort,
  writeWhole,
} from "./checks.ts";
import { OrderParts, readOperation, readVersion, writeOperation, writeOrder, writeVersion } from "./order-codec.ts";
import {
  readShardedRules,
  readShardReply,
  readShardReport,
  writeShardedRules,
  writeShardReply,
  writeShardReport,
} from "./shard-codec.ts";
import {
  readRules,
  readStickyReply,
  readStickyReport,
  writeRules,
  writeStickyReply,
  writeStickyReport,
} from "./sticky-codec.ts";

// ——— Messages of hosts.

export function writeHostMessage(message: HostMessage): proto.HostReport {
  return create(proto.HostReportSchema, { report: writeReport(message) });
}

function writeReport(message: HostMessage): proto.HostReport["report"] {
  switch (message.kind) {
    case "hello":
      return { case: "hello", value: writeHello(message) };
    case "types":
      return { case: "types", value: writeTypes(message) };
    case "ack": {
      const { operation, round, types } = message;
      const ack = {
        operation: writeOperation(operation),
        round: writeWhole(round, "a round"),
        actorTypes: [...types],
      };
      return { case: "ack", value: create(proto.AcknowledgementSchema, ack) };
    }
    case "renew": {
      const sequence = writeWhole(message.sequence, "a sequence");
      const actors = writeWhole(message.actors, "a number of actors");
      return { case: "renew", value: create(proto.RenewalSchema, { sequence, actors }) };
    }
    case "acquire":
    case "claims":
    case "claimed":
    case "released":
      return writeStickyReport(message);
    case "getShardHomes":
    case "beginHandOffAck":
    case "shardStopped":
    case "shardStarted":
    case "leaveShards":
    case "strategyAnswer":
    case "shardStats":
      return writeShardReport(message);
    case "goodbye":
      return { case: "goodbye", value: create(proto.GoodbyeSchema) };
  }
}

const writeTypes = ({ types, sticky, sharded }: Extract<HostMessage, { kind: "types" }>): proto.HostedTypes =>
  create(proto.HostedTypesSchema, {
    actorTypes: [...types],
    sticky: writeRules(sticky),
    sharded: writeShardedRules(sharded),
  });

function writeHello(hello: Hello): proto.Host {
  return create(proto.HostSchema, {
    name: hello.address,
    port: writePort(hello.address),
    appID: hello.name,
    namespace: hello.namespace,
    actorTypes: [...hello.types],
    incarnation: hello.incarnation,
    ...(hello.replaces === undefined ? {} : { replaces: hello.replaces }),
    unlocked: Object.fromEntries(
      [...hello.unlocked].map(([type, version]) => [type, create(proto.TableVersionSchema, writeVersion(version))]),
    ),
    machine: hello.machine,
    pid: writeWhole(hello.pid, "a process id"),
    sticky: writeRules(hello.sticky),
    sharded: writeShardedRules(hello.sharded),
    build: hello.build ?? "",
    readsSameHostsAs: true,
    confirmsHomes: hello.confirmsHomes ?? false,
  });
}

/**
 * The last report of a host that ends its stream with an error. It is not a `HostMessage`; the stream looks
 * for it first.
 */
export function writeFailure({ code, message }: { readonly code: string; readonly message: string }): proto.HostReport {
  const value = create(proto.FailureSchema, { code, message: cutReason(message) });
  return create(proto.HostReportSchema, { report: { case: "failure", value } });
}

export function readHostMessage({ report }: proto.HostReport): HostMessage {
  switch (report.case) {
    case "hello":
      return readHello(report.value);
    case "types": {
      const { actorTypes, sticky, sharded } = report.value;
      const types = readTypes(actorTypes, LIMITS.typesPerHost);
      return { kind: "types", types, ...readRules(sticky), ...readShardedRules(sharded) };
    }
    case "ack": {
      const { operation, round, actorTypes } = report.value;
      return {
        kind: "ack",
        operation: readOperation(operation),
        round: readWhole(round, "a round"),
        types: readTypes(actorTypes),
      };
    }
    case "renew":
      return {
        kind: "renew",
        sequence: readWhole(report.value.sequence, "a sequence"),
        actors: readWhole(report.value.actors, "a number of actors"),
      };
    case "acquireSticky":
    case "stickyClaims":
    case "stickyClaimed":
    case "stickyReleased":
      return readStickyReport(report);
    case "shardQuestions":
    case "shardKept":
    case "shardStopped":
    case "shardsStarted":
    case "shardsLeft":
    case "shardAdvice":
    case "shardCounts":
      return readShardReport(report);
    case "goodbye":
      return { kind: "goodbye" };
    default:
      return refuseMessage("a report of a host has an unknown kind");
  }
}

function readHello(host: proto.Host): Hello {
  const unlocked = Object.entries(host.unlocked).map(
    ([type, version]) => [readWord(type, "actor type"), readVersion(version)] as const,
  );
  return {
    kind: "hello",
    namespace: readWord(host.namespace, "namespace"),
    incarnation: readId(host.incarnation, "the incarnation of a host"),
    replaces: host.replaces === undefined ? undefined : readId(host.replaces, "a replaced incarnation"),
    address: readHostAddress(host.name, host.port),
    name: readText(host.appID, "the name of a host"),
    types: readTypes(host.actorTypes, LIMITS.typesPerHost),
    ...readRules(host.sticky),
    ...readShardedRules(host.sharded),
    ...(host.build === "" ? {} : { build: readText(host.build, "the build of a host") }),
    ...(host.confirmsHomes ? { confirmsHomes: true } : {}),
    unlocked: new Map(unlocked),
    machine: readText(host.machine, "the machine of a host"),
    pid: readWhole(host.pid, "a process id"),
  };
}

// ——— Messages of the leading scheduler.

/** Nearly always one reply; an order with many tables becomes several. `isShort`: see writeOrder. */
export function writeSchedulerMessage(message: SchedulerMessage, isShort = false): readonly proto.SchedulerReply[] {
  if (message.kind === "order") return writtenOrder(message, isShort);
  return [create(proto.SchedulerReplySchema, { reply: writeReply(message) })];
}

type Written = WeakMap<PlacementOrder, readonly proto.SchedulerReply[]>;
const short: Written = new WeakMap();
const long: Written = new WeakMap();

/** One order goes to every host and may be large, so the bytes of each form are made once. */
function writtenOrder(order: PlacementOrder, isShort: boolean): readonly proto.SchedulerReply[] {
  const written = isShort ? short : long;
  let replies = written.get(order);
  if (replies === undefined) {
    replies = writeOrder(order, isShort).map(sealed);
    written.set(order, replies);
  }
  return replies;
}

/** Protobuf passes an unknown field on unchanged: here the order, which is serialized already. */
function sealed(order: proto.PlacementOrder): proto.SchedulerReply {
  const data = new BinaryWriter().bytes(toBinary(proto.PlacementOrderSchema, order)).finish();
  const no = proto.SchedulerReplySchema.field.order.number;
  const reply = create(proto.SchedulerReplySchema);
  reply.$unknown = [{ no, wireType: WireType.LengthDelimited, data }];
  return reply;
}

function writeReply(message: Exclude<SchedulerMessage, { kind: "order" }>): proto.SchedulerReply["reply"] {
  switch (message.kind) {
    case "welcome": {
      const term = writeWhole(message.term, "a term");
      const leaseMs = writeWhole(message.leaseMs, "a lease");
      return { case: "welcome", value: create(proto.WelcomeSchema, { term, leaseMs }) };
    }
    case "renewed": {
      const sequence = writeWhole(message.sequence, "a sequence");
      return { case: "renewed", value: create(proto.RenewedSchema, { sequence }) };
    }
    case "removed":
      return { case: "removed", value: create(proto.RemovedSchema, { reason: cutReason(message.reason) }) };
    case "drain":
      return { case: "drain", value: create(proto.DrainSchema) };
    case "acquired":
    case "noted":
    case "granted":
    case "release":
      return writeStickyReply(message);
    case "shardHomes":
    case "beginHandOff":
    case "handOff":
    case "askStrategy":
    case "getShardStats":
      return writeShardReply(message);
  }
}

/** Reads the replies of one stream. */
export class ReplyReader {
  readonly #parts = new OrderParts();

  /** Returns the message, unless more parts of it follow. */
  read({ reply }: proto.SchedulerReply): SchedulerMessage | undefined {
    if (reply.case === "order") return this.#parts.add(reply.value);
    if (this.#parts.open) refuseMessage("an order is interrupted before its last part");
    switch (reply.case) {
      case "welcome":
        return {
          kind: "welcome",
          term: readWhole(reply.value.term, "a term"),
          leaseMs: readWhole(reply.value.leaseMs, "a lease"),
        };
      case "renewed":
        return { kind: "renewed", sequence: readWhole(reply.value.sequence, "a sequence") };
      case "removed":
        return { kind: "removed", reason: cutReason(reply.value.reason) };
      case "drain":
        return { kind: "drain" };
      case "sticky":
      case "stickyNoted":
      case "stickyGranted":
      case "stickyRelease":
        return readStickyReply(reply);
      case "shardHomes":
      case "shardGather":
      case "shardStop":
      case "shardAdvise":
      case "shardCount":
        return readShardReply(reply);
      default:
        return refuseMessage("a reply of the scheduler has an unknown kind");
    }
  }
}
