// The command line of the comparison with an earlier commit: wrong words end it before anything is measured.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("./against.ts", import.meta.url));

function against(...words: string[]) {
  const args = ["--conditions=limpet-source", SCRIPT, ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("the comparison with an earlier commit", () => {
  it("the help names every option, and measures nothing", () => {
    const { status, stdout, stderr } = against("--help");
    assert.deepEqual([status, stderr], [0, ""]);
    for (const word of ["<commit>", "--case <text>", "--pairs <n>", "--help"]) assert.ok(stdout.includes(word), word);
  });

  for (const [what, words, message] of [
    ["an unknown commit", ["no-such-commit"], /^There is no such commit in this repository\.\n$/],
    ["a missing commit", [], /^Name one commit\. --help shows the options\.\n$/],
    ["a second commit", ["HEAD", "HEAD~1"], /^Name one commit\./],
    ["an unknown option", ["HEAD", "--benchmark", "call"], /^Unknown option '--benchmark'/],
    ["an unknown case", ["HEAD", "--case", "Shortest"], /^no case has a name with "shortest"; docs/],
    ["one pair", ["HEAD", "--pairs", "1"], /^--pairs must be a whole number from 2 to 200; got "1"\n$/],
  ] as const) {
    it(`${what} is rejected with a message and exit code 2`, () => {
      const { status, stdout, stderr } = against(...words);
      assert.deepEqual([status, stdout], [2, ""], stderr);
      assert.match(stderr, message);
    });
  }
});
