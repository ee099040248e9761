import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { SMALL_PLAN } from "./small-plan.ts";

const program = join(import.meta.dirname, "../main.ts");
const BUG = "ring-of-other-hosts";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function begin(words: readonly string[]) {
  const child = spawn(process.execPath, ["--conditions=limpet-source", program, ...words]);
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.err += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...output }));
  });
  return { child, ended };
}

const sim = (line: string): Promise<Ended> => begin(line.split(" ")).ended;

function folder(test: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "limpet-sim-"));
  test.after(() => rmSync(path, { recursive: true }));
  return path;
}

describe("npm run sim", () => {
  it("--help prints the help", async () => {
    const { code, out } = await sim("--help");
    assert.equal(code, 0);
    assert.match(out, /^Usage: npm run sim/);
  });

  it("wrong arguments are rejected with a sentence and exit code 2", async () => {
    const { code, out, err } = await sim("--sed 1");
    assert.deepEqual({ code, out }, { code: 2, out: "" });
    assert.match(err, /^Unknown option '--sed'\. See --help\.\n$/);
    const missing = await sim("--story nowhere.json");
    assert.equal(missing.code, 2);
    assert.match(missing.err, /nowhere\.json cannot be read/);
  });

  it("a run prints its first seed, and a summary without colours in a pipe", async () => {
    const { code, out } = await sim("--from 3 --seeds 2 --jobs 2");
    assert.equal(code, out.includes("seeds failed") ? 1 : 0, out);
    assert.match(out, /^2 seeds from 3 \(each twice, 2 processes\)\n/);
    assert.match(out, /\n(?:every rule held\n|\d of 2 seeds failed\n(?: {2}[a-z ]+: [\d ]+\n)+)$/);
    assert.ok(!out.includes("\u001b"));
  });

  it("a run prints the random seed that it began with", async () => {
    const { out } = await sim("--seeds 1 --once");
    assert.match(out, /^1 seed from \d+ /);
  });

  it("--json prints one object and nothing else on standard output, the same on one process as on two", async () => {
    const { code, out } = await sim("--from 3 --seeds 2 --once --json --jobs 2");
    const sum = JSON.parse(out);
    assert.equal(code, sum.failed > 0 ? 1 : 0);
    assert.deepEqual([sum.from, sum.seeds, sum.runs], [3, 2, 2]);
    assert.equal(new Set(sum.violations.map(({ seed }: { seed: number }) => seed)).size, sum.failed);
    assert.equal(sum.node, process.version);
    for (const name of ["simulatedSeconds", "events", "calls", "seconds"]) assert.ok(sum[name] > 0, name);
    assert.equal(typeof sum.commit, "string");
    assert.equal(typeof sum.faults, "object");
    assert.ok(Array.isArray(sum.coverage.reached) && Array.isArray(sum.coverage.missed));
    // One process gives the same result as two.
    const alone = JSON.parse((await sim("--from 3 --seeds 2 --once --json --jobs 1")).out);
    assert.deepEqual({ ...alone, seconds: 0 }, { ...sum, seconds: 0 });
  });

  it("--seed prints the story of a seed, and the same one again", async () => {
    const { code, out } = await sim("--seed 3");
    assert.equal(code, out.includes("VIOLATION") ? 1 : 0);
    assert.match(out, /^seed 3: \d+ hosts/);
    for (const part of [
      / {2}host-1 /,
      / {2}settings /,
      / {2}workload /,
      / {2}faults /,
      /leader\.elected term=1/,
      /trace [0-9a-f]{16}/,
    ]) {
      assert.match(out, part);
    }
    const verbose = await sim("--seed 3 --verbose");
    assert.ok(verbose.out.length > out.length);
    assert.equal(/trace [0-9a-f]+/.exec(verbose.out)?.[0], /trace [0-9a-f]+/.exec(out)?.[0]);
  });

  it("--hosts sets the number of hosts", async () => {
    for (const hosts of [1, 9]) {
      const { out } = await sim(`--seed 3 --once --hosts ${hosts}`);
      assert.equal(out.match(/^ {2}host-\d+ /gm)?.length, hosts);
    }
  });

  it("the command exits with 1 when it finds a bug, and prints how to find it again", async () => {
    const found = await sim(`--from 1 --seeds 6 --once --bug ${BUG}`);
    assert.equal(found.code, 1);
    assert.match(found.out, /seed \d+ failed \(commit .+, Node v/);
    assert.match(found.out, /\d+ of 6 seeds failed\n {2}[a-z ]+: \d+/);
    const [, words] = /replay: npm run sim -- (.+)/.exec(found.out)!;
    assert.match(words!, new RegExp(`^--seed \\d+ --bug ${BUG}$`));
    const again = await sim(words!);
    assert.equal(again.code, 1);
    assert.match(again.out, /VIOLATION of/);
  });

  it("the command ends after Ctrl-C with a summary and exit code 130", async () => {
    const { child, ended } = begin("--minutes 10 --once --jobs 2".split(" "));
    await new Promise<void>((begun) => child.stdout.once("data", () => begun()));
    child.kill("SIGINT");
    const { code, out } = await ended;
    assert.match(out, /\d+ seeds in [\s\S]*\ninterrupted\n/);
    assert.ok(code === 130 || /seeds failed/.test(out), `${code}`);
  });
});

describe("npm run sim with a story", () => {
  const story = { title: "A call", why: "It is answered.", expected: "holds", plan: SMALL_PLAN };

  it("--story records a trace, and detects a difference", async (test) => {
    const file = join(folder(test), "call.json");
    writeFileSync(file, JSON.stringify(story));
    assert.equal((await sim(`--story ${file} --update`)).code, 0);
    assert.ok(existsSync(file.replace(".json", ".txt")));
    const same = await sim(`--story ${file}`);
    assert.equal(same.code, 0, same.out);
    assert.match(same.out, /append Ledger\/a → 1/);
    writeFileSync(file, JSON.stringify({ ...story, plan: { ...SMALL_PLAN, calls: [] } }));
    const other = await sim(`--story ${file}`);
    assert.equal(other.code, 1);
    assert.match(other.out, /the story differs/);
  });

  it("--story detects that a checker does not report its violation", async (test) => {
    const file = join(folder(test), "call.json");
    writeFileSync(file, JSON.stringify({ ...story, expected: { reports: "progress", bug: BUG } }));
    const { code, out } = await sim(`--story ${file}`);
    assert.equal(code, 1);
    assert.match(out, /"progress" is not broken any more/);
  });

  it("--shrink reduces no plan that holds", async (test) => {
    const file = join(folder(test), "call.json");
    writeFileSync(file, JSON.stringify(story));
    const { code, err } = await sim(`--story ${file} --shrink`);
    assert.equal(code, 1);
    assert.match(err, /holds: there is nothing to make small/);
  });

  it("the command names the bug that a story needs to fail", async (test) => {
    const file = join(folder(test), "call.json");
    writeFileSync(file, JSON.stringify({ ...story, expected: { reports: "progress", bug: BUG } }));
    const { code, err } = await sim(`--story ${file} --shrink`);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`holds: .*Add --bug ${BUG}`));
  });
});
