import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FrameWriter } from "./frame-writer.ts";
import { LinkOutbox, type OutgoingFrame } from "./outbox.ts";

class Item implements OutgoingFrame {
  readonly name: number;
  readonly bytes = 10;
  takenOut = false;
  readonly #written: number[];

  constructor(name: number, written: number[]) {
    this.name = name;
    this.#written = written;
  }

  write(writer: FrameWriter): void {
    this.#written.push(this.name);
    writer.message(1, 1);
    writer.text("0123456789");
  }
}

test("every message is written once and in order, except messages that were taken out", () => {
  const steps = fc.array(fc.oneof(fc.constant("push" as const), fc.constant("fill" as const), fc.nat(100)), {
    maxLength: 400,
  });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 200 }), (given, fullBytes) => {
      const outbox = new LinkOutbox();
      const writer = new FrameWriter();
      const written: number[] = [];
      const expected: number[] = [];
      let waiting: Item[] = [];
      let last = 0;
      for (const step of given) {
        if (step === "push") {
          const item = new Item(last++, written);
          waiting.push(item);
          outbox.push(item);
        } else if (step === "fill") {
          const before = written.length;
          writer.begin();
          outbox.fill(writer, fullBytes);
          expected.push(...waiting.splice(0, written.length - before).map(({ name }) => name));
        } else if (step < waiting.length) {
          const item = waiting[step]!;
          waiting = waiting.filter((other) => other !== item);
          item.takenOut = true;
          outbox.takeOut(item);
        }
        assert.equal(outbox.size, waiting.length);
        assert.equal(outbox.bytes, waiting.length * 10);
        assert.deepEqual(written, expected);
      }
      assert.deepEqual(outbox.takeAll(), waiting);
      assert.equal(outbox.size, 0);
    }),
  );
});

test("a full frame leaves the remaining messages for the next one", () => {
  const outbox = new LinkOutbox();
  const written: number[] = [];
  for (let i = 0; i < 100; i++) outbox.push(new Item(i, written));
  const writer = new FrameWriter();
  const counts: number[] = [];
  while (outbox.size > 0) {
    writer.begin();
    outbox.fill(writer, 400);
    assert.ok(writer.bytes < 430);
    counts.push(writer.count);
  }
  assert.ok(counts.length > 2);
  assert.deepEqual(
    written,
    Array.from({ length: 100 }, (_, i) => i),
  );
});

test("an outbox that never becomes empty does not keep sent messages", () => {
  const outbox = new LinkOutbox();
  const written: number[] = [];
  const writer = new FrameWriter();
  for (let i = 0; i < 100_000; i++) {
    const item = new Item(i, written);
    outbox.push(item);
    if (i % 3 === 0) {
      item.takenOut = true;
      outbox.takeOut(item);
    }
    if (outbox.size < 50) continue;
    writer.begin();
    outbox.fill(writer, 1);
  }
  assert.ok(outbox.kept < 5_000, `${outbox.kept} are kept`);
});
