// Runs the tests: all of them, or the files that are named. Several files at a time, and at least three even on a small machine:
// many tests mostly wait for processes, and the machine would wait with them.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Not everything below bench/ is ours: peers bring packages along. */
const ALL = ["{src,test,examples,sim}/**/*.test.ts", "bench/*.test.ts", "bench/*/*.test.ts"];
const named = process.argv.slice(2);
const atOnce = Math.max(3, availableParallelism() - 1);
const { status } = spawnSync(
  process.execPath,
  ["--conditions=limpet-source", `--test-concurrency=${atOnce}`, "--test", ...(named.length > 0 ? named : ALL)],
  { stdio: "inherit" },
);
process.exit(status ?? 1);
