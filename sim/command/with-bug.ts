// Starts the command again in its own process with a bug put back, because a bug must be present while the
// program is loaded.
import { spawn } from "node:child_process";
import { join } from "node:path";

const PUT_BACK = join(import.meta.dirname, "../bugs/put-back.ts");

export const hasBug = (bug: string): boolean =>
  process.env.LIMPET_SIM_BUG === bug && process.execArgv.includes(PUT_BACK);

/** Returns the exit code of that process. */
export function againWithBug(bug: string, program: string, words: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, "--import", PUT_BACK, program, ...words], {
    stdio: "inherit",
    env: { ...process.env, LIMPET_SIM_BUG: bug },
  });
  // Ctrl-C in a terminal reaches both processes; this one only waits for the other. Signals to this process
  // alone are passed on.
  const wait = (): void => {};
  const pass = (): void => void child.kill("SIGTERM");
  process.on("SIGINT", wait).on("SIGTERM", pass);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      process.off("SIGINT", wait).off("SIGTERM", pass);
      resolve(code ?? 130);
    });
  });
}
