// An HTTP worker with a run in memory gets only new events, however long the history is, and can request the
// rest.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { resolveSettings } from "../../config/settings.ts";
import { openApp } from "../../host/app.ts";
import { Prng } from "../../kernel/prng.ts";
import { silentLog } from "../../ports/log.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { testLimpet } from "../../testing.ts";
import { Api, blob, envelope, eventTypes, type Json, openApi } from "./api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const DONE = { type: "complete_workflow", result: envelope("done") };
const OWN = { sticky_cache_enabled: true, sticky_cache_capacity: 100 };
const CAPABLE = {
  capabilities: ["sticky_execution"],
  capability_manifest: { sticky_execution: { supported: true, minimum_protocol_version: "1.18" } },
};
const claims = ({ workflow_id, run_id, lease_owner }: Json): Json => ({
  sticky_cache: { worker_id: lease_owner, workflow_id, run_id, ttl_seconds: 300 },
});
/** Both ways to announce sticky execution. */
const SPELLINGS: readonly [name: string, registers: Json, claims: (task: Json) => Json][] = [
  ["fields of its own", OWN, () => ({})],
  ["a capability", CAPABLE, claims],
];
const TAIL = { accept_history_tail: true, timeout_seconds: 0 };

const effects = (count: number): Json[] =>
  Array.from({ length: count }, (_, i) => ({ type: "record_side_effect", result: blob(i) }));
const numbers = (task: Json): unknown[] => (task.history_events as Json[]).map(({ sequence }) => sequence);
const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const signal = (api: Api, id = "o-1") => api.post(`/workflows/${id}/signal/go`);

/** A run with `events` events that rests with `w1`; `w1` has seen all but the events of its last commands. */
async function rests(api: Api, events: number, registers: Json = OWN, claim: (task: Json) => Json = () => ({})) {
  await api.worker("w1", registers);
  await api.start("o-1");
  let last = 1;
  for (;;) {
    const task = await api.task("w1", "workflow", TAIL);
    last = Number(task.last_history_sequence);
    const count = Math.min(events - last - 1, 999);
    const { status, body } = await api.complete(task, [...effects(count), WAIT], claim(task));
    assert.equal(status, 200);
    assert.equal(body.last_history_sequence, last + count + 1);
    last += count + 1;
    if (last >= events) return last;
    await signal(api);
  }
}

async function pages(api: Api, task: Json, token: unknown, history_page_size = 1_000): Promise<Json[]> {
  const holder = { lease_owner: task.lease_owner, workflow_task_attempt: task.workflow_task_attempt };
  const all: Json[] = [];
  for (let next = token; next !== null; ) {
    const asked = { ...holder, history_page_size, next_history_page_token: next };
    const { status, body } = await api.post(`/worker/workflow-tasks/${task.task_id}/history`, asked);
    assert.equal(status, 200);
    all.push(...(body.history_events as Json[]));
    next = body.next_history_page_token;
  }
  return all;
}

