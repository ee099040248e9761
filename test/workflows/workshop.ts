// Processes that share one store full of workflows, for one test: starts and ends them, sends errands from a
// process without workers, and afterwards compares every run, every history and every other effect with the
// plans (errands.ts). Nothing of it outlives the test.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ReminderProcessing, WorkerBlock } from "../../src/config/limpet-settings.ts";
import type { ClusterSettings } from "../../src/config/settings.ts";
import { openStore } from "../../src/host/open-store.ts";
import { type App, limpet } from "../../src/index.ts";
import type { Store } from "../../src/ports/store/store.ts";
import type { StoredRun } from "../../src/ports/store/workflows.ts";
import type { RunHistoryEvent, WorkflowHandle } from "../../src/workflows/client/client.ts";
import { ClusterProcess } from "../support/cluster-process.ts";
import { standStill } from "../support/stand-still.ts";
import { tracedLines } from "../support/trace-file.ts";
import type { Place } from "../support/two-stores.ts";
import type { AttemptLine, Book } from "./errands.ts";
import { checkHistory } from "./history-check.ts";

/**
 * Long enough to start on a busy machine. No test waits for the lease of a process that is known to be dead.
 */
const CALM = { lease: "15s", leaderLease: "3s", roundTimeout: "8s", moveTimeout: "2s" } satisfies ClusterSettings;
const PROMPT = { pollInterval: "200ms", fetchAhead: "1s", lease: "4s" } satisfies ReminderProcessing;
/** Far more than it takes, also on a busy machine. */
const PATIENCE_MS = Number(process.env.PATIENCE_S ?? 300) * 1_000;
const NAMESPACE = "default";

export const ERRANDS = import.meta.resolve("./errands.ts");

/** One attempt at an activity. */
export interface Attempt {
  readonly kind: "begin" | "end";
  readonly at: number;
  readonly key: string;
  readonly attempt: number;
  readonly run: string;
  readonly process: string;
}

export interface HandOptions {
  /** Module with its workflows, activities and actors. */
  readonly module?: string;
  readonly worker?: WorkerBlock;
  readonly cluster?: ClusterSettings | false;
  readonly settings?: object;
}

export class Workshop implements AsyncDisposable {
  readonly #place: Place;
  readonly #test: TestContext;
  /** The app of this process, which runs no workflows. */
  readonly app: App;
  readonly store: Store;
  readonly #worker: WorkerBlock;
  readonly #processes: ClusterProcess[] = [];
  #finished = false;

  static async open(test: TestContext, place: Place, worker: WorkerBlock): Promise<Workshop> {
    const { store } = place;
    const apart = { cluster: false, reminders: false, logLevel: "error", storeTimeout: "20s" } as const;
    const app = await limpet({ actors: [], store, ...apart });
    return new Workshop(test, place, worker, app, await openStore(store));
  }

  private constructor(test: TestContext, place: Place, worker: WorkerBlock, app: App, store: Store) {
    this.#test = test;
    this.#place = place;
    this.#worker = worker;
    this.app = app;
    this.store = store;
  }

  // ——— Processes.

  startAll(names: readonly string[], options: HandOptions = {}): Promise<ClusterProcess[]> {
    return Promise.all(names.map((name) => this.start(name, options)));
  }

