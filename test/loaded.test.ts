// The tests on a busy machine: `npm run test:loaded`.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";

const SCRIPT = "scripts/test-loaded.ts";

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A killed process exists until the system has reaped it. */
async function gone(pids: readonly number[]): Promise<void> {
  const end = performance.now() + 300_000;
  while (pids.some(isAlive)) {
    assert.ok(performance.now() < end, `burners are still alive: ${pids.filter(isAlive)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const pidsIn = (text: string): number[] => /burners: ([\d ]+)/.exec(text)?.[1]?.split(" ").map(Number) ?? [];

it("the loaded run passes the result of the tests on, and leaves no burner behind", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "--burners", "2", "src/kernel/heap.test.ts"]);
  const pids = pidsIn(stdout);
  assert.equal(pids.length, 2);
  assert.match(stdout, /load average \(1 min\): \d/);
  await gone(pids);
  const failing = promisify(execFile)(process.execPath, [SCRIPT, "--burners", "0", "no/such.test.ts"]);
  await assert.rejects(failing, { code: 1 });
});

it("the burners of a loaded run end with it when it is killed", async () => {
  const child = spawn(process.execPath, [SCRIPT, "--burners", "1", "src/kernel/heap.test.ts"]);
  let pids: number[] = [];
  child.stdout.on("data", (text: Buffer) => {
    if (pids.length > 0) return;
    pids = pidsIn(String(text));
    child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.on("exit", resolve));
  assert.equal(pids.length, 1);
  await gone(pids);
});

it("the loaded run rejects an invalid number of burners", async () => {
  const refused = promisify(execFile)(process.execPath, [SCRIPT, "--burners", "many"]);
  await assert.rejects(refused, { code: 2, stderr: /--burners must be a whole number from 0 to 1000; got "many"/ });
});
