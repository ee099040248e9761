// What keeps the process of an app alive, seen from outside.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const ENTRY = new URL("../index.ts", import.meta.url).href;

/** Runs `code` in a process of its own until that ends by itself. */
export async function runCode(code: string): Promise<{ stdout: string; stderr: string }> {
  const flags = [
    "--conditions=limpet-source",
    "--input-type=module-typescript",
    "--disable-warning=ExperimentalWarning",
  ];
  const source = `import { Actor, limpet } from ${JSON.stringify(ENTRY)};\n${code}`;
  return run(process.execPath, [...flags, "--eval", source], { timeout: 60_000 });
}

it("a process stays while a call is pending, also without a cluster and with its store in memory, and ends after stop", async () => {
  const { stdout } = await runCode(`
    class Patient extends Actor {
      // Like the timer of an actor, this one does not keep the process.
      wait() {
        return new Promise((resolve) => setTimeout(() => resolve("answered"), 200).unref());
      }
    }
    const app = await limpet({ actors: [Patient], store: "memory:", cluster: false, http: false });
    console.log(await app.actor(Patient, "a").wait());
    await app.stop();
  `);
  assert.equal(stdout.trim(), "answered");
});
