// Real processes on SQLite files, for tests: files of their own, and processes that end with the test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

const STORE = new URL("./sqlite-store.ts", import.meta.url).href;
export const ALICE = { namespace: "n", type: "T", id: "alice" };

let folder: string;
let files = 0;
export const freshFile = () => join(folder, `${++files}.db`);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-processes-"));
});
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

/**
 * Runs `body` in a process of its own that has `openSqliteStore`, `file`, `alice` and `line`, the next line
 * of stdin.
 */
export function run(
  file: string,
  body: string,
): { child: ChildProcess; lines: AsyncIterator<string>; ended: Promise<unknown[]> } {
  const script = `
    import { openSqliteStore } from ${JSON.stringify(STORE)};
    import { once } from "node:events";
    const file = ${JSON.stringify(file)};
    const alice = { ...${JSON.stringify(ALICE)}, owner: "process " + process.pid };
    const line = () => once(process.stdin, "data").finally(() => process.stdin.destroy());
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return { child, lines, ended: once(child, "exit") };
}

export const next = async (lines: AsyncIterator<string>): Promise<string> =>
  (await lines.next()).value ?? "(the process ended)";
