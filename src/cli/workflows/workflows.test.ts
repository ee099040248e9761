// The command with the real HTTP server in front of a fake `WorkflowAdmin`.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runCli } from "../../../test/support/cli.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { StoredTask } from "../../ports/store/workflows.ts";
import type { HistoryStep, WorkerSummary, WorkflowSummary, WorkflowView } from "../../ports/workflow-admin.ts";
import { FakeHost, openTestServer } from "../../wire/http/server-kit.test.ts";

const NOW = Date.UTC(2030, 0, 1, 12);
const MINUTE = 60_000;

const task = (more: Partial<StoredTask> = {}): StoredTask => ({
  state: "idle",
  attempt: 0,
  lost: 0,
  problem: undefined,
  at: undefined,
  worker: undefined,
  mode: undefined,
  claimedAt: undefined,
  arrived: 2,
  taken: 2,
  ...more,
});

const summary = (workflowId: string, more: Partial<WorkflowSummary> = {}): WorkflowSummary => ({
  workflowId,
  runId: `${workflowId}-r`,
  type: "order",
  queue: "shop",
  build: undefined,
  status: "running",
  startedAt: NOW - MINUTE,
  closedAt: undefined,
  events: 6,
  bytes: 2_048,
  attributes: {},
  blocked: undefined,
  task: task(),
  stickyWorker: undefined,
  stickyUntil: undefined,
  ...more,
});

const step = (event: number, more: Partial<HistoryStep>): HistoryStep => ({
  event,
  at: NOW - MINUTE + event * 1_000,
  kind: "note",
  what: "",
  state: "told",
  endedAt: undefined,
  input: undefined,
  result: undefined,
  error: undefined,
  failures: 0,
  due: undefined,
  ...more,
});

const worker: WorkerSummary = {
  worker: "w1",
  queue: "shop",
  build: "",
  runtime: "typescript",
  types: ["order"],
  activities: undefined,
  isSticky: true,
  isDraining: false,
  isLive: true,
  seenAt: NOW - 2_000,
  capacity: 100,
  size: 72,
  hits: 940,
  misses: 31,
  forced: 8,
  evictions: 15,
};

const view = (more: Partial<WorkflowView> = {}): WorkflowView => ({
  ...summary("o-1", { attributes: { customer: "alice" }, stickyWorker: "w1", stickyUntil: NOW + MINUTE }),
  now: NOW,
  summary: "order o-1 waits for activity charge and signal approved",
  isCodeAsked: true,
  waitsFor: [
    {
      kind: "activity",
      what: "charge",
      since: NOW - 50_000,
      due: NOW + 4_000,
      failures: 3,
      error: "TypeError: no money\nat all",
      why: "it is tried again after a pause",
      isStuck: false,
    },
    {
      kind: "signal",
      what: "approved",
      since: undefined,
      due: undefined,
      failures: 0,
      error: undefined,
      why: undefined,
      isStuck: false,
    },
  ],
  input: ["tea"],
  memo: {},
  result: undefined,
  error: undefined,
  parent: undefined,
  continuedFrom: undefined,
  continuedAs: undefined,
  timeoutAt: undefined,
  earlier: 0,
  steps: [
    step(1, { kind: "start", what: "order", input: '["tea"]', at: NOW - MINUTE }),
    step(2, {
      kind: "activity",
      what: "reserve",
      input: "1",
      state: "done",
      endedAt: NOW - 56_500,
      result: '{"shelf":3}',
    }),
    step(4, {
      kind: "activity",
      what: "ship",
      state: "failed",
      endedAt: NOW - 55_000,
      error: "RangeError: far",
      failures: 2,
    }),
    step(5, { kind: "timer", state: "done", due: NOW - 45_000, endedAt: NOW - 45_000 }),
    step(6, { kind: "signal", what: "hurry", input: "true" }),
    step(10, {
      kind: "activity",
      what: "charge",
      state: "pending",
      failures: 3,
      due: NOW + 4_000,
      error: "TypeError: no money\nat all",
    }),
  ],
  ...more,
});

