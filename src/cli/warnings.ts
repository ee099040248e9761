// Node's warnings, as far as they concern the person at the terminal.

const NOT_NEWS = new Set(["ExperimentalWarning"]);
const NOT_NEWS_CODES = new Set(["MODULE_TYPELESS_PACKAGE_JSON"]);

/** What Limpet itself relies on (SQLite, type stripping) is not news to its user; other warnings become one line. */
export function quietWarnings(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { code?: string }) => {
    if (NOT_NEWS.has(warning.name) || NOT_NEWS_CODES.has(warning.code ?? "")) return;
    process.stderr.write(`warning: ${warning.message}\n`);
  });
}
