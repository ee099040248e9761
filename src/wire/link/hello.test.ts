import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { FrameWriter } from "./frame-writer.ts";
import { readHello, writeHello } from "./hello.ts";
import { MessageReader } from "./message-reader.ts";
import { PROTOCOL } from "./messages.ts";

const OWN = { namespace: "default", address: "127.0.0.1:1", version: "1.0.0" };

function read(frame: Buffer, own = OWN) {
  const reader = new MessageReader();
  reader.open(frame, 4, frame.length);
  return readHello(reader, own);
}

test("two hosts of the same namespace and protocol accept each other", () => {
  const other = { namespace: "default", address: "127.0.0.1:2", version: "2.0.0" };
  assert.deepEqual(read(writeHello(new FrameWriter(), other)), other);
});

test("a hello with another namespace is rejected with both names", () => {
  const frame = writeHello(new FrameWriter(), { ...OWN, namespace: "tests" });
  assert.throws(
    () => read(frame),
    (error) => isLimpetError(error, "PROTOCOL") && /"tests".*"default"/.test(error.message),
  );
});

test("a hello with another protocol is rejected with its number, whatever follows it", () => {
  const writer = new FrameWriter();
  writer.begin();
  writer.message(3, 0);
  writer.uint(PROTOCOL + 1);
  writer.flag(true);
  assert.throws(
    () => read(writer.finish()),
    (error) => isLimpetError(error, "PROTOCOL") && error.message.includes(`protocol ${PROTOCOL + 1}`),
  );
});

test("any other frame is not a hello", () => {
  const writer = new FrameWriter();
  const frames = [0, 1, 2].map((count) => {
    writer.begin();
    for (let i = 0; i < count; i++) writer.message(1, 8);
    return Buffer.from(writer.finish());
  });
  frames.push(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
  for (const frame of frames)
    assert.throws(
      () => read(frame),
      (error) => isLimpetError(error, "PROTOCOL"),
    );
});
