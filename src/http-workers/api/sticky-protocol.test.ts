// Warm runs of HTTP workers: their registration, the stickiness fields of their tasks, and the figures for
// operators.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { type TestApp, type TestOptions, testLimpet } from "../../testing.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { Api, type ApiResponse, envelope, type Json } from "./api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const DONE = { type: "complete_workflow", result: envelope("done") };

/** The two ways to announce sticky execution, and the claim with a completed task. */
const SPELLINGS: readonly [name: string, registers: Json, claims: (task: Json) => Json][] = [
  ["fields of its own", { sticky_cache_enabled: true, sticky_cache_capacity: 100 }, () => ({})],
  [
    "a capability",
    {
      capabilities: ["sticky_execution"],
      capability_manifest: { sticky_execution: { supported: true, minimum_protocol_version: "1.18" } },
    },
    ({ workflow_id, run_id }) => ({ sticky_cache: { worker_id: "w1", workflow_id, run_id, ttl_seconds: 300 } }),
  ],
];
const [[, OWN]] = SPELLINGS as [(typeof SPELLINGS)[0]];

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];

class Elsewhere extends Api implements AsyncDisposable {
  readonly test: TestApp;

  constructor(test: TestApp) {
    super(test);
    this.test = test;
  }

  static async open(options: TestOptions = {}): Promise<Elsewhere> {
    return new Elsewhere(await testLimpet({ http: { port: 0 }, ...options }));
  }

  /** The task that exists at this moment. */
  now(worker: string): Promise<Json> {
    return this.task(worker, "workflow", { timeout_seconds: 0 });
  }

  async nothing(worker: string): Promise<boolean> {
    return (await this.poll(worker, "workflow", { timeout_seconds: 0 })).body.task === null;
  }

  /** A run that rests with `w1`. */
  async rests(id = "o-1", registers: Json = OWN, claims: (task: Json) => Json = () => ({})): Promise<void> {
    await this.worker("w1", registers);
    await this.start(id);
    const task = await this.now("w1");
    assert.equal((await this.complete(task, [WAIT], claims(task))).status, 200);
  }

  /** A heartbeat of `w1` with figures of its cache. */
  beat(sticky_cache: Json, worker_id = "w1"): Promise<ApiResponse> {
    return this.post("/worker/heartbeat", { worker_id, sticky_cache });
  }

  signal(id = "o-1"): Promise<ApiResponse> {
    return this.post(`/workflows/${id}/signal/go`);
  }

  async metrics(): Promise<{ sticky_execution: Json; sticky_execution_workers: Json }> {
    return (await this.get("/system/operator-metrics")).body as never;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test.stop();
  }
}

const modeOf = (task: Json): unknown => (task.sticky_execution as Json).replay_mode;

