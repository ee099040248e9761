// Runs the tests: all of them, the unit tests (`--unit`), or the files that are named. Several files at a
// time, and at least four even on a small machine: many tests mostly wait for processes, and the machine
// would wait with them.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { ModuleGraph, ROOT, slashed } from "./module-graph.ts";
import { isUnitTest } from "./unit-tests.ts";

/** Not everything below bench/ is ours: peers bring packages along. */
const ALL = ["{src,test,examples,sim}/**/*.test.ts", "bench/*.test.ts", "bench/*/*.test.ts"];
const [first, ...rest] = process.argv.slice(2);
/** With `--soak`: the long tests as well. */
const isSoak = first === "--soak";
const isUnit = first === "--unit";
const named = isSoak || isUnit || first === undefined ? rest : [first, ...rest];
const atOnce = Math.max(4, availableParallelism() - 1);
/** Unit tests share one process: most of their CPU time would be the start of a process per file. */
const how = isUnit ? "--test-isolation=none" : `--test-concurrency=${atOnce}`;
const { status } = spawnSync(
  process.execPath,
  ["--conditions=limpet-source", how, "--test", ...(named.length > 0 ? named : tests())],
  { stdio: "inherit", env: { ...process.env, ...(isSoak ? { LIMPET_SOAK: "1" } : {}) } },
);
process.exit(status ?? 1);

function tests(): string[] {
  if (!isUnit) return ALL;
  const graph = new ModuleGraph();
  return globSync(ALL, { cwd: ROOT })
    .map(slashed)
    .filter((path) => isUnitTest(path, graph));
}
