import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { answers, dial, errorCode, FakeHost, openTestServer } from "./server-kit.test.ts";

const request = (method: string) => `GET /v1.0/actors/Cart/a/method/${method} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

function holding() {
  const { promise, resolve: release } = Promise.withResolvers<string>();
  const host = new FakeHost({ wait: () => promise });
  const started = async (count = 1) => {
    while (host.calls.length < count) await new Promise(setImmediate);
  };
  return { host, release, started };
}

test("a port in use is ADDRESS_IN_USE with advice", async (t) => {
  const { port } = await openTestServer(t);
  await assert.rejects(
    openTestServer(t, undefined, { settings: { port } }),
    (error) =>
      isLimpetError(error, "ADDRESS_IN_USE") && error.message.includes(`${port}`) && /another port/.test(error.message),
  );
});

test("an address that this machine does not have is OPTION_INVALID", async (t) => {
  const settings = { host: "192.0.2.1", tokens: ["t"] };
  await assert.rejects(openTestServer(t, undefined, { settings }), (error) => isLimpetError(error, "OPTION_INVALID"));
});

test("the URL leads to the HTTP server, also on IPv6 and by name", async (t) => {
  const hasIPv6 = Object.values(networkInterfaces())
    .flat()
    .some((network) => network?.address === "::1");
  for (const host of ["127.0.0.1", "localhost", ...(hasIPv6 ? ["::1"] : [])]) {
    const server = await openTestServer(t, undefined, { settings: { host } });
    assert.equal((await fetch(`${server.url}/v1.0/healthz`)).status, 204);
  }
});

test("a closing HTTP server lets a running request finish, announces the end of the connection, and accepts no new client", async (t) => {
  const { host, release, started } = holding();
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 600_000 } });
  const wire = dial(t, port);
  wire.send(request("wait"));
  await started();
  const closed = close();
  await assert.rejects(fetch(`http://127.0.0.1:${port}/v1.0/healthz`));
  release("done");
  const [answer] = answers(await wire.closed);
  assert.deepEqual([answer?.status, answer?.body], [200, "done"]);
  assert.match(answer!.headers, /connection: close/i);
  await closed;
});

test("a closing HTTP server waits for a slow client to read its whole answer", async (t) => {
  const size = 32 * 1024 * 1024;
  const host = new FakeHost({ big: () => "a".repeat(size) });
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 600_000 } });
  const wire = dial(t, port);
  wire.socket.pause();
  wire.send(request("big"));
  while (host.calls.length === 0) await new Promise(setImmediate);
  const closed = close();
  await assert.rejects(fetch(`http://127.0.0.1:${port}/v1.0/healthz`));
  wire.socket.resume();
  const received = await wire.closed;
  assert.equal(received.length - received.indexOf("\r\n\r\n") - 4, size + 2);
  await closed;
});

test("a request on an open connection of a closing server is answered with STOPPING and does not reach the host", async (t) => {
  const { host, release, started } = holding();
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 600_000 } });
  const idle = dial(t, port);
  idle.send(request("echo"));
  await idle.until((text) => text.endsWith("[]"));
  const busy = dial(t, port);
  busy.send(request("wait"));
  await started(2);
  const closed = close();
  idle.send(request("echo"));
  const [, refused] = answers(await idle.closed);
  assert.deepEqual([refused?.status, errorCode(refused?.body)], [503, "STOPPING"]);
  assert.match(refused!.headers, /connection: close/i);
  assert.match(refused!.headers, /limpet-delivered: no/i);
  assert.equal(host.calls.length, 2);
  release("done");
  assert.equal(answers(await busy.closed)[0]?.status, 200);
  await closed;
});

test("a stopping process still answers its liveness probe", async (t) => {
  const { host, release, started } = holding();
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 600_000 } });
  const probe = dial(t, port);
  probe.send(request("echo"));
  await probe.until((text) => text.endsWith("[]"));
  const busy = dial(t, port);
  busy.send(request("wait"));
  await started(2);
  const closed = close();
  probe.send("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [, lives] = answers(await probe.closed);
  release("done");
  await busy.closed;
  await closed;
  assert.equal(lives?.status, 204);
});

test("idle connections and incomplete requests do not delay closing", { timeout: 600_000 }, async (t) => {
  const { port, close } = await openTestServer(t, undefined, { limits: { drainMs: 600_000 } });
  const idle = dial(t, port);
  idle.send(request("echo"));
  await idle.until((text) => text.endsWith("[]"));
  const silent = dial(t, port);
  const half = dial(t, port);
  half.send("GET /v1.0/hea");
  // A whole exchange afterwards shows that the server has seen the two others.
  const last = dial(t, port);
  last.send(request("echo"));
  await last.until((text) => text.endsWith("[]"));
  await close();
  await Promise.all([idle.closed, silent.closed, half.closed, last.closed]);
});

test("a closing HTTP server waits for the answer of a turn as long as the actors behind it drain", async (t) => {
  const { host, release, started } = holding();
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 1 } });
  const wire = dial(t, port);
  wire.send(request("wait"));
  await started();
  const draining = Promise.withResolvers<void>();
  const closed = close(draining.promise);
  // Long after the limit of the server.
  await new Promise((resolve) => setTimeout(resolve, 100));
  release("done");
  draining.resolve();
  assert.deepEqual(
    answers(await wire.closed).map(({ status, body }) => [status, body]),
    [[200, "done"]],
  );
  await closed;
});

test("an unfinished request is cut off when the actors have drained", async (t) => {
  const host = new FakeHost({ stuck: () => new Promise(() => {}) });
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 1, lingerMs: 1 } });
  const wire = dial(t, port);
  wire.send(request("stuck"));
  while (host.calls.length === 0) await new Promise(setImmediate);
  await close(Promise.reject(new RangeError("the actors did not drain")));
  assert.equal(await wire.closed, "");
});

test("an unfinished request is cut off and cancelled when the time is over", async (t) => {
  const { promise: cancelled, resolve } = Promise.withResolvers<void>();
  const host = new FakeHost({
    stuck: ({ options }) => {
      options.signal!.addEventListener("abort", () => resolve());
      return new Promise(() => {});
    },
  });
  const { port, close } = await openTestServer(t, host, { limits: { drainMs: 20 } });
  const wire = dial(t, port);
  wire.send(request("stuck"));
  while (host.calls.length === 0) await new Promise(setImmediate);
  await Promise.all([close(), close()]);
  assert.equal(await wire.closed, "");
  await cancelled;
});

test("connections beyond the limit are closed, and a freed place is used again", async (t) => {
  const { port } = await openTestServer(t, undefined, { limits: { connections: 2 } });
  const inside = [dial(t, port), dial(t, port)];
  for (const wire of inside) {
    wire.send(request("echo"));
    await wire.until((text) => text.endsWith("[]"));
  }
  assert.equal(await dial(t, port).closed, "");
  inside[0]!.socket.destroy();
  let received = "";
  for (let i = 0; i < 1_000 && received === ""; i++) {
    const wire = dial(t, port);
    wire.send(request("echo").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    received = await wire.closed;
  }
  assert.match(received, /^HTTP\/1\.1 200 /);
});
