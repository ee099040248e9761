// Finds programs that `npm install` does not bring, and that `npm run tools` installs: in PATH, where Debian
// keeps servers, in node_modules, or in the folder of the tools.
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Folder of programs from `npm run tools` that are not packages of the system. */
export const TOOLS = process.env.LIMPET_TOOLS ?? join(homedir(), ".cache", "limpet-tools");
const MORE_FOLDERS = [
  join(ROOT, "node_modules", ".bin"),
  join(TOOLS, "npm", "node_modules", ".bin"),
  "/usr/sbin",
  "/usr/local/go/bin",
];

/** The path of the program; undefined if it is not installed. */
export function findTool(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...MORE_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Reason to skip a test that needs the program; undefined if it is installed. */
export function missing(name: string): string | undefined {
  return findTool(name) === undefined ? `${name} is not installed; npm run tools installs it` : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const SDK = "durable-workflow";
/** The release that the protocol is tested against. */
const RELEASE = /^2\.12\./;
const PYTHON = join(TOOLS, "python", "bin", "python");
const VERSION = `import importlib.metadata, durable_workflow; print(importlib.metadata.version("${SDK}"))`;

export type FoundPython = { readonly python: string } | { readonly missing: string };

/**
 * Finds the Python that `npm run tools` has prepared with the released SDK of worker processes. A test
 * without it skips with that reason.
 */
export async function findPython(): Promise<FoundPython> {
  try {
    const { stdout } = await promisify(execFile)(PYTHON, ["-B", "-c", VERSION], { timeout: 60_000 });
    const version = stdout.trim();
    return RELEASE.test(version)
      ? { python: PYTHON }
      : { missing: `${SDK} ${version} is installed, and 2.12 is needed; run npm run tools` };
  } catch {
    return { missing: `Python with ${SDK} is not installed; run npm run tools` };
  }
}
