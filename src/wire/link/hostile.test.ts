// Hostile input of unknown peers. Each time the server closes the connection and logs one line that quotes
// none of the input. Other connections are not affected.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LINK_LIMITS } from "./limits.ts";
import { ask, frame, hello, Lines, NAMESPACE, Pair, RawPeer, RawServer, Service, until } from "./link-kit.test.ts";
import { openLinks } from "./links.ts";
import { FRAME_KIND, PROTOCOL } from "./messages.ts";

const echo = () => new Service((call, answer) => answer.value(call.args[0]));
const SECRET = "hunter2";

function framed(...bytes: readonly (number | Buffer)[]): Buffer {
  const body = Buffer.concat(bytes.map((part) => (typeof part === "number" ? Buffer.from([part]) : part)));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

const call = (number: number, args: string | readonly string[] = []) =>
  frame([FRAME_KIND.call, number, "Cart", "ada", "add", 1_000, args]);

const length = (bytes: number): Buffer => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes);
  return head;
};

const BAD_HELLOS: Record<string, Buffer> = {
  "an HTTP request": Buffer.from(`GET /${SECRET} HTTP/1.1\r\n\r\n`),
  "a huge length": length(0xffff_ffff),
  "a hello that is too long": framed(Buffer.alloc(LINK_LIMITS.helloBytes + 1, 0x61)),
  "a hello of a megabyte": length(1_000_000),
  "an empty frame": length(0),
  "a call before hello": call(0, [SECRET]),
  "a hello with too few fields": frame([FRAME_KIND.hello, PROTOCOL, NAMESPACE]),
  "a hello with bytes behind it": framed(hello().subarray(4), 0),
  "two messages in the first frame": frame([FRAME_KIND.hello, PROTOCOL, NAMESPACE, "", ""], [FRAME_KIND.ping]),
  "another namespace": hello("elsewhere"),
  "another protocol": frame([FRAME_KIND.hello, 77, NAMESPACE, "", ""]),
  "a hello with a text as protocol": frame([FRAME_KIND.hello, "one", NAMESPACE, "", ""]),
};

const BAD_FRAMES: Record<string, Buffer> = {
  "a huge length": length(LINK_LIMITS.frameBytes + 1),
  "an empty frame": length(0),
  "a map": framed(0x81, 0xa1, 0x61, 1),
  "an extension": framed(0x91, 0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61),
  "a record of another MessagePack": framed(Buffer.from("91d47240 91a8636f6e7374727563 01".replaceAll(" ", ""), "hex")),
  "nesting without end": framed(Buffer.alloc(100_000, 0x91)),
  "a list that is longer than its frame": framed(0xdd, 0xff, 0xff, 0xff, 0xff),
  "bytes behind the messages": framed(0x90, 0),
  "a message that is not a list": framed(0x91, 1),
  "a message without a kind": framed(0x91, 0x90),
  "an unknown kind": frame([99, 1]),
  "a second hello": hello(),
  "an answer without a call": frame([FRAME_KIND.value, 0, SECRET]),
  "a bye to the host": frame([FRAME_KIND.bye]),
  "a ping with a field": frame([FRAME_KIND.ping, SECRET]),
  "a call with too few fields": frame([FRAME_KIND.call, 0, "Cart", SECRET]),
  "a call with too many fields": frame([FRAME_KIND.call, 0, "Cart", "ada", "add", 1, [], 0, false, [], SECRET]),
  "a call with a number as type": frame([FRAME_KIND.call, 0, 5, "ada", "add", 1, []]),
  "a call with a text as timeout": frame([FRAME_KIND.call, 0, "Cart", "ada", "add", SECRET, []]),
  "a call with a negative timeout": frame([FRAME_KIND.call, 0, "Cart", "ada", "add", -1.5, []]),
  "a call with NaN as timeout": frame([FRAME_KIND.call, 0, "Cart", "ada", "add", Number.NaN, []]),
  "a call with a number as arguments": frame([FRAME_KIND.call, 0, "Cart", "ada", "add", 1, 5]),
  "arguments that are not JSON": call(0, `{${SECRET}`),
  "arguments that are not a list": call(0, `{"a":"${SECRET}"}`),
  "arguments nested too deep": call(0, "[".repeat(5_000) + "]".repeat(5_000)),
  "arguments with an invalid tag": call(0, '[{"$":"map","v":5}]'),
  "arguments with a number that takes minutes to parse": call(0, `[{"$":"bigint","v":"${"9".repeat(100_000)}"}]`),
  "incomplete causes": frame([FRAME_KIND.call, 0, "Cart", "ada", "add", 1, [], 0, false, ["host"]]),
  "the same number twice": Buffer.concat([call(7), call(7)]),
  "a number beyond the limit": call(LINK_LIMITS.calls),
  "a cancellation beyond the limit": frame([FRAME_KIND.cancel, LINK_LIMITS.calls]),
  "a cancellation without a number": frame([FRAME_KIND.cancel, SECRET]),
};

