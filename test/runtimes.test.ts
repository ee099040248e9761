// Other runtimes, bundles, and Nodes that are too old, with the built package: one small app that uses every
// part once.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runtimeProblem } from "../src/host/runtime.ts";
import { findTool, missing } from "./support/tools.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LIMIT_MS = 300_000;
const ANSWER = { sum: 3, http: 7, reminded: 107, flow: 42 };
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(cwd: string, command: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { cwd, timeout: LIMIT_MS, env: { ...process.env, NO_COLOR: "1" } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      },
    );
  });
}

/** The Node of the machine, which is often older than that of the project. */
const systemNode = (): string | undefined => ["/usr/bin/node", "/usr/local/bin/node"].find((path) => existsSync(path));

async function versionOf(node: string): Promise<string> {
  return (await run(ROOT, node, "--version")).stdout.trim().slice(1);
}

describe("the built package", { timeout: 3 * LIMIT_MS }, () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "limpet-runtimes-"));
    // Its own copy: another test may build at the same time.
    const own = join(folder, "node_modules", "limpet");
    await mkdir(own, { recursive: true });
    const tsc = await run(
      ROOT,
      join(ROOT, "node_modules/.bin/tsc"),
      "-p",
      "tsconfig.build.json",
      "--outDir",
      join(own, "dist"),
    );
    assert.equal(tsc.code, 0, tsc.stdout);
    await cp(join(ROOT, "src/wire/proto/gen"), join(own, "dist/wire/proto/gen"), { recursive: true });
    for (const part of ["package.json", "bin"]) await cp(join(ROOT, part), join(own, part), { recursive: true });
    for (const name of await readdir(join(ROOT, "node_modules"))) {
      if (name.startsWith(".") || name === "limpet") continue;
      await symlink(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
    }
    await cp(join(ROOT, "test/fixtures/runtime-app.mjs"), join(folder, "app.mjs"));
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const [name, flags] of [
    ["bun", []],
    ["deno", ["run", "-A"]],
  ] as const) {
    it(`the package runs on ${name}, with both stores that need no server`, async (t) => {
      const reason = missing(name);
      if (reason !== undefined) return t.skip(reason);
      for (const store of ["memory:", join(folder, `${name}.db`)]) {
        const { stdout, stderr } = await run(folder, findTool(name)!, ...flags, "app.mjs", store);
        assert.deepEqual(JSON.parse(stdout || "null"), ANSWER, stderr);
      }
    });
  }

  it("the package runs as one bundle with its worker beside it, and names a missing worker", async (t) => {
    const reason = missing("esbuild");
    if (reason !== undefined) return t.skip(reason);
    const shared = ["--bundle", "--platform=node", "--format=esm", "--outdir=out", `--banner:js=${BANNER}`];
    const bundle = (...entries: string[]) => run(folder, findTool("esbuild")!, ...entries, ...shared);
    assert.equal((await bundle("app=app.mjs")).code, 0);
    await writeFile(join(folder, "out", "package.json"), JSON.stringify({ type: "module" }));
    // No part of it may come from the folders around it.
    const away = await mkdtemp(join(tmpdir(), "limpet-bundle-"));
    try {
      await cp(join(folder, "out"), away, { recursive: true });
      const without = await run(away, process.execPath, "app.js", "bundle.db");
      assert.match(without.stderr, /bundle limpet\/sqlite-worker as worker\.js beside the app/);
      assert.equal((await bundle("app=app.mjs", "worker=limpet/sqlite-worker")).code, 0);
      await cp(join(folder, "out"), away, { recursive: true });
      const { stdout, stderr } = await run(away, process.execPath, "app.js", "bundle.db");
      assert.deepEqual(JSON.parse(stdout || "null"), ANSWER, stderr);
    } finally {
      await rm(away, { recursive: true, force: true });
    }
  });

  it("the library and the command print the same message on a Node that is too old", async (t) => {
    const node = systemNode();
    const version = node === undefined ? "" : await versionOf(node);
    const sentence = runtimeProblem({ node: version });
    if (node === undefined || version === "" || sentence === undefined) {
      return t.skip("this machine has no Node older than 24");
    }
    const library = await run(folder, node, "app.mjs", "memory:");
    assert.ok(library.stderr.includes(`LimpetError: ${sentence}`), library.stderr);
    const uses = {
      testLimpet: 'import { testLimpet } from "limpet/testing"; await testLimpet({ actors: [] });',
      openWorld: 'import { openWorld } from "limpet/testing"; await openWorld({ actors: [] });',
      connect: 'import { connect } from "limpet/client"; connect({ schedulers: ["127.0.0.1:1"] });',
    };
    for (const [name, code] of Object.entries(uses)) {
      await writeFile(join(folder, "use.mjs"), code);
      const { stderr } = await run(folder, node, "use.mjs");
      assert.ok(stderr.includes(`LimpetError: ${sentence}`), `${name}: ${stderr}`);
    }
    const command = await run(folder, node, "node_modules/limpet/bin/limpet.js", "ps");
    assert.deepEqual([command.code, command.stderr], [1, `${sentence}\n`]);
  });
});
