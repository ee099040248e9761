// A real PgBouncer in front of a test's PostgreSQL server: its own temp folder and port, ended with its test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DATABASE_PORTS, freePort } from "./free-port.ts";
import { TEST_PASSWORD, TEST_USER, unprivileged } from "./postgres.ts";
import { findTool } from "./tools.ts";

const START_TIMEOUT_MS = 300_000;

export interface Pooler extends AsyncDisposable {
  /** The same database, through the pooler. */
  url(database: string): string;
}

/** `settings` go to the section [pgbouncer]. */
export async function startPgBouncer(serverPort: number, settings: Readonly<Record<string, string>>): Promise<Pooler> {
  const program = findTool("pgbouncer");
  assert.ok(program);
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "limpet-pgbouncer-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // It refuses to run as root, and its account has to read its settings.
  await chmod(folder, 0o755);
  const port = await freePort(DATABASE_PORTS);
  const all = { listen_addr: "127.0.0.1", listen_port: `${port}`, unix_socket_dir: "", auth_type: "any", ...settings };
  const target = `host=127.0.0.1 port=${serverPort} user=${TEST_USER} password=${TEST_PASSWORD}`;
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, "pgbouncer.ini");
  await writeFile(file, `[databases]\n* = ${target}\n[pgbouncer]\n${lines.join("\n")}\n`);
  const child = spawn(program, [file], { ...unprivileged(), cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  stack.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    // SIGTERM ends it at once; a version that waits for its clients is ended by force.
    const timer = setTimeout(() => child.kill("SIGKILL"), 2_000);
    await ended;
    clearTimeout(timer);
  });
  let log = "";
  const ready = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), START_TIMEOUT_MS);
    child.stderr.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-5_000);
      if (log.includes("process up")) resolve(true);
    });
    child.once("exit", () => resolve(false));
    child.once("close", () => clearTimeout(timer));
  });
  assert.ok(ready, `PgBouncer did not start:\n${log}`);
  const kept = stack.move();
  return {
    url: (database) => `postgres://${TEST_USER}@127.0.0.1:${port}/${database}`,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