async function open(t: TestContext) {
  const host = new FakeHost();
  const { workflows } = host;
  workflows.now = NOW;
  const { url } = await openTestServer(t, host);
  const run = (...argv: string[]) => runCli(["workflows", ...argv, "--url", url]);
  return {
    workflows,
    run,
    onTerminal: (...argv: string[]) => runCli(["workflows", ...argv, "--url", url], { tty: true }),
  };
}

test("limpet workflows counts the runs and shows the latest, each with its task state", async (t) => {
  const { workflows, run } = await open(t);
  workflows.counts = { running: 4, blocked: 1 };
  workflows.workflows = [
    summary("o-1"),
    summary("o-2", { task: task({ state: "leased", worker: "w1", at: NOW + 5_000 }) }),
    summary("o-3", { blocked: "diverged", task: task({ state: "ready", attempt: 3, at: NOW + 4_000 }) }),
    summary("o-4", { type: "ordr", task: task({ state: "ready", at: NOW - 30_000 }) }),
    summary("o-5", { status: "completed", closedAt: NOW - MINUTE + 1_200, task: undefined }),
  ];
  const { code, stdout, stderr } = await run();
  assert.equal(code, 0);
  assert.deepEqual(stdout.trimEnd().split("\n"), [
    "4 workflows run, 1 of them blocked.",
    "STARTED                            TYPE   ID   STATUS     TOOK  EVENTS  STATE",
    "2030-01-01T11:59:00.000Z (1m ago)  order  o-1  running       -       6  waits",
    "2030-01-01T11:59:00.000Z (1m ago)  order  o-2  running       -       6  worked on by w1",
    "2030-01-01T11:59:00.000Z (1m ago)  order  o-3  running       -       6  blocked after 3 tries, tried again in 4.0s",
    "2030-01-01T11:59:00.000Z (1m ago)  ordr   o-4  running       -       6  waits for a worker, for 30s",
    "2030-01-01T11:59:00.000Z (1m ago)  order  o-5  completed  1.2s       6  -",
  ]);
  assert.match(stderr, /^limpet workflows --blocked lists the blocked ones/);
});

test("filters are passed on, and pages are followed", async (t) => {
  const { workflows, run } = await open(t);
  workflows.workflows = ["a", "b", "c"].map((id) => summary(id));
  const filters = ["--type", "order", "--status", "timed-out", "--queue", "shop", "--prefix", "o", "--blocked"];
  const attributes = ["--attribute", "customer=alice", "--attribute", "total=12", "--attribute", 'code="12"'];
  const { stdout } = await run(...filters, ...attributes, "--attribute", "x=a=b", "--limit", "1");
  assert.match(stdout, /^STARTED +ID +STATUS/);
  const [, query] = workflows.asked[0] as [string, Record<string, unknown>];
  assert.deepEqual(query.attributes, { customer: "alice", total: 12, code: "12", x: "a=b" });
  const { type, status, queue, prefix, isBlocked, limit } = query;
  assert.deepEqual(
    { type, status, queue, prefix, isBlocked, limit },
    { type: "order", status: "timed out", queue: "shop", prefix: "o", isBlocked: true, limit: 1 },
  );
  const cut = await run("--limit", "2");
  assert.equal(cut.stderr, "Only the first 2 are shown; --all shows all.\n");
  const all = JSON.parse((await run("--all", "--json")).stdout);
  assert.deepEqual([all.workflows.length, all.running, all.blocked, all.next], [3, 0, 0, undefined]);
});

test("an empty list of workflows shows why it may be empty", async (t) => {
  const { workflows, run } = await open(t);
  workflows.overview = { ...workflows.overview, workers: [worker] };
  const printedError = async (...argv: string[]) => (await run(...argv)).stderr.trimEnd();
  assert.match(await printedError(), /^There are no workflows\. To start one: limpet workflows --start/);
  assert.equal(await printedError("--blocked"), "No workflow is blocked.");
  assert.equal(await printedError("--type", "order", "--status", "failed"), "No workflow of type order matches.");
  assert.equal(
    await printedError("--type", "ordr"),
    "No workflows, and no worker has the type ordr; did you mean order? Types: order.",
  );
  assert.equal(await printedError("o-9", "--runs"), "There is no workflow o-9.");
});

