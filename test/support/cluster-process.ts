// One process of a cluster, seen from its test: requests and answers travel over IPC, many at a time. A call
// without an answer when the process dies is rejected with ProcessDied: it may have happened.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Verdict } from "../../src/kernel/errors.ts";
import type { ClusterView, HostStatus, Whereabouts } from "../../src/ports/host-admin.ts";
import type {
  Answer,
  FromClusterHost,
  Question,
  Role,
  SerializedError,
  Stop,
  ToClusterHost,
} from "./cluster-actors.ts";
import { CallFailed, ProcessDied } from "./host-process.ts";
import type { TallyReport } from "./tally.ts";

const FIXTURE = fileURLToPath(new URL("../fixtures/cluster-host.ts", import.meta.url));
const OUTPUT_CHARACTERS = 50_000;

/** The error of an actor, as it arrived. */
export class Thrown extends CallFailed {
  readonly serialized: SerializedError;

  constructor(serialized: SerializedError) {
    // Errors of user code have no retry verdict.
    super({
      code: serialized.code ?? serialized.name,
      retry: serialized.retry ?? ("never" as Verdict),
      message: serialized.message,
    });
    this.serialized = serialized;
  }
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Ask = Omit<Question, "number"> & { readonly signal?: AbortSignal };

export class ClusterProcess implements AsyncDisposable {
  readonly name: string;
  readonly role: Role;
  readonly #child: ChildProcess;
  readonly ended: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ready = Promise.withResolvers<void>();
  #questions: Question[] = [];
  #cancelled: number[] = [];
  #number = 0;
  #address: string | undefined;
  dead = false;
  /** It was asked to stop. */
  leaving = false;
  /** The newest part of its output. */
  output = "";

  constructor(name: string, folder: string, role: Role) {
    this.name = name;
    this.role = role;
    const inherited = Object.entries(process.env).filter(([key]) => !/^(LIMPET_|NODE_|PG)/.test(key));
    this.#child = spawn(process.execPath, [FIXTURE, JSON.stringify(role)], {
      cwd: folder,
      env: Object.fromEntries(inherited),
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const keep = (chunk: unknown): void => {
      this.output = (this.output + String(chunk)).slice(-OUTPUT_CHARACTERS);
    };
    this.#child.stdout!.on("data", keep);
    this.#child.stderr!.on("data", keep);
    this.#child.on("message", (message: FromClusterHost) => this.#receive(message));
    this.ended = new Promise((resolve) => {
      // `close` comes after the last message and the last output.
      this.#child.once("close", (code, signal) => {
        this.#died(`${name} ended (${signal ?? code})\n${this.output}`);
        resolve();
      });
    });
    // A rejection without a waiting caller is fine.
    this.#ready.promise.catch(() => {});
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  #receive(message: FromClusterHost): void {
    if ("ready" in message) this.#ready.resolve();
    else for (const answer of message.answers) this.#settle(answer);
  }

  #settle({ number, value, error }: Answer): void {
    const waiting = this.#waiting.get(number);
    assert.ok(waiting !== undefined, `question ${number} was answered twice`);
    this.#waiting.delete(number);
    if (error === undefined) waiting.resolve(value);
    else waiting.reject(new Thrown(error));
  }

  #died(why: string): void {
    this.dead = true;
    const error = new ProcessDied(why);
    this.#ready.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #ask({ signal, ...question }: Ask): Promise<unknown> {
    if (this.dead) return Promise.reject(new ProcessDied(`${this.name} has ended before the call\n${this.output}`));
    const number = ++this.#number;
    signal?.addEventListener("abort", () => {
      this.#cancelled.push(number);
      setImmediate(() => this.#flush());
    });
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      if (this.#questions.push({ ...question, number }) === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const message: ToClusterHost = { questions: this.#questions, cancelled: this.#cancelled };
    this.#questions = [];
    this.#cancelled = [];
    // If it cannot be sent the process has ended, and all pending requests are rejected when it closes.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Returns a function that tests whether all requests until now have their answers. */
  caughtUp(): () => boolean {
    const newest = this.#number;
    return () => (this.#waiting.keys().next().value ?? Number.POSITIVE_INFINITY) > newest;
  }

  call(
    type: string,
    id: string,
    method: string,
    args: readonly unknown[] = [],
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<unknown> {
    return this.#ask({ about: "call", type, id, method, args, ...options });
  }

  async add(id: string, operation: string, method: "add" | "addSlowly" = "add"): Promise<number> {
    return (await this.call("Tally", id, method, [operation])) as number;
  }

  async report(id: string): Promise<TallyReport> {
    return (await this.call("Tally", id, "report")) as TallyReport;
  }

  /** The version of the stored row. */
  async version(id: string): Promise<number | undefined> {
    return (await this.#ask({ about: "version", type: "Tally", id })) as number | undefined;
  }

  async where([type, id]: Stop): Promise<Whereabouts> {
    return (await this.#ask({ about: "where", type, id })) as Whereabouts;
  }

  async view(): Promise<ClusterView> {
    return (await this.#ask({ about: "view" })) as ClusterView;
  }

  async status(): Promise<HostStatus> {
    return (await this.#ask({ about: "status" })) as HostStatus;
  }

  async drain(host: string): Promise<void> {
    await this.#ask({ about: "drain", id: host });
  }

  async counts(): Promise<{ lingering: number; gaveUp: number }> {
    return (await this.#ask({ about: "counts" })) as { lingering: number; gaveUp: number };
  }

  /** Its address for other hosts. */
  async address(): Promise<string> {
    this.#address ??= (await this.status()).address!;
    return this.#address;
  }

  /** The sum of a counter or gauge over all its labels. */
  async metric(name: string): Promise<number> {
    const text = (await this.#ask({ about: "metrics" })) as string;
    const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  async leads(): Promise<boolean> {
    return (await this.metric("limpet_scheduler_leading")) === 1;
  }

  signal(signal: "SIGSTOP" | "SIGCONT" | "SIGTERM" | "SIGKILL"): void {
    if (!this.dead) this.#child.kill(signal);
  }

  /** Stops in an orderly way. */
  async leave(): Promise<void> {
    this.leaving = true;
    this.signal("SIGTERM");
    await this.ended;
    assert.equal(this.#child.exitCode, 0, `${this.name} did not end well\n${this.output}`);
  }

  /** Like `kill -9`. Messages that it has already sent still arrive. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
