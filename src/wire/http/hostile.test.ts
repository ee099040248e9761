// Invalid bytes on real sockets. Every input gets a defined answer or a closed connection, and the server
// continues to serve all other clients.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import fc from "fast-check";
import { LIMITS } from "../../kernel/limits.ts";
import { EXACT_TYPE } from "../exact.ts";
import { answers, dial, errorCode, FakeHost, openTestServer } from "./server-kit.test.ts";

const HEAD = "Host: localhost\r\n";
const CALL = "/v1.0/actors/Cart/alice/method/echo";
const PING = `GET ${CALL} HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`;

const uncaught: unknown[] = [];
process.on("uncaughtExceptionMonitor", (error) => uncaught.push(error));
afterEach(() => assert.deepEqual(uncaught, []));

/** Sends bytes on their own connection and returns the answers up to its end. */
async function send(t: Parameters<typeof dial>[0], port: number, bytes: string | Buffer) {
  const wire = dial(t, port);
  wire.send(bytes);
  return answers(await wire.closed);
}

const post = (body: string, headers = "") =>
  `POST ${CALL} HTTP/1.1\r\n${HEAD}Connection: close\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

for (const [what, bytes] of Object.entries({
  garbage: "\x00\x01\x02 hello?\r\n\r\n",
  "a TLS greeting": Buffer.from("160301020001000", "hex"),
  "an unknown verb": `BREW ${CALL} HTTP/1.1\r\n${HEAD}\r\n`,
  "another protocol version": `GET ${CALL} HTTP/9.9\r\n${HEAD}\r\n`,
  "a negative content-length": `POST ${CALL} HTTP/1.1\r\n${HEAD}Content-Length: -5\r\n\r\nhello`,
  "a content-length that is no number": `POST ${CALL} HTTP/1.1\r\n${HEAD}Content-Length: 5abc\r\n\r\nhello`,
  "two content-lengths": `POST ${CALL} HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
  "content-length together with chunks": `POST ${CALL} HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "a chunk size that is no number": `POST ${CALL} HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n`,
  "a header with a line break in it": `GET ${CALL} HTTP/1.1\r\n${HEAD}X: a\rb\r\n\r\n`,
  "a header folded over two lines": `GET ${CALL} HTTP/1.1\r\n${HEAD}X: a\r\n  b\r\n\r\n`,
  "a space before the colon of a header": `GET ${CALL} HTTP/1.1\r\n${HEAD}Content-Length : 5\r\n\r\nhello`,
  "a target that is no path": `GET http://localhost${CALL} HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`,
  "a star as target": `OPTIONS * HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`,
  "raw bytes beyond ASCII in the target": `GET ${CALL}\xff\xfe HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`,
  "no host": `GET ${CALL} HTTP/1.1\r\nConnection: close\r\n\r\n`,
  "two hosts": `GET ${CALL} HTTP/1.1\r\n${HEAD}Host: evil.example\r\nConnection: close\r\n\r\n`,
  "two timeouts": `GET ${CALL} HTTP/1.1\r\n${HEAD}limpet-timeout: 1s\r\nLimpet-Timeout: 9s\r\nConnection: close\r\n\r\n`,
  "an expectation nobody knows": `POST ${CALL} HTTP/1.1\r\n${HEAD}Expect: a-pony\r\nConnection: close\r\n\r\n`,
})) {
  test(`${what} is answered 400 and the connection closes`, async (t) => {
    const host = new FakeHost();
    const { port } = await openTestServer(t, host);
    const [first, ...more] = await send(t, port, bytes);
    assert.equal(first?.status, 400);
    assert.equal(errorCode(first.body), "REQUEST_INVALID");
    assert.deepEqual(more, []);
    assert.deepEqual(host.calls, []);
    assert.equal((await send(t, port, PING))[0]?.status, 200);
  });
}