test("one workflow is shown in sentences, with its history as a timeline", async (t) => {
  const { workflows, run } = await open(t);
  workflows.view = view();
  const { code, stdout, stderr } = await run("o-1");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(stdout.split("\n").slice(0, 9), [
    "order o-1 waits for activity charge and signal approved.",
    "Run o-1-r in queue shop.",
    "Started 2030-01-01T11:59:00.000Z (1m ago). History: 6 events, 2.0 KiB.",
    "It waits for",
    "  activity charge: for 50s; tried again 2030-01-01T12:00:04.000Z (in 4.0s); failed 3 times (TypeError: no money)",
    "  signal approved",
    "In memory of worker w1, which is preferred until 2030-01-01T12:01:00.000Z (in 1m).",
    'Attributes: {"customer":"alice"}',
    "",
  ]);
  const timeline = stdout.trimEnd().split("\n").slice(9);
  assert.deepEqual(timeline, [
    " #     AT  TOOK  STEP                   OUTCOME",
    ' 1   +0ms     -  started order ["tea"]',
    ' 2  +2.0s  1.5s  activity reserve 1     {"shelf":3}',
    " 4  +4.0s  1.0s  activity ship          failed after 2 tries: RangeError: far",
    " 5  +5.0s   10s  timer of 10s           went off",
    " 6  +6.0s     -  signal hurry true",
    "10   +10s  50s…  activity charge        pending, failed 3 times, tried again 2030-01-01T12:00:04.000Z (in 4.0s): TypeError: no money",
  ]);
});

test("the worker, the blocking reason, the origin and the end of a workflow are shown", async (t) => {
  const { workflows, run } = await open(t);
  const leased = {
    state: "leased",
    worker: "w1",
    at: NOW + 30_000,
    claimedAt: NOW - 5_000,
    mode: "forced_cold_replay",
  } as const;
  workflows.view = view({
    task: task({ ...leased, arrived: 3 }),
    stickyUntil: NOW - 1_000,
    build: "b7",
    definition: "abc",
    timeoutAt: NOW + MINUTE,
    parent: { workflowId: "p", runId: "p-r" },
    continuedFrom: "o-0",
    memo: { a: 1 },
    isCodeAsked: false,
    earlier: 9,
  });
  const busy = (await run("o-1")).stdout;
  for (const line of [
    "Run o-1-r in queue shop, build b7, definition abc.",
    "Child of p (run p-r).",
    "It continues run o-0.",
    "Its time limit is 2030-01-01T12:01:00.000Z (in 1m).",
    "Worker w1 has its task since 2030-01-01T11:59:55.000Z (5.0s ago), lease until 2030-01-01T12:00:30.000Z (in 30s); replayed from its history, because the worker with the run in memory did not take it.",
    "Worker w1 had it in memory; it is no longer preferred, since 1.0s ago.",
    "1 message in its inbox is not in its history yet.",
    'Memo: {"a":1}',
    "… 9 earlier steps; --all shows all of them.",
  ]) {
    assert.ok(busy.includes(`${line}\n`), line);
  }
  assert.match(
    busy,
    /\nOnly its code knows signals and conditions; to see them, give a process that runs it with --url/,
  );
  workflows.view = view({ blocked: "the history has A, and the code decides B", waitsFor: [] });
  const blocked = (await run("o-1")).stdout;
  assert.match(
    blocked,
    /\nIts code cannot continue: the history has A, and the code decides B\nIt continues by itself .* limpet workflows o-1 --wake\n/,
  );
  workflows.view = view({ blocked: "parked: attempts lost: 3 in a row; o-1 --wake hands it on again", waitsFor: [] });
  const parked = (await run("o-1")).stdout;
  assert.match(parked, /\nIt is parked: attempts lost: 3 in a row; o-1 --wake hands it on again\n/);
  assert.doesNotMatch(parked, /continues by itself/);
  const budget = {
    suggested: { events: 8_000, bytes: 4 * 1024 * 1024 },
    most: { events: 50_000, bytes: 50 * 1024 * 1024 },
  };
  const reason = "parked: its history has 50001 events";
  const full = { blocked: reason, task: task({ state: "ready", problem: reason }) };
  workflows.view = view({ ...full, budget: { ...budget, isContinueSuggested: true, isParked: true } });
  assert.match(
    (await run("o-1")).stdout,
    /\nIt is parked: its history has 50001 events\nIt continues by itself when a worker allows a longer history\. .* --wake\n/,
  );
  assert.match(
    (await run("o-1")).stdout,
    /\nIt should continue as new: its history is longer than 8000 events or 4\.0 MiB, and may have 50000 events or 50\.0 MiB\.\n/,
  );
  workflows.view = view({ status: "completed", closedAt: NOW, result: { ok: true }, waitsFor: [], task: undefined });
  assert.match(
    (await run("o-1")).stdout,
    /; ended 2030-01-01T12:00:00\.000Z \(just now\)\. [\s\S]*\nResult: \{"ok":true\}\n/,
  );
  workflows.view = view({ status: "failed", closedAt: NOW, error: "RangeError: far", waitsFor: [], task: undefined });
  assert.match((await run("o-1")).stdout, /\nError: RangeError: far\n/);
});

