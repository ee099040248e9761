import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("every metric in the code is in docs/metrics.md", () => {
  const root = new URL("../../", import.meta.url);
  const documented = readFileSync(new URL("docs/metrics.md", root), "utf8");
  const files = readdirSync(new URL("src", root), { recursive: true, encoding: "utf8" });
  const names = new Set<string>();
  for (const file of files.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))) {
    const source = readFileSync(new URL(`src/${file}`, root), "utf8");
    for (const [, name] of source.matchAll(/(?:counter|gauge|histogram)\(\s*["`](limpet_[a-z_${}]+)["`]/g))
      names.add(name!);
  }
  assert.ok(names.size > 5);
  for (const name of names) {
    // A name with a variable part is in the table with that part written out.
    const pattern = new RegExp(`^\\| \`${name.replaceAll(/\$\{\w+\}/g, "[a-z]+")}\` \\|`, "m");
    assert.match(documented, pattern, `${name} is missing`);
  }
});

test("every metric in docs/metrics.md is named in a test", () => {
  const root = new URL("../../", import.meta.url);
  const documented = readFileSync(new URL("docs/metrics.md", root), "utf8");
  const names = [...documented.matchAll(/^\| `(limpet_[a-z_]+)`/gm)].map(([, name]) => name!);
  const texts = ["src", "test"].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => readFileSync(new URL(`${folder}/${file}`, root), "utf8")),
  );
  // scripts/mute-metrics.ts shows that the test fails when the metric counts nothing.
  const untested = names.filter((name) => !texts.some((text) => text.includes(name)));
  assert.deepEqual(untested, []);
});
