import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../kernel/errors.ts";
import { ByteBudget } from "../byte-budget.ts";
import { FrameReader } from "./frame-reader.ts";

const isProtocol = (error: unknown): boolean => isLimpetError(error, "PROTOCOL");

function frameOf(body: Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

class Frames {
  readonly bodies: Buffer[] = [];

  frame(bytes: Buffer, start: number, end: number): boolean {
    this.bodies.push(Buffer.from(bytes.subarray(start, end)));
    return true;
  }
}

test("frames come out unchanged, wherever the stream is cut", () => {
  const bodies = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 });
  fc.assert(
    fc.property(bodies, fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }), (given, sizes) => {
      const held = new ByteBudget(10_000);
      const reader = new FrameReader(1_000, held);
      const sink = new Frames();
      const stream = Buffer.concat(given.map(frameOf));
      for (let at = 0, i = 0; at < stream.length; i++) {
        const size = sizes[i % sizes.length]!;
        reader.push(stream.subarray(at, at + size), sink);
        at += size;
      }
      assert.deepEqual(
        sink.bodies,
        given.map((body) => Buffer.from(body)),
      );
      // All held bytes were released.
      assert.ok(held.take(10_000));
    }),
  );
});

test("a frame that lies whole in one chunk is not copied", () => {
  const reader = new FrameReader(1_000);
  const piece = Buffer.concat([frameOf(Buffer.from("one")), frameOf(Buffer.from("two"))]);
  let seen = 0;
  const frame = (bytes: Buffer): boolean => {
    assert.equal(bytes, piece);
    seen++;
    return true;
  };
  reader.push(piece, { frame });
  assert.equal(seen, 2);
});

test("a large frame in small chunks takes no more memory than has arrived", () => {
  const held = new ByteBudget(100 * 1024);
  const reader = new FrameReader(16 * 1024 * 1024, held);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(16 * 1024 * 1024);
  reader.push(head, new Frames());
  for (let i = 0; i < 60; i++) reader.push(Buffer.alloc(1_024), new Frames());
  assert.ok(held.take(30 * 1024));
  held.giveBack(30 * 1024);
  assert.throws(() => {
    for (let i = 0; i < 60; i++) reader.push(Buffer.alloc(1_024), new Frames());
  }, isProtocol);
  reader.close();
  assert.ok(held.take(100 * 1024));
});

test("a frame above the limit is rejected by its head alone, whole or cut", () => {
  const head = Buffer.from([0, 0, 4, 1]);
  assert.throws(() => new FrameReader(1_024).push(head, new Frames()), isProtocol);
  const reader = new FrameReader(1_024);
  reader.push(head.subarray(0, 2), new Frames());
  assert.throws(() => reader.push(head.subarray(2), new Frames()), isProtocol);
});

test("a sink that stopped receives no further frame", () => {
  const reader = new FrameReader(1_000);
  let seen = 0;
  const frame = (): boolean => {
    seen++;
    return false;
  };
  const piece = Buffer.concat([frameOf(Buffer.from("one")), frameOf(Buffer.from("two"))]);
  reader.push(piece, { frame });
  assert.equal(seen, 1);
});
