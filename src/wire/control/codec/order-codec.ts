// Encodes placement orders and their tables as protobuf, and decodes them. Protobuf maps are unordered, so
// tables are sorted by type and hosts by address. An order with many tables travels in parts; `OrderParts`
// joins them. Hosts usually have the same types, so tables of one message with the same hosts list them once.
import { create } from "@bufbuild/protobuf";
import { LIMITS } from "../../../kernel/limits.ts";
import type { TableVersion } from "../../../kernel/versions.ts";
import {
  CHANGE_REASONS,
  type ChangeReason,
  type Operation,
  type PlacementOrder,
  type TableHost,
  type TypeTable,
} from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Codec, message } from "./codec.ts";
import {
  ADDRESS_AND_PORT,
  FLAG,
  HOST_NAME,
  INCARNATION,
  NAMESPACE,
  NUMBER,
  optional,
  orAbsent,
  refuseMessage,
  TYPE,
  types,
  wholeNumber,
  wireWords,
} from "./value-codecs.ts";

const { PlacementOrder_Operation: Code } = proto;

export const OPERATION: Codec<Operation, proto.PlacementOrder_Operation> = wireWords(
  { lock: Code.LOCK, update: Code.UPDATE, unlock: Code.UNLOCK },
  (code) => `${code} is not an operation`,
);

export const ROUND = wholeNumber("a round");
const TERM = wholeNumber("a term");
const NUMBER_OF_VERSION = wholeNumber("a version");
const REPLICATION_FACTOR = wholeNumber("a replication factor");
const TYPES = types();

export const TABLE_VERSION: Codec<TableVersion, proto.TableVersion> = message(proto.TableVersionSchema, {
  term: TERM,
  number: NUMBER_OF_VERSION,
});

export const TABLE_HOST: Codec<TableHost, proto.TableHost> = message(proto.TableHostSchema, {
  address: ADDRESS_AND_PORT,
  incarnation: INCARNATION,
  name: ["appID", HOST_NAME],
});

/** A later release may know more reasons. The reason becomes a label of a metric, so it is one of few. */
const CHANGE_REASON: Codec<ChangeReason | undefined, string> = {
  omits: true,
  write: (reason) => reason ?? "",
  read: (reason) => CHANGE_REASONS.find((known) => known === reason),
};

/** The fields of a table that do not depend on other tables of the order. */
const TABLE: Codec<Omit<TypeTable, "type" | "version" | "hosts">, proto.PlacementTable> = message(
  proto.PlacementTableSchema,
  {
    base: optional(TABLE_VERSION),
    sticky: orAbsent(FLAG),
    shards: orAbsent(NUMBER),
    ownShards: orAbsent(FLAG),
    reason: CHANGE_REASON,
  },
);

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

// ——— Encoding.

/**
 * Splits an order into parts that each fit into a message. `isShort`: a table may refer to the hosts of
 * another one. Only a host that has announced support for it gets such an order; for every other reader each
 * table lists its own hosts.
 */
export function writeOrder(order: PlacementOrder, isShort = false, partBytes: number = LIMITS.controlMessageBytes / 4) {
  const parts = split(order.tables, isShort ? COMPARED : 0, partBytes);
  return parts.map((tables, i) => writePart(order, tables, i < parts.length - 1));
}

function writePart(order: PlacementOrder, tables: readonly Entry[], more: boolean): proto.PlacementOrder {
  return create(proto.PlacementOrderSchema, {
    operation: OPERATION.write(order.operation),
    namespace: order.namespace,
    actorTypes: TYPES.write(order.types),
    versions: Object.fromEntries(
      tables.map(({ table }) => [table.type, NUMBER_OF_VERSION.write(table.version.number)]),
    ),
    tables: {
      entries: Object.fromEntries(tables.map((entry) => [entry.table.type, writeTable(entry)])),
      replicationFactor: REPLICATION_FACTOR.write(order.replicationFactor),
    },
    term: TERM.write(order.term),
    round: ROUND.write(order.round),
    more,
  });
}

function writeTable({ table, like }: Entry): proto.PlacementTable {
  const written = TABLE.write(table);
  written.term = TERM.write(table.version.term);
  if (like !== "") written.sameHostsAs = like;
  else written.hosts = Object.fromEntries(table.hosts.map((host) => [host.address, TABLE_HOST.write(host)]));
  return written;
}

/** A table, and an earlier type in the same part that has the same hosts; empty when there is none. */
interface Entry {
  readonly table: TypeTable;
  readonly like: string;
}

/** Number of host lists to compare a table with. */
const COMPARED = 8;

function split(tables: readonly TypeTable[], compared: number, partBytes: number): Entry[][] {
  const parts: Entry[][] = [[]];
  /** Tables of the part that list their hosts, the latest first. */
  let lists: TypeTable[] = [];
  let bytes = 0;
  for (const table of tables) {
    let like = lists.find(({ hosts }) => haveSame(hosts, table.hosts))?.type ?? "";
    let more = tableBytes(table, like);
    if (bytes > 0 && bytes + more > partBytes) {
      parts.push([]);
      lists = [];
      bytes = 0;
      like = "";
      more = tableBytes(table, like);
    }
    if (like === "") lists = [table, ...lists].slice(0, compared);
    parts.at(-1)!.push({ table, like });
    bytes += more;
  }
  return parts;
}

