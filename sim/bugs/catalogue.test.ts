import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Bug, withBug } from "./bug.ts";
import { BUGS } from "./catalogue.ts";

const project = join(import.meta.dirname, "../..");
const putBack = join(import.meta.dirname, "put-back.ts");
const sourceOf = (file: string): string => readFileSync(join(project, file), "utf8");
const filesOf = ({ changes }: Bug): Set<string> => new Set(changes.map(({ file }) => file));

/** Runs the script in a process with a bug put back. */
function run(bug: string, script: string): { readonly status: number | null; readonly output: string } {
  const args = ["--import", putBack, "--input-type=module", "--eval", script];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, LIMPET_SIM_BUG: bug },
  });
  return { status, output: stdout + stderr };
}

describe("the catalogue of bugs", () => {
  it("the catalogue has enough bugs to measure the simulator", () => {
    assert.ok(BUGS.length >= 25, `there are only ${BUGS.length}`);
  });

  it("every bug has its own name in kebab-case", () => {
    const names = BUGS.map(({ name }) => name);
    assert.deepEqual([...new Set(names)], names);
    assert.deepEqual(
      names.filter((name) => !/^[a-z]+(?:-[a-z]+)*$/.test(name)),
      [],
    );
  });

  it("no two bugs change the source in the same way", () => {
    const changes = BUGS.map((bug) => JSON.stringify(bug.changes));
    assert.equal(new Set(changes).size, changes.length);
  });

  for (const bug of BUGS) {
    it(`the bug ${bug.name} has a description and still fits the program`, () => {
      assert.match(bug.story, /^[A-Z].*\.$/);
      assert.notEqual(bug.knownFrom, "");
      assert.ok(bug.changes.length > 0);
      for (const { file, before, after } of bug.changes) {
        assert.match(file, /^src\/.*\.ts$/);
        assert.equal(sourceOf(file).split(before).length - 1, 1, `occurrences in ${file} of:\n${before}`);
        assert.notEqual(after, before);
      }
      for (const file of filesOf(bug)) {
        const changed = withBug(bug, file, sourceOf(file));
        assert.notEqual(changed, sourceOf(file));
        assert.doesNotThrow(() => stripTypeScriptTypes(changed), `${file} is no program any more`);
      }
    });
  }
});

describe("a unit test or story that guards against a bug", () => {
  for (const { name, guard } of BUGS) {
    if (guard === undefined) continue;
    it(`the unit test or story that guards against ${name} exists`, () => {
      assert.match(guard, /^(?:src|sim)\/.*\.(?:test|contract)\.ts$|^sim\/stories\/.*\.json$/);
      assert.doesNotThrow(() => sourceOf(guard));
    });
  }
});

describe("putting a bug back", () => {
  const script = `
    import { compareVersions } from "./src/kernel/versions.ts";
    console.log(compareVersions({ term: 1, number: 5 }, { term: 2, number: 5 }));
  `;

  it("the program is unchanged when no bug is named", () => {
    const { status, output } = run("", script);
    assert.deepEqual({ status, output }, { status: 0, output: "-1\n" });
  });

  it("a named bug changes its file while it is loaded", () => {
    const { status, output } = run("versions-without-terms", script);
    assert.deepEqual({ status, output }, { status: 0, output: "0\n" });
  });

  it("an unknown bug name is rejected with a list of all names", () => {
    const { status, output } = run("versions-with-terms", script);
    assert.notEqual(status, 0);
    assert.match(output, /LIMPET_SIM_BUG names no bug: versions-with-terms/);
    for (const { name } of BUGS) assert.ok(output.includes(name), `${name} is not named`);
  });

  it("a bug whose file was never loaded is reported at the end", () => {
    const { status, output } = run("ring-of-other-hosts", script);
    assert.equal(status, 0);
    assert.match(output, /was not put back: src\/placement\/model\/ring\.ts was never loaded/);
  });

  it("a bug that does not fit its file any more is rejected", () => {
    const file = "src/kernel/versions.ts";
    const stale = { ...BUGS[0]!, changes: [{ file, before: "export", after: "" }] };
    assert.throws(() => withBug(stale, file, sourceOf(file)), /occurs \d+ times, not once/);
    const gone = { ...stale, changes: [{ file, before: "no such text", after: "" }] };
    assert.throws(() => withBug(gone, file, sourceOf(file)), /occurs 0 times, not once/);
  });
});
