// Queries and update validations of HTTP workers: their assignment, their leases and their history.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TestApp, testLimpet } from "../../testing.ts";
import { Api, type ApiResponse, blob, envelope, eventTypes, eventually, type Json } from "./api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const OWN = { sticky_cache_enabled: true, sticky_cache_capacity: 100 };
const CONTRACT = {
  workflow_command_contracts: { order: { queries: ["state"], updates: ["rename"], update_validators: ["rename"] } },
};
const NOW = { timeout_seconds: 0 };

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const effects = (count: number): Json[] =>
  Array.from({ length: count }, (_, i) => ({ type: "record_side_effect", result: blob(i) }));

async function open(events = 0): Promise<{ readonly app: TestApp; readonly api: Api }> {
  const app = await testLimpet({ http: { port: 0 } });
  const api = new Api(app);
  await api.worker("w1", { ...OWN, ...CONTRACT });
  await api.worker("w2", { ...OWN, ...CONTRACT });
  await api.start("o-1");
  const task = await api.task("w1", "workflow", NOW);
  assert.equal((await api.complete(task, [...effects(events), WAIT])).status, 200);
  return { app, api };
}

/** The query or update that was just requested. */
const question = (api: Api, worker: string, kind: string, more: Json = {}): Promise<Json> =>
  eventually(async () => {
    const { task } = (await api.poll(worker, kind, { ...NOW, ...more })).body as { task: Json | null };
    return task ?? undefined;
  });

const holderOf = (task: Json): Json => ({
  lease_owner: task.lease_owner,
  query_task_attempt: task.query_task_attempt,
  update_validation_attempt: task.update_validation_attempt,
});

const answer = (api: Api, task: Json): Promise<ApiResponse> =>
  api.post(`/worker/query-tasks/${task.query_task_id}/complete`, { ...holderOf(task), result: envelope(7) });
const look = (api: Api, task: Json, verb: string, more: Json = {}): Promise<ApiResponse> =>
  api.post(`/worker/update-validation-tasks/${task.update_validation_task_id}/${verb}`, { ...holderOf(task), ...more });

describe("queries of HTTP workers", () => {
  it("a query contains the whole history, and only the new events for a worker with the run in memory", async () => {
    const { app, api } = await open(100);
    await using _ = app;
    for (const [worker, more, first] of [
      ["w1", {}, 1],
      ["w1", { accept_history_tail: true }, 2],
      ["w2", { accept_history_tail: true }, 1],
    ] as const) {
      const asking = api.post("/workflows/o-1/query/state");
      const task = await question(api, worker, "query", more);
      assert.deepEqual([task.first_history_sequence, task.last_history_sequence], [first, 102]);
      assert.equal((task.history_events as Json[]).length, 103 - first);
      assert.equal((await answer(api, task)).status, 200);
      assert.equal((await asking).body.result, 7);
    }
  });

  it("a query to a warm worker has the same size for any length of history", async () => {
    const sizes: number[] = [];
    for (const events of [1, 900]) {
      const { app, api } = await open(events);
      await using _ = app;
      await api.post("/workflows/o-1/signal/go");
      await api.complete(await api.task("w1", "workflow", NOW), [WAIT]);
      const asking = api.post("/workflows/o-1/query/state");
      const task = await question(api, "w1", "query", { accept_history_tail: true });
      assert.deepEqual(eventTypes(task), ["ConditionWaitOpened"]);
      sizes.push(JSON.stringify(task).length);
      await answer(api, task);
      await asking;
    }
    assert.ok(Math.abs(sizes[1]! - sizes[0]!) < 64, sizes.join(" and "));
  });

  it("a worker that has lost the run can still answer a query: it requests the pages of the history", async () => {
    const { app, api } = await open(20);
    await using _ = app;
    const asking = api.post("/workflows/o-1/query/state");
    const task = await question(api, "w1", "query", { accept_history_tail: true, history_page_size: 5 });
    assert.equal((task.history_events as Json[]).length, 5);
    const path = `/worker/query-tasks/${task.query_task_id}/history`;
    const all: unknown[] = [];
    for (let token: unknown = "MA=="; token !== null; ) {
      const asked = { ...holderOf(task), history_page_size: 7, next_history_page_token: token };
      const { status, body } = await api.post(path, asked);
      assert.equal(status, 200);
      all.push(...(body.history_events as Json[]).map(({ sequence }) => sequence));
      token = body.next_history_page_token;
    }
    assert.deepEqual(
      all,
      Array.from({ length: 22 }, (_, i) => i + 1),
    );
    const asked = { ...holderOf(task), next_history_page_token: "MA==" };
    assert.deepEqual(reasonOf(await api.post(path, { ...asked, lease_owner: "w2" })), [409, "query_task_not_leased"]);
    await answer(api, task);
    await asking;
    assert.deepEqual(reasonOf(await api.post(path, asked)), [404, "query_task_not_found"]);
    assert.deepEqual(reasonOf(await answer(api, task)), [404, "query_task_not_found"]);
  });
});

