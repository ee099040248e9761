import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { startPostgres } from "./postgres.ts";

async function query(url: string, text: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 6_000; attempt++) {
    if (await condition()) return;
    await pause(50);
  }
  assert.fail(`never happened: ${what}`);
}

const refused = (url: string) =>
  query(url, "SELECT 1").then(
    () => false,
    (error) => error.code === "ECONNREFUSED",
  );

test("a server is durable, keeps its data and its port over a crash, and leaves nothing behind", async () => {
  const server = await startPostgres({ work_mem: "5MB" });
  const url = await server.createDatabase();
  const [folder] = await query(url, "SELECT current_setting('data_directory') AS path");
  try {
    assert.notEqual(await server.createDatabase(), url);
    const [settings] = await query(
      url,
      "SELECT current_setting('fsync') AS f, current_setting('synchronous_commit') AS s, current_setting('work_mem') AS w",
    );
    assert.deepEqual(settings, { f: "on", s: "on", w: "5MB" });
    await query(url, "CREATE TABLE kept AS SELECT 7 AS n");
    for (const mode of ["immediate", "fast"] as const) {
      await server.stop(mode);
      assert.ok(await refused(url));
      await server.start();
      assert.deepEqual(await query(url, "SELECT n FROM kept"), [{ n: 7 }]);
    }
    assert.ok(existsSync(folder!.path));
  } finally {
    await server.dispose();
  }
  await server.dispose();
  assert.ok(await refused(url));
  assert.equal(existsSync(folder!.path), false);
});

test("a server that cannot start reports the reason", async () => {
  await assert.rejects(startPostgres({ shared_buffers: "nonsense" }), /did not start:[\s\S]*shared_buffers/);
});

test("a test process that is killed leaves neither server nor folder behind", async () => {
  const script = `
    const { startPostgres } = await import(process.argv[1]);
    const server = await startPostgres();
    process.stdout.write(server.url() + "\\n");
    setInterval(() => undefined, 1_000);
  `;
  const module = new URL("./postgres.ts", import.meta.url).href;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, module], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [chunk] = await once(child.stdout, "data");
  const url = `${chunk}`.trim();
  const [folder] = await query(url, "SELECT current_setting('data_directory') AS path");
  child.kill("SIGKILL");
  await ended;
  await until(() => refused(url), "the server ends");
  await until(async () => !existsSync(folder!.path), "the folder is removed");
});