test("a list of more arguments than a method can take is rejected with the body to send instead", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host);
  const list = (length: number) => JSON.stringify(Array(length).fill(0));
  const [refused] = await send(t, port, post(list(LIMITS.httpArguments + 1)));
  assert.deepEqual([refused?.status, errorCode(refused!.body)], [400, "BODY_INVALID"]);
  assert.match(JSON.stringify(refused!.body), /send a long list as one argument: \[\[…\]\]/);
  assert.deepEqual(host.calls, []);
  assert.equal((await send(t, port, post(list(LIMITS.httpArguments))))[0]?.status, 200);
  assert.equal((await send(t, port, post(`[${list(LIMITS.httpArguments + 1)}]`)))[0]?.status, 200);
});

test("a body with too many different property names is rejected before it is parsed", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host);
  const map = (length: number) => `{${Array.from({ length }, (_, i) => `"n${i}":0`)}}`;
  // The count may be slightly too low, but not by half.
  const [refused] = await send(t, port, post(map(2 * LIMITS.httpBodyNames)));
  assert.deepEqual([refused?.status, errorCode(refused!.body)], [413, "BODY_TOO_LARGE"]);
  assert.match(JSON.stringify(refused!.body), /different names of properties.*list of pairs/);
  assert.deepEqual(host.calls, []);
  assert.equal((await send(t, port, post(map(LIMITS.httpBodyNames / 10))))[0]?.status, 200);
});

test("an unsupported verb gets 405 with the supported ones", async (t) => {
  const { port } = await openTestServer(t);
  for (const verb of ["OPTIONS", "PATCH", "TRACE", "PROPFIND"]) {
    const [answer] = await send(t, port, PING.replace("GET", verb));
    assert.equal(answer?.status, 405);
    assert.match(answer.headers, /allow: GET, POST, PUT, DELETE/);
    assert.equal(errorCode(answer.body), "VERB_NOT_ALLOWED");
  }
  const wire = dial(t, port);
  wire.send(PING.replace("GET", "HEAD"));
  const received = await wire.closed;
  assert.match(received, /^HTTP\/1\.1 405 .*allow: GET, POST, PUT, DELETE.*\r\n\r\n$/s);
  const [tunnel] = await send(t, port, `CONNECT localhost:22 HTTP/1.1\r\n${HEAD}\r\n`);
  assert.equal(tunnel?.status, 405);
});

