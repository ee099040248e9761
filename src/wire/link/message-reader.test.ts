import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../kernel/errors.ts";
import { FrameWriter } from "./frame-writer.ts";
import { MessageReader } from "./message-reader.ts";

const isProtocol = (error: unknown): boolean => isLimpetError(error, "PROTOCOL");

const METHODS = [
  "list",
  "uint",
  "number",
  "text",
  "name",
  "flag",
  "textOrNil",
  "primitive",
  "primitivesOrText",
] as const;

test("arbitrary bytes are read, or rejected with PROTOCOL, and never read beyond their end", () => {
  const reading = fc.array(fc.constantFrom(...METHODS), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), reading, (bytes, methods) => {
      // The bytes behind the frame belong to the next one.
      const behind = Buffer.concat([Buffer.from(bytes), Buffer.alloc(64, 0xa1)]);
      for (const buffer of [Buffer.from(bytes), behind]) {
        const reader = new MessageReader();
        reader.open(buffer, 0, bytes.length);
        try {
          let read = 0;
          for (const method of methods) {
            const value = reader[method]();
            read++;
            if (typeof value === "string") read += value.length > 0 ? 1 : 0;
          }
          assert.ok(read <= bytes.length);
        } catch (error) {
          if (!isProtocol(error)) throw error;
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a list that is longer than its frame is rejected before anything is allocated for it", () => {
  for (const bytes of [[0xdd, 0xff, 0xff, 0xff, 0xff], [0xdc, 0xff, 0xff], [0x9f, 1], [0xdd, 0xff], [0xdd]]) {
    const reader = new MessageReader();
    reader.open(Buffer.from(bytes), 0, bytes.length);
    assert.throws(() => reader.primitivesOrText(), isProtocol);
  }
});

test("a text that is longer than its frame is rejected", () => {
  for (const bytes of [
    [0xa5, 0x61],
    [0xd9],
    [0xd9, 5, 0x61],
    [0xda, 0xff, 0xff],
    [0xdb, 0xff, 0xff, 0xff, 0xff],
    [0xdb],
  ]) {
    const reader = new MessageReader();
    reader.open(Buffer.from(bytes), 0, bytes.length);
    assert.throws(() => reader.text(), isProtocol);
  }
});

test("maps, bytes, extensions, 64-bit integers and nested lists are rejected", () => {
  for (const token of [0x80, 0x91, 0xc1, 0xc4, 0xc7, 0xca, 0xcf, 0xd3, 0xd4, 0xd5, 0xd8, 0xde, 0xdf]) {
    const reader = new MessageReader();
    const bytes = Buffer.from([0x91, token, ...Array<number>(20).fill(0x72)]);
    reader.open(bytes, 0, bytes.length);
    assert.throws(() => reader.primitivesOrText(), isProtocol, `token ${token}`);
  }
});

test("two names that share a cache slot are not confused", () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `name${i}`);
  names.push("ä", "Ã¤", "é".repeat(60), "x".repeat(200), "");
  const writer = new FrameWriter();
  const reader = new MessageReader();
  for (let round = 0; round < 2; round++) {
    for (const name of names) {
      writer.begin();
      writer.text(name);
      const frame = writer.finish();
      reader.open(frame, 9, frame.length);
      assert.equal(reader.name(), name);
      reader.close();
    }
  }
});

test("bytes beyond the last message are rejected", () => {
  const reader = new MessageReader();
  reader.open(Buffer.from([1, 2]), 0, 2);
  reader.uint();
  assert.throws(() => reader.close(), isProtocol);
});
