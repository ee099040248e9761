import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { OPTIONS, SETTING_KEYS } from "./options.ts";
import { optionsTable } from "./options-table.ts";

const DOCUMENT = new URL("../../docs/options.md", import.meta.url);
const FENCE = /(<!-- options: begin[^>]*-->\n)([\s\S]*?)(\n<!-- options: end -->)/;

test("the table in docs/options.md equals the declarations in options.ts", () => {
  const text = readFileSync(DOCUMENT, "utf8");
  assert.match(text, FENCE, "docs/options.md has lost its markers");
  if (process.env.UPDATE_DOCS === "1") writeFileSync(DOCUMENT, text.replace(FENCE, `$1\n${optionsTable()}\n$3`));
  const written = FENCE.exec(readFileSync(DOCUMENT, "utf8"))?.[2]?.trim();
  assert.equal(written, optionsTable(), "run: UPDATE_DOCS=1 node --test src/config/options-table.test.ts");
});

test("no two settings share a path, a variable or a flag", () => {
  for (const part of ["path", "env", "flag"] as const) {
    const names = SETTING_KEYS.map((key) => OPTIONS[key][part]);
    assert.deepEqual(names, [...new Set(names)], part);
  }
});

test("every setting states its purpose and the effect of a wrong value, in a sentence each", () => {
  for (const key of SETTING_KEYS) {
    assert.match(OPTIONS[key].help, /^.{10,}\.$/, `${key}.help`);
    assert.match(OPTIONS[key].breaks, /^.{10,}\.$/, `${key}.breaks`);
    assert.match(OPTIONS[key].env, /^LIMPET_[A-Z_]+$/, `${key}.env`);
    assert.match(OPTIONS[key].flag, /^[a-z-]+$/, `${key}.flag`);
  }
});
