import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMITS } from "../kernel/limits.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { NO_CACHE } from "../workflows/worker/run-cache.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { RemoteWorkers, type WorkerRegistration } from "./workers.ts";

const NAMESPACE = "default";

function open() {
  const clock = new VirtualClock();
  const now = () => clock.now();
  const store = new MemoryStore(now).workflows;
  const workers = new RemoteWorkers({ clock, store, namespace: NAMESPACE, isSticky: true, now });
  return { clock, store, workers };
}

const registration = (id: string, more: Partial<WorkerRegistration> = {}): WorkerRegistration => ({
  id,
  queue: "q",
  build: "",
  runtime: "python",
  sdkVersion: undefined,
  workflowTypes: ["order"],
  activityTypes: [],
  fingerprints: {},
  contracts: {},
  capabilities: [],
  manifest: undefined,
  sticky: "never",
  cache: NO_CACHE,
  process: {},
  slots: {},
  mostWorkflowTasks: 1,
  mostActivities: 1,
  ...more,
});

test("a worker without a heartbeat for a day is removed, and marks of drained builds stay", async () => {
  const { clock, store, workers } = open();
  await workers.register(registration("gone"));
  await workers.drain("q", "bad-build");
  await clock.advance("23h");
  await workers.register(registration("here"));
  assert.deepEqual(
    (await workers.rows()).map(({ worker }) => worker),
    ["gone", "here"],
  );
  await clock.advance("61m");
  assert.deepEqual(
    (await workers.rows()).map(({ worker }) => worker),
    ["here"],
  );
  assert.equal((await store.workers(NAMESPACE)).length, 2);
  assert.equal(await workers.isDrained("q", "bad-build"), true);
});

test("rows of workers are removed by a process without requests of its own", async () => {
  const { clock, store, workers } = open();
  await workers.register(registration("gone"));
  workers.keepTidy();
  await clock.advance("26h");
  assert.deepEqual(await store.workers(NAMESPACE), []);
  workers.stop();
});

test("no more workers register than a poll can read, and registered ones continue", async () => {
  const { store, workers } = open();
  const row = { namespace: NAMESPACE, queue: "q", build: "", isSticky: false, isDraining: false, about: "{}" };
  for (let i = 0; i < LIMITS.workers - 1; i++) await store.seen({ ...row, worker: `w${i}` });
  await workers.register(registration("last"));
  await assert.rejects(workers.register(registration("one-more")), { reason: "too_many_workers", status: 429 });
  await workers.register(registration("last"));
  await workers.heartbeat("last", { slots: {}, process: {} }, {});
});

test("a heartbeat with new names each time does not make the row of its worker grow without end", async () => {
  const { store, workers } = open();
  await workers.register(registration("w", { slots: { workflow: 5 } }));
  for (let i = 0; i < 500; i++) {
    const slots = { workflow: 4, [`name-${i}`]: i };
    await workers.heartbeat("w", { slots, process: { [`key-${i}`]: "x" } }, {});
  }
  const [row] = await store.workers(NAMESPACE);
  const worker = await workers.get("w");
  assert.equal(worker.slots.workflow, 4);
  assert.equal(worker.slots["name-499"], 499);
  assert.equal(Object.keys(worker.slots).length, LIMITS.workerFields);
  assert.ok(row!.about.length < 10_000, `${row!.about.length}`);
  const huge = { slots: { name: "x".repeat(LIMITS.workerBytes) }, process: {} };
  await assert.rejects(workers.heartbeat("w", huge, {}), { reason: "worker_description_too_large" });
});
