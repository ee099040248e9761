// The messages of a host's stream as protobuf. Decoding checks every field, so other files can rely on the
// messages. A later release may add fields; unknown ones are ignored, and an unknown kind is rejected.
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { LIMITS } from "../../../kernel/limits.ts";
import type { Hello, HostMessage, PlacementOrder, SchedulerMessage } from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Codec, message, union } from "./codec.ts";
import { OPERATION, OrderParts, ROUND, TABLE_VERSION, writeOrder } from "./order-codec.ts";
import { SHARD_REPLIES, SHARD_REPORTS, SHARDED_RULE } from "./shard-codec.ts";
import { LOST_RULE, STICKY_REPLIES, STICKY_REPORTS } from "./sticky-codec.ts";
import {
  ADDRESS_AND_PORT,
  BUILD,
  byType,
  cutReason,
  FLAG,
  HOST_NAME,
  INCARNATION,
  id,
  NAMESPACE,
  optional,
  orAbsent,
  plainText,
  REASON,
  refuseMessage,
  rules,
  types,
  wholeNumber,
} from "./value-codecs.ts";

const SEQUENCE = wholeNumber("a sequence");

// ——— Messages of hosts.

const TYPES = {
  types: ["actorTypes", types(LIMITS.typesPerHost)],
  sticky: rules(LOST_RULE, "sticky types"),
  sharded: rules(SHARDED_RULE, "sharded types"),
} as const;

const HELLO: Codec<Omit<Hello, "kind">, proto.Host> = message(proto.HostSchema, {
  namespace: NAMESPACE,
  incarnation: INCARNATION,
  replaces: optional(id("a replaced incarnation")),
  address: ADDRESS_AND_PORT,
  name: ["appID", HOST_NAME],
  ...TYPES,
  build: orAbsent(BUILD),
  confirmsHomes: orAbsent(FLAG),
  unlocked: byType(TABLE_VERSION),
  machine: plainText("the machine of a host"),
  pid: wholeNumber("a process id"),
});

const REPORT = union<HostMessage, proto.HostReport["report"]>(
  {
    hello: [
      "hello",
      { write: (hello) => Object.assign(HELLO.write(hello), { readsSameHostsAs: true }), read: HELLO.read },
    ],
    types: ["types", message(proto.HostedTypesSchema, TYPES)],
    ack: [
      "ack",
      message(proto.AcknowledgementSchema, { operation: OPERATION, round: ROUND, types: ["actorTypes", types()] }),
    ],
    renew: ["renew", message(proto.RenewalSchema, { sequence: SEQUENCE, actors: wholeNumber("a number of actors") })],
    ...STICKY_REPORTS,
    ...SHARD_REPORTS,
    goodbye: ["goodbye", message(proto.GoodbyeSchema, {})],
  },
  "a report of a host has an unknown kind",
);

export function writeHostMessage(message: HostMessage): proto.HostReport {
  return create(proto.HostReportSchema, { report: REPORT.write(message) });
}

export const readHostMessage = ({ report }: proto.HostReport): HostMessage => REPORT.read(report);

/**
 * The last report of a host that ends its stream with an error. It is not a `HostMessage`; the stream looks
 * for it first.
 */
export function writeFailure({ code, message }: { readonly code: string; readonly message: string }): proto.HostReport {
  const value = create(proto.FailureSchema, { code, message: cutReason(message) });
  return create(proto.HostReportSchema, { report: { case: "failure", value } });
}

// ——— Messages of the leading scheduler.

type Reply = Exclude<SchedulerMessage, { kind: "order" }>;

const REPLY = union<Reply, proto.SchedulerReply["reply"]>(
  {
    welcome: [
      "welcome",
      message(proto.WelcomeSchema, { term: wholeNumber("a term"), leaseMs: wholeNumber("a lease") }),
    ],
    renewed: ["renewed", message(proto.RenewedSchema, { sequence: SEQUENCE })],
    removed: ["removed", message(proto.RemovedSchema, { reason: REASON })],
    drain: ["drain", message(proto.DrainSchema, {})],
    ...STICKY_REPLIES,
    ...SHARD_REPLIES,
  },
  "a reply of the scheduler has an unknown kind",
);

/** Nearly always one reply; an order with many tables becomes several. `isShort`: see writeOrder. */
export function writeSchedulerMessage(message: SchedulerMessage, isShort = false): readonly proto.SchedulerReply[] {
  if (message.kind === "order") return writtenOrder(message, isShort);
  return [create(proto.SchedulerReplySchema, { reply: REPLY.write(message) })];
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

/** Reads the replies of one stream. */
export class ReplyReader {
  readonly #parts = new OrderParts();

  /** Returns the message, unless more parts of it follow. */
  read({ reply }: proto.SchedulerReply): SchedulerMessage | undefined {
    if (reply.case === "order") return this.#parts.add(reply.value);
    if (this.#parts.open) refuseMessage("an order is interrupted before its last part");
    return REPLY.read(reply);
  }
}
