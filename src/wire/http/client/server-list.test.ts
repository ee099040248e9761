import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ServerAddress, ServerList } from "./server-list.ts";

const [a, b, c] = ["a", "b", "c"].map((url): ServerAddress => ({ url, token: undefined })) as [
  ServerAddress,
  ServerAddress,
  ServerAddress,
];
const names = (servers: readonly ServerAddress[]): string => servers.map(({ url }) => url).join("");

test("servers are first tried in the given order", () => {
  assert.equal(names(new ServerList([a, b, c]).inOrder(0)), "abc");
});

test("the server that worked comes first, and the others follow in their order", () => {
  const list = new ServerList([a, b, c]);
  list.worked(b, 0);
  assert.equal(names(list.inOrder(1)), "bca");
});

test("a failed server comes last for a while, and is still tried", () => {
  const list = new ServerList([a, b, c]);
  list.failed(a, 0);
  assert.equal(names(list.inOrder(0)), "bca");
  assert.equal(names(list.inOrder(4_999)), "bca");
  assert.equal(names(list.inOrder(5_000)), "abc");
});

test("the client stays with the working server after the failed one is tried again", () => {
  const list = new ServerList([a, b, c]);
  list.failed(a, 0);
  list.worked(b, 1);
  assert.equal(names(list.inOrder(60_000)), "bca");
});

test("an answer to a call from before a failure does not clear the failure; a later one does", () => {
  const list = new ServerList([a, b]);
  list.failed(a, 10);
  list.worked(a, 5);
  assert.equal(names(list.inOrder(11)), "ba");
  list.worked(a, 12);
  assert.equal(names(list.inOrder(13)), "ab");
});

test("every address is tried exactly once, whatever happened before", () => {
  const events = fc.array(fc.tuple(fc.constantFrom(a, b, c), fc.boolean(), fc.nat({ max: 5_000 })));
  fc.assert(
    fc.property(events, (happened) => {
      const list = new ServerList([a, b, c]);
      let now = 0;
      for (const [server, worked, later] of happened) {
        now += later;
        if (worked) list.worked(server, now);
        else list.failed(server, now);
        assert.deepEqual(new Set(list.inOrder(now)), new Set([a, b, c]));
        assert.equal(list.inOrder(now).length, 3);
      }
    }),
  );
});