for (const [what, bytes] of Object.entries(BAD_HELLOS)) {
  test(`the link server closes the connection on ${what}`, async () => {
    await using pair = await Pair.open(echo());
    using peer = await RawPeer.connect(pair.testServer.address, bytes);
    await peer.closed();
    await assertRefused(pair);
    assert.equal(pair.service.served.length, 1);
  });
}

for (const [what, bytes] of Object.entries(BAD_FRAMES)) {
  test(`the link server closes the connection on ${what} after a good hello`, async () => {
    await using pair = await Pair.open(new Service());
    using peer = await RawPeer.connect(pair.testServer.address, hello(), bytes);
    await peer.closed();
    pair.service.respond = (given, answer) => answer.value(given.args[0]);
    await assertRefused(pair);
  });
}

/** Asserts one log line without any of the sent bytes, and a server that serves other peers. */
async function assertRefused(pair: Pair): Promise<void> {
  await until("it is in the log", () => pair.serverLog.of("link.refused").length > 0);
  assert.deepEqual(await pair.ask(["fine"]), ["value", "fine"]);
  const lines = pair.serverLog.of("link.refused");
  assert.equal(lines.length, 1);
  assert.ok(!JSON.stringify(lines).includes(SECRET));
  assert.deepEqual(pair.serverLog.of("link.failed"), []);
}

test("a hello that never ends is cut off in time, even while bytes keep arriving", async () => {
  await using pair = await Pair.open(echo(), { limits: { helloMs: 50 } });
  using peer = await RawPeer.connect(pair.testServer.address, length(1_000));
  const dripping = setInterval(() => peer.socket.write("a"), 5);
  await peer.closed();
  clearInterval(dripping);
  await assertRefused(pair);
});

test("random bytes only close their own connection", async () => {
  await using pair = await Pair.open(echo());
  const good = [hello(), call(1, ["x"]), call(2, '[{"a":1}]'), frame([FRAME_KIND.cancel, 1]), frame([FRAME_KIND.ping])];
  const noise = fc.array(
    fc.oneof(
      fc.constantFrom(...good),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => framed(Buffer.from(bytes))),
      fc.tuple(fc.constantFrom(...good), fc.nat(), fc.nat(255)).map(([bytes, at, byte]) => {
        const changed = Buffer.from(bytes);
        changed[at % changed.length] = byte;
        return changed;
      }),
    ),
    { maxLength: 8 },
  );
  const property = fc.asyncProperty(fc.boolean(), noise, async (isPolite, pieces) => {
    using peer = await RawPeer.connect(pair.testServer.address, ...(isPolite ? [hello()] : []), ...pieces);
    peer.socket.end();
    await peer.closed();
    assert.deepEqual(await pair.ask(["fine"]), ["value", "fine"]);
  });
  await fc.assert(property, { numRuns: 300 });
  assert.deepEqual(pair.serverLog.of("link.failed"), []);
});

test("a flood of calls is served up to the limit of one connection, and others are not disturbed", async () => {
  const service = new Service();
  await using pair = await Pair.open(service, { limits: { calls: 1_000 } });
  const flood = Array.from({ length: 1_001 }, (_, i) => call(i));
  using peer = await RawPeer.connect(pair.testServer.address, hello(), ...flood);
  await peer.closed();
  assert.equal(service.served.length, 1_000);
  await until("all are cancelled", () => service.served.every(({ cancels }) => cancels === 1));
  service.respond = (given, answer) => answer.value(given.args[0]);
  await assertRefused(pair);
});

