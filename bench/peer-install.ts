// Peers have their own package.json in bench/peers, so that users of Limpet do not install them. They are
// installed when the first case needs them. If that fails the run continues without them.
import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = fileURLToPath(new URL("./peers/", import.meta.url));
const LIMIT_MS = 300_000;

/** Returns the reason if they are missing, or undefined. */
export async function installPeers(say: (line: string) => void): Promise<string | undefined> {
  if (isInstalled()) return undefined;
  say("installing the peers in bench/peers (first use) …");
  try {
    // Without scripts: none is needed here, and a benchmark should not run foreign code at installation.
    await promisify(execFile)("npm", ["ci", "--ignore-scripts"], { cwd: FOLDER, timeout: LIMIT_MS });
    return undefined;
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    const line = stderr.split("\n").find((text) => text.startsWith("npm error")) ?? message.split("\n")[0]!;
    return `the peers could not be installed (${line.trim()})`;
  }
}

/** Also false if the lock file has changed since. */
function isInstalled(): boolean {
  const [wanted, present] = [`${FOLDER}package-lock.json`, `${FOLDER}node_modules/.package-lock.json`];
  return existsSync(present) && statSync(present).mtimeMs >= statSync(wanted).mtimeMs;
}
