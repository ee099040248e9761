// The other process of a cluster, from both sides. The contender starts it, sends it requests, and ends it.
// The other process reports when it is ready, answers, and ends with the contender in every case.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A request to the other process, as JSON. */
type Asked = { readonly number: number; readonly question: unknown };
type FromChild =
  | { readonly ready: unknown }
  | { readonly number: number; readonly answer: unknown }
  | { readonly failed: string };

const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 60_000;

export class OtherProcess {
  /** Its message when it was ready. */
  hello: unknown;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #number = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "exit");
    child.on("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the other process has ended"));
      this.#waiting.clear();
    });
  }

  /** `file` is under bench/. Resolves when it is ready. */
  static async start(file: string, parameter: unknown): Promise<OtherProcess> {
    const child = fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), [JSON.stringify(parameter)], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const other = new OtherProcess(child);
    const ready = Promise.withResolvers<unknown>();
    child.on("message", (message: FromChild) => {
      if ("ready" in message) ready.resolve(message.ready);
      else if ("failed" in message) ready.reject(new Error(`the other process did not start: ${message.failed}`));
      else other.#settle(message.number, message.answer);
    });
    child.on("exit", (code, signal) => ready.reject(new Error(`the other process ended (${signal ?? code})`)));
    const limit = setTimeout(() => ready.reject(new Error("the other process did not get ready")), START_LIMIT_MS);
    try {
      other.hello = await ready.promise;
      return other;
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    } finally {
      clearTimeout(limit);
    }
  }

  ask(question: unknown): Promise<unknown> {
    const number = ++this.#number;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(number, waiting);
    this.#child.send({ number, question } satisfies Asked);
    return waiting.promise;
  }

  /** SIGTERM requests an orderly end, SIGKILL ends it at once. Resolves when it has ended. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    const limit = setTimeout(() => this.#child.kill("SIGKILL"), END_LIMIT_MS);
    await this.#ended;
    clearTimeout(limit);
  }

  #settle(number: number, answer: unknown): void {
    this.#waiting.get(number)?.resolve(answer);
    this.#waiting.delete(number);
  }
}

export interface Service {
  /** Sent to the contender. */
  readonly hello?: unknown;
  answer?(question: never): unknown;
  /** Stops in an orderly way. */
  stop(): Promise<void>;
}

/** The main function of the other process; its parameter comes from `OtherProcess.start`. */
export async function beTheOther<Parameter>(start: (parameter: Parameter) => Promise<Service>): Promise<void> {
  // The terminal sends Ctrl-C to all processes; the benchmark decides about the others.
  process.on("SIGINT", () => {});
  process.on("disconnect", () => process.exit(1));
  // When the parent has ended, this process is about to end.
  const send = (message: FromChild) => process.send!(message, () => {});
  try {
    const service = await start(JSON.parse(process.argv[2]!) as Parameter);
    process.on("SIGTERM", () => void service.stop().finally(() => process.exit()));
    process.on("message", async ({ number, question }: Asked) => {
      send({ number, answer: await service.answer?.(question as never) });
    });
    send({ ready: service.hello ?? null });
  } catch (error) {
    send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}
