// The command with the real HTTP server in front of a fake host.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runCli } from "../../../test/support/cli.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { DeadReminderSummary, ReminderSummary } from "../../ports/reminder-admin.ts";
import { FakeHost, openTestServer } from "../../wire/http/server-kit.test.ts";

const NOW = Date.UTC(2030, 0, 1, 12);
const MINUTE = 60_000;

const set = (type: string, id: string, name: string, more: Partial<ReminderSummary> = {}): ReminderSummary => ({
  type,
  id,
  name,
  next: NOW + MINUTE,
  due: NOW + MINUTE,
  number: 1,
  attempt: 0,
  leasedUntil: undefined,
  overdue: false,
  schedule: "once",
  bytes: 0,
  ...more,
});

const given = (name: string, more: Partial<DeadReminderSummary> = {}): DeadReminderSummary => ({
  type: "Cart",
  id: "alice",
  name,
  due: NOW - MINUTE,
  number: 3,
  attempt: 10,
  schedule: "every 1h",
  bytes: 0,
  error: "RangeError: no tea\n    at line 1",
  diedAt: NOW - MINUTE,
  ...more,
});

async function open(t: TestContext) {
  const host = new FakeHost();
  const { reminders } = host;
  reminders.now = NOW;
  reminders.reminders = [
    set("Cart", "alice", "pay", { next: NOW + 3_600_000, schedule: "every 1h", number: 7 }),
    set("Cart", "bob", "greet", { next: NOW + 2_000, leasedUntil: NOW + 28_000, attempt: 2 }),
  ];
  reminders.counts = { all: 2, overdue: 0, dead: 0 };
  const { url } = await openTestServer(t, host);
  const run = (...argv: string[]) => runCli(["reminders", ...argv, "--url", url]);
  return {
    host,
    reminders,
    run,
    onTerminal: (...argv: string[]) => runCli(["reminders", ...argv, "--url", url], { tty: true }),
  };
}

test("limpet reminders counts all reminders and shows them, next due first", async (t) => {
  const { run } = await open(t);
  assert.deepEqual(await run(), {
    code: 0,
    stdout: `${[
      "2 reminders.",
      "NEXT                                TYPE  ID     NAME   SCHEDULE  TICK  TRIED  STATE",
      "2030-01-01T12:00:02.000Z (in 2.0s)  Cart  bob    greet  once         1      2  held for 28s",
      "2030-01-01T13:00:00.000Z (in 1h)    Cart  alice  pay    every 1h     7      -  -",
    ].join("\n")}\n`,
    stderr: "",
  });
});

test("programs get the counts and the reminders in one object, in the order of names", async (t) => {
  const { reminders, run } = await open(t);
  const { code, stdout, stderr } = await run("--json");
  assert.deepEqual([code, stderr], [0, ""]);
  const expected = reminders.reminders.map(({ leasedUntil, ...rest }) =>
    leasedUntil ? { ...rest, leasedUntil } : rest,
  );
  assert.deepEqual(JSON.parse(stdout), { all: 2, overdue: 0, dead: 0, reminders: expected });
  assert.deepEqual(JSON.parse((await run("Cart", "bob", "--json")).stdout), { reminders: [expected[1]] });
});

test("a list of one type or id leaves out its column", async (t) => {
  const { reminders, run } = await open(t);
  reminders.reminders.push(set("Stock", "tea", "order"));
  const type = await run("Cart");
  assert.match(type.stdout, /^NEXT +ID +NAME +SCHEDULE +TICK +TRIED +STATE\n2030\S+ \(in 2\.0s\) +bob +greet/);
  assert.equal(type.stdout.split("\n").length, 4);
  assert.match((await run("Stock", "tea")).stdout, /^NEXT +NAME +SCHEDULE .*\n2030\S+ \(in 1m\) +order +once/);
});

test("reminders on several pages are ordered by name, and the output reports it", async (t) => {
  const { run } = await open(t);
  const { stdout, stderr } = await run("--limit", "1");
  assert.match(stdout, /^2 reminders\.\nNEXT .*\n.* Cart +alice +pay .*\n$/);
  assert.equal(stderr, "Only the first 1 are shown; --all shows all.\n");
  assert.match((await run("--all")).stdout, /greet[\s\S]*pay/);
});

