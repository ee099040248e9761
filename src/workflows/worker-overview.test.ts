import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredReminder } from "../ports/store/reminders.ts";
import type { StoredRun, StoredTask, StoredWorker } from "../ports/store/workflows.ts";
import type { WorkerSummary } from "../ports/workflow-admin.ts";
import { activityType } from "./definition/messages.ts";
import { lastMinuteOf } from "./worker/minute-counts.ts";
import { unservedActivities, unservedRuns, workerSummary } from "./worker-overview.ts";

const NOW = 1_000_000;

const row = (about: object): StoredWorker => ({
  namespace: "default",
  worker: "w1",
  queue: "shop",
  build: "",
  isSticky: true,
  isDraining: false,
  seenAt: NOW,
  about: JSON.stringify(about),
});

const ready = (since: number, more: Partial<StoredRun> = {}) =>
  ({
    type: "order",
    queue: "shop",
    pinned: undefined,
    task: { state: "ready", at: since } as StoredTask,
    ...more,
  }) as StoredRun;

test("runs are unserved when they have waited for long and no live worker may claim them", () => {
  const worker = workerSummary(row({ types: ["order"] }), true);
  const unserved = (runs: StoredRun[], workers: WorkerSummary[] = [worker]) => unservedRuns(runs, workers, NOW);
  assert.deepEqual(unserved([ready(0)]), []);
  assert.deepEqual(unserved([ready(5), ready(9), ready(NOW - 100)], []), [
    { kind: "workflow", type: "order", queue: "shop", build: undefined, definition: undefined, count: 2, since: 5 },
  ]);
  assert.equal(unserved([ready(0)], [{ ...worker, isDraining: true }]).length, 1);
  assert.equal(unserved([ready(0)], [{ ...worker, isLive: false }]).length, 1);
  assert.deepEqual(
    unserved([ready(0, { type: "ordr" }), ready(0, { queue: "far" }), ready(0, { pinned: "7" })]).map(
      ({ type, queue, build }) => [type, queue, build],
    ),
    [
      ["ordr", "shop", undefined],
      ["order", "far", undefined],
      ["order", "shop", "7"],
    ],
  );
  const pinned = ready(0, { pinned: `["7","abc"]` });
  const of = (build: string, order: string, compatible: string[] = []) =>
    workerSummary({ ...row({ types: ["order"], fingerprints: { order }, compatible }), build }, true);
  assert.deepEqual(unserved([pinned], [of("7", "abc")]), []);
  assert.deepEqual(unserved([pinned], [of("8", "abc", ["7"])]), []);
  for (const other of [of("7", "def"), of("8", "abc")]) {
    assert.deepEqual(
      unserved([pinned, pinned], [other]).map(({ build, definition, count }) => [build, definition, count]),
      [["7", "abc", 2]],
    );
  }
  const idle = { state: "idle", at: undefined } as StoredTask;
  assert.deepEqual(unserved([ready(0, { task: idle }), ready(0, { task: undefined })], []), []);
});

test("activities are unserved when they have been due for long without a claim", () => {
  const queued = (type: string, at: number, leasedUntil?: number) =>
    ({ key: { namespace: "default", type, id: "r", name: "1" }, tick: { at }, leasedUntil }) as StoredReminder;
  const charge = activityType("shop", "charge it");
  assert.deepEqual(
    unservedActivities(
      [
        queued(charge, 5),
        queued(charge, 7, NOW - 1),
        queued(charge, 1, NOW + 1),
        queued(charge, NOW - 5),
        queued("Cart", 0),
      ],
      NOW,
    ),
    [
      {
        kind: "activity",
        type: "charge it",
        queue: "shop",
        build: undefined,
        definition: undefined,
        count: 2,
        since: 5,
      },
    ],
  );
});

test("the last minute covers the reports of workers and the claims of workers in other languages", () => {
  const shown = row({ minute: { sticky_hit_expected: 3, miss: 1 } });
  const here = { sticky_hit_expected: 10, cold_replay: 20, forced_cold_replay: 0, miss: 0 };
  assert.deepEqual(lastMinuteOf([shown, shown, row({})], here), {
    sticky_hit_expected: 16,
    cold_replay: 20,
    forced_cold_replay: 0,
    miss: 2,
  });
});

test("a worker is listed as it registered, and missing fields cause no error", () => {
  const { types, capacity, hits, activities, runtime } = workerSummary(
    row({ types: ["a"], capacity: 9, hits: 2 }),
    true,
  );
  assert.deepEqual([types, capacity, hits, activities, runtime], [["a"], 9, 2, undefined, ""]);
  const remote = { activityTypes: ["pay"] };
  assert.deepEqual(workerSummary(row({ runtime: "python", types: [], remote }), true).activities, ["pay"]);
  assert.deepEqual(workerSummary(row({}), false).types, []);
});
