// Lists the assert statements of tests that were removed or changed between two commits.
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { assertChanges, type Kind } from "./assert-changes.ts";

const HELP = `Usage: node scripts/changed-asserts.ts [options] [FROM [TO]]

Lists every assert statement of a test that was removed or changed from commit FROM (default: the last tag) to commit
TO (default: HEAD), with the new statement that is most like it. Moved and reformatted statements are unchanged.

  --all    also list statements that differ only in names or texts
  --help   this text
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: "boolean" }, help: { type: "boolean" } },
});
if (values.help === true) console.log(HELP.trimEnd());
else print(positionals[0] ?? lastTag(), positionals[1] ?? "HEAD");

function git(...words: string[]): string {
  return execFileSync("git", words, { encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "pipe"] });
}

function lastTag(): string {
  try {
    return git("describe", "--tags", "--abbrev=0").trim();
  } catch {
    console.error("This repository has no tag; name a commit: node scripts/changed-asserts.ts FROM");
    process.exit(2);
  }
}

function print(from: string, to: string): void {
  const paths = git("diff", "--name-only", "--no-renames", from, to)
    .split("\n")
    .filter((path) => /\.ts$/.test(path) && (/\.(?:test|contract)\.ts$/.test(path) || /^(?:test|sim)\//.test(path)));
  const { changes, unchanged, added } = assertChanges(filesAt(from, paths), filesAt(to, paths));
  const listed: readonly Kind[] =
    values.all === true ? ["removed", "changed", "texts", "names"] : ["removed", "changed"];
  for (const kind of listed) {
    for (const { path, before, after } of changes.filter((change) => change.kind === kind)) {
      console.log(`${kind}: ${path}\n  - ${before}${after === undefined ? "" : `\n  + ${after}`}`);
    }
  }
  const count = (kind: Kind): number => changes.filter((change) => change.kind === kind).length;
  console.log(
    `In ${paths.length} files that differ: ${unchanged} unchanged, ${count("names")} with other names, ${count("texts")} with other texts, ` +
      `${count("changed")} changed, ${count("removed")} removed, ${added} added.`,
  );
}

function filesAt(commit: string, paths: readonly string[]): Map<string, string> {
  const existing = new Set(git("ls-tree", "-r", "--name-only", commit).split("\n"));
  return new Map(paths.filter((path) => existing.has(path)).map((path) => [path, git("show", `${commit}:${path}`)]));
}
