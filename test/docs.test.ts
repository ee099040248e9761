// Checks the documents: links lead to files and headings, each decision has a number, a row in the index and
// four sections, and the reading list of the source stays short.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { ROOT, slashed } from "../scripts/module-graph.ts";

const pages = globSync(["*.md", "docs/**/*.md", "src/*.md", ".github/**/*.md"], { cwd: ROOT }).map(slashed);
const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");
/** Without code, which may hold brackets and lines that begin with `#`. */
const proseOf = (path: string): string => textOf(path).replace(/^```[\s\S]*?^```/gm, "");

/** The anchor that GitHub makes of a heading. */
function anchorOf(heading: string): string {
  const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
  return shown.replace(/[^\p{L}\p{N}\p{M} _-]/gu, "").replaceAll(" ", "-");
}

function anchorsOf(path: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading] of proseOf(path).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const anchor = anchorOf(heading!);
    let unique = anchor;
    for (let again = 1; anchors.has(unique); again++) unique = `${anchor}-${again}`;
    anchors.add(unique);
  }
  return anchors;
}

function problemOf(page: string, link: string): string | undefined {
  const [file, anchor] = link.split("#");
  const path = file === "" ? page : slashed(normalize(join(dirname(page), file!)));
  if (!existsSync(join(ROOT, path))) return `${page}: there is no ${link}`;
  if (anchor === undefined || !path.endsWith(".md") || anchorsOf(path).has(anchor)) return undefined;
  return `${page}: ${path} has no heading #${anchor}`;
}

test("every relative link of a document leads to a file, and its anchor to a heading", () => {
  assert.ok(pages.length > 15, "the documents were not found");
  const problems = pages.flatMap((page) => {
    const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
    return links.filter((link) => !/^[a-z]+:/.test(link)).flatMap((link) => problemOf(page, link) ?? []);
  });
  assert.deepEqual(problems, []);
});

test("every page of docs/ is linked from the README or from another page", () => {
  const linked = new Set(
    pages.flatMap((page) =>
      [...proseOf(page).matchAll(/\]\(([^)#\s]+)/g)].map(([, link]) => slashed(normalize(join(dirname(page), link!)))),
    ),
  );
  assert.deepEqual(
    pages.filter((page) => page.startsWith("docs/") && !linked.has(page)),
    [],
  );
});

test("every decision has the next number, its row in the index, and four sections", () => {
  const folder = "docs/decisions";
  const decisions = pages.filter((page) => /^docs\/decisions\/\d/.test(page)).sort();
  const index = textOf(`${folder}/README.md`).match(/^\| \d{4} \| .*$/gm);
  const expected = decisions.map((page, at) => {
    const number = String(at + 1).padStart(4, "0");
    const [, title] = /^# \d+\. (.+)$/m.exec(textOf(page)) ?? [];
    return `| ${number} | [${title}](${page.slice(folder.length + 1)}) |`;
  });
  assert.deepEqual(index, expected);
  for (const [at, page] of decisions.entries()) {
    assert.match(page, new RegExp(`/${String(at + 1).padStart(4, "0")}-[a-z-]+\\.md$`));
    assert.ok(textOf(page).startsWith(`# ${at + 1}. `), `${page} begins with another number`);
    const sections = [...textOf(page).matchAll(/^## (.+)$/gm)].map(([, section]) => section);
    assert.deepEqual(sections, ["Context", "Decision", "Alternatives", "Consequences"], page);
  }
});

test("the reading list of src names each file once, with one line, and stays within 45 files and 9,500 lines", () => {
  const entries = textOf("src/README.md").match(/^- .*$/gm) ?? [];
  const files = entries.map((entry) => {
    const [, name, link] = /^- \[([^\]]+)\]\(([^)]+)\): .+\.$/.exec(entry) ?? [];
    assert.ok(name !== undefined && name === link, `not a link with its own path and a sentence: ${entry}`);
    return `src/${link}`;
  });
  const lines = files.reduce((sum, file) => sum + textOf(file).split("\n").length - 1, 0);
  assert.equal(new Set(files).size, files.length, "a file is listed twice");
  assert.ok(files.length >= 30 && files.length <= 45, `${files.length} files`);
  assert.ok(lines <= 9_500, `${lines} lines: replace a long file by a shorter one, or leave one out`);
});

test("every source file and every class that ARCHITECTURE.md names exists", () => {
  const text = textOf("ARCHITECTURE.md");
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).map((path) => textOf(path));
  const paths = [...text.matchAll(/`([\w./-]+\.(?:ts|md|json))`/g)].map(([, path]) => path!);
  const classes = [...text.matchAll(/`([A-Z][a-z]\w+)(?:\.\w+)?`/g)].map(([, name]) => name!);
  assert.ok(paths.length > 50 && classes.length > 5, "the names were not found");
  const missing = [
    ...paths.filter((path) => !["", "src"].some((folder) => existsSync(join(ROOT, folder, path)))),
    ...classes.filter((name) => !sources.some((source) => source.includes(`export class ${name} `))),
  ];
  assert.deepEqual(missing, []);
});

test("every npm script that a document or the CI workflow names exists", () => {
  const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Readonly<Record<string, string>> };
  const files = [...pages, ...globSync(".github/workflows/*.yml", { cwd: ROOT }).map(slashed)];
  const missing = files.flatMap((file) =>
    [...textOf(file).matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g)]
      .filter(([, name]) => !(name! in scripts))
      .map(([, name]) => `${file}: npm run ${name}`),
  );
  assert.deepEqual(missing, []);
});

test("every entry of the change log has a problem, an impact, a root cause and a solution", () => {
  // The first release lists features, without titles.
  const entries = textOf("CHANGELOG.md").split(/^(?=- |#)/m);
  const titled = entries.filter((entry) => entry.startsWith("- **"));
  assert.notEqual(titled.length, 0, "the change log has no entry with a title");
  const incomplete = titled.filter((entry) => {
    const labels = [...entry.matchAll(/(Problem|Impact|Root cause|Solution): /g)].map(([, label]) => label);
    return labels.join() !== "Problem,Impact,Root cause,Solution";
  });
  assert.deepEqual(
    incomplete.map((entry) => entry.split("\n")[0]),
    [],
  );
});
