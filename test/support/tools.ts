// Finds programs that `npm install` does not bring, and that `npm run tools` installs: in PATH, where Debian
// keeps servers, in node_modules, or in the folder of the tools.
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

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
