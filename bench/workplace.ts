// Resources of a run: a temporary folder, the PostgreSQL server, the processes of the contenders. Each is
// created on first use, and all are removed when the run ends, however it ends.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Contender, Settings } from "./case.ts";
import { ContenderProcess } from "./contender.ts";
import { BenchPostgres } from "./postgres.ts";
import type { Started } from "./report/rounds.ts";

export type Pace = Pick<Settings, "durationMs" | "warmupMs" | "quick">;

/** A contender in its process, with the CPU time of that process. */
export type StartedProcess = Started & Pick<ContenderProcess, "cpuSeconds">;

export class Workplace {
  readonly folder: string;
  readonly #pace: Pace;
  readonly #print: (line: string) => void;
  readonly #processes = new Set<ContenderProcess>();
  #postgres: Promise<BenchPostgres> | undefined;
  #peers: Promise<string | undefined> | undefined;
  #contenders = 0;
  #closed = false;

  private constructor(folder: string, pace: Pace, print: (line: string) => void) {
    this.folder = folder;
    this.#pace = pace;
    this.#print = print;
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  }

  static async open(pace: Pace, print: (line: string) => void): Promise<Workplace> {
    return new Workplace(await mkdtemp(join(tmpdir(), "limpet-bench-")), pace, print);
  }

  /** The server's version, if it was started. */
  async postgresVersion(): Promise<string | undefined> {
    return (await this.#postgres?.catch(() => undefined))?.version;
  }

  /** `bench`: the folder of the contender's code, if it is not this one. */
  async start(contender: Contender, bench?: string): Promise<StartedProcess> {
    const started = await this.#unlessClosed(this.#start(contender, bench));
    return {
      run: () => this.#unlessClosed(started.run()),
      close: () => this.#unlessClosed(started.close()),
      cpuSeconds: () => started.cpuSeconds(),
    };
  }

  async #start(contender: Contender, bench?: string): Promise<StartedProcess> {
    if (contender.module.startsWith("peers/")) {
      this.#peers ??= installPeers(this.#print);
      const problem = await this.#peers;
      if (problem !== undefined) throw new Error(problem);
    }
    const folder = join(this.folder, `contender-${++this.#contenders}`);
    mkdirSync(folder);
    const server = contender.postgres ? await this.#server() : undefined;
    const database = await server?.createDatabase();
    const settings = { ...this.#pace, folder, postgres: database ?? "", params: contender.params ?? {} };
    const started = await ContenderProcess.start(contender, settings, bench);
    this.#processes.add(started);
    return {
      run: () => started.run(),
      cpuSeconds: () => started.cpuSeconds(),
      close: async () => {
        try {
          await started.close();
        } finally {
          this.#processes.delete(started);
          rmSync(folder, { recursive: true, force: true });
          if (database !== undefined) await server?.dropDatabase(database);
        }
      },
    };
  }

  /** Errors after closing are ignored: the process is about to end. */
  async #unlessClosed<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (this.#closed) await new Promise(() => {});
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const one of this.#processes) one.kill();
    const server = await this.#postgres?.catch(() => undefined);
    await server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #server(): Promise<BenchPostgres> {
    if (this.#postgres === undefined) this.#print("starting PostgreSQL …");
    this.#postgres ??= BenchPostgres.start();
    return this.#postgres;
  }
}

/** Peers have their own package.json, so that users of Limpet do not install them. */
const FOLDER = fileURLToPath(new URL("./peers/", import.meta.url));
const LIMIT_MS = 300_000;

/**
 * Installs the peers when the first case needs them. Returns the reason if they are missing: the run
 * continues without them.
 */
export async function installPeers(say: (line: string) => void): Promise<string | undefined> {
  if (isInstalled()) return undefined;
  say("installing the peers in bench/peers (first use) …");
  try {
    // Without scripts: none is needed here, and a benchmark should not run foreign code at installation.
    await promisify(execFile)("npm", ["ci", "--ignore-scripts"], { cwd: FOLDER, timeout: LIMIT_MS });
    return undefined;
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    const line = stderr.split("\n").find((text) => text.startsWith("npm error")) ?? message.split("\n")[0]!;
    return `the peers could not be installed (${line.trim()})`;
  }
}

/** Also false if the lock file has changed since. */
function isInstalled(): boolean {
  const [wanted, present] = [`${FOLDER}package-lock.json`, `${FOLDER}node_modules/.package-lock.json`];
  return existsSync(present) && statSync(present).mtimeMs >= statSync(wanted).mtimeMs;
}
