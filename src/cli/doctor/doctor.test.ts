import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { runCli, tempFolder } from "../../../test/support/cli.ts";
import { resolveWithOrigins } from "../../config/settings.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { checkClock, checkNode } from "./machine-checks.ts";
import { checkHost, checkPort } from "./port-check.ts";
import { checkSettings, shownSettings } from "./settings-check.ts";
import { checkSqlite } from "./sqlite-check.ts";

const resolved = (env: Record<string, string>) => resolveWithOrigins({ file: false, env });

test("the Node check accepts new versions and rejects old ones", () => {
  assert.equal(checkNode().status, "ok");
  assert.equal(checkNode("22.9.0").status, "fail");
});

test("the clock check detects an even clock, a jump, and a clock that was never set", async () => {
  const clocks = (start: number, jump: number) => {
    let steady = 0;
    let wall = start;
    return {
      now: () => wall,
      monotonic: () => steady,
      async pause(ms: number) {
        steady += ms;
        wall += ms + jump;
      },
    };
  };
  const today = Date.UTC(2030, 0, 1);
  assert.equal((await checkClock(clocks(today, 3))).status, "ok");
  assert.equal((await checkClock(clocks(today, -2_000))).status, "warn");
  assert.equal((await checkClock(clocks(0, 0))).status, "fail");
});

test("a missing SQLite file is fine, and is not created", () => {
  using folder = tempFolder();
  const checks = checkSqlite("a/b/limpet.db", folder.path);
  assert.deepEqual(
    checks.map(({ name, status }) => [name, status]),
    [
      ["Store", "ok"],
      ["Disk", "ok"],
    ],
  );
  assert.deepEqual(readdirSync(folder.path), []);
});

test("a SQLite file of limpet is recognised, also while a process has it open", async () => {
  using folder = tempFolder();
  const file = join(folder.path, "limpet.db");
  const store = await openSqliteStore(file);
  assert.match(checkSqlite(file, folder.path)[0]!.message, /schema \d+, write-ahead log/);
  await store.close();
  assert.equal(checkSqlite(file, folder.path)[0]!.status, "ok");
});

test("a file of another program is distinguished", (t) => {
  using folder = tempFolder();
  folder.write("text.db", "this is not a database, and long enough to have a header of its own: ".repeat(20));
  const noise = checkSqlite("text.db", folder.path)[0]!;
  assert.deepEqual([noise.status, noise.hint], ["fail", "Choose another file with --store."]);
  const other = new DatabaseSync(join(folder.path, "other.db"));
  other.exec("CREATE TABLE things (x); PRAGMA user_version = 7");
  other.close();
  assert.match(checkSqlite("other.db", folder.path)[0]!.message, /belongs to another program/);
  mkdirSync(join(folder.path, "folder.db"));
  assert.match(checkSqlite("folder.db", folder.path)[0]!.message, /is a folder/);
  assert.match(checkSqlite("text.db/limpet.db", folder.path)[0]!.message, /is not a folder/);
  if (process.getuid?.() === 0) return t.diagnostic("root may write everywhere, so that part is not tested");
  mkdirSync(join(folder.path, "locked"));
  chmodSync(join(folder.path, "locked"), 0o500);
  assert.match(checkSqlite("locked/limpet.db", folder.path)[0]!.message, /cannot be written \(EACCES\)/);
});

test("a locked SQLite file is reported within a limited time", () => {
  using folder = tempFolder();
  const db = new DatabaseSync(join(folder.path, "held.db"));
  db.exec("CREATE TABLE actors (x); PRAGMA user_version = 1; BEGIN EXCLUSIVE");
  const check = checkSqlite("held.db", folder.path)[0]!;
  db.close();
  assert.equal(check.status, "fail");
  assert.match(check.hint ?? "", /Another process holds a lock/);
});