test("an offer to upgrade the connection is ignored", async (t) => {
  const { port } = await openTestServer(t);
  const [answer] = await send(
    t,
    port,
    `GET ${CALL} HTTP/1.1\r\n${HEAD}Connection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
  );
  assert.equal(answer?.status, 200);
});

test("headers beyond the limit are 431, even while they still arrive", async (t) => {
  const { port } = await openTestServer(t);
  const long = `GET ${CALL} HTTP/1.1\r\n${HEAD}X: ${"a".repeat(64 * 1024)}`;
  for (const bytes of [`${long}\r\n\r\n`, long, `GET /${"a".repeat(64 * 1024)} HTTP/1.1\r\n${HEAD}\r\n`]) {
    const [answer] = await send(t, port, bytes);
    assert.equal(answer?.status, 431);
    assert.equal(errorCode(answer.body), "HEADERS_TOO_LARGE");
  }
});

test("an announced body beyond the limit is 413 before a byte of it is read", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host);
  const wire = dial(t, port);
  wire.send(`POST ${CALL} HTTP/1.1\r\n${HEAD}Content-Length: ${LIMITS.callBytes + 1}\r\n\r\n`);
  const [answer] = answers(await wire.until((text) => text.endsWith("}")));
  assert.equal(answer?.status, 413);
  assert.match(answer.headers, /connection: close/i);
  assert.equal(errorCode(answer.body), "BODY_TOO_LARGE");
  assert.deepEqual(host.calls, []);
  wire.socket.destroy();
});

test("a body of unknown length is 413 at the limit, and a client that continues to send still gets the answer", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host, {
    limits: { bodyBytes: 100_000, lingerBytes: 2_000_000, lingerMs: 60_000 },
  });
  const wire = dial(t, port);
  wire.send(`POST ${CALL} HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
  const chunk = `10000\r\n${"a".repeat(0x10000)}\r\n`;
  // The client never stops sending: the server has to close the connection.
  const sending = setInterval(() => wire.socket.writable && wire.send(chunk), 1);
  t.after(() => clearInterval(sending));
  const [answer] = answers(await wire.closed);
  assert.equal(answer?.status, 413);
  assert.equal(errorCode(answer.body), "BODY_TOO_LARGE");
  assert.deepEqual(host.calls, []);
});

test("a connection stays open after a 413 while the client is still sending", async (t) => {
  const { port } = await openTestServer(t, undefined, { limits: { bodyBytes: 10, lingerMs: 600_000 } });
  const wire = dial(t, port);
  wire.send(`POST ${CALL} HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nb\r\n"tea, milk"\r\n`);
  await wire.until((text) => text.endsWith("}"));
  // The server has had every chance to close it.
  for (let i = 0; i < 3; i++) assert.equal((await send(t, port, PING))[0]?.status, 200);
  assert.equal(wire.socket.readableEnded, false);
  wire.send("0\r\n\r\n");
  assert.equal(answers(await wire.closed)[0]?.status, 413);
});

test("a body of exactly the limit is accepted", async (t) => {
  const host = new FakeHost({ size: ({ args }) => (args[0] as string).length });
  const { url } = await openTestServer(t, host);
  const body = JSON.stringify("a".repeat(LIMITS.callBytes - 2));
  const response = await fetch(`${url}/v1.0/actors/Cart/alice/method/size`, { method: "POST", body });
  assert.deepEqual([response.status, await response.json()], [200, LIMITS.callBytes - 2]);
});

test("bodies of all requests share a limit, and a finished request frees its share", async (t) => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({ hold: () => release });
  const { url } = await openTestServer(t, host, { limits: { heldBytes: 250 } });
  const path = `${url}/v1.0/actors/Cart/alice/method`;
  const init = { method: "POST", body: JSON.stringify("a".repeat(100)) };
  const held = [fetch(`${path}/hold`, init), fetch(`${path}/hold`, init)];
  while (host.calls.length < 2) await new Promise(setImmediate);
  const refused = await fetch(`${path}/echo`, init);
  assert.deepEqual([refused.status, errorCode(await refused.json())], [503, "HOST_FULL"]);
  resolve();
  for (const response of await Promise.all(held)) assert.equal(response.status, 200);
  assert.equal((await fetch(`${path}/echo`, init)).status, 200);
});

test("bodies are charged by the memory of their parsed values, not by their bytes alone", async (t) => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({ hold: () => release });
  const { url } = await openTestServer(t, host, { limits: { heldBytes: 1_000_000 } });
  const path = `${url}/v1.0/actors/Cart/alice/method`;
  const body = (bytes: number) => `[${"{},".repeat(bytes / 3)}0]`;
  const alone = await fetch(`${path}/echo`, { method: "POST", body: body(30_000) });
  assert.deepEqual([alone.status, errorCode(await alone.json())], [413, "BODY_TOO_LARGE"]);
  const held = fetch(`${path}/hold`, { method: "POST", body: body(12_000) });
  while (host.calls.length < 1) await new Promise(setImmediate);
  const refused = await fetch(`${path}/echo`, { method: "POST", body: body(12_000) });
  assert.deepEqual([refused.status, errorCode(await refused.json())], [503, "HOST_FULL"]);
  // As many bytes in one text are not charged.
  const text = JSON.stringify("{},".repeat(10_000));
  assert.equal((await fetch(`${path}/echo`, { method: "POST", body: text })).status, 200);
  resolve();
  await held;
  assert.equal((await fetch(`${path}/echo`, { method: "POST", body: body(12_000) })).status, 200);
});

