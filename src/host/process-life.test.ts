// Tests when the process of an app stays alive and when it ends, seen from outside.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const ENTRY = new URL("../index.ts", import.meta.url).href;

/** Runs `code` in a process of its own until that process ends by itself. */
export async function runCode(code: string): Promise<{ stdout: string; stderr: string }> {
  const flags = [
    "--conditions=limpet-source",
    "--input-type=module-typescript",
    "--disable-warning=ExperimentalWarning",
  ];
  const source = `import { Actor, limpet } from ${JSON.stringify(ENTRY)};\n${code}`;
  return run(process.execPath, [...flags, "--eval", source], { timeout: 600_000 });
}

it("a process stays while a call is pending, also without a cluster and with its store in memory, and ends after stop", async () => {
  const { stdout } = await runCode(`
    class Patient extends Actor {
      // Like the timer of an actor, this timer does not keep the process alive.
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

const CARELESS = `
  class Other extends Actor {
    fail() {
      throw new RangeError("no such thing");
    }
  }
  class Careless extends Actor {
    direct() {
      this.actor(Other, "o").fail();
    }
    later() {
      void this.#helper();
    }
    async #helper() {
      await this.actor(Other, "o").fail();
    }
    wrong() {
      this.actor(Other, "o").fail(() => {});
    }
    ping() {
      return "pong";
    }
  }`;

it("a host goes on after calls of an actor that failed without a handler, and counts and logs each", async () => {
  const { stdout, stderr } = await runCode(`${CARELESS}
    const app = await limpet({ actors: [Careless, Other], store: "memory:", cluster: false, logLevel: "error" });
    const careless = app.actor(Careless, "c");
    await careless.direct();
    await careless.later();
    await careless.wrong();
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(await careless.ping());
    console.log(/^limpet_unhandled_calls_total\\{.*type="Careless".*\\} (\\d+)/m.exec(app.metrics())[1]);
    await app.stop();
  `);
  assert.deepEqual(stdout.trim().split("\n"), ["pong", "3"]);
  for (const method of ["direct", "later", "wrong"]) {
    const line = stderr.split("\n").find((each) => each.includes(method)) ?? "";
    for (const part of ["call.unhandled", "Careless", "Other/o.fail"]) assert.ok(line.includes(part), stderr);
  }
});

for (const [what, options, code] of [
  ["a failed call of an actor with unhandledCalls: crash", '{ unhandledCalls: "crash" }', "await careless.direct();"],
  ["a failed call from outside of actors", "{}", 'app.actor(Other, "o").fail();'],
] as const) {
  it(`${what} ends the process when nothing handles it`, async () => {
    const running = runCode(`${CARELESS}
      const app = await limpet({ actors: [Careless, Other], store: "memory:", cluster: false, ...${options} });
      const careless = app.actor(Careless, "c");
      ${code}
      setTimeout(() => process.exit(0), 5_000);
    `);
    await assert.rejects(running, { code: 1 });
  });
}
