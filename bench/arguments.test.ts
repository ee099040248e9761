import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments, UsageError } from "./arguments.ts";

const AREAS = ["actors", "cluster"];
const parse = (...words: string[]) => parseArguments(words, AREAS);
const refused = (pattern: RegExp, ...words: string[]) =>
  assert.throws(
    () => parse(...words),
    (error) => error instanceof UsageError && pattern.test(error.message),
  );

test("the default is a full run of everything with five rounds", () => {
  assert.deepEqual(parse(), {
    help: false,
    only: [],
    caseContains: undefined,
    quick: false,
    json: false,
    rounds: 5,
  });
});

test("a quick run has three rounds by default", () => {
  assert.equal(parse("--quick").rounds, 3);
  assert.equal(parse("--quick", "--rounds", "7").rounds, 7);
});

test("areas may be given one by one or with commas, and count once", () => {
  assert.deepEqual(parse("--only", "actors").only, ["actors"]);
  assert.deepEqual(parse("--only", "actors,cluster", "--only", "actors").only, ["actors", "cluster"]);
});

test("an unknown area is rejected with the list of areas", () => {
  refused(/no area "actor".*actors, cluster/s, "--only", "actor");
});

test("an unknown option and a stray word are rejected by name", () => {
  refused(/--fast/, "--fast");
  refused(/actors.*Known options/s, "actors");
});

test("an option without its value is rejected", () => {
  refused(/--only/, "--only");
  refused(/--case/, "--case", "");
});

test("rounds must be a whole number of at least one", () => {
  for (const value of ["0", "1.5", "many", "-1", "101", ""]) refused(/--rounds|Known options/, `--rounds=${value}`);
  assert.equal(parse("--rounds", "1").rounds, 1);
});

test("the case filter is taken as it is", () => {
  assert.equal(parse("--case", "durable turn").caseContains, "durable turn");
});
