import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HELP, parseArguments, UsageError } from "./arguments.ts";

const refused = (line: string, why: RegExp): void => {
  assert.throws(
    () => parseArguments(line.split(" ")),
    (error) => error instanceof UsageError && why.test(error.message),
    line,
  );
};

describe("arguments of the simulator", () => {
  it("the default is some hundred seeds, twice each, from a random one, on all cores", () => {
    const { task, seeds, from, once, jobs } = parseArguments([]);
    assert.deepEqual({ task, seeds, from, once }, { task: "seeds", seeds: 300, from: undefined, once: false });
    assert.ok(jobs >= 1);
  });

  it("two numbers are the first seed and the count, one is a seed to replay", () => {
    const { task, from, seeds } = parseArguments(["5", "20"]);
    assert.deepEqual({ task, from, seeds }, { task: "seeds", from: 5, seeds: 20 });
    assert.deepEqual([parseArguments(["7"]).task, parseArguments(["7"]).seed], ["replay", 7]);
  });

  it("the options select the task", () => {
    const taskOf = (line: string): string => parseArguments(line.split(" ")).task;
    assert.equal(taskOf("--minutes 0.5 --json"), "soak");
    assert.equal(taskOf("--seed 3 --verbose"), "replay");
    assert.equal(taskOf("--seed 3 --shrink"), "shrink");
    assert.equal(taskOf("--story a.json --shrink"), "shrink");
    assert.equal(taskOf("--story a.json --update"), "story");
    assert.equal(taskOf("--bugs --limit 5 --write"), "bugs");
    assert.equal(taskOf("--help --seed 1"), "help");
  });

  it("an unknown option is rejected", () => {
    refused("--sed 1", /Unknown option '--sed'/);
    refused("--seed", /argument missing/);
    refused("1 2 3", /Too many words: "3"/);
    refused("seven", /"seven" is no seed/);
    refused("--bug none", /no bug "none".*\n {2}[a-z-]+\n/s);
  });

  it("an invalid number is rejected", () => {
    refused("--seeds 0", /--seeds must be a whole number from 1/);
    refused("--from -1", /--from/);
    refused("--seed 1.5", /--seed must be a whole number/);
    refused("--minutes 0", /--minutes must be a number above 0/);
    refused("--jobs many", /--jobs/);
    refused("--seed -1", /^Option '--seed' argument is ambiguous\. See --help\.$/);
    refused(`--from ${2 ** 48 - 1} --seeds 2`, /--from must be a whole number from 0 to/);
  });

  it("conflicting options are rejected instead of ignored", () => {
    refused("--seed 1 --seeds 5", /--seeds does not go with --seed/);
    refused("--minutes 1 --seeds 5", /--seeds does not go with --minutes/);
    refused("--update", /--update does not go with many seeds/);
    refused("--seed 1 --json --verbose", /--verbose does not go with --json/);
    refused("7 --seed 8", /"7" is short for an option; it does not go with --seed/);
    refused("1 5 --seeds 3", /"1" is short for an option; it does not go with --seeds/);
    refused("--bugs --bug timer-not-armed --write", /--write does not go with --bug/);
    refused("--shrink", /--shrink needs either --seed or --story/);
    refused("--shrink --seed 1 --story a.json", /--shrink needs either/);
  });

  it("the help explains every option", () => {
    const options =
      "seeds from minutes jobs hosts once json seed verbose shrink story update bug bugs limit write help";
    for (const option of options.split(" ")) assert.match(HELP, new RegExp(`^  --${option}\\b`, "m"));
  });
});
