import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, tempFolder } from "../../../test/support/cli.ts";
import { mainOfOtherCopy } from "./other-copy.ts";

test("an app with its own copy of limpet is run by that copy", async () => {
  using folder = tempFolder();
  mkdirSync(join(folder.path, "node_modules/limpet/dist/cli"), { recursive: true });
  folder.write("node_modules/limpet/package.json", '{ "name": "limpet", "version": "9.9.9", "type": "module" }');
  folder.write("node_modules/limpet/dist/cli/main.js", "export const main = async (argv) => argv.length + 40;");
  folder.write("app.ts", "");
  const { code } = await runCli(["dev", "app.ts"], { cwd: folder.path });
  assert.equal(code, 42, "it was given the words as they were typed");
});

test("this copy, a foreign package of the same name, or no copy changes nothing", async () => {
  assert.equal(await mainOfOtherCopy(import.meta.filename), undefined);
  using folder = tempFolder();
  assert.equal(await mainOfOtherCopy(folder.write("app.ts", "")), undefined);
  mkdirSync(join(folder.path, "node_modules/limpet"), { recursive: true });
  folder.write("node_modules/limpet/package.json", '{ "name": "limpet", "version": "9.9.9" }');
  assert.equal(await mainOfOtherCopy(join(folder.path, "app.ts")), undefined);
});