describe("sticky protocol of HTTP workers", () => {
  for (const [spelling, registers, claims] of SPELLINGS) {
    it(`a worker opts in to sticky execution at registration by ${spelling}`, async () => {
      await using api = await Elsewhere.open();
      assert.equal((await api.worker("w1", registers)).status, 201);
      const { sticky_cache } = (await api.get("/workers/w1")).body as Record<string, Json>;
      assert.deepEqual([sticky_cache!.enabled, sticky_cache!.capacity], [true, 100]);
    });

    it(`a worker that completes a task is recorded as the owner until sticky_until, with ${spelling}`, async () => {
      await using api = await Elsewhere.open();
      await api.rests("o-1", registers, claims);
      const { sticky_worker_id, sticky_until } = (await api.get("/workflows/o-1")).body;
      assert.equal(sticky_worker_id, "w1");
      assert.equal(Date.parse(String(sticky_until)), api.test.clock.now() + 300_000);
    });

    it(`every task names its owner and its expected replay mode, with ${spelling}`, async () => {
      await using api = await Elsewhere.open();
      await api.rests("o-1", registers, claims);
      const { sticky_until } = (await api.get("/workflows/o-1")).body;
      await api.signal();
      const { sticky_execution } = await api.now("w1");
      assert.deepEqual(sticky_execution, {
        sticky_worker_id: "w1",
        sticky_until,
        replay_mode: "sticky_hit_expected",
        cache_directive: "resume_if_present",
      });
    });
  }

  it("a worker that never announced sticky execution, or has no capacity, gets no affinity", async () => {
    for (const registers of [
      {},
      { sticky_cache_enabled: false },
      { sticky_cache_enabled: true, sticky_cache_capacity: 0 },
    ]) {
      await using api = await Elsewhere.open();
      await api.rests("o-1", registers);
      assert.equal((await api.get("/workflows/o-1")).body.sticky_worker_id, null);
      await api.signal();
      assert.equal(modeOf(await api.now("w1")), "cold_replay");
    }
  });

  it("a task whose run its worker lost carries the whole history for a cold replay", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.signal();
    const task = await api.now("w1");
    assert.equal((task.sticky_execution as Json).cache_directive, "resume_if_present");
    const [first] = task.history_events as Json[];
    assert.deepEqual([first?.sequence, first?.event_type], [1, "WorkflowStarted"]);
    assert.equal((await api.complete(task, [DONE])).body.run_status, "completed");
  });

  it("a run shows sticky_replay_mode and sticky_claimed_at with its task", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.signal();
    await api.test.advance("7s");
    assert.equal(((await api.get("/workflows/o-1")).body.workflow_task as Json).status, "ready");
    await api.now("w1");
    const { sticky_replay_mode, sticky_claimed_at } = (await api.get("/workflows/o-1")).body.workflow_task as Json;
    assert.equal(sticky_replay_mode, "sticky_hit_expected");
    assert.equal(Date.parse(String(sticky_claimed_at)), api.test.clock.now());
  });

  it("a heartbeat stores the figures of a cache: capacity, size, hits, misses, forced cold replays, evictions", async () => {
    await using api = await Elsewhere.open();
    await api.worker("w1", OWN);
    const sticky_cache = {
      enabled: true,
      capacity: 100,
      size: 72,
      hit_count: 940,
      miss_count: 31,
      forced_cold_replay_count: 8,
      eviction_count: 15,
    };
    assert.equal((await api.post("/worker/heartbeat", { worker_id: "w1", sticky_cache })).status, 200);
    assert.deepEqual((await api.get("/workers/w1")).body.sticky_cache, sticky_cache);
  });
});