test("stuck steps are highlighted, and abandoned steps are marked", async (t) => {
  const { workflows, onTerminal } = await open(t);
  const [thing] = view().waitsFor;
  const why = "no worker claims it from queue shop: no live worker is there";
  workflows.view = view({
    waitsFor: [{ ...thing!, due: undefined, failures: 0, error: undefined, why, isStuck: true }],
    steps: [
      step(1, { kind: "timer", state: "left", due: NOW }),
      step(2, { kind: "cancel", what: "enough" }),
      step(3, { kind: "end", what: "completed", state: "done", result: "1" }),
    ],
  });
  const { stdout } = await onTerminal("o-1");
  assert.ok(stdout.includes(`\u001b[33mactivity charge: for 50s; ${why}`));
  assert.match(stdout, /abandoned[\s\S]*asked to end: enough[\s\S]*completed +1\n/);
});

test("programs get the view, the events and the workers as JSON", async (t) => {
  const { workflows, run } = await open(t);
  workflows.view = view();
  const shown = JSON.parse((await run("o-1", "--run", "r7", "--limit", "3", "--json")).stdout);
  assert.deepEqual([shown.workflowId, shown.steps.length, shown.waitsFor[0].failures], ["o-1", 6, 3]);
  assert.deepEqual(workflows.asked, [["look", { workflowId: "o-1", runId: "r7" }, 3]]);
  workflows.history = [{ number: 1, at: NOW, event: { kind: "SignalReceived", name: "go" } }];
  assert.deepEqual(JSON.parse((await run("o-1", "--events", "--json")).stdout), { events: workflows.history });
  assert.match(
    (await run("o-1", "--events")).stdout,
    /\n1 +2030-01-01T12:00:00\.000Z +SignalReceived +\{"name":"go"\}\n/,
  );
  workflows.overview = { ...workflows.overview, workers: [worker] };
  assert.equal(JSON.parse((await run("--workers", "--json")).stdout).workers[0].hits, 940);
  assert.equal(
    (await run("--workers")).stdout,
    "WORKER  QUEUE  BUILD  STATE   SEEN      IN MEMORY  HITS  MISSES  FORCED  EVICTED  TYPES\n" +
      "w1      shop   -      active  2.0s ago  72 of 100   940      31       8       15  order\n",
  );
});

test("unserved work is shown behind the workers", async (t) => {
  const { workflows, run } = await open(t);
  const one = { kind: "workflow", type: "ordr", queue: "shop", build: "b", count: 1, since: NOW } as const;
  workflows.overview = {
    ...workflows.overview,
    unserved: [
      one,
      { ...one, definition: "abc" },
      { ...one, kind: "activity", type: "pay", build: undefined, count: 2 },
    ],
  };
  const { stdout, stderr } = await run("--workers");
  assert.equal(stdout, "");
  assert.deepEqual(stderr.trimEnd().split("\n"), [
    "There are no workers. A process with workflows is one: limpet({ workflows: [order] })",
    "1 run of ordr in queue shop of build b waits, and no worker takes it.",
    "1 run of ordr in queue shop of build b with definition abc waits, and no worker takes it.",
    "2 activities of pay in queue shop wait, and no worker takes them.",
  ]);
});