function haveSame(some: readonly TableHost[], others: readonly TableHost[]): boolean {
  if (some.length !== others.length || some.length === 0) return false;
  return some.every(({ address, incarnation, name }, i) => {
    const other = others[i]!;
    return incarnation === other.incarnation && address === other.address && name === other.name;
  });
}

/** Includes the overhead of protobuf, and is never too low. */
function tableBytes({ type, hosts }: TypeTable, like: string): number {
  let bytes = 2 * Buffer.byteLength(type) + Buffer.byteLength(like) + 100;
  if (like !== "") return bytes;
  for (const { address, name, incarnation } of hosts) {
    bytes += 2 * Buffer.byteLength(address) + Buffer.byteLength(name) + Buffer.byteLength(incarnation) + 40;
  }
  return bytes;
}

// ——— Decoding.

/** Joins the parts of an order. */
export class OrderParts {
  #parts: PlacementOrder[] = [];

  /** Parts are missing, and no other message may come before them. */
  get open(): boolean {
    return this.#parts.length > 0;
  }

  /** Returns the order after its last part. */
  add(part: proto.PlacementOrder): PlacementOrder | undefined {
    const order = readPart(part);
    const parts = this.#parts;
    if (parts.length > 0 && !isSame(parts[0]!, order)) refuseMessage("the parts of an order do not belong together");
    if (parts.length === LIMITS.controlParts) refuseMessage(`an order comes in more than ${LIMITS.controlParts} parts`);
    parts.push(order);
    if (part.more) return undefined;
    this.#parts = [];
    return parts.length === 1 ? order : join(parts);
  }
}

function isSame(a: PlacementOrder, b: PlacementOrder): boolean {
  const heads = [a, b].map(({ tables: _, ...head }) => JSON.stringify(head));
  return heads[0] === heads[1];
}

function join(parts: readonly PlacementOrder[]): PlacementOrder {
  const tables = parts.flatMap((part) => part.tables).sort((a, b) => byText(a.type, b.type));
  TYPES.read(tables.map(({ type }) => type));
  return { ...parts[0]!, tables };
}

function readPart(order: proto.PlacementOrder): PlacementOrder {
  const { entries = {}, replicationFactor = 0n } = order.tables ?? {};
  if (replicationFactor > BigInt(LIMITS.replicationFactor)) {
    refuseMessage(`a replication factor must be at most ${LIMITS.replicationFactor}, not ${replicationFactor}`);
  }
  for (const type of Object.keys(order.versions)) {
    if (!Object.hasOwn(entries, type)) refuseMessage(`the version of ${TYPE.read(type)} has no table`);
  }
  return {
    kind: "order",
    operation: OPERATION.read(order.operation),
    namespace: NAMESPACE.read(order.namespace),
    term: TERM.read(order.term),
    round: ROUND.read(order.round),
    types: TYPES.read(order.actorTypes),
    tables: readTables(entries, order.versions),
    replicationFactor: REPLICATION_FACTOR.read(replicationFactor),
  };
}

function readTables(entries: Record<string, proto.PlacementTable>, versions: Record<string, bigint>): TypeTable[] {
  const lists = new Map<string, readonly TableHost[]>();
  for (const [type, table] of Object.entries(entries)) {
    if (table.sameHostsAs === "") lists.set(type, readHosts(table));
    else if (Object.keys(table.hosts).length > 0)
      refuseMessage("a table has its own hosts and refers to another table");
  }
  return Object.entries(entries)
    .map(([type, table]) => {
      const hosts =
        lists.get(table.sameHostsAs || type) ?? refuseMessage("a table refers to the hosts of a table that lists none");
      return readTable(type, table, hosts, versions);
    })
    .sort((a, b) => byText(a.type, b.type));
}

const readHosts = ({ hosts }: proto.PlacementTable): TableHost[] =>
  Object.entries(hosts)
    .map(([key, host]) => readHost(key, host))
    .sort((a, b) => byText(a.address, b.address));

function readTable(
  type: string,
  table: proto.PlacementTable,
  hosts: readonly TableHost[],
  versions: Record<string, bigint>,
): TypeTable {
  TYPE.read(type);
  if (!Object.hasOwn(versions, type)) refuseMessage(`the table of ${type} has no version`);
  const version = { term: TERM.read(table.term), number: NUMBER_OF_VERSION.read(versions[type]!) };
  return { type, version, hosts, ...TABLE.read(table) };
}

function readHost(key: string, host: proto.TableHost): TableHost {
  if (key !== host.name) refuseMessage("a table lists a host under the name of another");
  return TABLE_HOST.read(host);
}
