// Keeps docs/errors.md equal to the catalogue of errors.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CATALOGUE } from "./errors.ts";

const root = join(import.meta.dirname, "../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

const ROW =
  /^\| `(?<code>[A-Z_]+)` \| (?<retry>\w+) \| (?<status>\d+) \| (?<cause>[^|]*) \| (?<remedy>[^|]*) \| (?<signals>[^|]*)\|$/;
const page = textOf("docs/errors.md");
const rows = page.split("\n").flatMap((line) => {
  const row = ROW.exec(line)?.groups;
  return row === undefined ? [] : [row];
});

/** Log events have a dot in their name. */
const signals = new Set(rows.flatMap((row) => [...row.signals!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)));

test("docs/errors.md lists each code of the catalogue once, with its verdict and its status", () => {
  const documented = rows.map(({ code, retry, status }) => `${code} ${retry} ${status}`).sort();
  const known = Object.entries(CATALOGUE).map(([code, { retry, status }]) => `${code} ${retry} ${status}`);
  assert.deepEqual(documented, known.sort());
});

test("docs/errors.md has no row that this test cannot read", () => {
  const lines = page.split("\n").filter((line) => /^\| `[A-Z_]+`/.test(line));
  assert.deepEqual(
    lines.filter((line) => !ROW.test(line)),
    [],
  );
});

test("docs/errors.md states a cause and a remedy for each code", () => {
  const silent = rows.filter(({ cause, remedy }) => cause!.trim() === "" || remedy!.trim() === "");
  assert.deepEqual(
    silent.map(({ code }) => code),
    [],
  );
});

test("docs/errors.md names only metrics that docs/metrics.md has", () => {
  const metrics = textOf("docs/metrics.md");
  const unknown = [...signals].filter((name) => !name.includes(".") && !metrics.includes(`| \`${name}\` |`));
  assert.deepEqual(unknown, []);
});

test("docs/errors.md names only log events that the code writes", () => {
  const sources = globSync("src/**/*.ts", { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
  const code = sources.map(textOf).join("\n");
  const unknown = [...signals].filter((name) => name.includes(".") && !code.includes(`"${name}"`));
  assert.deepEqual(unknown, []);
});
