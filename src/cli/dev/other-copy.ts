// Finds another copy of limpet for an app. App and command line must share one copy, or the app's classes
// extend a different Actor class. When the app's folder has its own copy, that copy's command line runs the
// app.

import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

type Main = (argv: readonly string[]) => Promise<number>;

const OWN_ROOT = dirname(dirname(dirname(import.meta.dirname)));

/** The `main` of the copy that the module would import, when it is not this copy. */
export async function mainOfOtherCopy(file: string): Promise<Main | undefined> {
  let root: string;
  try {
    root = dirname(createRequire(file).resolve("limpet/package.json"));
  } catch {
    return undefined;
  }
  const main = join(root, "dist", "cli", "main.js");
  if (realpathSync(root) === realpathSync(OWN_ROOT) || !existsSync(main)) return undefined;
  return ((await import(pathToFileURL(main).href)) as { main: Main }).main;
}
