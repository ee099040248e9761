// Encodes arrays in PostgreSQL's binary format. A batch travels as a few arrays. In text format, escaping and
// parsing them would cost the client twice as much as the rest of a commit.

const HEADER = 20;
const TEXT = 25;
const BIGINT = 20;

function header(buffer: Buffer, length: number, oid: number, nulls: boolean): void {
  buffer.writeInt32BE(1, 0); // Dimensions.
  buffer.writeInt32BE(nulls ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16); // The first index.
}

export function bigints(values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER + values.length * 12);
  header(buffer, values.length, BIGINT, false);
  let at = HEADER;
  for (const value of values) {
    buffer.writeInt32BE(8, at);
    buffer.writeInt32BE(Math.floor(value / 2 ** 32), at + 4);
    buffer.writeUInt32BE(value >>> 0, at + 8);
    at += 12;
  }
  return buffer;
}

export function texts(values: readonly (string | undefined)[]): Buffer {
  let size = HEADER;
  let nulls = false;
  for (const value of values) {
    size += 4;
    if (value === undefined) nulls = true;
    else size += Buffer.byteLength(value);
  }
  const buffer = Buffer.allocUnsafe(size);
  header(buffer, values.length, TEXT, nulls);
  let at = HEADER;
  for (const value of values) {
    const bytes = value === undefined ? -1 : buffer.write(value, at + 4);
    buffer.writeInt32BE(bytes, at);
    at += 4 + Math.max(bytes, 0);
  }
  return buffer;
}