describe("sticky tasks of HTTP workers", () => {
  it("a task is reserved for its owner while it lives, and is free when its affinity has expired", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.worker("w2", OWN);
    await api.signal();
    for (let passed = 0; passed < 300; passed += 10) {
      assert.ok(await api.nothing("w2"), `${passed} seconds`);
      await api.test.advance("10s");
      await api.post("/worker/heartbeat", { worker_id: "w1" });
      await api.post("/worker/heartbeat", { worker_id: "w2" });
    }
    assert.equal(modeOf(await api.now("w2")), "forced_cold_replay");
  });

  for (const [what, happens, build_id] of [
    ["is stale: no heartbeat for 30 seconds", (api) => api.test.advance("31s"), undefined],
    ["is missing: it has left", (api) => api.send("DELETE", "/worker/registrations/w1"), undefined],
    [
      "is draining: its build gets no more work, as its next heartbeat reports",
      async (api) => {
        await api.post("/task-queues/orders/build-ids/drain");
        assert.equal((await api.post("/worker/heartbeat", { worker_id: "w1" })).body.status, "draining");
      },
      "b2",
    ],
  ] as [string, (api: Elsewhere) => Promise<unknown>, string | undefined][]) {
    it(`a task is forced to cold replay on another worker when its owner ${what}`, async () => {
      await using api = await Elsewhere.open();
      await api.rests();
      await api.worker("w2", { ...OWN, build_id });
      await api.signal();
      assert.ok(await api.nothing("w2"));
      await happens(api);
      await api.worker("w2", { ...OWN, build_id });
      assert.equal(modeOf(await api.now("w2")), "forced_cold_replay");
    });
  }

  it("the affinity of runs ends at once when the build of their owner is drained, before its next heartbeat", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.worker("w2", { ...OWN, build_id: "b2" });
    await api.signal();
    assert.ok(await api.nothing("w2"));
    await api.post("/task-queues/orders/build-ids/drain");
    assert.equal(modeOf(await api.now("w2")), "forced_cold_replay");
  });

  it("a task that is completed while its worker is draining gets no new affinity", async () => {
    for (const [, registers, claims] of SPELLINGS) {
      await using api = await Elsewhere.open();
      await api.rests("o-1", registers, claims);
      await api.signal();
      const task = await api.now("w1");
      await api.post("/task-queues/orders/build-ids/drain");
      assert.equal((await api.complete(task, [], claims(task))).status, 200);
      assert.equal((await api.get("/workflows/o-1")).body.sticky_worker_id, null);
    }
  });

  it("a task that is created after the affinity has expired is replayed cold, and not by force", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.test.advance("6m");
    for (const id of ["w1", "w2"]) await api.worker(id, OWN);
    await api.signal();
    assert.equal(modeOf(await api.now("w2")), "cold_replay");
    const { sticky_execution } = await api.metrics();
    assert.deepEqual(
      [sticky_execution.forced_cold_replay_last_minute, sticky_execution.cold_replay_last_minute],
      [0, 1],
    );
  });

  it("a task never goes to another build than the pinned one, whichever worker had its run in memory", async () => {
    await using api = await Elsewhere.open();
    await api.rests("o-1", { ...OWN, build_id: "b1" });
    await api.send("DELETE", "/worker/registrations/w1");
    await api.signal();
    await api.worker("w2", { ...OWN, build_id: "b2" });
    assert.ok(await api.nothing("w2"));
    await api.worker("w3", { ...OWN, build_id: "b1" });
    assert.equal(modeOf(await api.now("w3")), "forced_cold_replay");
  });

  it("a task is replayed cold by force when a restarted worker returns under a new id", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w1-again", OWN);
    await api.signal();
    const task = await api.now("w1-again");
    assert.deepEqual([modeOf(task), (task.sticky_execution as Json).sticky_worker_id], ["forced_cold_replay", "w1"]);
  });

  it("a task is completed by the holder of the lease, and by no owner without one", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.worker("w2", OWN);
    await api.signal();
    const mine = await api.now("w1");
    await api.test.advance("6m");
    await api.worker("w1", OWN);
    await api.worker("w2", OWN);
    const theirs = await api.now("w2");
    assert.deepEqual(reasonOf(await api.complete(mine, [DONE])), [409, "lease_owner_mismatch"]);
    assert.equal((await api.complete(theirs, [DONE])).status, 200);
  });

  it("a task never goes to code with another fingerprint under the id of its owner", async () => {
    await using api = await Elsewhere.open();
    const finger = (print: string): Json => ({ ...OWN, workflow_definition_fingerprints: { order: print } });
    await api.rests("o-1", finger("sha256:a"));
    assert.deepEqual(reasonOf(await api.worker("w1", finger("sha256:b"))), [409, "workflow_definition_changed"]);
  });

  it("a task never goes to another queue than its own", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.worker("w2", { ...OWN, task_queue: "returns" });
    await api.send("DELETE", "/worker/registrations/w1");
    await api.signal();
    const { task } = (await api.poll("w2", "workflow", { task_queue: "returns", timeout_seconds: 0 })).body;
    assert.equal(task ?? null, null);
  });

  it("a task has no affinity where sticky execution is disabled, whatever its worker announces", async () => {
    for (const [, registers, claims] of SPELLINGS) {
      await using api = await Elsewhere.open({ worker: { sticky: false } });
      await api.rests("o-1", registers, claims);
      assert.equal((await api.get("/workflows/o-1")).body.sticky_worker_id, null);
      await api.signal();
      assert.equal(modeOf(await api.now("w1")), "cold_replay");
      assert.equal((await api.metrics()).sticky_execution.enabled, false);
    }
  });
});

