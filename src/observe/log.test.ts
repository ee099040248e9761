import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import type { LogFields, LogLevel } from "../ports/log.ts";
import { createLog } from "./log.ts";

const withError = (err: unknown) => ({ err }) as LogFields;

function capture(level: LogLevel = "debug") {
  const lines: string[] = [];
  const log = createLog({ level, destination: { write: (line) => void lines.push(line) } });
  const records = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines, records };
}

test("a line is one JSON object with level, time, event and the given fields", () => {
  const { log, lines, records } = capture();
  log.info("store.opened", { location: "limpet.db", lanes: 1, fresh: true, nothing: undefined });
  assert.equal(lines.length, 1);
  assert.ok(lines[0]!.endsWith("\n"));
  const { time, ...rest } = records()[0]!;
  assert.deepEqual(rest, { level: "info", event: "store.opened", location: "limpet.db", lanes: 1, fresh: true });
  assert.ok(!Number.isNaN(Date.parse(time as string)));
});

test("a list of texts is shown without secrets and up to a limit, and no other object is shown", () => {
  const { log, records } = capture();
  const many = Array.from({ length: 200 }, (_, i) => `${i}`);
  log.warn("loop.blocked", { turns: ["Cart/a.add", "Bearer s1"], many, payload: [{ card: "4111" }], mixed: ["a", 1] });
  const { turns, many: shown, payload, mixed } = records()[0]!;
  assert.deepEqual(turns, ["Cart/a.add", "Bearer [redacted]"]);
  assert.deepEqual(shown, many.slice(0, 100));
  assert.deepEqual([payload, mixed], ["(object)", "(object)"]);
});

test("lines below the level are not written", () => {
  const { log, records } = capture("warn");
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  assert.deepEqual(
    records().map((record) => record.event),
    ["c", "d"],
  );
});

test("an error is logged with its name, code, message, stack and causes, and no other property", () => {
  const { log, lines, records } = capture();
  const cause = Object.assign(new TypeError("bad thing"), { code: "E_BAD", body: "the payload" });
  log.error("turn.failed", withError(new LimpetError("STORE_UNAVAILABLE", "no store", { cause })));
  const err = records()[0]!.err as Record<string, unknown>;
  assert.deepEqual([err.name, err.code, err.message], ["LimpetError", "STORE_UNAVAILABLE", "no store"]);
  assert.match(err.stack as string, /log\.test\.ts/);
  assert.deepEqual([(err.cause as typeof err).name, (err.cause as typeof err).code], ["TypeError", "E_BAD"]);
  assert.ok(!lines[0]!.includes("the payload"));
});

test("a thrown value that is not an error is named by its type and not shown", () => {
  const { log, lines } = capture();
  log.error("turn.failed", withError({ card: "4111" }));
  log.error("turn.failed", withError("4111"));
  assert.ok(!lines.join("").includes("4111"));
});

test("every field named like a token, a password or an authorization is redacted", () => {
  const { log, lines, records } = capture();
  log.info("x", { token: "s1", apiToken: "s2", "dapr-api-token": "s3", Password: "s4", authorization: "Bearer s5" });
  assert.doesNotMatch(lines[0]!, /s[1-5]"/);
  assert.equal(records()[0]!.Password, "[redacted]");
});

test("passwords in URLs and bearer tokens inside texts and errors are redacted", () => {
  const { log, lines } = capture();
  const url = "postgres://ann:hunter2@db.example:5432/shop?x=1";
  log.info("x", { location: url, header: "Bearer abc.def-1" });
  log.info("x", withError(new TypeError(`cannot reach ${url}`, { cause: new TypeError("bearer abc.def-1") })));
  assert.doesNotMatch(lines.join(""), /hunter2|abc\.def/);
  assert.match(lines[0]!, /postgres:\/\/ann:\[redacted\]@db\.example:5432\/shop\?x=1/);
});

test("fields cannot forge the event, the level or the time, and odd values do not throw", () => {
  const { log, records } = capture();
  const odd = {
    event: "b",
    level: "fatal",
    time: 1,
    big: 1n,
    fn() {},
    err: new Proxy({}, { getPrototypeOf: () => assert.fail() }),
  };
  log.warn("a", odd as unknown as LogFields);
  const record = records()[0]!;
  assert.equal(record.event, "a");
  assert.equal(record.level, "warn");
  assert.notEqual(record.time, 1);
  assert.equal(record.big, "(bigint)");
});

test("the last lines before process.exit reach stderr", async () => {
  const script = `
    import { createLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url).href)};
    const log = createLog({ level: "info" });
    for (let i = 0; i < 500; i++) log.info("tick", { i });
    process.exit(3);`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on("close", resolve)),
  ]);
  assert.equal(stdout, "");
  const seen = stderr.split("\n").filter((line) => line.startsWith("{"));
  assert.deepEqual(
    seen.map((line) => (JSON.parse(line) as { i: number }).i),
    Array.from({ length: 500 }, (_, i) => i),
  );
  assert.equal(code, 3);
});