test("a start passes on all options with unchanged numbers, and reports a type without a worker", async (t) => {
  const { workflows, run } = await open(t);
  workflows.overview = { ...workflows.overview, workers: [worker] };
  assert.deepEqual(await run("o 1", "--start", "order", "--input", '["tea"]'), {
    code: 0,
    stdout: "o 1 is started as run run-1. To follow it: limpet workflows 'o 1'\n",
    stderr: "",
  });
  const more = [
    ...["--queue", "q", "--build", "b", "--delay", "5s", "--run-timeout", "1h", "--total-timeout", "1d"],
    ...["--if-running", "existing", "--if-ended", "fail", "--memo", '{"a":1}', "--attribute", "x=1"],
  ];
  const { stdout } = await run("--start", "ordr", ...more, "--json");
  assert.deepEqual(JSON.parse(stdout), { started: { workflowId: "made-up", runId: "run-1" } });
  const [, request] = workflows.asked[1] as [string, object];
  assert.deepEqual(Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)), {
    type: "ordr",
    queue: "q",
    build: "b",
    delay: "5s",
    runTimeout: "1h",
    timeout: "1d",
    memo: { a: 1 },
    ifRunning: "existing",
    ifEnded: "fail",
    attributes: { x: 1 },
  });
  assert.equal(
    (await run("--start", "ordr")).stderr,
    "It waits: no live worker has a workflow ordr; did you mean order?\n",
  );
});

test("a workflow is signalled, queried, updated, woken and ended", async (t) => {
  const { workflows, run } = await open(t);
  assert.equal(
    (await run("o", "--signal", "go", "--input", "true")).stdout,
    "o is signalled. To follow it: limpet workflows o\n",
  );
  workflows.answer = 12345678901234567890n;
  assert.equal((await run("o", "--query", "total", "--run", "r")).stdout, '"12345678901234567890"\n');
  workflows.answer = undefined;
  assert.equal((await run("o", "--update", "pay", "--input", "5")).stdout, "");
  assert.equal((await run("o", "--update", "pay", "--json")).stdout, "null\n");
  assert.match((await run("o", "--cancel", "--reason", "enough")).stdout, /^o is requested to cancel\./);
  assert.match((await run("o", "--terminate")).stdout, /^o is terminated\./);
  assert.match((await run("o", "--wake")).stdout, /^o is woken\./);
  assert.deepEqual(JSON.parse((await run("o", "--signal", "go", "--json")).stdout), {
    signalled: { id: "o", name: "go" },
  });
  assert.deepEqual(JSON.parse((await run("o", "--cancel", "--run", "r", "--json")).stdout), {
    cancelled: { id: "o", run: "r" },
  });
  const latest = { workflowId: "o", runId: undefined };
  assert.deepEqual(workflows.asked.slice(0, 7), [
    ["signal", latest, "go", true],
    ["query", { workflowId: "o", runId: "r" }, "total", undefined],
    ["update", latest, "pay", 5],
    ["update", latest, "pay", undefined],
    ["cancel", latest, "enough"],
    ["terminate", latest, ""],
    ["wake", { workflowId: "o" }],
  ]);
});

test("a failed request has a code, a hint and the exit code 1", async (t) => {
  const { workflows, run } = await open(t);
  const failing = async (...argv: string[]) => {
    const { code, stdout, stderr } = await run(...argv);
    assert.deepEqual([code, stdout], [1, ""]);
    const { errorCode } = JSON.parse((await run(...argv, "--json")).stderr);
    return [errorCode, stderr];
  };
  const [unknown, hint] = await failing("o-9");
  assert.equal(unknown, "WORKFLOW_UNKNOWN");
  assert.match(hint, /^limpet: there is no workflow o-9\n {8}limpet workflows lists the workflows/);
  workflows.problem = new LimpetError("WORKFLOW_CLOSED", "workflow o is over (completed)");
  assert.match(
    (await failing("o", "--signal", "go"))[1]!,
    /is over \(completed\)\n {8}Nothing happened\. limpet workflows <id>/,
  );
  workflows.problem = new LimpetError("QUERY_UNKNOWN", "order answers no query called x; it answers: progress");
  assert.match((await failing("o", "--query", "x"))[1]!, /it answers: progress/);
  workflows.problem = new LimpetError("WORKFLOW_EXISTS", "there is a workflow o already");
  assert.match((await failing("o", "--start", "order"))[1]!, /--if-running existing/);
  workflows.problem = new RangeError("too much");
  assert.match((await failing("o", "--update", "pay"))[1]!, /^limpet: update pay of o threw RangeError: too much/);
});