describe("operator metrics of sticky execution", () => {
  it("sticky_execution.active_sticky_runs, ready_sticky_tasks and leased_sticky_tasks count the current runs and tasks", async () => {
    await using api = await Elsewhere.open();
    const numbers = async (): Promise<unknown[]> => {
      const { active_sticky_runs, ready_sticky_tasks, leased_sticky_tasks } = (await api.metrics()).sticky_execution;
      return [active_sticky_runs, ready_sticky_tasks, leased_sticky_tasks];
    };
    assert.deepEqual(await numbers(), [0, 0, 0]);
    for (const id of ["o-1", "o-2", "o-3"]) await api.rests(id);
    assert.deepEqual(await numbers(), [3, 0, 0]);
    for (const id of ["o-1", "o-2"]) await api.signal(id);
    assert.deepEqual(await numbers(), [3, 2, 0]);
    await api.now("w1");
    assert.deepEqual(await numbers(), [3, 1, 1]);
    await api.test.advance("6m");
    assert.deepEqual(await numbers(), [0, 0, 0]);
  });

  it("the figures …_last_minute count the replay modes of tasks, and their rates, for a minute", async () => {
    await using api = await Elsewhere.open();
    for (const id of ["o-1", "o-2", "o-3", "o-4"]) await api.rests(id);
    await api.test.advance("61s");
    await api.worker("w1", OWN);
    await api.beat({ miss_count: 0 });
    for (const id of ["o-1", "o-2"]) {
      await api.signal(id);
      assert.equal(modeOf(await api.now("w1")), "sticky_hit_expected");
    }
    // By its own report, the worker no longer had one of the two.
    await api.beat({ miss_count: 1 });
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w2", OWN);
    await api.signal("o-3");
    assert.equal(modeOf(await api.now("w2")), "forced_cold_replay");
    await api.start("o-5");
    for (;;) if (modeOf(await api.now("w2")) === "cold_replay") break;
    const { sticky_execution } = await api.metrics();
    assert.deepEqual(
      ["hit_expected", "cold_replay"].map((name) => sticky_execution[`${name}_last_minute`]),
      [2, 1],
    );
    const forced = Number(sticky_execution.forced_cold_replay_last_minute);
    assert.ok(forced >= 1);
    // A miss is a task that had an affinity and was replayed cold; a task without one is neither a hit nor a
    // miss.
    assert.equal(sticky_execution.miss_last_minute, 1 + forced);
    assert.equal(sticky_execution.hit_rate_last_minute, 1 / (2 + forced));
    assert.equal(sticky_execution.miss_rate_last_minute, (1 + forced) / (2 + forced));
    await api.test.advance("61s");
    const later = (await api.metrics()).sticky_execution;
    for (const name of ["hit_expected", "miss", "forced_cold_replay", "cold_replay", "hit_rate", "miss_rate"])
      assert.equal(later[`${name}_last_minute`], 0, name);
  });

  it("sticky_execution_workers counts caches near or above their capacity", async () => {
    await using api = await Elsewhere.open();
    const cache = (size: number): Json => ({
      enabled: true,
      capacity: 100,
      size,
      hit_count: 940,
      miss_count: 31,
      forced_cold_replay_count: 8,
      eviction_count: 15,
    });
    await api.worker("w1", OWN);
    await api.worker("w2", OWN);
    await api.beat(cache(72));
    await api.beat(cache(101), "w2");
    const { sticky_execution_workers } = await api.metrics();
    assert.deepEqual(sticky_execution_workers, {
      worker_count: 2,
      cache_capacity: 200,
      cache_size: 173,
      hit_count: 1880,
      miss_count: 62,
      forced_cold_replay_count: 16,
      eviction_count: 30,
      capacity_pressure_worker_count: 1,
    });
  });

  it("the hit rate is 1 and the miss rate 0 when every task with an affinity found its run, however many had none", async () => {
    await using api = await Elsewhere.open();
    for (const id of ["o-1", "o-2", "o-3", "o-4"]) await api.rests(id);
    for (let i = 0; i < 16; i++) {
      await api.signal();
      const task = await api.now("w1");
      assert.equal(modeOf(task), "sticky_hit_expected");
      await api.complete(task, []);
    }
    const { sticky_execution } = await api.metrics();
    assert.deepEqual(
      ["hit_expected", "miss", "cold_replay", "hit_rate", "miss_rate"].map(
        (name) => sticky_execution[`${name}_last_minute`],
      ),
      [16, 0, 4, 1, 0],
    );
  });

  it("the counters of a worker's first heartbeat are those of its lifetime, and do not count", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.signal();
    await api.now("w1");
    await api.beat({ enabled: true, capacity: 100, size: 72, hit_count: 940, miss_count: 31, eviction_count: 15 });
    const { sticky_execution } = await api.metrics();
    assert.deepEqual([sticky_execution.miss_last_minute, sticky_execution.miss_rate_last_minute], [0, 0]);
  });

  it("a heartbeat that arrives out of order does not count, and its figures do not hide later ones", async () => {
    await using api = await Elsewhere.open();
    for (const id of ["o-1", "o-2", "o-3"]) await api.rests(id);
    for (const id of ["o-1", "o-2", "o-3"]) {
      await api.signal(id);
      await api.now("w1");
    }
    for (const miss_count of [5, 7, 6, 5, 7]) await api.beat({ miss_count, size: miss_count });
    assert.equal((await api.metrics()).sticky_execution.miss_last_minute, 2);
    assert.equal(((await api.get("/workers/w1")).body.sticky_cache as Json).size, 7);
    await api.beat({ miss_count: 8 });
    assert.equal((await api.metrics()).sticky_execution.miss_last_minute, 3);
  });

  it("the figures cover the whole cluster, at every host", async () => {
    const clock = new VirtualClock();
    const stateStore = new MemoryStore(() => clock.now());
    await using one = await Elsewhere.open({ clock, stateStore });
    await using two = await Elsewhere.open({ clock, stateStore });
    await one.rests("o-1");
    await two.rests("o-2");
    for (const [api, id] of [
      [one, "o-1"],
      [two, "o-2"],
    ] as const) {
      await api.signal(id);
      assert.equal(modeOf(await api.now("w1")), "sticky_hit_expected");
    }
    // The same counters at both hosts: each miss counts once.
    await one.beat({ miss_count: 3 });
    await two.beat({ miss_count: 4 });
    await one.beat({ miss_count: 4 });
    await one.test.advance("2s");
    const { sticky_execution } = await one.metrics();
    assert.deepEqual((await two.metrics()).sticky_execution, sticky_execution);
    assert.deepEqual(
      ["hit_expected", "cold_replay", "miss", "hit_rate"].map((name) => sticky_execution[`${name}_last_minute`]),
      [2, 2, 1, 0.5],
    );
    await one.test.advance("61s");
    assert.equal((await two.metrics()).sticky_execution.hit_expected_last_minute, 0);
  });

  it("sticky_execution.capacity_pressure_tasks counts ready or leased tasks whose owner is near its capacity", async () => {
    await using api = await Elsewhere.open();
    for (const id of ["o-1", "o-2", "o-3"]) await api.rests(id);
    await api.worker("w2", OWN);
    await api.start("o-4");
    await api.complete(await api.now("w2"), [WAIT]);
    for (const id of ["o-1", "o-2", "o-4"]) await api.signal(id);
    await api.now("w1");
    const pressure = async (): Promise<unknown> => (await api.metrics()).sticky_execution.capacity_pressure_tasks;
    await api.beat({ capacity: 100, size: 80 });
    assert.equal(await pressure(), 0);
    await api.beat({ capacity: 100, size: 101 });
    assert.equal(await pressure(), 2);
  });

  it("all figures are in /metrics too, including HTTP workers", async () => {
    await using api = await Elsewhere.open();
    await api.rests();
    await api.signal();
    await api.now("w1");
    await api.beat({ capacity: 100, size: 95, miss_count: 31 });
    const { sticky_execution, sticky_execution_workers } = await api.metrics();
    api.test.metrics();
    await api.test.advance(10);
    const text = api.test.metrics();
    const { enabled: _, ttl_seconds: __, ...figures } = sticky_execution;
    for (const [metric, all] of [
      ["limpet_sticky_execution", figures],
      ["limpet_sticky_execution_workers", sticky_execution_workers],
    ] as const) {
      for (const [figure, value] of Object.entries(all)) {
        assert.ok(text.includes(`${metric}{figure="${figure}",namespace="default"} ${value}`), `${metric} ${figure}`);
      }
    }
    assert.match(text, /limpet_workflow_tasks_total\{mode="sticky_hit_expected",namespace="default"\} 1\n/);
  });

  it("the figures include whether sticky execution is enabled, and the length of an affinity", async () => {
    await using api = await Elsewhere.open({ worker: { stickyTtl: "90s" } });
    const { enabled, ttl_seconds } = (await api.metrics()).sticky_execution;
    assert.deepEqual([enabled, ttl_seconds], [true, 90]);
    await api.rests();
    const { sticky_until } = (await api.get("/workflows/o-1")).body;
    assert.equal(Date.parse(String(sticky_until)), api.test.clock.now() + 90_000);
  });
});