test("stuck reminders are reported with the probable reason", async (t) => {
  const { reminders, run } = await open(t);
  const late = { overdue: true, next: NOW - MINUTE };
  reminders.counts = { all: 100_000, overdue: 99_999, dead: 0 };
  reminders.reminders = [
    set("Cart", "alice", "pay", late),
    set("Kart", "alice", "pay", late),
    set("Kart", "bob", "pay", late),
    // A claim needs a moment.
    set("Stock", "tea", "order", { overdue: true, next: NOW - 5_000 }),
    set("$report", "job", "run", late),
    set("$$activity shop charge", "run-1", "1", late),
  ];
  const { code, stdout, stderr } = await run();
  assert.equal(code, 0);
  assert.match(stdout, /^at least 100000 reminders, 99999 overdue\.\n/);
  assert.equal(stdout.match(/overdue\n/g)!.length, 6);
  assert.deepEqual(stderr.trimEnd().split("\n"), [
    "1 reminder of Cart is overdue, and no process has claimed it, although there are hosts of that type. They may be behind, or deliver no reminders (LIMPET_REMINDERS=false).",
    "2 reminders of Kart are overdue, and no process has claimed them: no host has the type Kart; did you mean Cart? To cancel one: limpet reminders Kart <id> --cancel <name>",
    'The job "report" is overdue: no running process calls app.jobs.set("report", …), or such processes are behind.',
    "1 reminder of $$activity shop charge is overdue, and no process has claimed it: it is the activity shop charge of a workflow. limpet workflows --workers shows the workers.",
  ]);
});

test("a process without a cluster knows only its own types", async (t) => {
  const { host, reminders, run } = await open(t);
  host.cluster = () => Promise.reject(new LimpetError("NOT_READY", "in no cluster"));
  reminders.reminders = [set("Zebra", "a", "pay", { overdue: true, next: NOW - MINUTE })];
  assert.match((await run()).stderr, /no host has the type Zebra\. To cancel one/);
  host.cluster = () => Promise.reject(new LimpetError("STORE_UNAVAILABLE", "it does not answer"));
  assert.match((await run()).stderr, /^limpet: it does not answer/);
});

test("an empty list of reminders shows why it may be empty", async (t) => {
  const { reminders, run } = await open(t);
  reminders.reminders = [];
  reminders.counts = { all: 0, overdue: 0, dead: 0 };
  const nothing = await run();
  assert.deepEqual([nothing.code, nothing.stdout], [0, "0 reminders.\n"]);
  assert.match(nothing.stderr, /^No reminder is set\. .*: this\.reminders\.set\("pay", \{ due: "10m" \}\)\n$/);
  assert.match((await run("Cart")).stderr, /^No reminder of Cart is set\./);
  assert.match((await run("Cart", "alice")).stderr, /^No reminder of Cart\/alice is set\./);
  assert.match((await run("$report")).stderr, /^No reminder of \$report is set\./);
  assert.match(
    (await run("Kart")).stderr,
    /^No reminders, and no host has the type Kart; did you mean Cart\? Types: Cart\./,
  );
  assert.match((await run("--dead")).stderr, /^No reminder is dead\.\n$/);
  assert.match((await run("Cart", "alice", "--dead")).stderr, /^No reminder of Cart\/alice is dead\.\n$/);
  assert.deepEqual(JSON.parse((await run("Kart", "--json")).stdout), { reminders: [] });
});

test("dead reminders are shown with their error, the latest first", async (t) => {
  const { reminders, run } = await open(t);
  reminders.dead = [given("pay", { diedAt: NOW - 2 * MINUTE }), given("ship", { error: "x".repeat(200) })];
  reminders.counts = { all: 2, overdue: 0, dead: 2 };
  const overview = await run();
  assert.match(overview.stdout, /^2 reminders, 2 given up\.\n/);
  assert.equal(overview.stderr, "limpet reminders --dead shows the dead reminders and their errors.\n");
  const { code, stdout, stderr } = await run("--dead");
  assert.deepEqual(stdout.trimEnd().split("\n"), [
    "GIVEN UP                           TYPE  ID     NAME  SCHEDULE  TICK  TRIED  ERROR",
    `2030-01-01T11:59:00.000Z (1m ago)  Cart  alice  ship  every 1h     3     10  ${"x".repeat(100)}…`,
    "2030-01-01T11:58:00.000Z (2m ago)  Cart  alice  pay   every 1h     3     10  RangeError: no tea",
  ]);
  assert.equal(code, 0);
  assert.match(stderr, /^To retry one: limpet reminders <type> <id> --retry <name>; to drop it: .* --drop <name>\n$/);
  assert.deepEqual(JSON.parse((await run("--dead", "--json")).stdout), { reminders: reminders.dead });
});

