// Checks whether Limpet supports the runtime of this process. bin/limpet.js repeats the message, because it
// must run on runtimes that cannot load this file.
import { LimpetError } from "../kernel/errors.ts";

const OLDEST_NODE = 24;

type Versions = Readonly<Record<string, string | undefined>>;

/** Why the runtime is not supported; undefined: it is. Bun and Deno have version numbers of their own. */
export function runtimeProblem(versions: Versions): string | undefined {
  const { node = "", bun, deno } = versions;
  if (bun !== undefined || deno !== undefined || Number.parseInt(node, 10) >= OLDEST_NODE) return undefined;
  const advice = "Install it next to your app with: npm install --save-dev node@24, and run it with npx.";
  return `limpet needs Node ${OLDEST_NODE} or newer; this is Node ${node}. ${advice}`;
}

/** Throws RUNTIME_TOO_OLD. */
export function checkRuntime(): void {
  const problem = runtimeProblem(process.versions);
  if (problem !== undefined) throw new LimpetError("RUNTIME_TOO_OLD", problem);
}