test("immediately cancelled calls do not accumulate", async () => {
  const service = new Service();
  await using pair = await Pair.open(service, { limits: { unsentBytes: 10_000 } });
  using peer = await RawPeer.connect(pair.testServer.address, hello());
  await until("it said hello", () => peer.received.length > 0);
  // The peer reads none of the final answers.
  peer.socket.pause();
  const round = Buffer.concat([call(0), frame([FRAME_KIND.cancel, 0]), frame([FRAME_KIND.ping])]);
  const many = Buffer.concat(Array.from({ length: 2_000 }, () => round));
  for (let i = 0; i < 100; i++) peer.socket.write(many);
  await until("the door stops to read", () => peer.socket.writableLength > 0 && service.served.length > 0);
  service.served.length = 0;
  pair.service.respond = (given, answer) => answer.value(given.args[0]);
  assert.deepEqual(await pair.ask(["fine"]), ["value", "fine"]);
});

test("partial frames of many peers share one limit", async () => {
  await using pair = await Pair.open(echo(), { limits: { heldBytes: 1_000_000 } });
  const half = Buffer.concat([length(600_000), Buffer.alloc(500_000)]);
  using first = await RawPeer.connect(pair.testServer.address, hello(), half);
  using second = await RawPeer.connect(pair.testServer.address, hello(), half);
  await until("one of them is refused", () => first.isClosed !== second.isClosed);
  await assertRefused(pair);
});

test("connections above the limit are rejected", async () => {
  await using pair = await Pair.open(echo(), { limits: { connections: 2 } });
  using first = await RawPeer.connect(pair.testServer.address, hello());
  assert.deepEqual(await pair.ask([1]), ["value", 1]);
  using third = await RawPeer.connect(pair.testServer.address, hello());
  await third.closed();
  assert.equal(first.isClosed, false);
  assert.deepEqual(await pair.ask([2]), ["value", 2]);
});

const BAD_ANSWERS: Record<string, Buffer> = {
  "an answer to a call that was not made": frame([FRAME_KIND.value, 5, "x"]),
  "a second answer": frame([FRAME_KIND.value, 0, "first"], [FRAME_KIND.value, 0, "second"]),
  "an answer with too many fields": frame([FRAME_KIND.value, 0, "x", "y"]),
  "a text that is not a value": frame([FRAME_KIND.text, 0, `{${SECRET}`]),
  "a text that is a number": frame([FRAME_KIND.text, 0, 5]),
  "an error without fields": frame([FRAME_KIND.error, 0, `"${SECRET}"`]),
  "an error that is not JSON": frame([FRAME_KIND.error, 0, SECRET]),
  "a not-owner answer without an owner": frame([FRAME_KIND.notOwner, 0, 1, 2]),
  "the end of a call that was not cancelled": frame([FRAME_KIND.givenUp, 0]),
  "a call": call(0),
  "an unknown kind": frame([42, 0]),
  "a huge frame": length(0xffff_ffff),
};

for (const [what, bytes] of Object.entries(BAD_ANSWERS)) {
  test(`a link closes on ${what}, and its caller gets one outcome`, async () => {
    const log = new Lines();
    await using server = await RawServer.open((socket) => {
      socket.write(hello());
      // The first chunk is the hello, the next one the call.
      let reads = 0;
      socket.on("data", (piece) => {
        const isCall = piece.includes("Cart");
        if (isCall && reads++ === 0) socket.write(bytes);
      });
    });
    const links = openLinks({ address: "", namespace: NAMESPACE, security: { keys: [] }, log });
    const [how, answer] = await ask(links, server.address);
    if (what === "a second answer") assert.deepEqual([how, answer], ["value", "first"]);
    else assert.equal(how, "lost");
    await until("it is in the log", () => log.of("link.refused").length === 1);
    assert.ok(!JSON.stringify(log.all).includes(SECRET));
    await links.close();
  });
}
