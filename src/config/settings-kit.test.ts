// Shared parts of the tests of settings: files in a temporary folder, and sources that are isolated from the
// settings of the machine.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { type ResolvedSettings, resolveWithOrigins, type SettingSources } from "./settings.ts";

export const folder = mkdtempSync(join(tmpdir(), "limpet-settings-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
export const KEY = "one-key-of-the-cluster";

export function yaml(text: string): string {
  const file = join(folder, `limpet-${files++}.yaml`);
  writeFileSync(file, text);
  return file;
}

/** Isolated from the settings of the machine that runs the test. */
export function resolved(sources: SettingSources): ResolvedSettings {
  return resolveWithOrigins({ file: false, env: {}, ...sources });
}

export function refused(sources: SettingSources): string {
  try {
    resolved(sources);
  } catch (error) {
    assert.ok(isLimpetError(error, "OPTION_INVALID"), String(error));
    return error.message;
  }
  return assert.fail("nothing was refused");
}
