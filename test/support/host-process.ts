// A process that hosts tallies, seen from its test: calls and answers travel over IPC, many at a time. A call
// without an answer when the process dies is rejected with ProcessDied: it may have happened.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Verdict } from "../../src/kernel/errors.ts";
import type { Call, FromHost, Outcome, Reply, TallyReport, ToHost } from "./tally.ts";

const HOST = fileURLToPath(new URL("../fixtures/tally-host.ts", import.meta.url));
const OUTPUT_CHARACTERS = 20_000;

export class CallFailed extends Error {
  readonly code: string;
  readonly retry: Verdict;

  constructor({ code, retry, message }: Outcome) {
    super(`${code}: ${message}`);
    this.code = code;
    this.retry = retry;
  }
}

export class ProcessDied extends Error {}

export interface HostOptions {
  /** Its working folder: no settings file is found there. */
  readonly folder: string;
  readonly store: string;
  readonly storeTimeout?: string;
  readonly callTimeout?: string;
  /** It does not join the other processes on the store. */
  readonly alone?: boolean;
}

export class HostProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  readonly #ready = Promise.withResolvers<void>();
  #calls: Call[] = [];
  #number = 0;
  #dead = false;
  /** The newest part of its output. */
  output = "";

  /** Resolves when it is ready for calls. */
  static async start(options: HostOptions): Promise<HostProcess> {
    const host = new HostProcess(options);
    try {
      await host.#ready.promise;
    } catch (error) {
      await host.kill();
      throw error;
    }
    return host;
  }

  private constructor({ folder, store, storeTimeout = "10s", callTimeout = "30s", alone = false }: HostOptions) {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(LIMPET_|NODE_|PG)/.test(name));
    this.#child = spawn(process.execPath, [HOST, store, storeTimeout, callTimeout], {
      cwd: folder,
      env: { ...Object.fromEntries(inherited), ...(alone ? { LIMPET_CLUSTER: "false" } : {}) },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const keep = (chunk: unknown): void => {
      this.output = (this.output + String(chunk)).slice(-OUTPUT_CHARACTERS);
    };
    this.#child.stdout!.on("data", keep);
    this.#child.stderr!.on("data", keep);
    this.#child.on("message", (message: FromHost) => this.#receive(message));
    this.#ended = new Promise((resolve) => {
      // `close` comes after the last message and the last output.
      this.#child.once("close", (code, signal) => {
        this.#died(`the process ended (${signal ?? code})\n${this.output}`);
        resolve();
      });
    });
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Calls are numbered as they are made. */
  get newestCall(): number {
    return this.#number;
  }

  /** The first call without an answer. */
  get oldestCall(): number {
    return this.#waiting.keys().next().value ?? this.#number + 1;
  }

  #receive(message: FromHost): void {
    if ("ready" in message) this.#ready.resolve();
    else for (const reply of message.replies) this.#settle(reply);
  }

  #settle({ number, value, error }: Reply): void {
    const waiting = this.#waiting.get(number);
    assert.ok(waiting !== undefined, `call ${number} was answered twice`);
    this.#waiting.delete(number);
    if (error === undefined) waiting.resolve(value);
    else waiting.reject(new CallFailed(error));
  }

  #died(why: string): void {
    this.#dead = true;
    const error = new ProcessDied(why);
    this.#ready.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #ask(type: string, id: string, method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#dead) return Promise.reject(new ProcessDied("the process has ended before the call"));
    return new Promise((resolve, reject) => {
      const number = ++this.#number;
      this.#waiting.set(number, { resolve, reject });
      if (this.#calls.push([number, type, id, method, args]) === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(stop?: boolean): void {
    const message: ToHost = { calls: this.#calls, stop };
    this.#calls = [];
    // If it cannot be sent the process has ended, and all pending requests are rejected when it closes.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  async add(id: string, operation: string, method: "add" | "addSlowly" = "add"): Promise<number> {
    return (await this.#ask("Tally", id, method, [operation])) as number;
  }

  async report(id: string): Promise<TallyReport> {
    return (await this.#ask("Tally", id, "report", [])) as TallyReport;
  }

  /** The version of the stored row. */
  async version(id: string): Promise<number | undefined> {
    return (await this.#ask("", id, "version", [])) as number | undefined;
  }

  /** The sum of a counter over all its labels. */
  async counter(name: string): Promise<number> {
    const text = (await this.#ask("", "", "metrics", [])) as string;
    const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** Lets running turns end, and the process after them. */
  async stop(): Promise<void> {
    this.#flush(true);
    await this.#ended;
    assert.equal(this.#child.exitCode, 0, this.output);
  }

  /** Like `kill -9`. Messages that it has already sent still arrive. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