test("unread answers count with the bodies, and further calls are rejected before they run", async (t) => {
  const MB = 1024 * 1024;
  const host = new FakeHost({ big: () => "a".repeat(24 * MB) });
  const { port, url } = await openTestServer(t, host, { limits: { heldBytes: 50 * MB, drainMs: 10 } });
  const readers = [dial(t, port), dial(t, port)];
  for (const [i, { socket }] of readers.entries()) {
    socket.pause();
    socket.write(PING.replace("/echo", "/big"));
    while (host.calls.length < i + 1) await new Promise(setImmediate);
  }
  const path = `${url}/v1.0/actors/Cart/alice/method`;
  const refused = await fetch(`${path}/big`);
  assert.deepEqual([refused.status, errorCode(await refused.json())], [503, "HOST_FULL"]);
  assert.equal(host.calls.length, 2);
  assert.equal((await fetch(`${url}/v1.0/healthz`)).status, 204);
  readers[0]!.socket.destroy();
  while ((await fetch(`${path}/echo`)).status === 503) await new Promise(setImmediate);
  // There is room to begin, but not for the whole answer. The call was executed, and its caller cannot know
  // more.
  host.methods = { ...host.methods, huge: () => "a".repeat(30 * MB) };
  const lost = await fetch(`${path}/huge`);
  const { errorCode: code, retry } = (await lost.json()) as { errorCode: string; retry: string };
  assert.deepEqual([lost.status, code, retry], [502, "ANSWER_LOST", "unknown"]);
  readers[1]!.socket.destroy();
});

test("a client that waits for 100-continue gets it, or a rejection at once", async (t) => {
  const { port } = await openTestServer(t);
  const wire = dial(t, port);
  wire.send(`POST ${CALL} HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 5\r\n\r\n`);
  await wire.until((text) => text.includes("100 Continue\r\n\r\n"));
  wire.send("[1,2]");
  assert.match(await wire.closed, /200 OK.*\[1,2\]$/s);
  const refused = dial(t, port);
  refused.send(`POST ${CALL} HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n`);
  assert.match(await refused.until((text) => text.endsWith("}")), /^HTTP\/1\.1 413 /);
  refused.socket.destroy();
  // After a rejection the next bytes may be the body or a request, so the connection ends.
  const lost = dial(t, port);
  lost.send(`POST /nowhere HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  assert.match(await lost.until((text) => text.endsWith("}")), /^HTTP\/1\.1 404 .*connection: close/is);
  lost.socket.destroy();
});

test("an encoded body is 415", async (t) => {
  const { port } = await openTestServer(t);
  const [answer] = await send(t, port, post("[1]", "Content-Encoding: gzip\r\n"));
  assert.equal(answer?.status, 415);
  assert.match(answer.headers, /accept-encoding: identity/);
  assert.equal(errorCode(answer.body), "ENCODING_UNSUPPORTED");
});

for (const [what, body] of Object.entries({
  "a body that is not JSON": "{a:1}",
  "two values in a body": "1 2",
  "blanks as a body": "  ",
  "arrays nested a million deep": "[".repeat(1_000_000) + "]".repeat(1_000_000),
  "objects nested a thousand deep": `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`,
})) {
  test(`${what} is 400 BODY_INVALID`, async (t) => {
    const host = new FakeHost();
    const { port } = await openTestServer(t, host);
    const [answer] = await send(t, port, post(body));
    assert.deepEqual([answer?.status, errorCode(answer?.body)], [400, "BODY_INVALID"]);
    assert.deepEqual(host.calls, []);
  });
}

test("a body that is not UTF-8 is 400 BODY_INVALID", async (t) => {
  const { url } = await openTestServer(t);
  const response = await fetch(url + CALL, { method: "POST", body: Buffer.from([0x22, 0xff, 0x22]) });
  assert.deepEqual([response.status, errorCode(await response.json())], [400, "BODY_INVALID"]);
});

test("brackets inside strings do not count as nesting", async (t) => {
  const { port } = await openTestServer(t);
  const text = `${"[".repeat(5_000)}\\"${"{".repeat(5_000)}`;
  const [answer] = await send(t, port, post(`["${text}"]`));
  assert.equal(answer?.status, 200);
});

test("a key called __proto__ is a key like any other and changes no prototype", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host);
  for (const headers of ["", `Content-Type: ${EXACT_TYPE}\r\nAccept: application/json\r\n`]) {
    const [answer] = await send(
      t,
      port,
      post('[{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}]', headers),
    );
    assert.deepEqual(Object.keys((answer!.body as object[])[0]!), ["__proto__", "constructor"]);
  }
  assert.equal((host.calls[0]!.args[0] as Record<string, unknown>).polluted, undefined);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

for (const tagged of [
  '{"$":"bytes","v":{"length":4000000000}}',
  '{"$":"buffer","v":[1,2]}',
  `{"$":"bigint","v":"${"9".repeat(3_000_000)}"}`,
  '{"$":"bigint","v":"0x10"}',
  '{"$":"map","v":[[1]]}',
  '{"$":"map","v":7}',
  '{"$":"set","v":{"length":9}}',
  '{"$":"object","v":null}',
  '{"$":"bare","v":[]}',
  '{"$":"date","v":"now"}',
  '{"$":"number","v":"1"}',
  '{"$":"undefined","v":1}',
  '{"$":"function","v":"x"}',
  '{"$":"date","v":1,"more":2}',
  '{"$":null}',
]) {
  test(`the tagged value ${tagged.slice(0, 40)} is 400 BODY_INVALID`, async (t) => {
    const host = new FakeHost();
    const { port } = await openTestServer(t, host);
    for (const body of [
      tagged,
      `[{"a":[${tagged}]}]`,
      `[{"$":"map","v":[[1,${tagged}]]}]`,
      `{"$":"object","v":{"$":${tagged}}}`,
    ]) {
      const [answer] = await send(t, port, post(body, `Content-Type: ${EXACT_TYPE}\r\n`));
      assert.deepEqual([answer?.status, errorCode(answer?.body)], [400, "BODY_INVALID"]);
    }
    assert.deepEqual(host.calls, []);
  });
}

test("a client that sends its headers too slowly, or sends nothing, gets 408", async (t) => {
  const { port } = await openTestServer(t, undefined, { limits: { headerTimeoutMs: 50, checkEveryMs: 10 } });
  const slow = dial(t, port);
  slow.send(`GET ${CALL} HTTP/1.1\r\n`);
  const dripping = setInterval(() => slow.socket.writable && slow.send("X: a\r\n"), 5);
  t.after(() => clearInterval(dripping));
  for (const wire of [slow, dial(t, port)]) {
    const [answer] = answers(await wire.closed);
    assert.deepEqual([answer?.status, errorCode(answer?.body)], [408, "REQUEST_TIMEOUT"]);
  }
});

test("a client that sends its body too slowly gets 408", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host, {
    limits: { headerTimeoutMs: 40, requestTimeoutMs: 50, checkEveryMs: 10 },
  });
  const [answer] = await send(t, port, `POST ${CALL} HTTP/1.1\r\n${HEAD}Content-Length: 50\r\n\r\n[1`);
  assert.deepEqual([answer?.status, errorCode(answer?.body)], [408, "REQUEST_TIMEOUT"]);
  assert.deepEqual(host.calls, []);
});