describe("update validation", () => {
  const kind = "update-validation";
  const ask = (api: Api): Promise<ApiResponse> => api.post("/workflows/o-1/update/rename", { input: ["tea"] });

  it("an update validation moves to another worker when the first is silent, and the late answer is ignored", async () => {
    const { app, api } = await open();
    await using _ = app;
    const asking = ask(api);
    const first = await question(api, "w1", kind);
    assert.equal(first.update_validation_attempt, 1);
    assert.equal(Date.parse(String(first.lease_expires_at)), app.clock.now() + 5_000);
    assert.equal((await api.poll("w2", kind, NOW)).body.task, null);
    await app.advance("5s");
    const second = await question(api, "w2", kind);
    assert.deepEqual([second.update_validation_attempt, second.task_id], [2, first.task_id]);
    assert.deepEqual(reasonOf(await look(api, first, "reject")), [409, "update_validation_lease_owner_mismatch"]);
    const stale = { ...second, update_validation_attempt: 1 };
    assert.deepEqual(reasonOf(await look(api, stale, "reject")), [409, "stale_update_validation_completion"]);
    assert.equal((await look(api, second, "approve")).status, 200);
    assert.deepEqual(reasonOf(await look(api, second, "approve")), [409, "duplicate_update_validation_completion"]);
    const update = await question(api, "w1", "workflow");
    assert.equal(update.workflow_wait_kind, "update");
    await app.advance("1s");
    assert.equal((await asking).body.update_status, "accepted");
  });

  it("an update without an answer in time is rejected", async () => {
    const { app, api } = await open();
    await using _ = app;
    const asking = ask(api);
    const task = await question(api, "w1", kind);
    await app.advance("10s");
    assert.deepEqual(reasonOf(await asking), [504, "update_validator_worker_lost"]);
    assert.deepEqual(reasonOf(await look(api, task, "approve")), [404, "update_validation_task_not_found"]);
  });

  it("an update validation contains only new events for a warm worker, also in a poll for all kinds of tasks", async () => {
    const { app, api } = await open(30);
    await using _ = app;
    const asking = ask(api);
    const kinds = { accept_history_tail: true, task_kinds: ["workflow", "update_validation"] };
    const task = await question(api, "w1", "workflow", kinds);
    assert.deepEqual(
      [task.task_kind, task.first_history_sequence, task.last_history_sequence],
      ["update_validation", 2, 32],
    );
    const path = `/worker/update-validation-tasks/${task.task_id}/history`;
    const { body } = await api.post(path, { ...holderOf(task), next_history_page_token: "MA==" });
    assert.equal((body.history_events as Json[]).length, 32);
    assert.equal((await look(api, task, "reject", { failure: { message: "no" } })).status, 200);
    assert.deepEqual(reasonOf(await asking), [422, "update_validator_rejected"]);
  });
});
