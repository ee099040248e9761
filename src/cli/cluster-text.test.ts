import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterHost, ClusterTable, ClusterView } from "../ports/host.ts";
import { clusterText } from "./cluster-text.ts";
import { whereaboutsText } from "./whereabouts-text.ts";

const plain = (_tint: string, text: string): string => text;
const painted = (tint: string, text: string): string => `<${tint}>${text}`;

const host = (more: Partial<ClusterHost>): ClusterHost => ({
  namespace: "default",
  address: "10.0.0.5:7401",
  name: "alpha",
  incarnation: "i1",
  state: "member",
  leaseLeftMs: 8_200,
  types: ["Cart", "Stock"],
  actors: 120,
  ...more,
});

const table = (more: Partial<ClusterTable>): ClusterTable => ({
  namespace: "default",
  type: "Cart",
  version: 4,
  term: 3,
  hosts: ["10.0.0.5:7401"],
  phase: "settled",
  waitsFor: [],
  ...more,
});

const view: ClusterView = {
  term: 3,
  schedulers: [
    { address: "10.0.0.1:7400", incarnation: "s1", dedicated: true, leader: true },
    { address: "10.0.0.5:40001", incarnation: "s2", dedicated: false, leader: false },
  ],
  hosts: [host({}), host({ address: "10.0.0.16:7401", name: "beta", actors: 7, leaseLeftMs: 600, types: ["Cart"] })],
  tables: [table({ hosts: ["10.0.0.5:7401", "10.0.0.16:7401"] }), table({ type: "Stock", version: 12 })],
};

test("a quiet cluster is three tables, without the columns in which there is nothing to say", () => {
  assert.equal(
    clusterText(view, plain),
    [
      "SCHEDULER       KIND       LEADS",
      "10.0.0.1:7400   dedicated  term 3",
      "10.0.0.5:40001  embedded   -",
      "",
      "HOST            NAME   STATE   LEASE  ACTORS  TYPES",
      "10.0.0.5:7401   alpha  member   8.2s     120  Cart, Stock",
      "10.0.0.16:7401  beta   member  600ms       7  Cart",
      "",
      "TYPE   VERSION  PHASE    HOSTS",
      "Cart         4  settled      2",
      "Stock       12  settled      1",
    ].join("\n"),
  );
});

test("whom a change waits for, an older leader's table and a second namespace appear when there is one", () => {
  const busy = {
    ...view,
    hosts: [host({ state: "suspect" }), host({ namespace: "blue", state: "evicted", leaseLeftMs: 0, types: [] })],
    tables: [table({ phase: "updating", waitsFor: ["10.0.0.5:7401"] }), table({ namespace: "blue", term: 2 })],
  };
  const text = clusterText(busy, plain);
  assert.match(text, /HOST +NAME +NAMESPACE +STATE/);
  assert.match(text, /alpha +default +suspect +8\.2s/);
  assert.match(text, /alpha +blue +evicted +- +120 +-/);
  assert.match(text, /Cart +default +4 +updating +1 +10\.0\.0\.5:7401/);
  assert.match(text, /Cart +blue +4 of term 2 +settled +1 +-/);
  assert.match(clusterText(busy, painted), /<yellow>suspect[\s\S]*<red>evicted[\s\S]*<yellow>updating/);
});

test("long lists are cut, and nothing from elsewhere reaches the terminal as it is", () => {
  const types = Array.from({ length: 20 }, (_, index) => `T${index}`);
  const text = clusterText({ ...view, hosts: [host({ types, name: "ev\u001b[2Jil\u202e" })] }, plain);
  assert.match(text, /T0, T1, T2, T3 \+16$/m);
  assert.match(text, /evil\\u202e/);
});

test("a scheduler nobody needs to reach has no address, and is shown all the same", () => {
  const inside = { address: "", incarnation: "s", dedicated: false, leader: true };
  const text = clusterText({ ...view, schedulers: [inside], hosts: [], tables: [] }, plain);
  assert.equal(text, "SCHEDULER  KIND      LEADS\n-          embedded  term 3");
});

test("with no hosts there are only schedulers", () => {
  assert.equal(clusterText({ ...view, hosts: [], tables: [] }, plain).split("\n").length, 3);
});

const NOW = Date.UTC(2030, 0, 1);
const place = {
  type: "Cart",
  id: "alice",
  owner: "10.0.0.5:7401",
  ownerName: "alpha",
  here: false,
  activeHere: false,
  why: "its place on the ring of Cart belongs to alpha",
  version: 4,
  term: 3,
  since: NOW - 60_000,
};

test("whereabouts: who, why, and since which table", () => {
  assert.equal(
    whereaboutsText(place, NOW, plain),
    [
      "Cart/alice lives on alpha (10.0.0.5:7401).",
      "Its place on the ring of Cart belongs to alpha.",
      "Table version 4 of term 3, in force since 2029-12-31T23:59:00.000Z (1m ago).",
    ].join("\n"),
  );
});

test("whereabouts: memory is known of the process that was asked alone", () => {
  const here = { ...place, here: true };
  assert.match(
    whereaboutsText({ ...here, activeHere: true }, NOW, plain),
    /the process that was asked\.\nIt is in memory\./,
  );
  assert.match(whereaboutsText(here, NOW, plain), /It is not in memory; the next call wakes it\./);
  assert.match(whereaboutsText({ ...place, activeHere: true }, NOW, plain), /still in memory at the process that/);
});

test("whereabouts: an actor nobody hosts lives nowhere, and no table is mentioned", () => {
  const nowhere = { ...place, owner: undefined, ownerName: undefined, version: 0, term: 0, why: "nobody hosts Cart." };
  assert.equal(whereaboutsText(nowhere, NOW, plain), "Cart/alice lives nowhere at this moment.\nNobody hosts Cart.");
  assert.match(
    whereaboutsText({ ...place, ownerName: undefined, since: undefined }, NOW, plain),
    /on 10\.0\.0\.5:7401\./,
  );
});
