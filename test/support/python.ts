// Finds the Python that `npm run tools` has prepared with the released SDK of worker processes. A test
// without it skips with that reason.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { TOOLS } from "./tools.ts";

const SDK = "durable-workflow";
/** The release that the protocol is tested against. */
const RELEASE = /^2\.12\./;
const PYTHON = join(TOOLS, "python", "bin", "python");
const VERSION = `import importlib.metadata, durable_workflow; print(importlib.metadata.version("${SDK}"))`;

export type FoundPython = { readonly python: string } | { readonly missing: string };

export async function findPython(): Promise<FoundPython> {
  try {
    const { stdout } = await promisify(execFile)(PYTHON, ["-B", "-c", VERSION], { timeout: 60_000 });
    const version = stdout.trim();
    return RELEASE.test(version)
      ? { python: PYTHON }
      : { missing: `${SDK} ${version} is installed, and 2.12 is needed; run npm run tools` };
  } catch {
    return { missing: `Python with ${SDK} is not installed; run npm run tools` };
  }
}
