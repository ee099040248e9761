// The first words of what TypeScript reports to users who make a mistake: the mistake itself, and not another
// overload that fits even less.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Each line of code that has a mistake in it, and the report of that line. */
const MISTAKES: readonly (readonly [code: string, report: RegExp])[] = [
  ["await app.workflows.start(double);", /TS2554: Expected 2 arguments, but got 1/],
  ['await app.workflows.start(double, { input: "2" });', /TS2322: Type 'string' is not assignable to type 'number'/],
  ["await app.workflows.start(double, { input: 2, di: 1 });", /TS2353: .*'di' does not exist/],
  ["ctx.child(double);", /TS2554: Expected 2 arguments, but got 1/],
  ['ctx.child(double, { input: "2" });', /TS2322: Type 'string' is not assignable to type 'number'/],
  ["ctx.activity(charge);", /TS2554: Expected 2-3 arguments, but got 1/],
  ["ctx.activity(charge, { id: 2 });", /TS2322: Type 'number' is not assignable to type 'string'/],
  ["actor.workflows.start(double);", /TS2554: Expected 2 arguments, but got 1/],
];

const HEAD = `
import type { Actor, App, WorkflowContext } from ${JSON.stringify(join(ROOT, "src/index.ts"))};
import { workflow } from ${JSON.stringify(join(ROOT, "src/index.ts"))};
declare const app: App;
declare const ctx: WorkflowContext;
declare const actor: Actor;
declare const charge: (order: { id: string }) => Promise<number>;
const double = workflow("double", async (_ctx, n: number) => n * 2);
export {};
`;

describe("a call with a mistake", () => {
  let folder: string;
  let report: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "limpet-types-"));
    const compilerOptions = {
      ...{ strict: true, noEmit: true, module: "nodenext", target: "es2024", exactOptionalPropertyTypes: true },
      ...{ skipLibCheck: true, allowImportingTsExtensions: true, types: ["node"] },
      ...{ lib: ["es2024", "esnext.disposable"], typeRoots: [join(ROOT, "node_modules/@types")] },
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["mistakes.mts"] }));
    await writeFile(join(folder, "mistakes.mts"), `${HEAD}${MISTAKES.map(([code]) => code).join("\n")}\n`);
    report = await new Promise((resolve) => {
      const args = ["-p", folder, "--pretty", "false"];
      execFile(join(ROOT, "node_modules/.bin/tsc"), args, (_error, stdout) => resolve(stdout));
    });
  });
  after(() => rm(folder, { recursive: true }));

  for (const [index, [code, expected]] of MISTAKES.entries()) {
    it(`the compiler reports the actual mistake: ${code}`, () => {
      const line = HEAD.split("\n").length + index;
      const found = report
        .split("\n")
        .filter((text) => text.startsWith("mistakes.mts") || text.includes("mistakes.mts("));
      assert.match(found.filter((text) => text.includes(`mistakes.mts(${line},`)).join("\n"), expected, report);
    });
  }
});
