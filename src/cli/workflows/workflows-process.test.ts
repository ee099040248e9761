// The command and the doctor with a real process and a store in memory or in a file.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runCli, tempFolder } from "../../../test/support/cli.ts";
import { resolveSettings } from "../../config/settings.ts";
import { type Definitions, openApp } from "../../host/app.ts";
import { silentLog } from "../../ports/log.ts";
import type { WorkflowView } from "../../ports/workflow-admin.ts";
import { workflow } from "../../workflows/definition/definition.ts";

const reserve = async (items: unknown): Promise<unknown> => ({ items });
const charge = async (): Promise<never> => {
  throw new RangeError("no money");
};

const order = workflow("order", async (ctx, items: string[]) => {
  let at = "reserving";
  ctx.onQuery("progress", () => at);
  ctx.onUpdate("discount", (percent: number) => {
    if (percent > 50) throw new RangeError("too much");
    return percent * 2;
  });
  const receipt = await ctx.activity(reserve, items);
  at = "waiting";
  ctx.setAttributes({ customer: "alice" });
  const isApproved = await ctx.signal<boolean>("approved", { within: "3d" });
  if (isApproved !== true) return "refused";
  await ctx.activity(charge, undefined, { retry: { initial: "10m" } });
  return receipt;
});

/** The same name, with other commands. */
const changed = workflow("order", async (ctx) => {
  await ctx.sleep("1h");
});

