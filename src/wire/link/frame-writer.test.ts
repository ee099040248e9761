import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Packr, Unpackr } from "msgpackr";
import { FrameWriter } from "./frame-writer.ts";
import { MessageReader } from "./message-reader.ts";
import { FRAME_KIND, type Primitive } from "./messages.ts";

const primitive: fc.Arbitrary<Primitive> = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -(2 ** 31)),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: "binary", maxLength: 300 }).map((text) => text.toWellFormed()),
);

function frameOf(messages: readonly (readonly Primitive[])[], writer = new FrameWriter()): Buffer {
  writer.begin();
  for (const fields of messages) {
    writer.message(fields.length + 1, FRAME_KIND.call);
    for (const field of fields) writer.primitive(field);
  }
  return writer.finish();
}

function messagesOf(frame: Buffer): Primitive[][] {
  const reader = new MessageReader();
  reader.open(frame, 4, frame.length);
  const messages = Array.from({ length: reader.list() }, () => {
    const fields = reader.list();
    assert.equal(reader.uint(), FRAME_KIND.call);
    return Array.from({ length: fields - 1 }, () => reader.primitive());
  });
  reader.close();
  return messages;
}

test("written messages are read back exactly", () => {
  fc.assert(
    fc.property(fc.array(fc.array(primitive, { maxLength: 20 }), { maxLength: 30 }), (messages) => {
      assert.deepEqual(messagesOf(frameOf(messages)), messages);
    }),
  );
});

test("a frame is its length and one array that any MessagePack reader understands", () => {
  const unpackr = new Unpackr({ useRecords: false });
  fc.assert(
    fc.property(fc.array(fc.array(primitive, { maxLength: 20 }), { maxLength: 30 }), (messages) => {
      const frame = frameOf(messages);
      assert.equal(frame.readUInt32BE(0), frame.length - 4);
      const expected = messages.map((fields) => [FRAME_KIND.call, ...fields]);
      assert.deepEqual(unpackr.unpack(frame.subarray(4)), expected);
    }),
  );
});

test("the output of another MessagePack writer is read as well", () => {
  const packr = new Packr({ useRecords: false });
  fc.assert(
    fc.property(fc.array(primitive, { maxLength: 40 }), (fields) => {
      const bytes = packr.pack(fields);
      const reader = new MessageReader();
      reader.open(bytes, 0, bytes.length);
      const read = Array.from({ length: reader.list() }, () => reader.primitive());
      reader.close();
      // That writer does not keep minus zero.
      assert.deepEqual(
        read,
        fields.map((field) => (field === 0 ? 0 : field)),
      );
    }),
  );
});

test("unsent frames stay unchanged while others are written", () => {
  const writer = new FrameWriter();
  const kept: { frame: Buffer; fields: Primitive[] }[] = [];
  for (let i = 0; i < 200; i++) {
    const fields = [`text ${i} `.repeat(i * 7), i];
    kept.push({ frame: frameOf([fields], writer), fields });
  }
  for (const { frame, fields } of kept) assert.deepEqual(messagesOf(frame), [fields]);
});

test("a frame grows as needed, and the place of a sent frame is reused", () => {
  const writer = new FrameWriter();
  const large = "ä".repeat(3_000_000);
  assert.deepEqual(messagesOf(frameOf([["small"], [large], ["after"]], writer)), [["small"], [large], ["after"]]);
  const kept = frameOf([["kept"]], writer);
  const first = frameOf([["one"]], writer);
  writer.reuse(first);
  const second = frameOf([["two"]], writer);
  assert.equal(second.buffer, first.buffer);
  assert.equal(second.byteOffset, first.byteOffset);
  // Only the last frame can be given back.
  writer.reuse(kept);
  assert.notEqual(frameOf([["three"]], writer).byteOffset, kept.byteOffset);
  assert.deepEqual(messagesOf(kept), [["kept"]]);
});

test("the size of a frame is known while it grows", () => {
  const writer = new FrameWriter();
  writer.begin();
  writer.message(2, FRAME_KIND.call);
  writer.text("x".repeat(1_000));
  assert.equal(writer.count, 1);
  assert.equal(writer.bytes, writer.finish().length);
});
