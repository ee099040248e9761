import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, formatBytes, formatSpan, moment, plural, sentenceList, shellWord, showHost, when } from "./phrases.ts";
import { reformatJson } from "./result-text.ts";

test("small sizes and spans are exact, and large ones are rounded", () => {
  assert.deepEqual([0, 1023, 1024, 1_500_000, 300 * 1024 ** 3].map(formatBytes), [
    "0 B",
    "1023 B",
    "1.0 KiB",
    "1.4 MiB",
    "300 GiB",
  ]);
  assert.deepEqual([0, 250, 1_234, 61_000, 7_384_000].map(formatSpan), ["0ms", "250ms", "1.2s", "1m1s", "2h3m"]);
  assert.equal(ago(1_000, 1_400), "just now");
  assert.equal(ago(1_000, 4_000), "3.0s ago");
  assert.equal(moment(1_000, 4_000), "1970-01-01T00:00:01.000Z (3.0s ago)");
  // On the clock of another machine, the time may lie ahead.
  assert.equal(moment(5_000, 4_000), "1970-01-01T00:00:05.000Z (just now)");
});

test("a future time is shown with its distance", () => {
  assert.equal(when(61_000, 1_000), "1970-01-01T00:01:01.000Z (in 1m)");
  assert.equal(when(1_500, 1_000), "1970-01-01T00:00:01.500Z (now)");
  assert.equal(when(500, 1_000), "1970-01-01T00:00:00.500Z (now)");
  assert.equal(when(1_000, 4_000), "1970-01-01T00:00:01.000Z (3.0s ago)");
});

test("counts and lists read as in a sentence", () => {
  assert.equal(plural(1, "call"), "1 call");
  assert.equal(plural(2, "call"), "2 calls");
  assert.equal(sentenceList([]), "");
  assert.equal(sentenceList(["a"]), "a");
  assert.equal(sentenceList(["a", "b", "c"]), "a, b and c");
});

test("a host is shown by its name when it has one", () => {
  assert.equal(showHost("10.0.0.5:7401", "alpha"), "alpha (10.0.0.5:7401)");
  for (const name of ["", undefined]) assert.equal(showHost("10.0.0.5:7401", name), "10.0.0.5:7401");
});

test("a word is quoted so that the shell passes it on unchanged", () => {
  assert.equal(shellWord("alice", "linux"), "alice");
  assert.equal(shellWord('"tea"', "linux"), `'"tea"'`);
  assert.equal(shellWord("it's", "linux"), `'it'\\''s'`);
  assert.equal(shellWord("", "linux"), "''");
  assert.equal(shellWord('"tea"', "win32"), '"\\"tea\\""');
});

test("JSON is reformatted without changing numbers or passing control characters to the terminal", () => {
  assert.equal(reformatJson("[12345678901234567890, 1.10, -0]", false), "[12345678901234567890,1.10,-0]");
  assert.equal(reformatJson('{"a":[1]}', true), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(reformatJson('"\u009b31m\u202e"', false), '"\\u009b31m\\u202e"');
  assert.equal(reformatJson('{"__proto__":1}', false), '{"__proto__":1}');
});
