// Kit for tests of sticky execution: several processes on one store and one clock, each with a worker, and
// counts of the tasks of each worker by mode.

import { invariant } from "../../kernel/errors.ts";
import type { ReplayMode, StoredRun, StoredTask } from "../../ports/store/workflows.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { type TestApp, type TestOptions, testLimpet } from "../../testing.ts";
import type { WorkflowHandle } from "../../workflows/client/client.ts";
import { signal, workflow } from "../../workflows/definition/definition.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";

export const NAMESPACE = "default";
export const go = signal<number>("go");

/** Receives numbers until one is 0, and returns their sum. */
export const sums = workflow("sums", async (ctx) => {
  let sum = 0;
  for (;;) {
    const n = await ctx.signal(go);
    if (n === 0) return sum;
    sum += n;
  }
});

export interface Counts {
  readonly hit: number;
  readonly cold: number;
  readonly forced: number;
  readonly warm: number;
  readonly missed: number;
}

/** One process with a worker. */
export interface Site {
  readonly app: TestApp;
  readonly worker: string;
  /** Counts of its tasks by mode since the last call. */
  counts(): Counts;
}

export class StickySites implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly #sites: Site[] = [];

  async open(options: TestOptions = {}): Promise<Site> {
    const before = new Set((await this.store.workflows.workers(NAMESPACE)).map(({ worker }) => worker));
    const worker = { lease: "30s", pollInterval: "1s", ...(typeof options.worker === "object" && options.worker) };
    const app = await testLimpet({ workflows: [sums], ...options, worker, clock: this.clock, stateStore: this.store });
    const rows = await this.store.workflows.workers(options.namespace ?? NAMESPACE);
    const id = rows.find((row) => !before.has(row.worker))?.worker;
    invariant(id !== undefined, "a worker is there as soon as its process is open");
    let last = countsOf(app);
    const site: Site = {
      app,
      worker: id,
      counts: () => {
        const now = countsOf(app);
        const since = difference(now, last);
        last = now;
        return since;
      },
    };
    this.#sites.push(site);
    return site;
  }

  async run(id: string): Promise<StoredRun> {
    const run = await this.store.workflows.find({ namespace: NAMESPACE, workflowId: id });
    invariant(run !== undefined, `there is a workflow ${id}`);
    return run;
  }

  async task(id: string): Promise<StoredTask> {
    const { task } = await this.run(id);
    invariant(task !== undefined, `workflow ${id} runs`);
    return task;
  }

  /** Leaves an idle run in the store that names a worker which is silent since then. */
  async leaveWith(id: string, worker: string, ms = 300_000): Promise<void> {
    const { workflows } = this.store;
    const lease = { token: `of ${worker}`, worker, leaseMs: 60_000 };
    const about = JSON.stringify({ types: ["sums"], fingerprints: {} });
    const row = { namespace: NAMESPACE, worker, queue: "default", build: "", isSticky: true, isDraining: false, about };
    await workflows.seen(row);
    const nothing = { attributes: undefined, memo: undefined, reminders: [], starts: [], messages: [] };
    const { tasks } = await workflows.claim({
      namespace: NAMESPACE,
      queue: "default",
      limit: 1,
      lease,
      isSticky: true,
      staleMs: 15_000,
      types: [{ type: "sums", pins: [{ pinned: undefined, pins: undefined }] }],
    });
    const [task] = tasks.filter(({ workflowId }) => workflowId === id);
    invariant(task !== undefined, `the task of ${id} can be had`);
    const step = { ref: task.ref, token: lease.token, last: task.last, batch: undefined, taken: task.taken };
    await workflows.complete([{ ...step, outcome: { kind: "rest" }, affinity: { worker, ms }, ...nothing }]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { app } of this.#sites) await app.stop();
  }
}

const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

function countsOf(app: TestApp): Counts {
  const text = app.metrics();
  const mode = (name: ReplayMode): number =>
    numberIn(text, new RegExp(`limpet_workflow_tasks_total\\{mode="${name}".*\\} (\\d+)`));
  return {
    hit: mode("sticky_hit_expected"),
    cold: mode("cold_replay"),
    forced: mode("forced_cold_replay"),
    warm: numberIn(text, /limpet_workflow_cache_hits\{.*\} (\d+)/),
    missed: numberIn(text, /limpet_workflow_cache_misses\{.*\} (\d+)/),
  };
}

function difference(now: Counts, before: Counts): Counts {
  const since: Partial<Record<keyof Counts, number>> = {};
  for (const name of Object.keys(now) as (keyof Counts)[]) since[name] = now[name] - before[name];
  return since as Counts;
}

export const NO_TASKS: Counts = { hit: 0, cold: 0, forced: 0, warm: 0, missed: 0 };

/** An idle run in the memory of a worker. */
export async function resting(
  sites: StickySites,
  id = "s",
): Promise<{ readonly owner: Site; readonly handle: WorkflowHandle<number> }> {
  const owner = await sites.open();
  const handle = await owner.app.workflows.start(sums, { id, input: undefined });
  await owner.app.advance(10);
  owner.counts();
  return { owner, handle };
}
