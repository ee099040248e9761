// `npm run tools`, on a machine where it can install nothing.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { it } from "node:test";
import { tempPlace } from "./support/two-stores.ts";

const script = join(import.meta.dirname, "..", "scripts", "tools.js");

it("the tools command lists missing programs and exits 0 where it can install nothing", async () => {
  await using place = await tempPlace();
  const env = { PATH: place.folder, LIMPET_TOOLS: join(place.folder, "tools") };
  const { status, stdout } = spawnSync(process.execPath, [script], { env, encoding: "utf8" });
  assert.equal(status, 0);
  assert.match(stdout, /that needs apt-get and root/);
  assert.match(stdout, /missing {2}Chromium/);
  assert.match(stdout, /missing {2}Python packages/);
  assert.match(stdout, /Tests that need .*Chromium.* will be skipped\./);
});

it("the tools command rejects an unknown argument", () => {
  const { status, stderr } = spawnSync(process.execPath, [script, "--lits"], { encoding: "utf8" });
  assert.equal(status, 2);
  assert.match(stderr, /unknown argument --lits/);
});
