import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { checkServerSettings } from "./security.ts";
import { dial, errorCode, FakeHost, openTestServer } from "./server-kit.test.ts";

const CALL = "/v1.0/actors/Cart/alice/method/none";

/** fetch sets some headers itself; this function does not. */
async function get(url: string, headers: Record<string, string>, path = CALL) {
  const sent = request(url + path, { headers }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const body = await text(response);
  const code = body === "" ? undefined : errorCode(JSON.parse(body));
  return { status: response.statusCode, code, headers: response.headers };
}

test("a server that other machines can reach is rejected without a token, with advice", () => {
  for (const host of ["0.0.0.0", "::", "", "192.168.1.5", "my-machine"]) {
    assert.throws(
      () => checkServerSettings({ host, port: 0, tokens: [] }),
      (error) =>
        isLimpetError(error, "OPTION_INVALID") &&
        /set a token/.test(error.message) &&
        /127\.0\.0\.1/.test(error.message),
    );
    checkServerSettings({ host, port: 0, tokens: ["t"] });
  }
});

test("tokens and ports that cannot work are rejected", () => {
  const refuses = (settings: { port?: number; tokens?: string[] }) =>
    assert.throws(
      () => checkServerSettings({ host: "127.0.0.1", port: 0, tokens: [], ...settings }),
      (error) => isLimpetError(error, "OPTION_INVALID"),
    );
  refuses({ tokens: ["good", ""] });
  refuses({ tokens: ["with space"] });
  refuses({ tokens: ["ümlaut"] });
  for (const port of [-1, 65_536, 1.5, Number.NaN]) refuses({ port });
});

test("a server on loopback accepts only loopback names as host", async (t) => {
  const { url, port } = await openTestServer(t);
  for (const host of ["localhost", `localhost:${port}`, "127.0.0.1:1", "[::1]:80", "LOCALHOST"]) {
    assert.equal((await get(url, { host })).status, 200, host);
  }
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "a@localhost",
    "[::2]",
    "localhost:x",
  ]) {
    const { status, code } = await get(url, { host });
    assert.deepEqual([status, code], [403, "ORIGIN_REFUSED"], host);
    assert.equal((await get(url, { host }, "/v1.0/healthz")).status, 403);
  }
  const empty = dial(t, port);
  empty.send(`GET ${CALL} HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n`);
  assert.match(await empty.closed, /^HTTP\/1\.1 403 /);
});

test("a request of a web page of another origin is rejected in any form", async (t) => {
  const host = new FakeHost();
  const { url, port } = await openTestServer(t, host);
  for (const origin of ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1", "file://", ""]) {
    const { status, code } = await get(url, { origin });
    assert.deepEqual([status, code], [403, "ORIGIN_REFUSED"], origin);
  }
  for (const site of ["cross-site", "same-site"])
    assert.equal((await get(url, { "sec-fetch-site": site })).status, 403);
  // Browsers without sec-fetch-site send no origin with a GET either, but the page.
  for (const referer of [
    "http://evil.example/page",
    "http://localhost:1/",
    "about:blank",
    "https://127.0.0.1.evil.example/",
  ])
    assert.equal((await get(url, { referer })).status, 403, referer);
  assert.deepEqual(host.calls, []);
  assert.equal((await get(url, { referer: `http://127.0.0.1:${port}/page` })).status, 200);
  assert.equal((await get(url, { origin: `http://127.0.0.1:${port}`, "sec-fetch-site": "same-origin" })).status, 200);
  assert.equal((await get(url, { "sec-fetch-site": "none" })).status, 200);
});

test("a server with tokens shows the reason of an unready host only to clients with a token", async (t) => {
  const host = new FakeHost();
  host.state = { ready: false, problem: "postgres://limpet@db.internal:5432/shop does not answer" };
  const { url } = await openTestServer(t, host, { settings: { tokens: ["a-token"] } });
  for (const path of ["/v1.0/healthz", "/readyz", "/api/health"]) {
    const read = async (headers: Record<string, string>) => (await fetch(url + path, { headers })).text();
    assert.doesNotMatch(await read({}), /limpet@|db\.internal|shop/, path);
    assert.doesNotMatch(await read({ authorization: "Bearer another" }), /db\.internal/, path);
    assert.match(await read({ authorization: "Bearer a-token" }), /db\.internal/, path);
  }
});

test("a server with tokens requires one for every request but health", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host, { settings: { tokens: ["old-token", "new-token"] } });
  for (const path of [
    CALL,
    "/metrics",
    "/v1.0/metadata",
    "/v1.0/inspect/actors",
    "/v1.0/inspect/actors/a/b",
    "/nowhere",
    "/v1.0/actors/%2e/a/method/b",
  ]) {
    const { status, code, headers } = await get(url, {}, path);
    assert.deepEqual([status, code, headers["www-authenticate"]], [401, "UNAUTHENTICATED", "Bearer"], path);
  }
  for (const open of ["/v1.0/healthz", "/readyz", "/livez"]) assert.equal((await get(url, {}, open)).status, 204);
  for (const wrong of ["old-toke", "old-token2", "x", "ümlaut"]) {
    assert.equal((await get(url, { authorization: `Bearer ${encodeURI(wrong)}` })).status, 401);
    assert.equal((await get(url, { "dapr-api-token": encodeURI(wrong) })).status, 401);
  }
  for (const wrong of ["old-token", "Basic old-token", "Bearer", "Bearer old-token new-token", "Bearer old-token, x"]) {
    assert.equal((await get(url, { authorization: wrong })).status, 401, wrong);
  }
  assert.deepEqual(host.calls, []);
  for (const token of ["old-token", "new-token"]) {
    assert.equal((await get(url, { authorization: `Bearer ${token}` })).status, 200);
    assert.equal((await get(url, { authorization: `bearer ${token}` })).status, 200);
    assert.equal((await get(url, { "dapr-api-token": token })).status, 200);
  }
});

test("a token is never logged", async (t) => {
  const lines: string[] = [];
  const write = (event: string, fields?: unknown) => void lines.push(event + JSON.stringify(fields));
  const log = { debug: write, info: write, warn: write, error: write };
  const renderMetrics = () => {
    throw new TypeError("broken");
  };
  const { url } = await openTestServer(t, undefined, {
    settings: { tokens: ["s3cr3t"] },
    deps: { log, renderMetrics },
  });
  await get(url, { authorization: "Bearer s3cr3t" }, "/metrics");
  await get(url, { authorization: "Bearer s3cr3t-not" });
  assert.equal(lines.length, 2);
  assert.doesNotMatch(lines.join(), /s3cr3t/);
});