async function openProcess(store: string, definitions: Definitions) {
  const code = { store, cluster: false, http: { port: 0 } };
  const settings = { ...resolveSettings({ code, file: false, env: {} }), http: true };
  const app = await openApp(definitions, settings, { log: silentLog });
  const cli = (...argv: string[]) => runCli([...argv, "--url", app.url!]);
  const run = (...argv: string[]) => cli("workflows", ...argv);
  const look = async (id: string): Promise<WorkflowView> => JSON.parse((await run(id, "--json")).stdout);
  return {
    app,
    run,
    look,
    /** Waits until the view of the workflow satisfies the condition. */
    async until(id: string, is: (view: WorkflowView) => boolean): Promise<WorkflowView> {
      for (;;) {
        const view = await look(id);
        if (is(view)) return view;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    [Symbol.asyncDispose]: () => app.stop(),
  };
}

const WORKFLOWS: Definitions = { workflows: [order], activities: { reserve, charge } };
const waitsFor = (what: string) => (view: WorkflowView) => view.waitsFor.some((thing) => thing.what === what);

for (const kind of ["memory", "SQLite"]) {
  describe(`limpet workflows and a process with a store in ${kind}`, () => {
    it("limpet workflows follows a workflow from its start to its end", async () => {
      using folder = tempFolder();
      const store = kind === "memory" ? "memory:" : join(folder.path, "limpet.db");
      await using process = await openProcess(store, WORKFLOWS);
      const { run, until } = process;
      assert.match((await run("o-1", "--start", "order", "--input", '["tea"]')).stdout, /^o-1 is started as run /);
      const again = await run("o-1", "--start", "order", "--json");
      assert.deepEqual([again.code, JSON.parse(again.stderr).errorCode], [1, "WORKFLOW_EXISTS"]);

      const waiting = await until("o-1", waitsFor("approved"));
      assert.match(waiting.summary, /^order o-1 waits for a timer at \S+ and signal approved$/);
      assert.equal(waiting.isCodeAsked, true);
      assert.equal((await run("o-1", "--query", "progress")).stdout, '"waiting"\n');
      assert.equal((await run("o-1", "--update", "discount", "--input", "5")).stdout, "10\n");
      const refused = await run("o-1", "--update", "discount", "--input", "60");
      assert.deepEqual(
        [refused.code, refused.stderr],
        [1, "limpet: update discount of o-1 threw RangeError: too much\n"],
      );
      const strange = await run("o-1", "--query", "colour", "--json");
      assert.deepEqual([strange.code, JSON.parse(strange.stderr).errorCode], [1, "QUERY_UNKNOWN"]);
      const unknown = await run("o-1", "--update", "colour", "--json");
      assert.deepEqual([unknown.code, JSON.parse(unknown.stderr).errorCode], [1, "UPDATE_UNKNOWN"]);

      assert.equal((await run("o-1", "--signal", "approved", "--input", "true")).code, 0);
      const failing = await until("o-1", (view) => view.waitsFor[0]?.failures === 1);
      assert.match(failing.waitsFor[0]!.error!, /RangeError: no money/);
      assert.ok(failing.waitsFor[0]!.due! > failing.now);
      const { stdout } = await run("o-1");
      assert.match(stdout, /\n +2 +\S+ +\S+ +activity reserve \["tea"\] +\{"items":\["tea"\]\}\n/);
      assert.match(stdout, /timer of 3d +cancelled\n/);
      assert.match(stdout, /update discount 5 +10\n.*update discount 60 +failed: RangeError: too much\n/);
      assert.match(stdout, /signal approved true\n/);
      assert.match(stdout, /activity charge +pending, failed once, tried again .*: RangeError: no money\n$/);

      const listed = JSON.parse((await run("--attribute", "customer=alice", "--json")).stdout);
      assert.deepEqual([listed.workflows.length, listed.workflows[0].workflowId], [1, "o-1"]);
      assert.deepEqual(JSON.parse((await run("--attribute", "customer=bob", "--json")).stdout), { workflows: [] });
      const events = JSON.parse((await run("o-1", "--events", "--all", "--json")).stdout).events;
      assert.deepEqual(
        events.map(({ number }: { number: number }) => number),
        events.map((_: unknown, i: number) => i + 1),
      );

      assert.equal((await run("o-1", "--terminate", "--reason", "enough")).code, 0);
      assert.match(
        (await run("o-1")).stdout,
        /^order o-1 was terminated after \S+: enough\.\n[\s\S]*abandoned\n.*terminated +failed: enough\n$/,
      );
      for (const act of [
        ["--signal", "approved"],
        ["--cancel"],
        ["--terminate"],
        ["--wake"],
        ["--update", "discount"],
      ]) {
        const late = await run("o-1", ...act, "--json");
        assert.deepEqual([late.code, JSON.parse(late.stderr).errorCode], [1, "WORKFLOW_CLOSED"], act.join(" "));
      }
      assert.equal((await run("o-1", "--query", "progress")).stdout, '"waiting"\n', "it answers after its end too");
      for (const act of [[], ["--query", "progress"], ["--signal", "x"], ["--wake"], ["--events"], ["--run", "r"]]) {
        const lost = await run("o-9", ...act, "--json");
        assert.deepEqual([lost.code, JSON.parse(lost.stderr).errorCode], [1, "WORKFLOW_UNKNOWN"], act.join(" "));
      }
    });

    it("limpet workflows shows many runs page by page, and a long history from its end", async () => {
      const count = workflow("count", async (ctx, most: number) => {
        for (let i = 0; i < most; i++) ctx.sideEffect(() => i);
      });
      using folder = tempFolder();
      const store = kind === "memory" ? "memory:" : join(folder.path, "limpet.db");
      await using process = await openProcess(store, { workflows: [count] });
      const { run, until, app } = process;
      for (let i = 0; i < 5; i++) await app.workflows.start(count, { id: `c-${i}`, input: 120 });
      for (let i = 0; i < 5; i++) await until(`c-${i}`, ({ status }) => status === "completed");
      const { stdout, stderr } = await run("--limit", "3");
      assert.equal(stdout.match(/ c-\d /g)!.length, 3);
      assert.match(stdout, /^0 workflows run\.\n/);
      assert.equal(stderr, "Only the first 3 are shown; --all shows all.\n");
      const { next } = JSON.parse((await run("--limit", "3", "--json")).stdout);
      assert.equal(typeof next, "string");
      assert.match((await run("c-1")).stdout, /\n… 72 earlier steps; --all shows all of them\.\n/);
      assert.equal((await run("c-1", "--all")).stdout.match(/noted side effect/g)!.length, 120);
      assert.match((await run("c-1", "--runs")).stdout, /^STARTED +TYPE +RUN +STATUS/);
    });
  });
}

describe("process with incompatible code", () => {
  it("an incompatible run is shown with its reason, the doctor warns, and it can be ended", async () => {
    using folder = tempFolder();
    const store = join(folder.path, "limpet.db");
    {
      await using before = await openProcess(store, WORKFLOWS);
      await before.run("o-1", "--start", "order", "--input", "[]");
      await before.until("o-1", waitsFor("approved"));
    }
    await using after = await openProcess(store, { workflows: [changed] });
    const { run, until, app } = after;
    assert.equal((await run("o-1", "--signal", "approved", "--input", "true")).code, 0);
    const blocked = await until("o-1", (view) => view.blocked !== undefined);
    assert.match(blocked.summary, /^order o-1 is blocked: its code could not go on, tried/);
    assert.match((await run("--blocked")).stdout, / o-1 .* blocked after /);
    assert.match((await run("o-1")).stdout, /\nIts code cannot continue: .*\nIt continues by itself .* --wake\n/);
    assert.match((await run("o-1", "--wake")).stdout, /^o-1 is woken\./);

    const port = new URL(app.url!).port;
    const doctor = await runCli(["doctor", "--port", port, "--store", store, "--json"], { cwd: folder.path });
    const checks = JSON.parse(doctor.stdout).checks.filter(({ name }: { name: string }) => name === "Workflows");
    assert.deepEqual(
      checks.map(({ status, message }: { status: string; message: string }) => [status, message]),
      [["warn", "1 workflow is blocked: the code cannot continue"]],
    );
    assert.equal((await run("o-1", "--terminate")).code, 0);
    assert.match((await run("--blocked")).stderr, /^No workflow is blocked\.\n$/);
  });

  it("a process without the code of a run reports that its waits are unknown", async () => {
    using folder = tempFolder();
    const store = join(folder.path, "limpet.db");
    {
      await using before = await openProcess(store, WORKFLOWS);
      await before.run("o-1", "--start", "order", "--input", "[]");
      await before.until("o-1", waitsFor("approved"));
    }
    await using after = await openProcess(store, {});
    const { run, look } = after;
    const view = await look("o-1");
    assert.equal(view.isCodeAsked, false);
    assert.match(view.summary, /^order o-1 waits for a timer at/);
    assert.match((await run("o-1")).stdout, /\nOnly its code knows signals and conditions/);
    assert.match((await run("z-1", "--start", "ordr")).stderr, /^It waits: no live worker has a workflow ordr/);
    assert.match((await look("z-1")).summary, /^ordr z-1 waits for a worker: no live worker has a workflow ordr$/);
    const asked = await run("o-1", "--query", "progress");
    assert.equal(asked.code, 1);
    assert.match(
      asked.stderr,
      /^limpet: .* this process has none of order; .*\n {8}Give a process that runs workflows of that type/,
    );
  });
});
