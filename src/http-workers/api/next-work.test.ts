// An HTTP worker with free capacity gets more work with the answer to a completed task.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Api, envelope, eventTypes, type Json, openApi, unwrap } from "./api-kit.test.ts";

const OWN = { sticky_cache_enabled: true, sticky_cache_capacity: 100 };
const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const DONE = { type: "complete_workflow", result: envelope("done") };
const activity = (n: number): Json => ({
  type: "schedule_activity",
  activity_type: "charge",
  arguments: envelope([n]),
});

async function begun(t: TestContext, registers: Json = OWN): Promise<{ api: Api; task: Json }> {
  const api = await openApi(t);
  await api.worker("w1", registers);
  await api.start("o-1");
  return { api, task: await api.task("w1") };
}

describe("answer to a completed task", () => {
  it("an answer contains no more work for a worker that does not ask", async (t) => {
    const { api, task } = await begun(t);
    const { body } = await api.complete(task, [activity(1)]);
    assert.deepEqual([body.next_task, body.activity_tasks], [undefined, undefined]);
    assert.equal((await api.task("w1", "activity")).activity_type, "charge");
  });

  it("an answer contains the next task of the same run, with its new events", async (t) => {
    const { api, task } = await begun(t);
    // The run waits for nothing else: the next event is there already.
    await api.post("/workflows/o-1/signal/go");
    const more = { accept_next_task: true, accept_history_tail: true };
    const { next_task } = (await api.complete(task, [WAIT], more)).body as { next_task: Json };
    assert.equal(next_task.run_id, task.run_id);
    assert.equal(next_task.sticky_replay_mode, "sticky_hit_expected");
    assert.deepEqual(
      [next_task.first_history_sequence, eventTypes(next_task)],
      [2, ["ConditionWaitOpened", "SignalReceived"]],
    );
    const { body } = await api.complete(next_task, [DONE], more);
    assert.deepEqual([body.run_status, body.next_task, body.activity_tasks], ["completed", null, []]);
  });

  it("an answer contains the newly scheduled activities, as many as its worker has capacity for", async (t) => {
    const { api, task } = await begun(t);
    const { body } = await api.complete(task, [activity(1), activity(2), activity(3)], { accept_activity_tasks: 2 });
    const tasks = body.activity_tasks as Json[];
    assert.deepEqual(
      tasks.map((each) => unwrap(each.arguments)),
      [[1], [2]],
    );
    assert.equal(body.next_task, null);
    for (const each of tasks) assert.equal((await api.activity(each, "complete", { result: envelope(1) })).status, 200);
    assert.deepEqual(unwrap((await api.task("w1", "activity")).arguments), [3]);
  });

  it("an answer that was lost can be requested again by its id", async (t) => {
    const { api, task } = await begun(t);
    const more = { accept_next_task: true, accept_activity_tasks: 2, poll_request_id: "p" };
    const { body } = await api.complete(task, [activity(1), activity(2)], more);
    const [first, second] = body.activity_tasks as Json[];
    for (const [name, lost] of [
      ["p/1", first],
      ["p/2", second],
    ] as const) {
      assert.deepEqual(await api.task("w1", "activity", { poll_request_id: name, timeout_seconds: 0 }), lost);
    }
    await api.activity(first!, "complete", { result: envelope(1) });
    const { next_task } = (
      await api.activity(second!, "complete", { result: envelope(2), accept_next_task: true, poll_request_id: "q" })
    ).body;
    assert.deepEqual(await api.task("w1", "workflow", { poll_request_id: "q", timeout_seconds: 0 }), next_task);
  });

  it("an invalid request for more work is rejected before the task is completed", async (t) => {
    const { api, task } = await begun(t);
    for (const more of [{ accept_next_task: "yes" }, { accept_activity_tasks: 101 }, { poll_request_id: 7 }]) {
      const response = await api.complete(task, [DONE], more as Json);
      assert.deepEqual([response.status, response.body.reason], [422, "validation_failed"]);
    }
    assert.equal((await api.complete(task, [DONE])).status, 200);
  });

  it("a worker with a drained build gets no more work, and its completion counts", async (t) => {
    const { api, task } = await begun(t, { ...OWN, build_id: "b1" });
    await api.post("/task-queues/orders/build-ids/drain", { build_id: "b1" });
    const more = { accept_next_task: true, accept_activity_tasks: 5 };
    const { status, body } = await api.complete(task, [activity(1)], more);
    assert.deepEqual([status, body.outcome, body.next_task, body.activity_tasks], [200, "completed", null, []]);
  });
});

it("a worker runs a whole workflow without another poll", async (t) => {
  const { api, task: first } = await begun(t);
  const steps = 20;
  let task = first;
  for (let n = 1; n <= steps; n++) {
    const scheduled = await api.complete(task, [activity(n)], { accept_activity_tasks: 1 });
    const [mine] = scheduled.body.activity_tasks as Json[];
    assert.deepEqual(unwrap(mine!.arguments), [n]);
    const more = { accept_next_task: true, accept_history_tail: true };
    const { body } = await api.activity(mine!, n % 5 === 0 ? "fail" : "complete", {
      ...(n % 5 === 0 ? { failure: { message: "no" } } : { result: envelope(n) }),
      ...more,
    });
    task = body.next_task as Json;
    const ended = n % 5 === 0 ? "ActivityFailed" : "ActivityCompleted";
    assert.deepEqual(eventTypes(task), ["ActivityScheduled", ended]);
  }
  assert.equal((await api.complete(task, [DONE])).body.run_status, "completed");
});
