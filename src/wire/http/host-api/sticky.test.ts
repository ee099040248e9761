import assert from "node:assert/strict";
import { test } from "node:test";
import { LimpetError } from "../../../kernel/errors.ts";
import { errorCode, FakeHost, openTestServer } from "../server-kit.test.ts";

test("sticky actors are listed page by page, and one of them is shown by its names", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const path = `${url}/v1.0/inspect/sticky`;
  const held = { address: "127.0.0.1:7401", name: "alpha", since: 5, away: false };
  const first = (await (await fetch(path)).json()) as { actors: unknown[]; next: string };
  assert.deepEqual(first.actors, [{ type: "Cart", id: "ä b", ...held }]);
  assert.equal((await fetch(`${path}?type=Cart&prefix=a%2Bb+%C3%BC&limit=7&after=${first.next}`)).status, 200);
  const one = await fetch(`${path}/Cart/${encodeURIComponent("ali ce%")}`);
  assert.deepEqual(await one.json(), { type: "Cart", id: "ali ce%", ...held });
  assert.deepEqual(host.stickyQueries, [
    { type: undefined, prefix: undefined, after: undefined, limit: 100 },
    { type: "Cart", prefix: "a+b ü", after: { type: "Cart", id: "nächste" }, limit: 7 },
    { type: "Cart", id: "ali ce%", limit: 1 },
  ]);
});

test("a sticky actor without a host is 404, and an invalid query reaches no host", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const asked = async (path: string) => {
    const response = await fetch(`${url}/v1.0/inspect/sticky${path}`);
    return [response.status, errorCode(await response.json())];
  };
  assert.deepEqual(await asked("?type=%2F"), [400, "NAME_INVALID"]);
  assert.deepEqual(await asked("?active=true"), [400, "ARGUMENT_INVALID"]);
  assert.deepEqual(await asked("/Cart/a%2Fb"), [400, "NAME_INVALID"]);
  assert.deepEqual(host.stickyQueries, []);
  host.sticky = async () => ({ actors: [], next: undefined });
  assert.deepEqual(await asked("/Cart/alice"), [404, "NOT_STICKY"]);
  host.sticky = () => Promise.reject(new LimpetError("NOT_READY", "no scheduler leads"));
  assert.deepEqual(await asked(""), [503, "NOT_READY"]);
});

test("a sticky actor is released by its names; one that is not sticky is 404, and any other body is rejected", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const release = async (body: string) => {
    const response = await fetch(`${url}/v1.0/control/release`, { method: "POST", body });
    return [response.status, response.status === 204 ? "" : errorCode(await response.json())];
  };
  assert.deepEqual(await release('{"type":"Cart","id":"ali ce%"}'), [204, ""]);
  for (const body of [
    "",
    "{",
    "null",
    '"Cart"',
    '["Cart","a"]',
    "{}",
    '{"type":"Cart"}',
    '{"id":"a"}',
    '{"type":"","id":"a"}',
    '{"type":"Cart","id":""}',
    '{"type":"Cart","id":1}',
    '{"type":["Cart"],"id":"a"}',
    '{"type":"Cart","id":"a","force":true}',
    '{"type":"Cart","ID":"a"}',
    '{"type":"Cart","__proto__":{"id":"a"}}',
  ]) {
    assert.deepEqual(await release(body), [400, "BODY_INVALID"], body);
  }
  for (const body of ['{"type":"Ca/rt","id":"a"}', '{"type":"Cart","id":".."}', '{"type":"Cart","id":"a\\u0000"}']) {
    assert.deepEqual(await release(body), [400, "NAME_INVALID"], body);
  }
  assert.deepEqual(await release(JSON.stringify({ type: "Cart", id: "a".repeat(513) })), [400, "NAME_INVALID"]);
  assert.deepEqual(host.released, [["Cart", "ali ce%"]]);
  host.release = () => Promise.reject(new LimpetError("NOT_STICKY", "nobody holds it"));
  assert.deepEqual(await release('{"type":"Cart","id":"a"}'), [404, "NOT_STICKY"]);
});

test("a client without access may neither read sticky actors nor release one", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host, { settings: { tokens: ["secret-secret-secret"] } });
  const body = '{"type":"Cart","id":"a"}';
  const foreign = { "sec-fetch-site": "cross-site", authorization: "Bearer secret-secret-secret" };
  const path = `${url}/v1.0/control/release`;
  assert.equal((await fetch(path, { method: "POST", body })).status, 401);
  assert.equal((await fetch(path, { method: "POST", body, headers: foreign })).status, 403);
  assert.equal((await fetch(`${url}/v1.0/inspect/sticky`)).status, 401);
  assert.equal((await fetch(`${url}/v1.0/inspect/sticky/Cart/a`)).status, 401);
  assert.deepEqual([host.released, host.stickyQueries], [[], []]);
});
