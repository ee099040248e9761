// The command line under test: in this process with captured output, or as a real child process that is
// always ended.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, without this machine's environment. */
export async function runCli(
  argv: readonly string[],
  { env = {}, cwd = tmpdir(), tty = false }: { env?: Record<string, string>; cwd?: string; tty?: boolean } = {},
): Promise<Outcome> {
  let stdout = "";
  let stderr = "";
  const sink = (keep: (text: string) => void) => ({
    isTTY: tty,
    write(text: string, done?: () => void) {
      keep(text);
      done?.();
    },
  });
  const code = await main(argv, {
    stdout: sink((text) => {
      stdout += text;
    }),
    stderr: sink((text) => {
      stderr += text;
    }),
    env,
    cwd,
  });
  return { code, stdout, stderr };
}

export function tempFolder(): Disposable & { readonly path: string; write(name: string, text: string): string } {
  const path = mkdtempSync(join(tmpdir(), "limpet-cli-"));
  return {
    path,
    write(name, text) {
      const file = join(path, name);
      writeFileSync(file, text);
      return file;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

const BIN = join(import.meta.dirname, "../../src/cli/bin.ts");
const PATIENCE_MS = 300_000;

/** A child process of the command line. Disposing of it ends it in every case. */
export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stdout = "";
  stderr = "";
  #changed = Promise.withResolvers<void>();

  constructor(argv: readonly string[], options: { cwd: string; env?: Record<string, string> }) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(LIMPET_|NODE_|NO_COLOR|FORCE_COLOR)/.test(name),
    );
    this.child = spawn(process.execPath, [BIN, ...argv], {
      cwd: options.cwd,
      env: { ...Object.fromEntries(inherited), ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout?.on("data", (chunk) => this.#keep("stdout", chunk));
    this.child.stderr?.on("data", (chunk) => this.#keep("stderr", chunk));
    this.exited = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        this.#notify();
        resolve({ code, signal });
      });
    });
  }

  #keep(stream: "stdout" | "stderr", chunk: unknown): void {
    this[stream] += String(chunk);
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Resolves with the match as soon as the output holds it; fails when the process ends without it. */
  async until(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    const late = AbortSignal.timeout(PATIENCE_MS);
    const stop = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve(), { once: true }));
    for (;;) {
      const found = pattern.exec(this[stream]);
      if (found !== null) return found;
      const ended = this.child.exitCode !== null || this.child.signalCode !== null;
      assert.ok(!late.aborted && !ended, `${pattern} never came on ${stream}\n${this.stdout}\n${this.stderr}`);
      await Promise.race([this.#changed.promise, stop]);
    }
  }

  async end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    this.child.kill(signal);
    return this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL");
    await this.exited;
  }
}

/** Runs a command in its own process, to its end. */
export async function spawnCli(
  argv: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<Outcome> {
  await using run = new CliProcess(argv, options);
  const { code } = await run.exited;
  return { code: code ?? -1, stdout: run.stdout, stderr: run.stderr };
}
