import assert from "node:assert/strict";
import { it } from "node:test";
import { checkId, checkJobName, checkNoJob, checkType, nameProblem } from "./names.ts";

it("names may hold nearly every character", () => {
  for (const name of [
    "a",
    "||",
    "a b",
    "'\"",
    "%41",
    "__proto__",
    "constructor",
    "🐚",
    "ολυ",
    "...",
    "a.b",
    "x".repeat(512),
  ]) {
    assert.equal(nameProblem(name, 512), undefined, name);
  }
});

it("a name that would break a URL, a terminal or a log line is rejected", () => {
  for (const name of [
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "a#b",
    "a?b",
    "\0",
    "a\nb",
    "\u007f",
    "\u0085",
    "\ud800",
    5,
    null,
    undefined,
  ]) {
    assert.ok(nameProblem(name, 512) !== undefined, JSON.stringify(name));
  }
  assert.throws(() => checkId("a/b"), { code: "NAME_INVALID", message: /^actor id must not contain/ });
});

it("limits of names count bytes, not characters", () => {
  assert.equal(nameProblem("🐚".repeat(128), 512), undefined);
  assert.match(nameProblem("🐚".repeat(129), 512)!, /at most 512 bytes/);
  assert.throws(() => checkType("x".repeat(129)), { code: "NAME_INVALID" });
});

it("jobs are distinguished from actors and from internal types", () => {
  checkJobName("report $");
  checkNoJob("Report$");
  assert.throws(() => checkJobName("$timer"), { code: "NAME_INVALID" });
  assert.throws(() => checkNoJob("$report"), { code: "NAME_INVALID" });
});
