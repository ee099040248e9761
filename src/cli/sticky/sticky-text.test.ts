import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterTable, ClusterView, StickyActor } from "../../ports/host-admin.ts";
import { columns } from "../common/columns.ts";
import { lostText, releasedText, STICKY_SHAPE, stickyActorText, stickyRow, stickySummary } from "./sticky-text.ts";

const plain = (_tint: string, text: string): string => text;
const painted = (tint: string, text: string): string => `<${tint}>${text}`;
const NOW = Date.UTC(2030, 0, 1);

const table = (more: Partial<ClusterTable>): ClusterTable => ({
  namespace: "default",
  type: "Session",
  version: 4,
  term: 3,
  hosts: ["10.0.0.5:7401"],
  phase: "settled",
  waitsFor: [],
  sticky: undefined,
  ...more,
});
const viewOf = (...tables: ClusterTable[]): ClusterView => ({ term: 3, schedulers: [], hosts: [], tables });

const alpha = { address: "10.0.0.5:7401", name: "alpha", actors: 120, away: false };
const beta = { address: "10.0.0.16:7401", name: "beta", actors: 7, away: true };

test("a summary shows the holders of each sticky type, hosts that are away, and the rule for lost hosts", () => {
  const view = viewOf(
    table({ sticky: { lost: "never", holders: [alpha, beta] } }),
    table({ type: "Stock" }),
    table({ type: "Room", sticky: { lost: 0, holders: [{ ...alpha, actors: 1 }] } }),
    table({ type: "Seat", sticky: { lost: 300_000, holders: [] } }),
  );
  assert.equal(
    stickySummary(view, plain),
    [
      "Session: 127 sticky actors, 7 of them kept for 1 host that is away.",
      "When a host is lost, its actors are kept until a host of its name is back.",
      "HOST            NAME   ACTORS  AWAY",
      "10.0.0.5:7401   alpha     120  -",
      "10.0.0.16:7401  beta        7  away",
      "",
      "Room: 1 sticky actor.",
      "When a host is lost, its actors may live on another one as soon as its lease is over.",
      "HOST           NAME   ACTORS",
      "10.0.0.5:7401  alpha       1",
      "",
      "Seat: no sticky actors at this moment.",
      "When a host is lost, its actors are kept for a host of its name for 5m; then they may live on another one.",
    ].join("\n"),
  );
  const text = stickySummary(view, painted);
  assert.match(text, /^<bold>Session: 127[\s\S]*<dim>HOST[\s\S]*beta +7 +<yellow>away/);
  assert.equal(stickySummary(viewOf(table({})), plain), "");
});

test("a second namespace is named, and several hosts that are away are counted", () => {
  const gone = { ...alpha, away: true };
  const text = stickySummary(
    viewOf(
      table({ sticky: { lost: "never", holders: [gone, beta] } }),
      table({ namespace: "blue", sticky: { lost: 0, holders: [] } }),
    ),
    plain,
  );
  assert.match(
    text,
    /^Session in namespace default: 127 sticky actors, 127 of them kept for 2 hosts that are away\.$/m,
  );
  assert.match(text, /^Session in namespace blue: no sticky actors at this moment\.$/m);
});

test("a summary of a new leader that waits for hosts reports that there may be more", () => {
  const sticky = { lost: 0, holders: [alpha] };
  const text = (more: Partial<ClusterTable>) => stickySummary(viewOf(table({ sticky, ...more })), plain);
  const waitsFor = ["10.0.0.6:7401", "10.0.0.7:7401"];
  assert.match(text({ phase: "closed", waitsFor }), /waits for the claims of 10\.0\.0\.6:7401 and 10\.0\.0\.7:7401:/);
  assert.match(text({ phase: "closed" }), /waits for the claims of hosts: there may be more actors\./);
  assert.doesNotMatch(text({ phase: "updating", waitsFor }), /The leader is new/);
});

test("every rule for lost hosts is shown with its time", () => {
  assert.match(lostText(90_000), /for 1m30s; then/);
  assert.match(lostText(500), /for 500ms; then/);
});

const actor: StickyActor = {
  type: "Session",
  id: "al ice",
  address: "10.0.0.5:7401",
  name: "alpha",
  since: NOW - 60_000,
  away: false,
};

test("a line of a listing has the id, its host, its start, and whether the host is away", () => {
  const rows = [actor, { ...actor, id: "bob", name: "", away: true }].map((each) => stickyRow(each, NOW, plain));
  assert.deepEqual(columns(STICKY_SHAPE, rows), [
    "ID      HOST           NAME   SINCE                              AWAY",
    "al ice  10.0.0.5:7401  alpha  2029-12-31T23:59:00.000Z (1m ago)  -",
    "bob     10.0.0.5:7401  -      2029-12-31T23:59:00.000Z (1m ago)  away",
  ]);
});

test("one actor is shown with its holder and its start, or with the awaited host and a command", () => {
  assert.equal(
    stickyActorText(actor, NOW, plain),
    "Session/al ice is held by alpha (10.0.0.5:7401).\nSticky there since 2029-12-31T23:59:00.000Z (1m ago).",
  );
  const lines = stickyActorText({ ...actor, id: "alice", away: true }, NOW, plain).split("\n");
  assert.equal(lines[0], "Session/alice is kept for alpha (10.0.0.5:7401), which is away.");
  assert.match(lines[2]!, /^It waits for a host named alpha to return; .* fail with OWNER_AWAY\.$/);
  assert.match(lines[3]!, /: limpet sticky Session alice --release$/);
});

test("a release shows the releasing host, and that the next call places the actor again", () => {
  assert.equal(
    releasedText(actor),
    "alpha (10.0.0.5:7401) releases Session/al ice when its turn has ended. The next call places it again.",
  );
  assert.equal(
    releasedText({ ...actor, name: "", away: true }),
    "Session/al ice is no longer kept for 10.0.0.5:7401, which is away. The next call places it again.",
  );
});

test("sticky text of other processes is escaped for the terminal", () => {
  const evil = "e\u001b[2Jvil\u202e";
  const strange = { ...actor, type: evil, id: evil, name: evil, address: evil, away: true };
  const holders = [{ ...alpha, name: evil, address: evil }];
  const texts = [
    stickyActorText(strange, NOW, plain),
    releasedText(strange),
    stickyRow(strange, NOW, plain).join(" "),
    stickySummary(
      viewOf(table({ type: evil, phase: "closed", waitsFor: [evil], sticky: { lost: 0, holders } })),
      plain,
    ),
  ];
  for (const text of texts) {
    assert.match(text, /evil\\u202e/);
    assert.ok(!text.includes("\u001b") && !text.includes("\u202e"), text);
  }
});
