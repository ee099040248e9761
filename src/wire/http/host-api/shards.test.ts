// Shards over HTTP: views, operations and rejected requests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost, openTestServer } from "../server-kit.test.ts";

test("the shards of a type are shown as the host reports them", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const answer = await fetch(`${url}/v1.0/inspect/shards/A%20B`);
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), JSON.parse(JSON.stringify({ ...host.shardsView, type: "A B" })));
  host.summaries = [
    {
      type: "Cart",
      shards: 4,
      used: 2,
      moving: 0,
      hosts: 1,
      actors: 7,
      strategy: "external",
      paused: false,
      faults: 0,
    },
  ];
  const all = await fetch(`${url}/v1.0/inspect/shards`);
  assert.deepEqual([all.status, await all.json()], [200, { types: host.summaries }]);
  for (const path of ["shards/Cart/7", "shards/a%2Fb"]) {
    assert.ok([400, 404].includes((await fetch(`${url}/v1.0/inspect/${path}`)).status), path);
  }
});

test("shards are steered by the body of the request", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const post = async (act: string, body: unknown): Promise<number> =>
    (await fetch(`${url}/v1.0/control/shards/${act}`, { method: "POST", body: JSON.stringify(body) })).status;
  assert.equal(await post("move", { type: "Cart", shard: 7, host: "alpha" }), 204);
  assert.equal(await post("pause", { type: "Cart" }), 204);
  assert.equal(await post("resume", { type: "Cart" }), 204);
  assert.equal(await post("allocate", { type: "Cart", places: { 7: "alpha", 8: null } }), 204);
  const places = [
    { shard: 7, host: "alpha" },
    { shard: 8, host: undefined },
  ];
  assert.deepEqual(host.steered, [
    ["Cart", { kind: "move", shard: 7, host: "alpha" }],
    ["Cart", { kind: "pause", paused: true }],
    ["Cart", { kind: "pause", paused: false }],
    ["Cart", { kind: "allocate", places }],
  ]);
});

test("invalid bodies are rejected, and no shard is changed", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const wrong: [act: string, body: unknown][] = [
    ["move", {}],
    ["move", null],
    ["move", [1, 2, 3]],
    ["move", { type: "Cart", shard: "7", host: "alpha" }],
    ["move", { type: "Cart", shard: -1, host: "alpha" }],
    ["move", { type: "Cart", shard: 1.5, host: "alpha" }],
    ["move", { type: "Cart", shard: 7, host: "" }],
    ["move", { type: "Cart", shard: 7, host: "alpha", now: true }],
    ["move", { type: "a/b", shard: 7, host: "alpha" }],
    ["pause", { type: 7 }],
    ["resume", { type: "Cart", until: 5 }],
    ["allocate", { type: "Cart" }],
    ["allocate", { type: "Cart", places: [] }],
    ["allocate", { type: "Cart", places: { x: "alpha" } }],
    ["allocate", { type: "Cart", places: { "": "alpha" } }],
    ["allocate", { type: "Cart", places: { "0x7": "alpha" } }],
    ["allocate", { type: "Cart", places: { 7: 7 } }],
    ["allocate", { type: "Cart", places: { 7: "a\0b" } }],
    ["allocate", { type: "Cart", places: { 9999999: "alpha" } }],
  ];
  for (const [act, body] of wrong) {
    const answer = await fetch(`${url}/v1.0/control/shards/${act}`, { method: "POST", body: JSON.stringify(body) });
    assert.equal(answer.status, 400, `${act} ${JSON.stringify(body)}`);
  }
  assert.equal((await fetch(`${url}/v1.0/control/shards/move`)).status, 405);
  assert.equal((await fetch(`${url}/v1.0/control/shards/scatter`, { method: "POST" })).status, 404);
  assert.deepEqual(host.steered, []);
});
