import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import { StreamOutbox } from "./outbox.ts";

/** Each item consists of as many chunks as its field states. */
const outbox = (most = 10) =>
  new StreamOutbox<{ readonly pieces: number }, number>(most, ({ pieces }) =>
    Array.from({ length: pieces }, (_, i) => i),
  );

describe("control outbox", () => {
  it("an outbox delivers chunks in order, whether chunk or reader waits", async () => {
    const box = outbox();
    box.push({ pieces: 3 });
    assert.deepEqual(
      [await box.next(), await box.next(), await box.next()].map(({ value }) => value),
      [0, 1, 2],
    );
    const waiting = box.next();
    box.push({ pieces: 1 });
    assert.deepEqual(await waiting, { value: 0, done: false });
  });

  it("an outbox delivers waiting chunks before its end, and an error last and once", async () => {
    const box = outbox();
    box.push({ pieces: 2 });
    box.end(new LimpetError("STOPPING", "the end"));
    box.end();
    box.push({ pieces: 1 });
    assert.deepEqual([(await box.next()).value, (await box.next()).value], [0, 1]);
    await assert.rejects(box.next(), /the end/);
    assert.deepEqual(await box.next(), { value: undefined, done: true });
  });

  it("an outbox notifies a waiting reader of its end", async () => {
    const box = outbox();
    const waiting = box.next();
    box.end();
    assert.deepEqual(await waiting, { value: undefined, done: true });
    const failing = outbox();
    const failed = assert.rejects(failing.next(), /broken/);
    failing.cut(new LimpetError("UNREACHABLE", "broken"));
    await failed;
  });

  it("an outbox reports when it is full", () => {
    const box = outbox(2);
    assert.deepEqual(
      [1, 2, 3].map((pieces) => box.push({ pieces })),
      [true, true, false],
    );
  });

  it("an outbox that is replaced delivers only the newest item", async () => {
    const box = outbox(1);
    for (const pieces of [3, 4, 1]) box.replace({ pieces });
    box.end();
    const pieces: number[] = [];
    for await (const piece of box) pieces.push(piece);
    assert.deepEqual(pieces, [0]);
  });

  it("an outbox drops waiting items when the reader stops", async () => {
    const box = outbox();
    box.push({ pieces: 5 });
    for await (const _ of box) break;
    assert.deepEqual(await box.next(), { value: undefined, done: true });
    const thrown = outbox();
    thrown.push({ pieces: 5 });
    assert.deepEqual(await thrown.throw(), { value: undefined, done: true });
  });

  it("an outbox fails with the error of an item that cannot be serialized", async () => {
    const box = new StreamOutbox<object, number>(1, () => {
      throw new LimpetError("INVARIANT", "it cannot be sent");
    });
    const waiting = assert.rejects(box.next(), /it cannot be sent/);
    box.push({});
    await waiting;
  });
});