test("a client that does not read its answer is disconnected", { timeout: 600_000 }, async (t) => {
  const host = new FakeHost({ big: () => "a".repeat(64 * 1024 * 1024) });
  const { port, close } = await openTestServer(t, host, { limits: { answerTimeoutMs: 50, drainMs: 600_000 } });
  const wire = dial(t, port);
  wire.socket.pause();
  wire.send(PING.replace("/echo", "/big"));
  while (host.calls.length === 0) await new Promise(setImmediate);
  // The server waits for exchanges in progress, so it closes only after it has given up on this client.
  await close();
  wire.socket.resume();
  assert.ok((await wire.closed).length < 64 * 1024 * 1024);
});

test("a quiet connection is not cut off while its call runs", async (t) => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({ wait: () => release });
  const limits = {
    headerTimeoutMs: 300,
    requestTimeoutMs: 300,
    checkEveryMs: 10,
    answerTimeoutMs: 50,
    keepAliveMs: 50,
  };
  const { port } = await openTestServer(t, host, { limits });
  const wire = dial(t, port);
  wire.send(PING.replace("/echo", "/wait"));
  // Other connections come later and are cut off for their silence, one after the other.
  for (let i = 0; i < 2; i++) assert.match(await dial(t, port).closed, /^HTTP\/1\.1 408 /);
  resolve();
  assert.match(await wire.closed, /^HTTP\/1\.1 200 /);
});

