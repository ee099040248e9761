// Workers that take tasks and die each time, and workflows whose code issues other commands each time it
// runs: the runs beside them end as planned, and they themselves can be seen and ended.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempPlace } from "../support/two-stores.ts";
import { errand, outcomeOf, type Plan } from "./errands.ts";
import { poison } from "./extreme-errands.ts";
import { Workshop } from "./workshop.ts";

const ROUGH = import.meta.resolve("./rough-hands.ts");
const EXTREME = import.meta.resolve("./extreme-errands.ts");
const DEATHS = 3;
const ERRANDS = 30;
const POISONED = 4;

const planOf = (id: string): Plan => [
  { do: "activity", key: `${id}/a` },
  { do: "sleep", ms: 100 },
  { do: "activity", key: `${id}/b` },
  { do: "listen" },
  { do: "flaky", key: `${id}/c` },
];

async function send(shop: Workshop, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => shop.app.workflows.start(errand, { id, input: { plan: planOf(id) } })));
}

async function seeThrough(shop: Workshop, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => shop.handle(id).signal("word", id)));
  for (const id of ids) assert.deepEqual(await shop.handle(id).result(), outcomeOf(planOf(id), [id]));
}

test("a worker that takes tasks and dies, again and again, blocks no run for good", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, { lease: "1s", pollInterval: "100ms" });
  const ids = Array.from({ length: ERRANDS }, (_, i) => `errand-${i}`);
  await send(shop, ids);
  for (let death = 0; death < DEATHS; death++) {
    // It may die before it reports that it is ready.
    const rough = await shop.start(`rough ${death}`, { module: ROUGH, cluster: false }).catch(() => undefined);
    await shop.until(() => rough?.dead !== false, "it dies");
  }
  await shop.start("healthy", { cluster: false });
  await seeThrough(shop, ids);
  await shop.checkHistories();
  const attempts = (await shop.attempts()).filter(({ kind }) => kind === "begin").map(({ attempt }) => attempt);
  assert.ok(Math.max(...attempts) > 1, "what they took was begun again");
  t.diagnostic(`${DEATHS} workers died; some activities came to their end at attempt ${Math.max(...attempts)}`);
  shop.finish();
});

test("workflows with changing commands are blocked, those beside them continue, and they can be ended", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  // No run stays in memory, so that every task is a replay.
  await using shop = await Workshop.open(t, place, { lease: "5s", pollInterval: "100ms", cacheRuns: 0 });
  await shop.startAll(["one", "two"], { module: EXTREME, cluster: false });
  const { workflows } = shop.app;
  const bad = Array.from({ length: POISONED }, (_, i) => `poison-${i}`);
  for (const id of bad) await workflows.start(poison, { id, input: id });
  for (const id of bad) await shop.rests(id);
  const good = Array.from({ length: ERRANDS }, (_, i) => `errand-${i}`);
  await send(shop, good);
  await Promise.all(bad.map((id) => shop.handle(id).signal("word", "go on")));
  await shop.until(async () => {
    const { runs } = await workflows.list({ isBlocked: true });
    return runs.length === POISONED && runs.every(({ attempt }) => attempt > 1);
  }, "all of them are blocked, more than once");
  for (const id of bad) {
    const { status, blocked } = await workflows.get(id).describe();
    assert.equal(status, "running");
    for (const side of [/activity/i, /timer|sleep/i, /extreme-errands/]) assert.match(blocked!, side);
  }
  await seeThrough(shop, good);

  const [first, second, ...others] = bad as [string, string, ...string[]];
  await workflows.get(first).cancel("it does not get better");
  await assert.rejects(workflows.get(first).result(), { code: "WORKFLOW_CANCELLED" });
  await workflows.get(second).terminate("it does not get better");
  await assert.rejects(workflows.get(second).result(), { code: "WORKFLOW_TERMINATED" });
  for (const id of others) assert.equal((await workflows.get(id).describe()).status, "running");
  await shop.checkHistories();
  for (const id of bad)
    assert.equal((await shop.begun(`${id}/end`)).length, 0, "none went on with code that does not fit");
  shop.finish();
});
