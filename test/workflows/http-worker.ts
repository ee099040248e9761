// A worker in its own process that runs workflows over HTTP, as one in another language would: `node
// http-worker.ts urls id how`. It uses the first of the urls that answers. `how` is "work", or "hold": then
// it takes one task of a workflow and does not complete it.
import { setTimeout as pause } from "node:timers/promises";
import { Api, envelope, type Scripted, ScriptedWorker } from "../../src/http-workers/api/api-kit.test.ts";
import type { App } from "../../src/index.ts";

const [urls, id, how] = process.argv.slice(2) as [string, string, string];

const order: Scripted = {
  *run([name]) {
    const first = yield { type: "schedule_activity", activity_type: "charge", arguments: envelope([name, 1]) };
    yield { type: "start_timer", delay_seconds: 0 };
    const second = yield { type: "schedule_activity", activity_type: "charge", arguments: envelope([name, 2]) };
    return [first, second];
  },
};

async function serve(url: string): Promise<void> {
  const api = new Api({ url } as App);
  const process_metrics = { process_id: process.pid, process_started_at: new Date().toISOString() };
  const { status } = await api.worker(id, { process_metrics, sticky_cache_enabled: true, sticky_cache_capacity: 100 });
  if (status >= 300) throw new Error(`registering was answered with ${status}`);
  console.log(`${id} is registered at ${url}: ${status}`);
  if (how === "hold") {
    for (;;) {
      const { body } = await api.poll(id);
      if (body.task === null || body.task === undefined) {
        await pause(50);
        continue;
      }
      const { workflow_id, workflow_task_attempt } = body.task as Record<string, unknown>;
      console.log(`${id} holds ${workflow_id} at attempt ${workflow_task_attempt}`);
      await pause(1_000_000);
    }
  }
  const worker = new ScriptedWorker(api, id, { order }).begin({ charge: (name, n) => `${name} paid ${n}` });
  let isOver = false;
  const ended = worker.ended.finally(() => {
    isOver = true;
  });
  ended.catch(() => {});
  try {
    // A worker whose polls have ended, or that is unknown to its host, registers again.
    while (!isOver) {
      const beat = await api.post("/worker/heartbeat", { worker_id: id });
      if (beat.status >= 400 && beat.status < 500) throw new Error(`a heartbeat was answered with ${beat.status}`);
      await pause(200);
    }
    await ended;
  } finally {
    await worker.stop();
  }
}

for (;;) {
  for (const url of urls.split(",")) {
    await serve(url).catch((error) => console.log(`${id} is without ${url}: ${error}`));
    await pause(50);
  }
}
