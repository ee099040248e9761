// The process of the command. It exits with the command, even when a loaded app has left something running.

import { main } from "./main.ts";

const NOT_NEWS = new Set(["ExperimentalWarning"]);
const NOT_NEWS_CODES = new Set(["MODULE_TYPELESS_PACKAGE_JSON"]);

quietWarnings();
process.exit(await main(process.argv.slice(2)));

/**
 * Warnings about features that Limpet itself uses (SQLite, type stripping) are hidden; other warnings become
 * one line.
 */
function quietWarnings(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { code?: string }) => {
    if (NOT_NEWS.has(warning.name) || NOT_NEWS_CODES.has(warning.code ?? "")) return;
    process.stderr.write(`warning: ${warning.message}\n`);
  });
}
