// Checks the rules of the code: modules and purity, errors, headers, syntax, and the counted rules of
// tidy/rules.ts.
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { describe, it } from "node:test";
import { ModuleGraph, moduleOf, ROOT as root, slashed } from "../scripts/module-graph.ts";
import { excess } from "./tidy/limits.ts";
import { FEATURES, MAY_IMPORT } from "./tidy/modules.ts";
import { sourceFiles } from "./tidy/rules.ts";

const graph = new ModuleGraph();
// Generated code follows the rules of its generator.
const sources = globSync("src/**/*.ts", { cwd: root })
  .map(slashed)
  .filter((path) => !path.startsWith("src/wire/proto/gen/"));
const shipped = sources.filter((path) => !/\.(test|contract)\.ts$/.test(path) && !path.includes("/contract/"));
const textOf = (path: string): string => graph.textOf(path);

/** Code only: comments and the contents of strings would be false alarms. */
function codeOf(path: string): string {
  return textOf(path)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|[^:"'`])\/\/.*$/gm, "$1")
    .replace(/`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, '""');
}

/** Pure code gets time and chance as arguments and never waits. */
const IMPURE = [
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bperformance\b/,
  /\bhrtime\b/,
  /\bsetTimeout\b|\bsetInterval\b|\bsetImmediate\b|\bqueueMicrotask\b|\bnextTick\b/,
  /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/,
  /\bawait\b|\basync\b/,
];
/** Other code of a feature may wait, but only for ports. */
const WORLDLY = IMPURE.slice(0, -1);
/** Tools of the kernel that wait for the store. They get time and chance through ports, as a feature does. */
const waits = (path: string): boolean => path.startsWith("src/kernel/batch/");
const isPure = (path: string): boolean =>
  (["kernel", "ports"].includes(moduleOf(path)) && !waits(path)) || /^src\/\w+\/(?:model|schedule)\//.test(path);
const isInside = (path: string): boolean => isPure(path) || FEATURES.includes(moduleOf(path));
/** Files that stand for the process itself: its identity, and the globals that workflow code may not use. */
const TOUCHES_THE_PROCESS: ReadonlySet<string> = new Set([
  "src/placement/discovery/process-identity.ts",
  "src/workflows/engine/guards.ts",
]);

const offences = (paths: readonly string[], patterns: readonly RegExp[]): string[] =>
  paths.flatMap((path) => {
    const code = codeOf(path);
    return patterns.filter((pattern) => pattern.test(code)).map((pattern) => `${path}: ${pattern}`);
  });

describe("the code", () => {
  it("every folder of src is a known module", () => {
    assert.deepEqual(
      [...new Set(shipped.map(moduleOf))].filter((module) => !(module in MAY_IMPORT)),
      [],
    );
  });

  it("the kernel imports only types of ports", () => {
    const value = /^(?:import|export)\s(?!\s*type\b)[^;"]*from "[^"]*\/ports\//m;
    assert.deepEqual(
      shipped.filter((path) => moduleOf(path) === "kernel" && value.test(textOf(path))),
      [],
    );
  });

  it("a pure module has no clock, timer, random number or waiting", () => {
    assert.deepEqual(offences(shipped.filter(isPure), IMPURE), []);
  });

  it("a feature gets clocks, timers and random numbers through ports", () => {
    const features = shipped.filter((path) => FEATURES.includes(moduleOf(path)) && !TOUCHES_THE_PROCESS.has(path));
    assert.deepEqual(offences([...features, ...shipped.filter(waits)], WORLDLY), []);
  });

  it("a feature opens no database, socket or file", () => {
    const outside =
      /from "(?:node:(?:fs|net|http|https|child_process|worker_threads|sqlite|dgram|tls)[^"]*|pg|pino|yaml)"/;
    assert.deepEqual(
      shipped.filter((path) => isInside(path) && !TOUCHES_THE_PROCESS.has(path) && outside.test(textOf(path))),
      [],
    );
  });

  it("the code raises errors from the catalogue only", () => {
    assert.deepEqual(
      offences(shipped, [/\bthrow new (?:Type|Range|Syntax|Reference)?Error\b/, /\bPromise\.reject\(new Error\b/]),
      [],
    );
  });

  it("each file opens with a header comment", () => {
    const silent = shipped.filter((path) => !/^(?:#!.*\n)?(?:\/\/|\/\*)/.test(textOf(path)));
    assert.deepEqual(silent, []);
  });

  it("the code uses only erasable syntax", () => {
    assert.deepEqual(offences(shipped, [/^\s*(?:export )?(?:const )?enum /m, /^\s*(?:export )?namespace /m]), []);
  });

  it("the code keeps to the style, rule by rule, within the limits of each folder", () => {
    assert.deepEqual(excess(sourceFiles()), []);
  });

  it("no test is skipped or focused", () => {
    const tests = globSync("{src,test,bench,examples,sim}/**/*.test.ts", {
      cwd: root,
      exclude: ["**/node_modules/**"],
    });
    const focused = /\b(?:it|test|describe)\.(?:skip|todo|only)\b|\{\s*(?:skip|only|todo):/;
    assert.deepEqual(
      tests.filter((path) => path !== "test/tidy.test.ts" && focused.test(codeOf(path))),
      [],
    );
  });

  it("the repository contains no paths of a machine and no addresses of a registry", () => {
    const files = globSync("{src,sim,test,bench,examples,docs,scripts,bin}/**/*.{ts,js,mjs,md,json,yaml}", {
      cwd: root,
      exclude: ["**/node_modules/**"],
    });
    files.push("package.json", "package-lock.json", ".gitmessage");
    files.push(...globSync(["*.md", ".github/**/*.{md,yml}"], { cwd: root }));
    const foreign = new RegExp(["/wo", "rk/|/ro", "ot/|regis", "try\\.np", "mjs"].join(""));
    assert.deepEqual(
      files.filter((path) => foreign.test(textOf(path))),
      [],
    );
  });
});
