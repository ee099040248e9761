import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bugNamed } from "./bugs/catalogue.ts";
import { type Finding, search, tableOf, withTable } from "./strength.ts";

const easy = bugNamed("ring-of-other-hosts")!;

describe("the search for a known bug", () => {
  it("a search ends with the first seed that finds the bug, and reports the violated rule", async () => {
    const reported: Finding[] = [];
    const options = {
      from: 1,
      limit: 30,
      jobs: 1,
      isOver: () => false,
      onFinding: (one: Finding) => reported.push(one),
    };
    const findings = await search([easy], options);
    assert.deepEqual(findings, reported);
    const [{ seeds, found } = {}] = findings;
    assert.ok(found !== undefined, "it was not found");
    assert.equal(found.seed, seeds);
    assert.notEqual(found.checker, "");
  });

  it("a search ends when it is interrupted", async () => {
    const options = { from: 1, limit: 30, jobs: 1, isOver: () => true, onFinding: () => {} };
    assert.deepEqual(await search([easy], options), []);
  });
});

describe("the table of known bugs", () => {
  const table = tableOf([
    { bug: easy, seeds: 3, found: { seed: 3, checker: "progress", what: "nothing moves" } },
    { bug: { ...easy, name: "other" }, seeds: 9, found: undefined },
    { bug: { ...easy, name: "guarded", guard: "src/a.test.ts" }, seeds: 7, found: undefined },
  ]);

  it("the table shows seed and rule of each found bug, and the number of seeds of the others", () => {
    assert.match(table, /\| `ring-of-other-hosts` \|.*\| 3 \| progress \|/);
    assert.match(table, /\| `other` \|.*\| not in 9 \| – \|/);
    assert.match(table, /1 of 3 found\./);
  });

  it("a bug that no seed has found is shown with the unit test that guards against it", () => {
    assert.match(table, /\| `guarded` \|.*\| not in 7 \| `src\/a\.test\.ts` \|/);
  });

  it("the table replaces the text between its markers, and nothing else", () => {
    const first = withTable("# Simulation\n\nWords.\n", "old");
    const text = `${first}\nMore words.\n`;
    assert.equal(withTable(text, table), text.replace("old", table));
    assert.equal(withTable(withTable(text, table), "old"), text);
  });
});