describe("task for a worker with the run in memory", () => {
  for (const [spelling, registers, claim] of SPELLINGS) {
    it(`a warm task carries the results of the last commands and the new events, and where they begin, with ${spelling}`, async (t) => {
      const api = await openApi(t);
      await rests(api, 3, registers, claim);
      await signal(api);
      const task = await api.task("w1", "workflow", TAIL);
      assert.equal((task.sticky_execution as Json).replay_mode, "sticky_hit_expected");
      assert.deepEqual([task.first_history_sequence, task.last_history_sequence], [2, 4]);
      assert.deepEqual(eventTypes(task), ["SideEffectRecorded", "ConditionWaitOpened", "SignalReceived"]);
      assert.deepEqual([numbers(task), task.next_history_page_token], [[2, 3, 4], null]);
      await api.complete(task, [WAIT], claim(task));
      await signal(api);
      const next = await api.task("w1", "workflow", TAIL);
      assert.deepEqual([next.first_history_sequence, numbers(next)], [5, [5, 6]]);
    });

    it(`a warm task has as many bytes with 2,000 events behind it as with 10, with ${spelling}`, async (t) => {
      const sizes: number[] = [];
      for (const events of [10, 2_000]) {
        const api = await openApi(t);
        await rests(api, events, registers, claim);
        // The task before contained the results of many commands; this one has the result of one.
        await signal(api);
        const before = await api.task("w1", "workflow", TAIL);
        await api.complete(before, [WAIT], claim(before));
        await signal(api);
        const { body } = await api.poll("w1", "workflow", TAIL);
        const task = body.task as Json;
        assert.ok(Number(task.last_history_sequence) > events);
        assert.deepEqual(eventTypes(task), ["ConditionWaitOpened", "SignalReceived"]);
        sizes.push(JSON.stringify(body).length);
      }
      // Numbers have more digits, and nothing else is longer.
      assert.ok(Math.abs(sizes[1]! - sizes[0]!) < 64, sizes.join(" and "));
    });
  }

  it("a warm task can still be replayed cold: its worker requests the pages from the first event on", async (t) => {
    const api = await openApi(t);
    await rests(api, 2_000);
    await signal(api);
    const task = await api.task("w1", "workflow", TAIL);
    assert.notEqual(task.first_history_sequence, 1);
    const all = await pages(api, task, "MA==");
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      from(1, 2_001),
    );
    assert.equal(all[0]!.event_type, "WorkflowStarted");
    assert.equal((await api.complete(task, [DONE])).body.run_status, "completed");
  });

  it("a warm task with many new events is read in pages", async (t) => {
    const api = await openApi(t);
    await rests(api, 900);
    await signal(api);
    const task = await api.task("w1", "workflow", { ...TAIL, history_page_size: 100 });
    assert.deepEqual(numbers(task), from(2, 101));
    const more = await pages(api, task, task.next_history_page_token, 100);
    assert.deepEqual(
      more.map(({ sequence }) => sequence),
      from(102, 901),
    );
  });

  it("a task has the whole history for a worker that does not accept a part", async (t) => {
    const api = await openApi(t);
    await rests(api, 10);
    await signal(api);
    for (const [i, more] of [{}, { accept_history_tail: false }, { accept_history_tail: null }].entries()) {
      const task = await api.task("w1", "workflow", { ...more, timeout_seconds: 0 });
      assert.equal(task.sticky_replay_mode, "sticky_hit_expected");
      assert.deepEqual([task.first_history_sequence, numbers(task)], [1, from(1, 11 + 2 * i)]);
      await api.complete(task, [WAIT]);
      await signal(api);
    }
    const response = await api.poll("w1", "workflow", { accept_history_tail: "yes" });
    assert.deepEqual([response.status, response.body.reason], [422, "validation_failed"]);
  });

  it("a task has the whole history on another worker, or when no worker has the run in memory", async () => {
    await using app = await testLimpet({ http: { port: 0 } });
    const api = new Api(app);
    await rests(api, 10);
    await signal(api);
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w2", OWN);
    const forced = await api.task("w2", "workflow", TAIL);
    assert.deepEqual([forced.sticky_replay_mode, numbers(forced)], ["forced_cold_replay", from(1, 11)]);
    await api.worker("w3");
    await api.start("o-2", [], {});
    const cold = await api.task("w3", "workflow", TAIL);
    assert.deepEqual([cold.workflow_id, cold.sticky_replay_mode, numbers(cold)], ["o-2", "cold_replay", [1]]);
  });

  it("a warm task begins at the last event its worker has seen, however often the task was lost", async () => {
    await using app = await testLimpet({ http: { port: 0 } });
    const api = new Api(app);
    await rests(api, 10);
    const beat = (): Promise<unknown> => api.post("/worker/heartbeat", { worker_id: "w1" });
    for (const last of [11, 12, 13]) {
      await signal(api);
      await beat();
      const lost = await api.task("w1", "workflow", TAIL);
      assert.equal(lost.sticky_replay_mode, "sticky_hit_expected");
      assert.deepEqual(numbers(lost), from(2, last));
      await app.advance("61s");
    }
  });

  it("a task has the whole history after its worker failed to continue", async (t) => {
    const api = await openApi(t);
    await rests(api, 10);
    await signal(api);
    const task = await api.task("w1", "workflow", TAIL);
    const holder = { lease_owner: "w1", workflow_task_attempt: task.workflow_task_attempt };
    await api.post(`/worker/workflow-tasks/${task.task_id}/fail`, { ...holder, failure: { message: "no" } });
    const again = await api.task("w1", "workflow", { ...TAIL, timeout_seconds: 10 });
    assert.deepEqual([again.workflow_task_attempt, numbers(again)], [2, from(1, 11)]);
  });

  it("a repeated poll returns the same task, at any host", async (t) => {
    const store = new MemoryStore();
    const open = async (): Promise<Api> => {
      const settings = resolveSettings({ code: { store: "memory:", http: { port: 0 } }, file: false, env: {} });
      const app = await openApp({}, settings, { log: silentLog, store });
      t.after(() => app.stop());
      return new Api(app);
    };
    const [a, b] = [await open(), await open()];
    await rests(a, 50);
    await signal(a);
    const task = await b.task("w1", "workflow", { ...TAIL, poll_request_id: "p" });
    assert.deepEqual(numbers(task), from(2, 51));
    assert.deepEqual(await b.task("w1", "workflow", { ...TAIL, poll_request_id: "p" }), task);
    await a.complete(task, [WAIT]);
    await signal(b);
    assert.deepEqual(numbers(await a.task("w1", "workflow", TAIL)), [52, 53]);
  });
});

