// Marks that could be reached: every place of the simulator that names one. What is never reached is never tested.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SIM = join(import.meta.dirname, "..");

let known: readonly string[] | undefined;

export function knownMarks(): readonly string[] {
  known ??= globSync("**/*.ts", { cwd: SIM })
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => [...readFileSync(join(SIM, file), "utf8").matchAll(/\.mark\("([^"]+)"\)/g)])
    .map(([, name]) => name!)
    .sort();
  return [...new Set(known)];
}

export const missedMarks = (reached: ReadonlySet<string>): string[] =>
  knownMarks().filter((mark) => !reached.has(mark));
