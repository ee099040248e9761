import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { didYouMean, nearest } from "./nearest.ts";

test("a word with an extra, missing, wrong or swapped letter is found", () => {
  const known = ["actors", "call", "dev", "doctor", "explain", "help"];
  for (const [typed, meant] of [
    ["actor", "actors"],
    ["actorss", "actors"],
    ["dotcor", "doctor"],
    ["explian", "explain"],
    ["xall", "call"],
    ["DEV", "dev"],
  ] as const) {
    assert.equal(nearest(typed, known), meant, typed);
  }
});

test("different spelling conventions count as equal", () => {
  assert.equal(nearest("idle_timeout", ["idleTimeout", "callTimeout"]), "idleTimeout");
  assert.equal(nearest("Idle-Timeout", ["idleTimeout", "callTimeout"]), "idleTimeout");
});

test("a word unlike all others finds none, and the sentence ends without a suggestion", () => {
  assert.equal(nearest("kubernetes", ["actors", "call"]), undefined);
  assert.equal(didYouMean("kubernetes", ["actors", "call"]), "");
  assert.equal(didYouMean("cal", ["actors", "call"]), '; did you mean "call"?');
});

test("a known word is its own nearest word", () => {
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  fc.assert(fc.property(word, fc.array(word), (one, others) => nearest(one, [...others, one]) === one));
});
