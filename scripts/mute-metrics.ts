// Shows that each metric has a test: mutes one metric at a time and runs the tests that name it, until one
// fails. Prints the metrics whose tests all pass although the metric counts nothing. Takes long: `node
// scripts/mute-metrics.ts [name…]`.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const LIMIT_MS = 120_000;
const MOST_FILES = 6;

const documented = [...readFileSync(join(root, "docs/metrics.md"), "utf8").matchAll(/^\| `(limpet_[a-z_]+)`/gm)];
const named = process.argv.slice(2);
const metrics = named.length > 0 ? named : documented.map(([, name]) => name!);
const tests = globSync("{src,test}/**/*.test.ts", { cwd: root }).map((path) => ({
  path,
  text: readFileSync(join(root, path), "utf8"),
  size: statSync(join(root, path)).size,
}));

/** Tests of metrics first, then the shortest. */
function testsOf(metric: string): string[] {
  const short = metric.replace(/^limpet_/, "");
  return tests
    .filter(
      ({ path, text }) => text.includes(metric) || (path.startsWith("test/metrics/") && text.includes(`"${short}`)),
    )
    .sort((a, b) => Number(b.path.includes("metrics")) - Number(a.path.includes("metrics")) || a.size - b.size)
    .map(({ path }) => path)
    .slice(0, MOST_FILES);
}

function failsWithout(metric: string, path: string): boolean {
  const flags = ["--conditions=limpet-source", "--import", "./test/support/mute-metric.ts", "--test", path];
  const env = { ...process.env, MUTED_METRIC: metric };
  return spawnSync(process.execPath, flags, { cwd: root, env, stdio: "ignore", timeout: LIMIT_MS }).status !== 0;
}

let unseen = 0;
for (const metric of metrics) {
  const found = testsOf(metric).find((path) => failsWithout(metric, path));
  if (found === undefined) unseen++;
  console.log(`${found === undefined ? "UNSEEN" : "seen  "}  ${metric}  ${found ?? ""}`);
}
console.log(`${metrics.length - unseen} of ${metrics.length} metrics have a test that fails when they count nothing`);
process.exit(unseen === 0 ? 0 : 1);
