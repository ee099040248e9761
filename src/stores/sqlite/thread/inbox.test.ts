import assert from "node:assert/strict";
import { test } from "node:test";
import { Inbox } from "./inbox.ts";
import type { ThreadRequest } from "./verbs.ts";

const commit = (id: string): ThreadRequest => ({ feature: "store", name: "commit", args: [id] });
const resign = (incarnation: string): ThreadRequest => ({
  feature: "coordination",
  name: "resign",
  args: [incarnation],
});
const members: ThreadRequest = { feature: "coordination", name: "members", args: [] };
const ping: ThreadRequest = { feature: "store", name: "ping", args: [] };

function inboxOf(...arrived: ThreadRequest[]) {
  return { inbox: new Inbox(() => arrived.shift()), arrive: (request: ThreadRequest) => arrived.push(request) };
}

test("urgent requests go before the others, and each kind keeps its order", () => {
  const [a, b, x, y] = [commit("a"), commit("b"), resign("x"), resign("y")];
  const { inbox } = inboxOf(b, x, ping, members, y);
  inbox.put(a);
  const order = Array.from({ length: 7 }, () => inbox.next());
  assert.deepEqual(order, [x, members, y, a, b, ping, undefined]);
});

test("a transaction accepts further writes until another kind of request is next", () => {
  const [a, b, x] = [commit("a"), commit("b"), resign("x")];
  const { inbox, arrive } = inboxOf(a, ping, b);
  assert.equal(inbox.nextWrite(false), a);
  assert.equal(inbox.nextWrite(false), undefined);
  arrive(x);
  assert.equal(inbox.nextWrite(false), x);
  arrive(members);
  assert.equal(inbox.nextWrite(false), undefined);
  assert.deepEqual([inbox.next(), inbox.next(), inbox.next()], [members, ping, b]);
});

test("only urgent writes join a transaction that is full", () => {
  const [a, x] = [commit("a"), resign("x")];
  const { inbox } = inboxOf(a, x);
  assert.equal(inbox.nextWrite(true), x);
  assert.equal(inbox.nextWrite(true), undefined);
  assert.equal(inbox.nextWrite(false), a);
});
