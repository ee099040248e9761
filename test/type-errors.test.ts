// The first words of TypeScript's reports to users who make a mistake: the mistake itself, and not another
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
  ["await handle.signal(told);", /TS2554: Expected 2 arguments, but got 1/],
  ["await handle.signal(told, 5);", /TS2345: Argument of type 'number' is not .* parameter of type 'string'/],
  ["await handle.query(lengthOf);", /TS2554: Expected 2 arguments, but got 1/],
  ["await handle.query(lengthOf, 5);", /TS2345: Argument of type 'number' is not .* parameter of type 'string'/],
  ["await handle.query(told);", /TS2345: .*'SignalName<string>' is not assignable/],
  ["await handle.update(add);", /TS2554: Expected 2-3 arguments, but got 1/],
  ['await handle.update(add, { by: "1" });', /TS2322: Type 'string' is not assignable to type 'number'/],
  ["await handle.update(add, { by: 1 }, { di: 1 });", /TS2353: .*'di' does not exist/],
  ['await ctx.signal(told, { within: "1s", at: 1 });', /TS2353: .*'at' does not exist/],
  ["ctx.workflow('w').signal(told, 5);", /TS2345: Argument of type 'number' is not .* parameter of type 'string'/],
  [
    "ctx.onSignal(told, (n: number) => n);",
    /TS2345: Argument of type '\(n: number\) => number' is not .* '\(input: string\) => unknown'/,
  ],
  ["ctx.onQuery(lengthOf, () => 'x');", /TS2322: Type 'string' is not assignable to type 'number'/],
  ["ctx.onUpdate(add, ({ by }) => by.length);", /TS2339: Property 'length' does not exist on type 'number'/],
  ["actor.workflows.signal('w', told, 5);", /TS2345: Argument of type 'number' is not .* parameter of type 'string'/],
];

const HEAD = `
import type { Actor, App, WorkflowContext, WorkflowHandle } from ${JSON.stringify(join(ROOT, "src/index.ts"))};
import { query, signal, update, workflow } from ${JSON.stringify(join(ROOT, "src/index.ts"))};
declare const app: App;
declare const ctx: WorkflowContext;
declare const actor: Actor;
declare const handle: WorkflowHandle<number>;
declare const charge: (order: { id: string }) => Promise<number>;
const double = workflow("double", async (_ctx, n: number) => n * 2);
const told = signal<string>("told");
const lengthOf = query<number, string>("length");
const add = update<number, { by: number }>("add");
export {};
`;

describe("a call with a mistake", () => {
  let folder: string;
  let report: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "limpet-types-"));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ["node"],
      lib: ["es2024", "esnext.disposable"],
      typeRoots: [join(ROOT, "node_modules/@types")],
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
