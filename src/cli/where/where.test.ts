import assert from "node:assert/strict";
import { test } from "node:test";
import type { Whereabouts } from "../../ports/host-admin.ts";
import { shellWord } from "../common/phrases.ts";
import { whereaboutsText } from "./where.ts";

const plain = (_tint: string, text: string): string => text;

const NOW = Date.UTC(2030, 0, 1);
const place: Whereabouts = {
  type: "Cart",
  id: "alice",
  owner: "10.0.0.5:7401",
  ownerName: "alpha",
  here: false,
  sticky: undefined,
  activeHere: false,
  why: "its place on the ring of Cart belongs to alpha",
  version: 4,
  term: 3,
  since: NOW - 60_000,
};

test("the location of an actor is shown with its reason and its table", () => {
  assert.equal(
    whereaboutsText(place, NOW, plain),
    [
      "Cart/alice lives on alpha (10.0.0.5:7401).",
      "Its place on the ring of Cart belongs to alpha.",
      "Table version 4 of term 3, in force since 2029-12-31T23:59:00.000Z (1m ago).",
    ].join("\n"),
  );
});

test("the memory state is shown only for the requested process", () => {
  const here = { ...place, here: true };
  assert.match(
    whereaboutsText({ ...here, activeHere: true }, NOW, plain),
    /the requested process\.\nIt is in memory\./,
  );
  assert.match(whereaboutsText(here, NOW, plain), /It is not in memory; the next call activates it\./);
  assert.match(whereaboutsText({ ...place, activeHere: true }, NOW, plain), /still in memory of the requested process/);
});

test("an actor without a host is shown without a table", () => {
  const nowhere = { ...place, owner: undefined, ownerName: undefined, version: 0, term: 0, why: "nobody hosts Cart." };
  assert.equal(whereaboutsText(nowhere, NOW, plain), "Cart/alice lives nowhere at this moment.\nNobody hosts Cart.");
  assert.match(
    whereaboutsText({ ...place, ownerName: undefined, since: undefined }, NOW, plain),
    /on 10\.0\.0\.5:7401\./,
  );
});

const sticky = { since: NOW - 180_000, away: false, ring: "10.0.0.2:7401", ringName: "beta" };

test("a sticky actor is shown with its start, and whether the ring agrees", () => {
  assert.equal(
    whereaboutsText({ ...place, sticky }, NOW, plain),
    [
      "Cart/alice lives on alpha (10.0.0.5:7401).",
      "Its place on the ring of Cart belongs to alpha.",
      "Sticky there since 2029-12-31T23:57:00.000Z (3m ago), although the ring assigns beta (10.0.0.2:7401).",
      "Table version 4 of term 3, in force since 2029-12-31T23:59:00.000Z (1m ago).",
    ].join("\n"),
  );
  const last = (more: Partial<typeof sticky | Record<"ring" | "ringName", undefined>>, here = false) =>
    whereaboutsText({ ...place, here, version: 0, sticky: { ...sticky, ...more } }, NOW, plain)
      .split("\n")
      .at(-1);
  const since = "since 2029-12-31T23:57:00.000Z (3m ago)";
  assert.equal(last({}, true), `Sticky here ${since}, although the ring assigns beta (10.0.0.2:7401).`);
  assert.equal(last({ ringName: undefined }), `Sticky there ${since}, although the ring assigns 10.0.0.2:7401.`);
  assert.equal(last({ ring: place.owner! }), `Sticky there ${since}, and the ring agrees.`);
  assert.equal(last({ ring: undefined }), `Sticky there ${since}; the ring has no host at this moment.`);
});

test("a sticky actor whose host is away is shown with the awaited host and the command to release it", () => {
  const away = { ...place, id: "al ice", why: "it is sticky", version: 0, sticky: { ...sticky, away: true } };
  assert.equal(
    whereaboutsText(away, NOW, plain),
    [
      "Cart/al ice is kept for alpha (10.0.0.5:7401), which is away.",
      "It is sticky.",
      "Sticky there since 2029-12-31T23:57:00.000Z (3m ago).",
      "It waits for a host named alpha to return; until then, or until its type releases it, calls fail with OWNER_AWAY.",
      `To let the next call place it again: limpet sticky Cart ${shellWord("al ice")} --release`,
    ].join("\n"),
  );
  const unnamed = whereaboutsText({ ...away, owner: undefined, ownerName: undefined }, NOW, plain);
  assert.match(unnamed, /^Cart\/al ice lives nowhere at this moment\.\n[\s\S]*It waits for its host to return/);
});

test("location text of other processes is escaped for the terminal", () => {
  const evil = "e\u001b[2Jvil\u202e";
  const text = whereaboutsText({ ...place, ownerName: evil, sticky: { ...sticky, ringName: evil } }, NOW, plain);
  assert.match(text, /the ring assigns evil\\u202e \(/);
  assert.ok(!text.includes("\u001b") && !text.includes("\u202e"));
});
