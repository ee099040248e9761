// A contender seen from the outside: a child process that answers requests one at a time, each within a
// limit.
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Contender, Measurement, Settings } from "./case.ts";
import type { Answer, Order } from "./contender-process.ts";
import { cpuSecondsOf } from "./report/cpu-time.ts";

/** Far beyond the time of any step; a step that takes longer hangs. */
const LIMIT_MS = { start: 120_000, run: 600_000, close: 60_000, kill: 2_000 } as const;

const HERE = fileURLToPath(new URL("./", import.meta.url));

export class ContenderProcess {
  readonly #child: ChildProcess;
  #waiting: { resolve(answer: Answer): void } | undefined;
  #ended: string | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (answer: Answer) => this.#settle(answer));
    child.on("error", (error) => this.#end(`could not be started: ${error.message}`));
    child.on("exit", (code, signal) => this.#end(`its process ended (${signal ?? `exit code ${code}`})`));
  }

  /** Resolves when the contender is warm. Its output goes to standard error. */
  static async start(contender: Contender, settings: Settings, bench = HERE): Promise<ContenderProcess> {
    const child = fork(join(bench, "contender-process.ts"), [JSON.stringify([contender, settings])], {
      execArgv: contender.gc ? ["--expose-gc"] : [],
      cwd: settings.folder,
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const started = new ContenderProcess(child);
    try {
      await started.#answer(LIMIT_MS.start, "did not start");
    } catch (error) {
      started.kill();
      throw error;
    }
    return started;
  }

  async run(): Promise<Measurement> {
    const { value } = await this.#order("run", LIMIT_MS.run);
    // A value that is not a number has become null on its way here.
    const numbers = typeof value === "object" ? Object.values(value ?? {}) : [value];
    if (value === undefined || !numbers.every(Number.isFinite)) throw new Error("it measured nothing");
    return value;
  }

  /** Of its process and the processes that it has started; undefined where the system does not count it. */
  cpuSeconds(): number | undefined {
    return cpuSecondsOf(this.#child.pid!);
  }

  /** Lets it verify and clean up its work. */
  async close(): Promise<void> {
    try {
      await this.#order("close", LIMIT_MS.close);
    } finally {
      this.kill();
    }
  }

  /** First with SIGTERM, so that it can end the processes it has started itself. */
  kill(): void {
    if (this.#ended !== undefined) return;
    this.#child.kill("SIGTERM");
    setTimeout(() => this.#ended ?? this.#child.kill("SIGKILL"), LIMIT_MS.kill).unref();
  }

  #order(order: Order, limitMs: number): Promise<Answer & { ok: true }> {
    if (this.#ended === undefined) this.#child.send(order);
    return this.#answer(limitMs, `did not answer "${order}"`);
  }

  async #answer(limitMs: number, complaint: string): Promise<Answer & { ok: true }> {
    if (this.#ended !== undefined) throw new Error(this.#ended);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting = { resolve };
    const timer = setTimeout(() => resolve({ ok: false, message: `${complaint} within ${limitMs / 1000} s` }), limitMs);
    const answer = await promise;
    clearTimeout(timer);
    if (!answer.ok) throw new Error(answer.message);
    return answer;
  }

  #settle(answer: Answer): void {
    this.#waiting?.resolve(answer);
    this.#waiting = undefined;
  }

  #end(why: string): void {
    this.#ended ??= why;
    this.#settle({ ok: false, message: this.#ended });
  }
}