test("contradicting options of limpet workflows are wrong usage before any request", async (t) => {
  const { workflows, run } = await open(t);
  const wrong: [string[], RegExp][] = [
    [["--signal", "go"], /--signal needs the id of a workflow\n {8}limpet workflows <id> --signal go/],
    [["--cancel"], /--cancel needs the id of a workflow/],
    [["o", "--cancel", "--terminate"], /--cancel and --terminate exclude each other; give one of them/],
    [["o", "--signal", "go", "--input", "tea"], /--input is not JSON: tea\n {8}.*--input '"tea"'/],
    [["o", "--start", "order", "--memo", ""], /--memo is not JSON: it is empty/],
    [["o", "--input", "1"], /--input belongs to --start, --signal, --query, --update/],
    [["o", "--signal", "go", "--reason", "x"], /--reason belongs to --cancel, --terminate/],
    [["o", "--wake", "--run", "r"], /--wake applies to the open run/],
    [["o", "--start", "order", "--run", "r"], /--start makes a new run/],
    [["o", "--cancel", "--all"], /--all applies to views, and --cancel shows none/],
    [["o", "--cancel", "--type", "order"], /--type applies to views/],
    [["o", "--type", "order"], /--type applies to the list of workflows, and cannot be combined with an id/],
    [["--workers", "--blocked"], /--blocked applies to the list of workflows, .* --workers/],
    [["--events"], /--events needs the id of a workflow/],
    [["o", "--runs", "--events"], /--runs and --events exclude each other/],
    [["o", "--workers"], /--workers shows all workers; leave out the id/],
    [["--run", "r"], /--run chooses a run of one workflow: give its id/],
    [["--status", "open"], /--status must be one of running, completed.*; got "open"/],
    [
      ["o", "--start", "order", "--if-running", "stop"],
      /--if-running must be one of fail, existing, terminate; got "stop"/,
    ],
    [
      ["o", "--start", "order", "--if-ended", "again"],
      /--if-ended must be one of start, start unless completed.*; got "again"/,
    ],
    [["--attribute", "customer"], /--attribute: "customer" is not name=value/],
    [["--limit", "0"], /--limit: "0" is not a whole number/],
    [[".."], /workflow id must not be "\.\."/],
    [["a/b"], /workflow id must not contain/],
    [["a", "b"], /takes no further argument: "b"/],
  ];
  for (const [argv, message] of wrong) {
    const { code, stdout, stderr } = await run(...argv);
    assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, message);
  }
  assert.deepEqual(workflows.asked, []);
});

test("workflow text of other processes is escaped for the terminal", async (t) => {
  const { workflows, run } = await open(t);
  const evil = "e\u001b[2Jvil\u202e";
  const [thing] = view().waitsFor;
  workflows.workflows = [summary(evil, { type: evil, task: task({ state: "leased", worker: evil }) })];
  workflows.overview = { ...workflows.overview, workers: [{ ...worker, worker: evil, queue: evil, types: [evil] }] };
  workflows.history = [{ number: 1, at: NOW, event: { kind: evil, name: evil } }];
  workflows.view = view({
    summary: evil,
    runId: evil,
    queue: evil,
    blocked: evil,
    error: evil,
    attributes: { [evil]: evil },
    memo: { [evil]: evil },
    waitsFor: [{ ...thing!, what: evil, why: evil, error: evil }],
    stickyWorker: evil,
    parent: { workflowId: evil, runId: evil },
    steps: [
      step(1, { kind: "activity", what: evil, input: evil, state: "failed", error: evil }),
      step(2, { kind: "end", what: evil, state: "done", result: evil }),
    ],
  });
  for (const argv of [[], ["o"], ["o", "--runs"], ["o", "--events"], ["--workers"]]) {
    const { stdout, stderr } = await run(...argv);
    const text = stdout + stderr;
    assert.match(text, /evil/);
    assert.ok(!text.includes("\u001b") && !text.includes("\u202e"), `${argv.join(" ")}: ${JSON.stringify(text)}`);
  }
});