test("the port check distinguishes free, held by limpet, held by another program, and not of this machine", async () => {
  const metadata = { runtimeVersion: "1.2.3", actors: [{ type: "Cart" }], extended: { store: "/x.db" } };
  let answer: object | string = metadata;
  const server = createServer((_request, response) => {
    response.writeHead(typeof answer === "object" && "errorCode" in answer ? 401 : 200);
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = (server.address() as AddressInfo).port;
  const check = async (env: Record<string, string> = {}) => {
    const { settings, origins } = resolved({ LIMPET_HTTP_PORT: String(port), ...env });
    return checkPort(settings, origins.httpPort);
  };
  try {
    assert.match((await check()).message, /is held by limpet 1\.2\.3 with Cart on \/x\.db/);
    answer = { errorCode: "UNAUTHENTICATED", message: "token" };
    assert.match((await check()).message, /a running limpet that requires a token/);
    answer = "<html>";
    assert.equal((await check()).status, "fail");
    const { settings } = resolved({ LIMPET_HTTP_PORT: String(port) });
    assert.equal((await checkPort(settings, { source: "default", name: "http.port" })).status, "warn");
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
  assert.match((await check()).message, /is free/);
  assert.match((await check({ LIMPET_HTTP_PORT: "0" })).message, /any free one/);
  const far = await check({ LIMPET_HTTP_HOST: "203.0.113.1", LIMPET_HTTP_TOKENS: "x".repeat(20) });
  assert.match(far.message, /not an address of this machine/);
});

test("a variable that looks like a typing error, and a short token, give a warning", () => {
  const env = { LIMPET_HTTP_PROT: "1", LIMPET_SERVICE_HOST: "10.0.0.1", LIMPET_URL: "x", LIMPET_HTTP_TOKENS: "short" };
  const warnings = checkSettings(resolved(env), env).filter(({ status }) => status === "warn");
  assert.deepEqual(
    warnings.map(({ name, hint }) => [name, hint?.slice(0, 30)]),
    [
      ["Environment", "Did you mean LIMPET_HTTP_PORT?"],
      ["Tokens", "Make one with: openssl rand -h"],
    ],
  );
});

test("settings are shown with their source and without secrets", () => {
  const shown = shownSettings(
    resolved({
      LIMPET_HTTP_TOKENS: "hunter2,other",
      LIMPET_STORE: "postgres://u:hunter2@h/a",
      LIMPET_CALL_TIMEOUT: "12345ms",
      LIMPET_CLUSTER_KEYS: "hunter2-is-not-a-key",
      LIMPET_SCHEDULERS: "a:1,b:2",
    }),
  );
  assert.doesNotMatch(JSON.stringify(shown), /hunter2/);
  const find = (name: string) => shown.find((each) => each.name === name);
  assert.deepEqual(find("http.tokens"), { name: "http.tokens", value: "2 (hidden)", source: "LIMPET_HTTP_TOKENS" });
  assert.deepEqual(find("store"), { name: "store", value: "postgres://u:…@h/a", source: "LIMPET_STORE" });
  assert.deepEqual(find("callTimeout"), { name: "callTimeout", value: "12345ms", source: "LIMPET_CALL_TIMEOUT" });
  assert.deepEqual(find("cluster.keys")?.value, "1 (hidden)");
  assert.deepEqual(find("schedulers")?.value, "a:1, b:2");
  assert.deepEqual(find("cluster.name")?.value, "none");
  assert.deepEqual(find("namespace"), { name: "namespace", value: "default", source: "default" });
});

test("limpet doctor exits with 0 when all is well and 1 otherwise, and writes an object for programs", async () => {
  using folder = tempFolder();
  const well = await runCli(["doctor", "--port", "0"], { cwd: folder.path });
  assert.deepEqual([well.code, well.stderr], [0, ""]);
  assert.match(well.stdout, /^ok {2,}Node .*[\s\S]*Settings\n[\s\S]*http\.port +0 +--port\n[\s\S]*No problems\.\n$/);
  folder.write("limpet.db", "nonsense ".repeat(500));
  const broken = await runCli(["doctor", "--port", "0", "--store", "limpet.db", "--json"], { cwd: folder.path });
  assert.equal(broken.code, 1);
  const report = JSON.parse(broken.stdout);
  assert.equal(report.ok, false);
  assert.equal(report.checks.find(({ name }: { name: string }) => name === "Store").status, "fail");
  const wrong = await runCli(["doctor", "--port", "x"], { cwd: folder.path });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stdout, /fail {2}Settings {2}--port: "x" is not a whole number/);
  const memory = await runCli(["doctor", "--port", "0", "--store", "memory:"], { cwd: folder.path });
  assert.deepEqual([memory.code, /1 warning\.\n$/.test(memory.stdout)], [0, true]);
  assert.ok(!existsSync(join(folder.path, ".limpet")), "it changes nothing");
});

test("an unreachable PostgreSQL server fails without its password in the output", async () => {
  const { code, stdout } = await runCli(["doctor", "--port", "0", "--store", "postgres://u:hunter2@127.0.0.1:1/x"]);
  assert.equal(code, 1);
  assert.match(stdout, /fail +Store +PostgreSQL at postgres:\/\/u@127\.0\.0\.1:1\/x: the connection was refused/);
  assert.doesNotMatch(stdout, /hunter2/);
});

test("a local process that is not ready is a warning with its reason, and a ready one is fine", async () => {
  let ready = false;
  const message = "it rejects the leader of term 2, because it has seen term 42";
  const server = createServer((_, answer) => {
    answer.writeHead(ready ? 204 : 503, { "content-type": "application/json" });
    answer.end(ready ? undefined : JSON.stringify({ errorCode: "NOT_READY", message }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { settings } = resolved({ LIMPET_HTTP_PORT: `${(server.address() as AddressInfo).port}` });
  const [check] = await checkHost(settings);
  assert.deepEqual([check!.name, check!.status], ["Host", "warn"]);
  assert.match(check!.message, /not ready: it rejects the leader of term 2/);
  ready = true;
  assert.equal((await checkHost(settings))[0]!.status, "ok");
  server.close();
  assert.deepEqual(await checkHost({ ...settings, httpPort: 0 }), []);
});
