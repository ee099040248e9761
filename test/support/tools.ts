// Finds programs that `npm install` does not bring, and that `npm run tools` installs: in PATH, in
// node_modules, or in its folder.
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TOOLS = process.env.LIMPET_TOOLS ?? join(homedir(), ".cache", "limpet-tools");

/** Its path; undefined: it is not here. */
export function findTool(name: string): string | undefined {
  const npm = [join(ROOT, "node_modules", ".bin"), join(TOOLS, "npm", "node_modules", ".bin")];
  return [...(process.env.PATH ?? "").split(delimiter), ...npm].map((folder) => join(folder, name)).find(isExecutable);
}

/** Why a test that needs it is skipped; undefined: it is here. */
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
