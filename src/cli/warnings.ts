// Filters the warnings of Node for the user of the command line.

const NOT_NEWS = new Set(["ExperimentalWarning"]);
const NOT_NEWS_CODES = new Set(["MODULE_TYPELESS_PACKAGE_JSON"]);

/**
 * Warnings about features that Limpet itself uses (SQLite, type stripping) are hidden; other warnings become
 * one line.
 */
export function quietWarnings(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { code?: string }) => {
    if (NOT_NEWS.has(warning.name) || NOT_NEWS_CODES.has(warning.code ?? "")) return;
    process.stderr.write(`warning: ${warning.message}\n`);
  });
}
