// Worker processes that run jobs in parallel. A worker that ends or hangs is replaced, and its job has
// failed: the worst effect of a run is to hang its own process.
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { Job, Report, Worker } from "../job.ts";

const PROGRAM = join(import.meta.dirname, "worker.ts");
const PUT_BACK = join(import.meta.dirname, "../../bugs/put-back.ts");

/** Far longer than any run takes, on the slowest machine. */
const MOST_MS = 120_000;

interface Member {
  readonly child: ChildProcess;
  job: Assigned | undefined;
}

interface Assigned {
  readonly job: Job;
  readonly done: (report: Report) => void;
  readonly timer: NodeJS.Timeout;
}

export interface CrewOptions {
  readonly jobs: number;
  /** Known bug that the workers put back. */
  readonly bug?: string;
  /** Real time for one job. */
  readonly mostMs?: number;
}

export class Crew implements Worker {
  readonly #options: CrewOptions;
  readonly #idle: Member[] = [];
  readonly #all = new Set<Member>();
  readonly #waiting: { readonly job: Job; readonly done: (report: Report) => void }[] = [];
  #isClosed = false;

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /** If a job ends its worker, the report contains this. Never rejects. */
  perform(job: Job): Promise<Report> {
    return new Promise((done) => {
      this.#waiting.push({ job, done });
      this.#assign();
    });
  }

  /** Ends all workers. Running jobs are lost. */
  close(): void {
    this.#isClosed = true;
    for (const { child, job } of this.#all) {
      clearTimeout(job?.timer);
      child.kill("SIGKILL");
    }
  }

  #assign(): void {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const member = this.#idle.pop() ?? (this.#all.size < this.#options.jobs ? this.#hire() : undefined);
      if (member === undefined) return;
      const { job, done } = this.#waiting.shift()!;
      const mostMs = this.#options.mostMs ?? MOST_MS;
      const timer = setTimeout(() => {
        this.#end(member, { overran: `it did not end within ${mostMs / 1_000} s of real time` });
        member.child.kill("SIGKILL");
      }, mostMs);
      member.job = { job, done, timer };
      member.child.send(job);
    }
  }

  #hire(): Member {
    const { bug } = this.#options;
    // A worker starts with the options of this process, and with its bug.
    const wanted = bug === undefined ? [] : ["--import", PUT_BACK];
    const child = fork(PROGRAM, [], {
      execArgv: [...process.execArgv.filter((word) => !word.startsWith("--test")), ...wanted],
      env: { ...process.env, ...(bug === undefined ? {} : { LIMPET_SIM_BUG: bug }) },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      // Ctrl-C reaches only this process, which then decides about its workers.
      detached: true,
    });
    const member: Member = { child, job: undefined };
    this.#all.add(member);
    child.on("message", (report) => {
      const { job } = member;
      if (job === undefined) return;
      clearTimeout(job.timer);
      member.job = undefined;
      this.#idle.push(member);
      job.done(report as Report);
      this.#assign();
    });
    child.on("error", (error) => this.#lost(member, String(error)));
    child.on("exit", (code, signal) => this.#lost(member, `the process that ran it ended with ${signal ?? code}`));
    return member;
  }

  #lost(member: Member, why: string): void {
    if (!this.#all.delete(member) || this.#isClosed) return;
    const at = this.#idle.indexOf(member);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#end(member, { violations: [{ checker: "no exception", what: why, at: 0 }] });
    this.#assign();
  }

  /** Completes the job of a worker that sends nothing more about it. */
  #end(member: Member, report: Partial<Report>): void {
    const { job } = member;
    if (job === undefined) return;
    clearTimeout(job.timer);
    member.job = undefined;
    const nothing = {
      violations: [],
      trace: "",
      runs: 0,
      steps: 0,
      simulatedMs: 0,
      operations: 0,
      faults: {},
      reached: [],
      story: [],
    };
    job.done({ seed: job.job.seed, ...nothing, ...report });
  }
}
