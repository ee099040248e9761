// Finds programs that tests drive and npm does not bring. `npm run tools` installs them.
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** Where `npm run tools` puts what is not a package of the system. */
export const TOOLS = process.env.LIMPET_TOOLS ?? join(homedir(), ".cache", "limpet-tools");

/** Debian keeps servers out of the path of ordinary users; npm packages lie among the tools. */
const MORE_FOLDERS = ["/usr/sbin", "/usr/local/bin", "/usr/local/go/bin", join(TOOLS, "npm", "node_modules", ".bin")];

/** The path of the first name that is installed; undefined: none is. */
export function findProgram(...names: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...MORE_FOLDERS];
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** For the option `skip` of a test: the reason, or false when the program is there. */
export const unlessFound = (path: string | undefined, program: string): string | false =>
  path === undefined && `${program} is not installed; npm run tools installs it where it may`;
