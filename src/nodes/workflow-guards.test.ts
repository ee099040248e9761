import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { isLimpetError } from "../kernel/errors.ts";
import { runInside } from "../workflows/inside.ts";
import { installGuards } from "./workflow-guards.ts";

const within = <T>(fn: () => T): T => runInside({ workflow: "order w", isShielded: false }, fn);

describe("what is out of bounds inside of a workflow", () => {
  before(() => installGuards());

  const forbidden: [string, () => unknown, RegExp][] = [
    ["Date.now", () => Date.now(), /Date\.now\(\) inside of workflow order w: use ctx\.now/],
    ["new Date", () => new Date(), /new Date\(\).*ctx\.now/],
    ["Date", () => Date(), /Date\(\).*ctx\.now/],
    ["performance.now", () => performance.now(), /ctx\.now/],
    ["Math.random", () => Math.random(), /ctx\.random/],
    ["crypto.randomUUID", () => crypto.randomUUID(), /ctx\.uuid/],
    ["crypto.getRandomValues", () => crypto.getRandomValues(new Uint8Array(1)), /ctx\.sideEffect/],
    ["setTimeout", () => setTimeout(() => {}, 1), /ctx\.sleep/],
    ["setInterval", () => setInterval(() => {}, 1), /ctx\.sleep/],
    ["setImmediate", () => setImmediate(() => {}), /ctx\.sleep/],
    ["fetch", () => fetch("http://127.0.0.1:9"), /activity/],
  ];
  for (const [name, fn, hint] of forbidden) {
    it(`is ${name}, with a hint what to use, also behind an await`, async () => {
      const isRefusal = (error: unknown): boolean =>
        isLimpetError(error, "WORKFLOW_MISUSED") && hint.test(error.message);
      assert.throws(() => within(fn), isRefusal);
      await assert.rejects(
        within(async () => {
          await null;
          fn();
        }),
        isRefusal,
      );
    });
  }

  it("is as it was outside of workflows, and what needs no clock is allowed inside", async () => {
    const made = within(() => new Date(0));
    assert.ok(made instanceof Date);
    assert.equal(made.toISOString(), "1970-01-01T00:00:00.000Z");
    assert.equal(
      within(() => Date.UTC(1970, 0, 1)),
      0,
    );
    assert.ok(new Date().getFullYear() > 2_000 && Date.now() > 0);
    assert.ok(Math.random() < 1);
    await promisify(setTimeout)(1);
    await pause(1);
    clearTimeout(setTimeout(() => {}, 10));
    class Day extends Date {}
    assert.ok(new Day(5) instanceof Day);
  });

  it("is not guarded twice", () => {
    const { now } = Date;
    installGuards();
    assert.equal(Date.now, now);
  });
});

describe("a promise that failed and that nobody waits for", () => {
  const run = (code: string) => {
    const testing = JSON.stringify(new URL("../testing.ts", import.meta.url));
    const definition = JSON.stringify(new URL("../workflows/definition.ts", import.meta.url));
    const script = `import { testLimpet } from ${testing}; import { workflow } from ${definition};
      const activities = { fail: async () => { throw new Error("as it must") } };
      const floating = workflow("floating", async (ctx) => {
        const careless = async () => { await ctx.activity("fail", undefined, { retry: { attempts: 1 } }); };
        void careless();
        await ctx.sleep("1h");
        return "went on";
      });
      const app = await testLimpet({ workflows: [floating], activities });
      ${code}
      await app.stop();`;
    return spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], { encoding: "utf8" });
  };

  it("of a workflow does not end its process: it is told, and everything goes on", () => {
    const { status, stdout, stderr } = run(`const handle = await app.workflows.start(floating, { input: undefined });
      await app.advance("1h");
      console.log(await handle.result());`);
    assert.deepEqual([status, stdout], [0, "went on\n"], stderr);
    assert.match(stderr, /workflow floating .* does not wait for a promise that has failed: as it must/);
  });

  it("of other code ends the process, as always", () => {
    const { status, stderr } = run(`Promise.reject(new Error("of somebody else"));
      await new Promise((resolve) => setTimeout(resolve, 1_000));`);
    assert.equal(status, 1);
    assert.match(stderr, /of somebody else/);
  });
});
