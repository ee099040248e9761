import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { Actor } from "./actors/actor.ts";
import { sharded } from "./actors/options/sharded-options.ts";
import { connect, isLimpetError, LimpetError } from "./client.ts";
import { LIMITS } from "./kernel/limits.ts";
import { nameProblem } from "./kernel/names.ts";
import { FakeHost, openTestServer } from "./wire/http/server-kit.test.ts";

class Cart extends Actor<{ items: string[] }> {
  static options = { name: "Basket" };
  add(item: string): number {
    return item.length;
  }
  async echo<T>(value: T): Promise<T> {
    return value;
  }
}

class Counter extends Actor<{ count: number }> {
  static options = { placement: sharded({ messageId: (message) => message.counter }) };
  add(message: { counter: string; by: number }, times = 1): number {
    return message.by * times;
  }
  read(): number {
    return 0;
  }
}

async function open(t: TestContext, methods: ConstructorParameters<typeof FakeHost>[0] = {}) {
  const host = new FakeHost(methods);
  const testServer = await openTestServer(t, host);
  const client = connect({ url: `${testServer.url}/` });
  t.after(() => client.close());
  return { host, client, ...testServer };
}

/** A program at a URL that is no Limpet server. */
async function strange(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const codeOf = (code: string) => (error: unknown) => isLimpetError(error) && error.code === code;

test("a class types the calls and names the type; so does a name with the class as its type", async (t) => {
  const { client, host } = await open(t, { add: ({ args }) => (args[0] as string).length });
  const count: number = await client.actor(Cart, "alice").add("tea");
  const again: number = await client.actor<Cart>("Cart", "alice").add("mate");
  assert.deepEqual([count, again], [3, 4]);
  assert.deepEqual(
    host.calls.map(({ type, id, method, args }) => [type, id, method, ...args]),
    [
      ["Basket", "alice", "add", "tea"],
      ["Cart", "alice", "add", "mate"],
    ],
  );
  // @ts-expect-error: the argument must be a string.
  const wrong = () => client.actor(Cart, "alice").add(1);
  // @ts-expect-error: there is no such method.
  const missing = () => client.actor(Cart, "alice").remove();
  // @ts-expect-error: hooks are not called from outside.
  const hook = () => client.actor(Cart, "alice").onActivate();
  assert.equal([wrong, missing, hook].length, 3);
});

test("a message finds its actor by the extractor of the class, or in an envelope", async (t) => {
  const { client, host } = await open(t, { add: ({ args }) => (args[0] as { by: number }).by, read: () => 7 });
  const region = client.region(Counter);
  const count: number = await region.add({ counter: "a", by: 2 });
  assert.equal(count, 2);
  assert.equal(await region.add({ id: "b", message: { counter: "a", by: 3 } }, 2), 3);
  assert.equal(await client.region<Counter>("Counter", { timeout: "5s" }).read({ id: "c" }), 7);
  assert.deepEqual(
    host.calls.map(({ type, id, method, args }) => [type, id, method, ...args]),
    [
      ["Counter", "a", "add", { counter: "a", by: 2 }],
      ["Counter", "b", "add", { counter: "a", by: 3 }, 2],
      ["Counter", "c", "read"],
    ],
  );
  const unaddressed = { by: 2 } as never;
  await assert.rejects(region.add(unaddressed), codeOf("ARGUMENT_INVALID"));
  await assert.rejects(client.region<Counter>("Counter").add({ counter: "a", by: 2 }), codeOf("ARGUMENT_INVALID"));
  await assert.rejects(region.read({ id: "a/b" }), codeOf("NAME_INVALID"));
  assert.equal(String(region), "region of Counter");
  assert.equal(host.calls.length, 3);
  // @ts-expect-error: something is missing from the message.
  const wrong = () => region.add({ counter: "a" });
  assert.equal(typeof wrong, "function");
  await client.close();
  await assert.rejects(region.read({ id: "a" }), codeOf("STOPPING"));
});

test("values beyond JSON survive both ways", async (t) => {
  const { client } = await open(t, { echo: ({ args }) => args[0] });
  const cart = client.actor(Cart, "alice");
  const value = { at: new Date(5), tags: new Set(["a"]), by: new Map([[1n, undefined]]), raw: new Uint8Array([1]) };
  assert.deepStrictEqual(await cart.echo({ ...value, $: { v: Number.NaN } }), { ...value, $: { v: Number.NaN } });
  for (const bare of [undefined, null, 0, "", -0, [], [[]], [undefined]]) {
    assert.deepStrictEqual(await cart.echo(bare), bare);
  }
});

test("any id that the rules allow reaches the host as it is, and any other never leaves the client", async (t) => {
  const { client } = await open(t);
  const ids = fc.string({ unit: fc.constantFrom(..."ab./\\%#?&+=:;|'\" \n", "%2e", "💥", "..", "\ud800") });
  await fc.assert(
    fc.asyncProperty(ids, async (id) => {
      if (nameProblem(id, LIMITS.idBytes) === undefined) {
        const actor = client.actor<Actor & { id(): string }>("Cart", id) as unknown as { id(): Promise<string> };
        assert.equal(await actor.id(), id);
      } else assert.throws(() => client.actor(Cart, id), codeOf("NAME_INVALID"));
    }),
    { numRuns: 300 },
  );
  await assert.rejects(
    (client.actor("Cart", "a") as Record<string, () => Promise<void>>)[".."]!(),
    codeOf("NAME_INVALID"),
  );
});

test("errors of Limpet come back as such, with their code and verdict", async (t) => {
  const add = () => Promise.reject(new LimpetError("MAILBOX_FULL", "too many calls wait"));
  const { client } = await open(t, { add });
  await assert.rejects(client.actor(Cart, "alice").add("tea"), (error) => {
    assert.ok(error instanceof LimpetError);
    assert.deepEqual([error.code, error.message, error.retry], ["MAILBOX_FULL", "too many calls wait", "later"]);
    return true;
  });
});

test("errors of actors come back with name, message and code, and are not taken for errors of Limpet", async (t) => {
  const add = () => Promise.reject(Object.assign(new RangeError("out of tea"), { code: "MAILBOX_FULL" }));
  const { client } = await open(t, { add });
  await assert.rejects(client.actor(Cart, "alice").add("tea"), (error: Error & { code?: string }) => {
    assert.ok(!(error instanceof LimpetError));
    assert.deepEqual([error.name, error.message, error.code], ["RangeError", "out of tea", "MAILBOX_FULL"]);
    assert.deepEqual(Object.keys(error), ["code"]);
    return true;
  });
});

test("errors of actors keep their causes, and causes that go round in a circle end somewhere", async (t) => {
  const expired = Object.assign(new TypeError("expired"), { code: "E_CARD" });
  const circle = new Error("circle");
  circle.cause = circle;
  const add = (item: unknown) => {
    const cause = item === "circle" ? circle : expired;
    return Promise.reject(new RangeError("declined", { cause }));
  };
  const { client } = await open(t, { add });
  await assert.rejects(client.actor(Cart, "alice").add("tea"), (error: Error) => {
    const cause = error.cause as Error & { code: string };
    assert.deepEqual(
      [cause.name, cause.message, cause.code, cause.cause],
      ["TypeError", "expired", "E_CARD", undefined],
    );
    return true;
  });
  await assert.rejects(client.actor(Cart, "alice").add("circle"), { message: "declined" });
});

test("an error that only a newer host knows keeps its code and verdict", async (t) => {
  const body = JSON.stringify({ errorCode: "BRAND_NEW", message: "later", retry: "later" });
  const url = await strange(t, (_request, response) => response.writeHead(503).end(body));
  await assert.rejects(connect({ url }).actor(Cart, "a").add("x"), {
    name: "LimpetError",
    code: "BRAND_NEW",
    message: "later",
    retry: "later",
  });
});

test("a handle can be awaited, printed and written as JSON without calling anything", async (t) => {
  const { client, host } = await open(t);
  const cart = client.actor(Cart, "alice");
  assert.equal(await cart, cart);
  assert.equal(`${cart}`, "Basket/alice");
  assert.equal(JSON.stringify({ cart }), '{"cart":{}}');
  assert.throws(() => {
    (cart as Record<string, unknown>).add = 1;
  }, codeOf("ARGUMENT_INVALID"));
  assert.deepEqual(host.calls, []);
});

test("an argument that cannot be sent is named, and nothing is sent", async (t) => {
  const { client, host } = await open(t);
  const sent = client.actor(Cart, "alice").echo({ a: [() => 1] });
  await assert.rejects(sent, (error) => codeOf("ARGUMENT_INVALID")(error) && /argument 1\.a\[0\]/.test(String(error)));
  assert.deepEqual(host.calls, []);
});

test("a timeout goes along to the host and ends the wait here", async (t) => {
  const { promise: cancelled, resolve } = Promise.withResolvers<void>();
  const add: NonNullable<Parameters<typeof open>[1]>[string] = ({ options }) => {
    options.signal!.addEventListener("abort", () => resolve());
    return new Promise(() => {});
  };
  const { client, host, url } = await open(t, { add });
  await assert.rejects(client.actor(Cart, "alice", { timeout: "500ms" }).add("tea"), codeOf("CALL_TIMEOUT"));
  assert.equal(host.calls[0]!.options.timeoutMs, 500);
  await cancelled;
  await assert.rejects(connect({ url, timeout: 400 }).actor(Cart, "alice").add("tea"), codeOf("CALL_TIMEOUT"));
  assert.equal(host.calls[1]!.options.timeoutMs, 400);
});

test("a caller that gives up gets CALL_CANCELLED, and the host is told", async (t) => {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const { promise: cancelled, resolve } = Promise.withResolvers<void>();
  const { client, host } = await open(t, {
    add: ({ options }) => {
      options.signal!.addEventListener("abort", () => resolve());
      start();
      return new Promise(() => {});
    },
  });
  const giveUp = new AbortController();
  const call = client.actor(Cart, "alice", { signal: giveUp.signal }).add("tea");
  await started;
  giveUp.abort("enough");
  await assert.rejects(call, (error) => codeOf("CALL_CANCELLED")(error) && (error as Error).cause === "enough");
  await cancelled;
  await assert.rejects(client.actor(Cart, "alice", { signal: giveUp.signal }).add("tea"), codeOf("CALL_CANCELLED"));
  assert.equal(host.calls.length, 1);
});

test("nobody there is UNREACHABLE: nothing can have happened", async (t) => {
  const { url, close } = await open(t);
  await close();
  await assert.rejects(connect({ url }).actor(Cart, "a").add("x"), codeOf("UNREACHABLE"));
});

test("a connection that breaks, and an answer from something else, are ANSWER_LOST: it may have happened", async (t) => {
  for (const listener of [
    (_request, response) => response.socket!.destroy(),
    (_request, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>"),
    (_request, response) => response.writeHead(200).end("hello"),
    (_request, response) => response.writeHead(500).end("null"),
    (_request, response) => response.writeHead(302, { location: "/elsewhere" }).end(),
  ] satisfies RequestListener[]) {
    const url = await strange(t, listener);
    await assert.rejects(connect({ url }).actor(Cart, "a").add("x"), codeOf("ANSWER_LOST"));
  }
});

test("a token goes along", async (t) => {
  const { url } = await openTestServer(t, new FakeHost(), { settings: { tokens: ["t0"] } });
  await connect({ url, token: "t0" }).actor(Cart, "a").add("x");
  await assert.rejects(connect({ url }).actor(Cart, "a").add("x"), codeOf("UNAUTHENTICATED"));
});

test("calls reuse a connection", async (t) => {
  let connections = 0;
  const server = createServer((_request, response) => response.writeHead(204).end());
  server.on("connection", () => connections++).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close().closeAllConnections());
  const client = connect({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  for (let i = 0; i < 50; i++) await client.actor(Cart, "a").add("x");
  // A second one may be opened when a call comes while the first still winds up the last one.
  assert.ok(connections <= 2);
});

test("a closed client refuses calls, after those under way have ended", async (t) => {
  const { promise: release, resolve } = Promise.withResolvers<number>();
  const { client, host } = await open(t, { add: () => release });
  const cart = client.actor(Cart, "alice");
  const call = cart.add("tea");
  while (host.calls.length === 0) await new Promise(setImmediate);
  const order: string[] = [];
  const closed = client.close().then(() => order.push("closed"));
  await assert.rejects(cart.add("tea"), codeOf("STOPPING"));
  order.push("released");
  resolve(1);
  await closed;
  assert.deepEqual(order, ["released", "closed"]);
  assert.equal(await call, 1);
});

test("options that cannot work are refused at once", () => {
  for (const url of ["", "localhost:3500", "ftp://localhost", "http://ann:secret@localhost"]) {
    assert.throws(() => connect({ url }), codeOf("OPTION_INVALID"), url);
  }
  assert.throws(() => connect({ url: [] }), codeOf("OPTION_INVALID"));
  assert.throws(() => connect({ url: ["http://localhost", "ftp://localhost"] }), codeOf("OPTION_INVALID"));
  assert.throws(() => connect({ url: "http://localhost", timeout: "soon" }), codeOf("OPTION_INVALID"));
  assert.throws(() => connect({ url: "http://localhost", timeout: 0 }), codeOf("OPTION_INVALID"));
});

/** An address without a listener. */
async function deserted(t: TestContext): Promise<string> {
  const { url, close } = await openTestServer(t);
  await close();
  return url;
}

test("a client with several hosts skips an unreachable one, and stays with the one that works", async (t) => {
  const gone = await deserted(t);
  const [second, third] = [new FakeHost({ add: () => 2 }), new FakeHost({ add: () => 3 })];
  const urls = [gone, (await openTestServer(t, second)).url, (await openTestServer(t, third)).url];
  const cart = connect({ url: urls }).actor(Cart, "alice");
  for (let i = 0; i < 5; i++) assert.equal(await cart.add("tea"), 2);
  assert.deepEqual([second.calls.length, third.calls.length], [5, 0]);
});

test("a host that is stopping is left for the next one, and the call arrives once", async (t) => {
  const { promise: held, resolve } = Promise.withResolvers<number>();
  const leaving = new FakeHost({ add: () => held });
  const staying = new FakeHost({ add: () => 2 });
  const testServer = await openTestServer(t, leaving, { limits: { drainMs: 600_000 } });
  const client = connect({ url: [testServer.url, (await openTestServer(t, staying)).url] });
  const cart = client.actor(Cart, "alice");
  const first = cart.add("tea");
  while (leaving.calls.length === 0) await new Promise(setImmediate);
  const closed = testServer.close();
  assert.equal(await cart.add("mate"), 2);
  resolve(1);
  assert.equal(await first, 1, "what was under way got its answer");
  await closed;
  assert.equal(await cart.add("milk"), 2, "an old answer does not lead back to a host that has gone");
  assert.deepEqual([leaving.calls.length, staying.calls.length], [1, 2]);
});

test("a call that a host rejects before it has begun goes to the next host", async (t) => {
  const body = JSON.stringify({ errorCode: "STOPPING", message: "this host is stopping", retry: "elsewhere" });
  let asked = 0;
  const refusing = await strange(t, (_request, response) => {
    asked++;
    response.writeHead(503, { "limpet-delivered": "no" }).end(body);
  });
  const host = new FakeHost({ add: () => 2 });
  const client = connect({ url: [refusing, (await openTestServer(t, host)).url] });
  assert.equal(await client.actor(Cart, "alice").add("tea"), 2);
  assert.equal(await client.actor(Cart, "alice").add("tea"), 2);
  assert.equal(asked, 1);
});

test("a call that may have happened is never repeated, even if its error allows a retry", async (t) => {
  const other = new FakeHost();
  const otherUrl = (await openTestServer(t, other)).url;
  // An actor may rethrow any error of a call it made, in a turn that has had other effects before.
  for (const code of ["STOPPING", "NOT_READY", "UNREACHABLE", "FENCED", "MAILBOX_FULL"] as const) {
    const host = new FakeHost({ add: () => Promise.reject(new LimpetError(code, "of a call within")) });
    const client = connect({ url: [(await openTestServer(t, host)).url, otherUrl] });
    await assert.rejects(client.actor(Cart, "alice").add("tea"), codeOf(code));
    assert.equal(host.calls.length, 1);
  }
  const broken = await strange(t, (_request, response) => response.socket!.destroy());
  const client = connect({ url: [broken, otherUrl] });
  await assert.rejects(client.actor(Cart, "alice").add("tea"), codeOf("ANSWER_LOST"));
  assert.equal(other.calls.length, 0);
  await client.actor(Cart, "alice").add("tea");
  assert.equal(other.calls.length, 1, "the call after it goes elsewhere");
});

test("a host that never answers costs the call that met it, and the next one goes elsewhere", async (t) => {
  const silent = await strange(t, () => {});
  const host = new FakeHost({ add: () => 2 });
  const client = connect({ url: [silent, (await openTestServer(t, host)).url], timeout: 300 });
  await assert.rejects(client.actor(Cart, "alice").add("tea"), codeOf("CALL_TIMEOUT"));
  assert.equal(host.calls.length, 0);
  const patient = client.actor(Cart, "alice", { timeout: "1m" });
  assert.equal(await patient.add("tea"), 2);
});

test("when no host takes a call, the error is that of the last one and says how many were tried", async (t) => {
  const urls = [await deserted(t), await deserted(t)];
  const calling = connect({ url: urls }).actor(Cart, "alice").add("tea");
  await assert.rejects(calling, (error) => {
    assert.ok(codeOf("UNREACHABLE")(error));
    assert.match(
      (error as Error).message,
      /^none of 2 hosts accepted the call; the last error: http:\S+ cannot be reached/,
    );
    return true;
  });
});

test("a token that is refused is refused everywhere: no other host is asked", async (t) => {
  const other = new FakeHost();
  const { url } = await openTestServer(t, new FakeHost(), { settings: { tokens: ["t0"] } });
  const client = connect({ url: [url, (await openTestServer(t, other)).url], token: "t1" });
  await assert.rejects(client.actor(Cart, "a").add("x"), codeOf("UNAUTHENTICATED"));
  assert.equal(other.calls.length, 0);
});
