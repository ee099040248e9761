// Runs the tests on an overloaded machine: `npm run test:loaded -- [--burners 20] [files]`. It starts
// processes ("burners") that only use CPU time, and ends them by their process ids after the tests. A burner
// also ends when this process is gone, and after two hours at the latest.
import { type ChildProcess, fork, spawn } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** Together with the tests themselves the load average is then 20 to 30 on two cores. */
const PER_CORE = 10;
const LONGEST_MS = 2 * 3_600_000;
const LOOK_MS = 5_000;
/** How often a burner checks whether it must end. */
const BURN_MS = 50;

if (process.env.LIMPET_BURNER === "1") burn();
else await main();

/** Burns until the process that started it is gone. */
function burn(): void {
  const end = performance.now() + LONGEST_MS;
  process.on("disconnect", () => process.exit());
  const turn = (): void => {
    const until = performance.now() + BURN_MS;
    while (performance.now() < until);
    if (performance.now() > end) process.exit();
    setImmediate(turn);
  };
  turn();
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: { burners: { type: "string" } }, allowPositionals: true });
  const count = values.burners === undefined ? PER_CORE * availableParallelism() : Number(values.burners);
  if (!Number.isInteger(count) || count < 0 || count > 1_000) {
    console.error(`--burners must be a whole number from 0 to 1000; got "${values.burners}"`);
    process.exit(2);
  }
  const burners = Array.from({ length: count }, startBurner);
  const tests = startTests(positionals);
  const end = (): void => {
    for (const burner of burners) burner.kill("SIGKILL");
  };
  process.on("exit", end);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => tests.kill(signal));
  console.log(`burners: ${burners.map(({ pid }) => pid).join(" ")}`);
  let highest = 0;
  const looking = setInterval(() => {
    highest = Math.max(highest, loadavg()[0]!);
  }, LOOK_MS);
  const code = await new Promise<number>((resolve) => tests.on("exit", (status) => resolve(status ?? 1)));
  clearInterval(looking);
  console.log(`load average (1 min): ${loadavg()[0]!.toFixed(1)} at the end, ${highest.toFixed(1)} at most`);
  process.exit(code);
}

function startBurner(): ChildProcess {
  return fork(fileURLToPath(import.meta.url), { env: { ...process.env, LIMPET_BURNER: "1" }, stdio: "ignore" });
}

/** Without files: all that `npm test` does. */
function startTests(files: readonly string[]): ChildProcess {
  if (files.length === 0) return spawn("npm", ["test"], { stdio: "inherit" });
  return spawn(process.execPath, ["scripts/test.ts", ...files], { stdio: "inherit" });
}