test("pipelined requests are answered in their order", async (t) => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({ wait: () => release.then(() => "first"), quick: () => "second" });
  const { port } = await openTestServer(t, host);
  const wire = dial(t, port);
  const request = (method: string) => `GET /v1.0/actors/Cart/a/method/${method} HTTP/1.1\r\n${HEAD}\r\n`;
  wire.send(request("wait") + request("quick") + PING.replace("/echo", "/none"));
  while (host.calls.length < 3) await new Promise(setImmediate);
  resolve();
  assert.deepEqual(
    answers(await wire.closed).map(({ body }) => body),
    ["first", "second", null],
  );
});

test("pipelined requests above the limit are rejected", async (t) => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({ wait: () => release });
  const { port } = await openTestServer(t, host, { limits: { pipelined: 3 } });
  const wire = dial(t, port);
  wire.send(`GET /v1.0/actors/Cart/a/method/wait HTTP/1.1\r\n${HEAD}\r\n`.repeat(5) + PING);
  while (host.calls.length < 3) await new Promise(setImmediate);
  resolve();
  const statuses = answers(await wire.closed).map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 503, 503, 503]);
  assert.equal(host.calls.length, 3);
});

test("garbage behind a running request closes the connection and cancels the request without a false answer", async (t) => {
  const { promise: cancelled, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({
    wait: ({ options }) => {
      options.signal!.addEventListener("abort", () => resolve());
      return cancelled;
    },
  });
  const { port } = await openTestServer(t, host);
  const wire = dial(t, port);
  wire.send(`${PING.replace("/echo", "/wait").replace("close", "keep-alive")}\x00garbage\r\n\r\n`);
  assert.equal(await wire.closed, "");
  await cancelled;
});

test("all calls of a broken connection are cancelled, including calls that wait behind another", async (t) => {
  let cancelled = 0;
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({
    wait: ({ options }) => {
      options.signal!.addEventListener("abort", () => ++cancelled === 3 && resolve());
      return all;
    },
  });
  const { port } = await openTestServer(t, host);
  const wire = dial(t, port);
  wire.send(`GET /v1.0/actors/Cart/a/method/wait HTTP/1.1\r\n${HEAD}\r\n`.repeat(3));
  while (host.calls.length < 3) await new Promise(setImmediate);
  wire.socket.destroy();
  await all;
});

test("clients that disconnect at any byte leave nothing behind", async (t) => {
  const host = new FakeHost();
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 60_000 } });
  const whole = post('["tea"]');
  for (let length = 1; length < whole.length; length += 3) {
    const wire = dial(t, port);
    wire.socket.write(whole.slice(0, length), () => wire.socket.resetAndDestroy());
    await wire.closed;
  }
  assert.equal((await send(t, port, PING))[0]?.status, 200);
  await close();
});

test("a request with changed, lost or added bytes is answered or closed, and disturbs no other client", async (t) => {
  const { port, close } = await openTestServer(t, new FakeHost(), { limits: { drainMs: 600_000 } });
  const whole = Buffer.from(post('["tea",{"a":[1]}]', "limpet-timeout: 5s\r\n").replace("close", "keep-alive") + PING);
  const change = fc.record({
    at: fc.nat({ max: whole.length }),
    drop: fc.nat({ max: 3 }),
    add: fc.oneof(
      fc.uint8Array({ maxLength: 3 }),
      fc.constantFrom("\r\n", "\n", ":", "chunked", "0", "\0").map((text) => Buffer.from(text)),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      let bytes = whole;
      for (const { at, drop, add } of changes) {
        bytes = Buffer.concat([bytes.subarray(0, at), add, bytes.subarray(at + drop)]);
      }
      const wire = dial(t, port);
      wire.socket.end(bytes);
      for (const { status } of answers((await wire.closed).replaceAll(/HTTP\/1.1 100 Continue\r\n\r\n/g, ""))) {
        assert.ok(status >= 200 && status < 500, `status ${status}`);
      }
    }),
    { numRuns: 300 },
  );
  assert.equal((await send(t, port, PING))[0]?.status, 200);
  await close();
});