  /** A name is used once. */
  async start(name: string, options: HandOptions = {}): Promise<ClusterProcess> {
    const { module = ERRANDS, worker, cluster, settings } = options;
    const folder = join(this.#place.folder, "workshop");
    await mkdir(folder, { recursive: true });
    const one = new ClusterProcess(name, folder, {
      trace: join(folder, `${name}.trace`),
      dedicated: false,
      types: [],
      module,
      detours: {},
      settings: {
        store: this.#place.store,
        storeTimeout: "5s",
        callTimeout: "20s",
        logLevel: "info",
        cluster: cluster === false ? false : { ...CALM, ...cluster, name },
        reminders: PROMPT,
        worker: { ...this.#worker, ...worker },
        ...settings,
      },
    });
    this.#processes.push(one);
    await one.ready();
    return one;
  }

  /** Starts one alone, so that the id of its worker is known. */
  async startWorker(name: string, options: HandOptions = {}): Promise<{ host: ClusterProcess; workerId: string }> {
    const before = new Set((await this.workers()).map(({ worker }) => worker));
    const host = await this.start(name, options);
    const ids = (await this.workers()).map(({ worker }) => worker).filter((id) => !before.has(id));
    assert.equal(ids.length, 1, "one worker is new");
    return { host, workerId: ids[0]! };
  }

  workers() {
    return this.store.workflows.workers(NAMESPACE);
  }

  get alive(): ClusterProcess[] {
    return this.#processes.filter(({ dead }) => !dead);
  }

  /** The process cannot run while `meanwhile` lasts. */
  async paused(host: ClusterProcess, meanwhile: () => Promise<void>): Promise<void> {
    await standStill(host, this.#place.store);
    try {
      await meanwhile();
    } finally {
      host.signal("SIGCONT");
    }
  }

  /** The sum of a counter over the running processes. */
  async metric(name: string): Promise<number> {
    const counts = await Promise.all(this.alive.map((host) => host.metric(name)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  // ——— Runs.

  /** The open run of a workflow, or the latest. */
  async run(workflowId: string): Promise<StoredRun> {
    const found = await this.store.workflows.find({ namespace: NAMESPACE, workflowId });
    assert.ok(found !== undefined, `there is no workflow ${workflowId}`);
    return found;
  }

  /** Waits until it is idle. */
  async rests(workflowId: string): Promise<StoredRun> {
    await this.until(async () => (await this.run(workflowId)).task?.state === "idle", `${workflowId} rests`);
    return this.run(workflowId);
  }

  handle<Result = string[]>(id: string, runId?: string): WorkflowHandle<Result> {
    return this.app.workflows.get<Result>(id, runId);
  }

  async openRuns(): Promise<number> {
    return this.app.workflows.count({ status: "running" });
  }

  async until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await condition())) {
      if (performance.now() > deadline) assert.fail(`never happened: ${what}\n${await this.#story()}`);
      await pause(20);
    }
  }

  /** Some of the open runs, for display. */
  async #story(): Promise<string> {
    const runs = await this.store.workflows.list({ namespace: NAMESPACE, status: "running", limit: 5 });
    const lines = runs.map(async (run) => {
      const events = await this.historyOf(run.workflowId, run.runId);
      const shown = events.slice(-8).map(({ number, event }) => `  ${number} ${JSON.stringify(event)}`);
      return [`${run.workflowId} ${JSON.stringify(run.task)}`, ...shown].join("\n");
    });
    return `${await this.openRuns()} runs are open\n${(await Promise.all(lines)).join("\n")}`;
  }

  /** Checks that every history is complete and in order. Returns the number of runs and of events. */
  async checkHistories(): Promise<{ runs: number; events: number }> {
    const counts = { runs: 0, events: 0 };
    for (let before: number | undefined; ; ) {
      const page = await this.app.workflows.list({ limit: 500, before });
      await Promise.all(
        page.runs.map(async ({ workflowId, runId, status, historyEvents }) => {
          const events = await this.historyOf(workflowId, runId);
          assert.equal(events.length, historyEvents, `${workflowId}: the row knows its history`);
          checkHistory(`${workflowId} (${status})`, events, status !== "running");
          counts.runs++;
          counts.events += events.length;
        }),
      );
      before = page.before;
      if (before === undefined) return counts;
    }
  }

  historyOf(workflowId: string, runId?: string): Promise<RunHistoryEvent[]> {
    return this.handle(workflowId, runId).history();
  }

  // ——— Effects beside the histories.

  /** In the order of time. */
  async attempts(): Promise<Attempt[]> {
    const all: Attempt[] = [];
    for (const { name: process, role } of this.#processes) {
      for (const line of tracedLines(await readFile(role.trace, "utf8"))) {
        const [kind, at, key, attempt, run] = line as AttemptLine;
        all.push({ kind, at, key, attempt, run, process });
      }
    }
    return all.sort((one, other) => one.at - other.at);
  }

  async begun(key: string): Promise<Attempt[]> {
    return (await this.attempts()).filter((one) => one.kind === "begin" && one.key === key);
  }

  async book(id: string): Promise<ReturnType<Book["all"]>> {
    return (await this.alive[0]!.call("Book", id, "all")) as ReturnType<Book["all"]>;
  }

  /** Disables the output. */
  finish(): void {
    this.#finished = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped process reacts to no other signal.
    for (const one of this.alive) one.signal("SIGKILL");
    await Promise.all(this.#processes.map(({ ended }) => ended));
    await this.app.stop();
    await this.store.close();
    if (this.#finished || process.env.CLUSTER_LOGS === undefined) return;
    for (const { name, output } of this.#processes) this.#test.diagnostic(`${name} said:\n${output}`);
  }
}
