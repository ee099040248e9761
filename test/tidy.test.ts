// Rules of the house that are executed: who may import whom, what a pure room may not do, how errors are raised.
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { describe, it } from "node:test";
import { ModuleGraph, moduleOf, ROOT as root, slashed } from "../scripts/module-graph.ts";
import { excess } from "./tidy/limits.ts";
import { sourceFiles } from "./tidy/rules.ts";

const graph = new ModuleGraph();
// What is generated follows the rules of its generator.
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

const ROOMS = ["placement", "sharding", "actors", "reminders", "workflows"];
const OUTER = ["stores", "wire", "observe", "config"];
const INNER = ["kernel", "ports"];

/** What each folder may import, besides itself. Rooms do not know doors, drivers or databases, nor each other. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  kernel: [],
  ports: ["kernel"],
  ...Object.fromEntries(ROOMS.map((room) => [room, INNER])),
  stores: INNER,
  wire: [...INNER, ...ROOMS],
  observe: INNER,
  config: INNER,
  nodes: [...INNER, ...ROOMS, ...OUTER],
  world: [...INNER, ...ROOMS, ...OUTER, "nodes"],
  testing: [...INNER, ...ROOMS, ...OUTER, "nodes", "world"],
  entry: [...INNER, ...ROOMS, ...OUTER, "nodes", "world", "testing"],
  cli: [...INNER, ...ROOMS, ...OUTER, "nodes", "entry"],
};

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
/** The other rooms may wait, but only for ports. */
const WORLDLY = IMPURE.slice(0, -1);

const offences = (paths: readonly string[], patterns: readonly RegExp[]): string[] =>
  paths.flatMap((path) => {
    const code = codeOf(path);
    return patterns.filter((pattern) => pattern.test(code)).map((pattern) => `${path}: ${pattern}`);
  });

describe("the house", () => {
  it("has only rooms that are known here", () => {
    assert.deepEqual(
      [...new Set(shipped.map(moduleOf))].filter((room) => !(room in MAY_IMPORT)),
      [],
    );
  });

  it("imports in one direction", () => {
    const wrong: string[] = [];
    for (const path of shipped) {
      const from = moduleOf(path);
      for (const imported of graph.importsOf(path)) {
        const to = moduleOf(imported);
        if (to !== from && !MAY_IMPORT[from]!.includes(to)) wrong.push(`${path} imports ${imported}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("keeps clocks, timers, chance and waiting out of the pure rooms", () => {
    const pure = shipped.filter((path) => ["kernel", "ports", "placement", "sharding"].includes(moduleOf(path)));
    assert.deepEqual(offences(pure, IMPURE), []);
  });

  it("keeps clocks, timers and chance out of the other rooms, which get them through ports", () => {
    const rooms = shipped.filter((path) => ["actors", "reminders", "workflows"].includes(moduleOf(path)));
    assert.deepEqual(offences(rooms, WORLDLY), []);
  });

  it("keeps databases, sockets and files out of the rooms", () => {
    const rooms = shipped.filter((path) => [...INNER, ...ROOMS].includes(moduleOf(path)));
    const doors =
      /from "(?:node:(?:fs|net|http|https|child_process|worker_threads|sqlite|dgram|tls)[^"]*|pg|pino|yaml)"/;
    assert.deepEqual(
      rooms.filter((path) => doors.test(textOf(path))),
      [],
    );
  });

  it("raises errors from the catalogue only", () => {
    assert.deepEqual(
      offences(shipped, [/\bthrow new (?:Type|Range|Syntax|Reference)?Error\b/, /\bPromise\.reject\(new Error\b/]),
      [],
    );
  });

  it("opens each file by saying what it is", () => {
    const silent = shipped.filter((path) => !/^(?:#!.*\n)?(?:\/\/|\/\*)/.test(textOf(path)));
    assert.deepEqual(silent, []);
  });

  it("uses only syntax that can be erased", () => {
    assert.deepEqual(offences(shipped, [/^\s*(?:export )?(?:const )?enum /m, /^\s*(?:export )?namespace /m]), []);
  });

  it("the code keeps to the style, rule by rule, within the limits of each folder", () => {
    assert.deepEqual(excess(sourceFiles()), []);
  });

  it("skips and focuses no test", () => {
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

  it("speaks of itself alone: no paths of a machine, no addresses of a registry", () => {
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
