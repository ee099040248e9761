// Records the loaded files of the app, and files that it tried to load: `--watch` observes them, and a syntax
// error must be in one of them. Files of Limpet itself and of packages do not count.

import { registerHooks } from "node:module";
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** src/ or dist/, wherever this copy runs from. */
const OWN = dirname(dirname(import.meta.dirname)) + sep;

const files: string[] = [];
let notify: ((file: string) => void) | undefined;

export const loadedFiles = (): readonly string[] => files;

/** Called once, before the app is imported. `onFile` also receives files that are loaded later. */
export function recordLoadedFiles(onFile?: (file: string) => void): void {
  notify = onFile;
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        const wanted = /^\.{0,2}\//.test(specifier) ? URL.parse(specifier, context.parentURL) : null;
        // A missing file may be created soon.
        if (wanted !== null) notify?.(fileURLToPath(wanted));
        throw error;
      }
    },
    load(url, context, next) {
      if (isOfTheApp(url)) {
        files.push(fileURLToPath(url));
        notify?.(fileURLToPath(url));
      }
      return next(url, context);
    },
  });
}

function isOfTheApp(url: string): boolean {
  if (!url.startsWith("file:") || url.includes("/node_modules/")) return false;
  return !fileURLToPath(url).startsWith(OWN);
}
