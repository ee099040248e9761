// A prepared statement in progress, as a "submittable" of the driver. The driver's usual query makes the
// server describe the rows each time, writes every message separately and builds objects that are unused
// here. That is as much work as all the rest of a short statement. A PreparedQuery is prepared and described
// on its first use on a connection; from then on it is one write, and its rows are arrays.
//
// A description stays valid for the life of a connection: the server rejects a statement whose columns have
// changed since (faults.ts, 0A000).
import type pg from "pg";
import { invariant, LimpetError } from "../../../kernel/errors.ts";
import type { Row, Statement } from "./connections.ts";

/** The driver's connection; its published type omits the prepared statements. */
interface Wire extends pg.Connection {
  readonly parsedStatements: Readonly<Record<string, string>>;
}

type Read = (text: string) => unknown;
interface Column {
  readonly dataTypeID: number;
}

/** The parsers for the columns of each statement that a connection has described. */
const described = new WeakMap<object, Map<string, readonly Read[]>>();

const DESCRIBE = Buffer.from([0x44, 0, 0, 0, 6, 0x50, 0]);
const EXECUTE = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const PLAIN_END = Buffer.concat([EXECUTE, SYNC]);
const DESCRIBED_END = Buffer.concat([DESCRIBE, EXECUTE, SYNC]);

type Answered = (error: unknown, rows: Row[]) => void;
/** Buffers travel in the server's binary format, everything else as text; undefined is NULL. */
type Sent = string | Buffer | undefined;

/**
 * True if a connection of the driver has the undocumented members that a PreparedQuery uses. Without them a
 * statement goes through the driver's public API.
 */
export function fitsDriver(client: pg.ClientBase): boolean {
  const { connection: wire, getTypeParser } = client as unknown as {
    readonly connection?: Partial<Wire>;
    readonly getTypeParser?: unknown;
  };
  const stream: unknown = wire?.stream;
  return (
    typeof getTypeParser === "function" &&
    typeof wire?.parse === "function" &&
    typeof wire.parsedStatements === "object" &&
    typeof stream === "object" &&
    stream !== null &&
    ["write", "cork", "uncork"].every((name) => typeof (stream as Record<string, unknown>)[name] === "function") &&
    typeof (stream as { writable?: unknown }).writable === "boolean"
  );
}

export class PreparedQuery {
  /** By these two the driver records the statements that a connection has prepared. */
  readonly name: string;
  readonly text: string;
  /** The driver wraps it with its own callback, which adds the query timeout. */
  callback: Answered;
  readonly #values: readonly Sent[];
  readonly #client: pg.ClientBase;
  readonly #rows: Row[] = [];
  #columns: readonly Read[] | undefined;
  /** The columns were known before the statement was sent. */
  #isKnown = false;
  #failed: unknown;

  constructor({ name, text }: Statement, values: readonly unknown[], client: pg.ClientBase, callback: Answered) {
    this.name = name;
    this.text = text;
    this.callback = callback;
    this.#values = values.map(sent);
    this.#client = client;
  }

  /** Called by the driver. Returns an error if the statement cannot be sent. */
  submit(connection: pg.Connection): Error | undefined {
    const { name, text } = this;
    const wire = connection as Wire;
    const prepared = wire.parsedStatements[name];
    if (prepared !== undefined && prepared !== text) {
      return new LimpetError("INVARIANT", `${name} stands for two statements`);
    }
    this.#columns = described.get(wire)?.get(name);
    this.#isKnown = this.#columns !== undefined;
    const bytes = messages(name, this.#values, this.#isKnown ? PLAIN_END : DESCRIBED_END);
    // The stream itself reports that it is not writable.
    if (!wire.stream.writable) return undefined;
    if (prepared !== undefined) {
      wire.stream.write(bytes);
      return undefined;
    }
    wire.stream.cork();
    wire.parse({ name, text, types: [] }, true);
    wire.stream.write(bytes);
    wire.stream.uncork();
    return undefined;
  }

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#columns = fields.map(({ dataTypeID }) => this.#client.getTypeParser(dataTypeID, "text") as Read);
  }

  handleDataRow({ fields }: { readonly fields: unknown[] }): void {
    const columns = this.#columns!;
    try {
      for (let i = 0; i < fields.length; i++) {
        if (fields[i] !== null) fields[i] = columns[i]!(fields[i] as string);
      }
      this.#rows.push(fields);
    } catch (error) {
      this.#failed ??= error;
    }
  }

  handleReadyForQuery(connection: pg.Connection): void {
    if (!this.#isKnown) {
      const known = described.get(connection) ?? new Map<string, readonly Read[]>();
      described.set(connection, known.set(this.name, this.#columns ?? []));
    }
    this.callback(this.#failed, this.#rows);
  }

  handleError(error: unknown): void {
    this.callback(error, []);
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}
}

/** Builds the messages that bind the values and execute the statement, in one buffer. */
function messages(name: string, values: readonly Sent[], end: Buffer): Buffer {
  const sizes = new Array<number>(values.length);
  // Portal and name with their zeros; the counts of formats, values and column formats; the one column
  // format.
  let size = 5 + 1 + Buffer.byteLength(name) + 1 + 2 + 2 + 2 + 2;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    sizes[i] = value === undefined ? 0 : typeof value === "string" ? Buffer.byteLength(value) : value.length;
    size += 2 + 4 + sizes[i]!;
  }
  const bytes = Buffer.allocUnsafe(size + end.length);
  bytes[0] = 0x42;
  bytes.writeInt32BE(size - 1, 1);
  bytes[5] = 0;
  let at = 6 + bytes.write(name, 6);
  bytes[at++] = 0;
  at = bytes.writeInt16BE(values.length, at);
  for (const value of values) at = bytes.writeInt16BE(typeof value === "object" ? 1 : 0, at);
  at = bytes.writeInt16BE(values.length, at);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    at = bytes.writeInt32BE(value === undefined ? -1 : sizes[i]!, at);
    if (typeof value === "string") at += bytes.write(value, at);
    else if (value !== undefined) at += value.copy(bytes, at);
  }
  at = bytes.writeInt16BE(1, at);
  at = bytes.writeInt16BE(0, at);
  end.copy(bytes, at);
  return bytes;
}

function sent(value: unknown): Sent {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "boolean":
      return String(value);
    default:
      if (value === null || value === undefined) return undefined;
      invariant(value instanceof Buffer, "a value is a text, a number, a flag, bytes or nothing");
      return value;
  }
}