test("a dead reminder is retried or dropped", async (t) => {
  const { reminders, run } = await open(t);
  assert.deepEqual(await run("Cart", "ali ce", "--retry", "pay up"), {
    code: 0,
    stdout: "pay up of Cart/ali ce is retried now. To follow it: limpet reminders Cart 'ali ce'\n",
    stderr: "",
  });
  assert.equal((await run("Cart", "alice", "--dead", "--drop", "pay")).stdout, "pay of Cart/alice is dropped.\n");
  const names = { type: "Cart", id: "alice", name: "pay" };
  assert.deepEqual(JSON.parse((await run("Cart", "alice", "--retry", "pay", "--json")).stdout), { retried: names });
  assert.deepEqual(JSON.parse((await run("Cart", "alice", "--drop", "pay", "--json")).stdout), { dropped: names });
  assert.deepEqual(reminders.asked, [
    ["retry", { type: "Cart", id: "ali ce", name: "pay up" }],
    ["drop", names],
    ["retry", names],
    ["drop", names],
  ]);
  reminders.isHelped = false;
  const unknown = await run("Cart", "alice", "--retry", "pay");
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(
    unknown.stderr,
    /^limpet: Cart\/alice has no dead reminder "pay", or .*\n {8}limpet reminders shows the reminders that are set/,
  );
  assert.equal(
    JSON.parse((await run("Cart", "alice", "--drop", "pay", "--json")).stderr).errorCode,
    "REMINDER_UNKNOWN",
  );
});

test("a set reminder is cancelled, and an unknown one is an error", async (t) => {
  const { reminders, run } = await open(t);
  const missing = await run("Cart", "alice", "--cancel", "pay");
  assert.deepEqual([missing.code, missing.stdout], [1, ""]);
  assert.match(missing.stderr, /^limpet: Cart\/alice has no reminder "pay"\n/);
  reminders.asked.length = 0;
  reminders.found = { dueTime: "2030-01-01T00:00:00.000Z", data: { cups: 2 } };
  assert.equal((await run("Cart", "ü %", "--cancel", "pay")).stdout, "pay of Cart/ü % is cancelled.\n");
  const names = { type: "Cart", id: "ü %", name: "pay" };
  assert.deepEqual(reminders.asked, [
    ["get", names],
    ["cancel", names],
  ]);
  const cancelled = { actorType: "Cart", actorID: "a", name: "pay", ...reminders.found };
  assert.deepEqual(JSON.parse((await run("Cart", "a", "--cancel", "pay", "--json")).stdout), { cancelled });
});

test("contradicting options of reminders are wrong usage before any request", async (t) => {
  const { reminders, run } = await open(t);
  const wrong: [string[], RegExp][] = [
    [["--retry", "pay"], /--retry needs the type and the id of an actor\n {8}limpet reminders Cart <id> --retry pay/],
    [
      ["Cart", "--drop", "pay up"],
      /needs the type and the id of an actor\n {8}limpet reminders Cart <id> --drop 'pay up'/,
    ],
    [["Cart", "a", "--drop", "x", "--retry", "x"], /--retry and --drop exclude each other; give one of them/],
    [["Cart", "a", "--cancel", "x", "--all"], /--all applies to lists, and --cancel shows none/],
    [["Cart", "a", "--retry", ".."], /reminder name must not be "\.\."/],
    [["Cart", "a", "--retry"], /--retry needs a value: --retry <name>/],
    [["--prefix", "a"], /has no option --prefix/],
    [["--limit", "0"], /--limit: "0" is not a whole number/],
    [[""], /actor type must not be empty/],
    [["Cart", "a/b"], /actor id must not contain/],
    [["Cart", "a", "b"], /takes no further argument: "b"/],
  ];
  for (const [argv, message] of wrong) {
    const { code, stdout, stderr } = await run(...argv);
    assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, message);
  }
  assert.deepEqual(reminders.asked, []);
});

test("reminder text of other processes is escaped for the terminal", async (t) => {
  const { reminders, run, onTerminal } = await open(t);
  const evil = "e\u001b[2Jvil\u202e";
  const late = { overdue: true, next: NOW - MINUTE, schedule: evil };
  reminders.reminders = [set(evil, evil, evil, late)];
  reminders.dead = [given(evil, { type: evil, id: evil, error: `${evil}\nmore`, schedule: evil })];
  for (const outcome of [await run(), await run("--dead")]) {
    const text = outcome.stdout + outcome.stderr;
    assert.match(text, /evil\\u202e/);
    assert.ok(!text.includes("\u001b") && !text.includes("\u202e"), text);
  }
  const { stdout } = await onTerminal();
  assert.ok(!stdout.includes("\u001b[2J"));
  assert.ok(stdout.includes("\u001b[33moverdue"));
});