describe("worker that keeps histories", () => {
  /** Keeps the seen events of each run, and requests the rest after a gap or a lost history. */
  async function load(api: Api, task: Json, kept: Map<unknown, Json[]>): Promise<Json[]> {
    const known = kept.get(task.run_id) ?? [];
    const first = Number(task.first_history_sequence);
    const isKnown = first <= known.length + 1;
    const inline = [
      ...(task.history_events as Json[]),
      ...(task.next_history_page_token === null ? [] : await pages(api, task, task.next_history_page_token, 3)),
    ];
    return isKnown ? [...known.slice(0, first - 1), ...inline] : pages(api, task, "MA==", 3);
  }

  async function follows(t: TestContext, seed: number): Promise<void> {
    const chance = new Prng(seed);
    const api = await openApi(t);
    await api.worker("w1", OWN);
    await api.start("o-1");
    const kept = new Map<unknown, Json[]>();
    let [hits, misses, updates] = [0, 0, 0];
    const updating: Promise<unknown>[] = [];
    for (let round = 0; round < 60; round++) {
      const poll = {
        ...TAIL,
        accept_history_tail: chance.chance(0.9),
        history_page_size: chance.chance(0.5) ? 2 : 500,
      };
      const { task } = (await api.poll("w1", "workflow", poll)).body as { task: Json | null };
      if (task !== null) {
        const isKnown = kept.has(task.run_id) && Number(task.first_history_sequence) > 1;
        if (isKnown) hits++;
        else misses++;
        const history = await load(api, task, kept);
        assert.deepEqual(history, await pages(api, task, "MA=="), `round ${round} of seed ${seed}`);
        assert.equal(history.length, task.last_history_sequence);
        const { workflow_update_id: update_id } = task;
        const wait = { ...WAIT, condition_key: `k${chance.below(3)}` };
        const commands =
          update_id === null
            ? [...effects(chance.below(4)), wait]
            : [{ type: "complete_update", update_id, result: envelope(round) }];
        assert.equal((await api.complete(task, commands)).status, 200);
        kept.set(task.run_id, history);
        if (chance.chance(0.15)) kept.delete(task.run_id);
      }
      if (chance.chance(0.8)) await signal(api);
      if (chance.chance(0.2)) updating.push(api.post("/workflows/o-1/update/u", { input: [++updates] }));
    }
    assert.ok(hits > 5 && misses > 0, `${hits} hits and ${misses} misses`);
    await api.post("/workflows/o-1/terminate");
    await Promise.all(updating);
  }

  for (const seed of [1, 2, 3]) {
    it(`a worker has exactly the history of the store at each task, warm or not (${seed})`, (t) => follows(t, seed));
  }
});
