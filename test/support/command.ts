// A command in its own process group, as a shell would start it: signals reach everything it started, and
// nothing of it outlives the test.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, dirname } from "node:path";

const PATIENCE_MS = 500_000;

/**
 * This machine's environment without additions of a test runner or a running npm script, and with this Node
 * first.
 */
function plainEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(LIMPET_|PG|NO_COLOR$|FORCE_COLOR$|INIT_CWD$|NODE$|NODE_(?!EXTRA_CA_CERTS))/.test(name) &&
      !/^npm_(?!config_(registry|cache|userconfig|globalconfig|cafile|(https?_|no)?proxy)$)/i.test(name),
  );
  const environment = Object.fromEntries(kept) as Record<string, string>;
  return { ...environment, PATH: [dirname(process.execPath), environment.PATH].join(delimiter) };
}

export class Command implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #timer: NodeJS.Timeout;
  #over = false;
  #received = Promise.withResolvers<void>();
  readonly line: string;
  stdout = "";
  stderr = "";

  constructor(folder: string, line: readonly string[]) {
    this.line = line.join(" ");
    const [command, ...args] = line;
    this.#child = spawn(command!, args, {
      cwd: folder,
      env: plainEnvironment(),
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout!.on("data", (chunk) => this.#receive("stdout", chunk));
    this.#child.stderr!.on("data", (chunk) => this.#receive("stderr", chunk));
    this.#child.on("error", (error) => this.#receive("stderr", error));
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#over = true;
        resolve(code);
      });
    });
    this.#timer = setTimeout(() => this.signal("SIGKILL"), PATIENCE_MS);
  }

  #receive(stream: "stdout" | "stderr", chunk: unknown): void {
    this[stream] += String(chunk);
    this.#received.resolve();
    this.#received = Promise.withResolvers();
  }

  get #story(): string {
    return `${this.line}\n${this.stdout}\n${this.stderr}`;
  }

  /** Sends the signal to all of the group, as Ctrl-C does. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#over) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // It ended at this moment.
    }
  }

  /** Resolves when no process of its group can write any more. */
  async ended(): Promise<number | null> {
    const code = await this.#ended;
    clearTimeout(this.#timer);
    return code;
  }

  /** Its output, once it has ended with success. */
  async done(): Promise<string> {
    assert.equal(await this.ended(), 0, this.#story);
    return this.stdout;
  }

  /** Resolves when it has printed this. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.stdout);
      if (found !== null) return found;
      const ended = await Promise.race([this.#received.promise, this.#ended.then(() => true)]);
      if (ended) assert.match(this.stdout, pattern, this.#story);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.ended();
  }
}

/** Runs it to its end and returns its output. */
export async function run(folder: string, ...line: string[]): Promise<string> {
  await using command = new Command(folder, line);
  return await command.done();
}
