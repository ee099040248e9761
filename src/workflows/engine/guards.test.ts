import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { isLimpetError } from "../../kernel/errors.ts";
import { testLimpet } from "../../testing.ts";
import { workflow } from "../definition/definition.ts";
import { processGuards } from "./guards.ts";
import { runInside } from "./inside.ts";

const within = <T>(fn: () => T): T => runInside({ workflow: "order w", isShielded: false }, fn);

describe("guarded functions inside a workflow", () => {
  before(() => processGuards.enter());
  after(() => processGuards.leave());

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
    it(`workflow code cannot use ${name}, also after an await, and the error names the replacement`, async () => {
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

  it("guarded functions are unchanged outside of workflows, and pure uses are allowed inside", async () => {
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

  it("guarded functions are allowed in a side effect, also through a reference that the code kept", () => {
    const { kept, made } = within(() => ({ kept: Date, made: new Date(0) }));
    assert.ok(
      runInside({ workflow: "w", isShielded: false, isRecorded: true }, () => kept.now() > 0 && Date.now() > 0),
    );
    assert.ok(made instanceof Date);
  });
});

const KEYS = ["Date", "setTimeout", "setInterval", "setImmediate", "fetch"] as const;
const place = (): unknown[] => [
  ...KEYS.map((key) => Object.getOwnPropertyDescriptor(globalThis, key)),
  ...[Object.getOwnPropertyDescriptor(Math, "random"), Object.getOwnPropertyDescriptor(performance, "now")],
  Object.getOwnPropertyDescriptor(Date.prototype, "constructor"),
  ...["randomUUID", "getRandomValues"].map((key) => Object.getOwnPropertyDescriptor(globalThis.crypto, key)),
];

describe("the process around guarded code", () => {
  it("code outside of workflows sees the original clock, random numbers, timers and network while guards are active", () => {
    const before = [Date, Date.now, Math.random, performance.now, crypto.randomUUID, setTimeout, setImmediate, fetch];
    processGuards.enter();
    const during = [Date, Date.now, Math.random, performance.now, crypto.randomUUID, setTimeout, setImmediate, fetch];
    const isSame = new Date().constructor === Date;
    const isSameInside = within(() => new Date(0).constructor === Date && new Date(0) instanceof Date);
    processGuards.leave();
    for (const [i, each] of before.entries()) assert.ok(Object.is(during[i], each), each.name);
    assert.ok(isSame);
    assert.ok(isSameInside);
  });

  it("the properties of the process are restored after the last guarded code has left, and not before", () => {
    const before = place();
    processGuards.enter();
    processGuards.enter();
    processGuards.leave();
    assert.throws(() => within(() => Date.now()));
    processGuards.leave();
    assert.deepEqual(place(), before);
    assert.ok(within(() => Date.now()) > 0);
  });

  it("a clock that other code installed while guards were active stays, as with fake timers", () => {
    const real = Date;
    class Fake extends Date {}
    processGuards.enter();
    globalThis.Date = Fake as DateConstructor;
    const isGuarded = (): unknown => within(() => new Date());
    assert.throws(isGuarded);
    processGuards.leave();
    const left = Date;
    globalThis.Date = real;
    assert.equal(left, Fake);
  });

  it("a process is not guarded before a workflow runs, nor after its app has stopped", async () => {
    const before = place();
    const listeners = () =>
      ["uncaughtExceptionMonitor", "unhandledRejection"].map((name) => process.listenerCount(name));
    const listening = listeners();
    const quick = workflow("quick", async () => new Date(0).toISOString());
    const rests = workflow("rests", async (ctx) => ctx.signal("go"));
    const app = await testLimpet({ workflows: [quick, rests] });
    assert.deepEqual(place(), before);
    await app.workflows.start(quick, { input: undefined });
    await app.advance("1s");
    assert.deepEqual(place(), before);
    await app.workflows.start(rests, { input: undefined });
    await app.advance("1s");
    assert.notDeepEqual(place(), before);
    await app.stop();
    assert.deepEqual(place(), before);
    assert.deepEqual(listeners(), listening);
  });
});

describe("rejected promises that nothing awaits", () => {
  const run = (code: string) => {
    const testing = JSON.stringify(new URL("../../testing.ts", import.meta.url));
    const definition = JSON.stringify(new URL("../definition/definition.ts", import.meta.url));
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

  it("a rejected promise of a workflow does not end its process, which prints a warning", () => {
    const { status, stdout, stderr } = run(`const handle = await app.workflows.start(floating, { input: undefined });
      await app.advance("1h");
      console.log(await handle.result());`);
    assert.deepEqual([status, stdout], [0, "went on\n"], stderr);
    assert.match(stderr, /workflow floating .* does not await a promise that was rejected: as it must/);
  });

  it("a rejected promise of other code ends the process, as always", () => {
    const { status, stderr } = run(`Promise.reject(new Error("of somebody else"));
      await new Promise((resolve) => setTimeout(resolve, 1_000));`);
    assert.equal(status, 1);
    assert.match(stderr, /of somebody else/);
  });
});

describe("workflow code that fails in a callback", () => {
  const ways = {
    outside: [
      'readFile("package.json", () => { Date.now(); });',
      /^Date\.now\(\) inside of workflow outside o: .*callback/,
    ],
    within: [
      "process.nextTick(() => setTimeout(() => {}, 1));",
      /^setTimeout\(\) inside of workflow within o: .*callback/,
    ],
    own: ['readFile("/", () => { throw new Error("boom"); });', /^own o: a callback .* boom;/],
    floating: [
      "void (async () => { await null; Math.random(); })();",
      /^Math\.random\(\) inside of workflow floating o: /,
    ],
  } as const;

  it("an exception in a callback blocks its run with the reason, and its process and other runs continue", () => {
    const index = JSON.stringify(new URL("../../index.ts", import.meta.url));
    const bad = Object.entries(ways).map(
      ([name, [body]]) => `workflow("${name}", async (ctx) => { ${body} await ctx.sleep("1h"); })`,
    );
    // The listener ends the process, as the one of the command line does.
    const script = `import { limpet, workflow } from ${index}; import { readFile } from "node:fs";
      process.on("uncaughtException", () => process.exit(3));
      const bad = [${bad.join(", ")}];
      const good = workflow("good", async (ctx) => { await ctx.sleep("1ms"); return "fine"; });
      const app = await limpet({ workflows: [...bad, good], store: "memory:", cluster: false, http: false, logLevel: "silent" });
      const reasons = {};
      for (const each of bad) {
        const handle = await app.workflows.start(each, { id: "o", input: undefined, ifRunning: "terminate" });
        for (let i = 0; i < 1000 && reasons[each.name] === undefined; i++) {
          await new Promise((resolve) => setTimeout(resolve, 10));
          reasons[each.name] = (await handle.describe()).blocked;
        }
      }
      const result = await (await app.workflows.start(good, { input: undefined })).result();
      console.log(JSON.stringify({ reasons, result, listeners: process.listenerCount("uncaughtException") }));
      await app.stop();`;
    const args = ["--conditions=limpet-source", "--input-type=module-typescript", "-e", script];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 600_000 });
    assert.equal(status, 0, stderr);
    const { reasons, result, listeners } = JSON.parse(stdout) as {
      readonly reasons: Record<string, string>;
      readonly result: string;
      readonly listeners: number;
    };
    for (const [name, [, reason]] of Object.entries(ways)) assert.match(String(reasons[name]), reason);
    assert.deepEqual([result, listeners], ["fine", 1]);
  });
});
