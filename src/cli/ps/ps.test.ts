import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterHost, ClusterTable, ClusterView } from "../../ports/host-admin.ts";
import { clusterText } from "./ps.ts";

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
  sticky: undefined,
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

test("a quiet cluster is three tables without empty columns", () => {
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

test("hosts that a change waits for, an older leader's table and a second namespace appear when there are any", () => {
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

test("sticky types show the number of held actors, and of actors reserved for hosts that are away", () => {
  const holder = { address: "10.0.0.5:7401", name: "alpha", actors: 120, away: false };
  const away = { address: "10.0.0.16:7401", name: "beta", actors: 7, away: true };
  const tables = [
    table({ sticky: { lost: "never", holders: [holder, away] } }),
    table({ type: "Room", sticky: { lost: 0, holders: [] } }),
    table({ type: "Seat", sticky: { lost: 0, holders: [holder, holder] } }),
    table({ type: "Stock" }),
  ];
  assert.equal(
    clusterText({ ...view, tables }, plain)
      .split("\n\n")
      .at(-1),
    [
      "TYPE   VERSION  PHASE    HOSTS        STICKY",
      "Cart         4  settled      1  127 (7 away)",
      "Room         4  settled      1             0",
      "Seat         4  settled      1           240",
      "Stock        4  settled      1             -",
    ].join("\n"),
  );
  assert.match(clusterText({ ...view, tables }, painted), /127 \(<yellow>7 away\)/);
});

test("long lists are cut, and text of other processes is escaped for the terminal", () => {
  const types = Array.from({ length: 20 }, (_, index) => `T${index}`);
  const text = clusterText({ ...view, hosts: [host({ types, name: "ev\u001b[2Jil\u202e" })] }, plain);
  assert.match(text, /T0, T1, T2, T3 \+16$/m);
  assert.match(text, /evil\\u202e/);
});

test("a scheduler without an address is shown", () => {
  const inside = { address: "", incarnation: "s", dedicated: false, leader: true };
  const text = clusterText({ ...view, schedulers: [inside], hosts: [], tables: [] }, plain);
  assert.equal(text, "SCHEDULER  KIND      LEADS\n-          embedded  term 3");
});

test("a cluster without hosts shows only schedulers", () => {
  assert.equal(clusterText({ ...view, hosts: [], tables: [] }, plain).split("\n").length, 3);
});
