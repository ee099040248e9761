import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { AnswerSending } from "./answer-sending.ts";
import { measureBody } from "./body-weight.ts";
import { HTTP_LIMITS } from "./limits.ts";

/** A client that reads one chunk at each call. */
class FakeResponse {
  socket: object | null = {};
  taken = 0;
  ended = false;
  #drain: (() => void) | undefined;

  write(chunk: Buffer): boolean {
    this.taken += chunk.length;
    return false;
  }

  once(_event: "drain", then: () => void): void {
    this.#drain = then;
  }

  end(chunk: Buffer): void {
    this.taken += chunk.length;
    this.ended = true;
  }

  takeChunk(): void {
    this.#drain?.();
  }
}

const BODY = "a".repeat(1_000_000);

function begin(): { response: FakeResponse; sending: AnswerSending } {
  const response = new FakeResponse();
  const sending = new AnswerSending(response as unknown as ServerResponse, BODY.length);
  sending.send(BODY, true);
  return { response, sending };
}

test("a large answer goes out in chunks, each after the client has read the one before", () => {
  const { response } = begin();
  let chunks = 1;
  for (; !response.ended; chunks++) response.takeChunk();
  assert.equal(response.taken, BODY.length);
  assert.equal(chunks, Math.ceil(BODY.length / (64 * 1024)));
});

test("a client that reads nothing for 30 seconds is too slow, and one that reads a chunk in time is not", () => {
  const { response, sending } = begin();
  for (let s = 0; s < 29; s++) assert.equal(sending.waited(1_000, HTTP_LIMITS), false);
  response.takeChunk();
  for (let s = 0; s < 30; s++) assert.equal(sending.waited(1_000, HTTP_LIMITS), false);
  assert.equal(sending.waited(1_000, HTTP_LIMITS), true);
});

test("a client that reads a chunk every 29 seconds is too slow in the end", () => {
  const { response, sending } = begin();
  let seconds = 0;
  while (!sending.waited(1_000, HTTP_LIMITS)) if (++seconds % 29 === 0) response.takeChunk();
  assert.ok(seconds < 120 && !response.ended, `${seconds} s`);
});

test("an answer that waits behind another one on its connection does not count as slow", () => {
  const { response, sending } = begin();
  response.socket = null;
  for (let s = 0; s < 100; s++) assert.equal(sending.waited(1_000, HTTP_LIMITS), false);
});

test("the weight of a body covers its parsed and copied values, and texts add nothing", () => {
  const times = (text: string): number => {
    const json = Buffer.from(`[${`${text},`.repeat(1_000)}0]`);
    return 1 + measureBody(json).weight / json.length;
  };
  // Measured on Node 24: heap after parsing and copying, as a multiple of the bytes.
  const measured = {
    "{}": 42.6,
    "[]": 26.6,
    "[[]]": 38.4,
    "0": 8,
    "1.5": 8,
    '{"a":1}': 13,
    '{"a":{}}': 24,
    '"abc"': 2.6,
  };
  for (const [text, growth] of Object.entries(measured)) assert.ok(times(text) >= growth, `${text}: ${times(text)}`);
  const text = Buffer.from(JSON.stringify('[{},{"a":1}] \\" ,,,'));
  assert.deepEqual(measureBody(text), { weight: 0, parts: 0, names: 0 });
});
