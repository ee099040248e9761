// Generated code is checked in; this test checks that it matches its sources.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";

const root = join(import.meta.dirname, "..");

it("the generated code is current; npm run proto updates it", (t) => {
  const fresh = mkdtempSync(join(tmpdir(), "limpet-proto-"));
  t.after(() => rmSync(fresh, { recursive: true, force: true }));
  execFileSync(process.execPath, ["scripts/generate-proto.ts", fresh], { cwd: root, stdio: "pipe" });

  const filesOf = (folder: string) => globSync("**/*.{js,ts}", { cwd: folder }).sort();
  const kept = join(root, "src/wire/proto/gen");
  assert.ok(filesOf(fresh).length > 0);
  assert.deepEqual(filesOf(kept), filesOf(fresh));
  for (const file of filesOf(fresh)) {
    assert.equal(readFileSync(join(kept, file), "utf8"), readFileSync(join(fresh, file), "utf8"), file);
  }
});
