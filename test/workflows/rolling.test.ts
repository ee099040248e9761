// Workers start and stop in an orderly way while workflows are in progress: nothing begins twice, runs
// continue with workers of a compatible build, and runs pinned to another build wait for a worker of that
// build.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { groundsFor } from "../support/cluster-places.ts";
import { tempPlace } from "../support/two-stores.ts";
import { errand, outcomeOf, type Plan } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const RUNS = 20;
const WORDS = ["one", "two"];

/** At any moment some are active, some sleep, some wait for signals. */
const planOf = (id: string): Plan => [
  { do: "activity", key: `${id}/a`, ms: 300 },
  {
    do: "all",
    things: [
      { do: "activity", key: `${id}/b`, ms: 500 },
      { do: "sleep", ms: 200 },
      { do: "activity", key: `${id}/c`, ms: 300 },
    ],
  },
  { do: "listen" },
  { do: "activity", key: `${id}/d`, ms: 200 },
  { do: "anew" },
  { do: "activity", key: `${id}/e`, ms: 200 },
  { do: "listen" },
];

for (const { store, open } of groundsFor("PostgreSQL")) {
  test(`workers on ${store} are replaced one by one, and nothing begins twice`, { timeout: 600_000 }, async (t) => {
    await using grounds = await open();
    await using place = await grounds.place();
    await using shop = await Workshop.open(t, place, { lease: "10s", pollInterval: "100ms" });
    const { workflows } = shop.app;
    const of = (build: string, ...compatibleBuilds: string[]) =>
      ({ cluster: false, worker: { build, compatibleBuilds } }) as const;
    const old = await shop.startAll(["old 1", "old 2"], of("v1"));
    const odd = await shop.start("odd 1", of("v0"));
    const free = Array.from({ length: RUNS }, (_, i) => `free-${i}`);
    const bound = Array.from({ length: RUNS }, (_, i) => `bound-${i}`);
    const start = (id: string, build: string) => workflows.start(errand, { id, input: { plan: planOf(id) }, build });
    await Promise.all([...free.map((id) => start(id, "v1")), ...bound.map((id) => start(id, "v0"))]);
    await shop.until(async () => (await shop.attempts()).length > RUNS, "they are at work");

    await shop.start("new 1", of("v2", "v1"));
    await Promise.all([old[0]!.leave(), odd.leave()]);
    await Promise.all(free.map((id) => shop.handle(id).signal("word", WORDS[0])));
    await shop.start("new 2", of("v2", "v1"));
    await old[1]!.leave();
    assert.equal((await shop.workers()).length, 2, "those who left are not known any more");
    await Promise.all(free.map((id) => shop.handle(id).signal("word", WORDS[1])));
    for (const id of free) assert.deepEqual(await shop.handle(id).result(), outcomeOf(planOf(id), WORDS));

    for (const word of WORDS) await Promise.all(bound.map((id) => shop.handle(id).signal("word", word)));
    const begun = (await shop.attempts()).filter(({ key }) => key.startsWith("bound"));
    assert.ok(
      !begun.some(({ process }) => !process.startsWith("odd")),
      "runs that are pinned to another build are left alone",
    );
    assert.equal((await workflows.count({ status: "running", prefix: "bound" })) > 0, true, "and waits");
    await shop.start("odd 2", of("v0"));
    for (const id of bound) assert.deepEqual(await shop.handle(id).result(), outcomeOf(planOf(id), WORDS));

    await shop.checkHistories();
    const all = (await shop.attempts()).filter(({ kind }) => kind === "begin");
    const times = Map.groupBy(all, ({ key }) => key);
    const twice = [...times].filter(([, of]) => of.length > 1).map(([key, of]) => [key, of.map((one) => one.process)]);
    assert.deepEqual(twice, [], "whoever leaves in good order ends what it has begun");
    assert.equal(times.size, RUNS * 2 * 5);
    const wrong = all.filter(({ key, process }) => key.startsWith("bound") !== process.startsWith("odd"));
    assert.deepEqual(wrong, [], "also when they continue as new");
    t.diagnostic(`${all.length} activities, begun by ${[...new Set(all.map(({ process }) => process))].join(", ")}`);
    shop.finish();
  });
}

test("commands of a run whose worker is stopping are executed by the next one, however the rest of it ends", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, { lease: "2s", pollInterval: "100ms" });
  const first = await shop.start("first", { cluster: false, settings: { drainTimeout: "2m" } });
  const gate = join(place.folder, "gate");
  const plan: Plan = [
    { do: "activity", key: "slow", until: gate },
    { do: "updates", count: 1 },
  ];
  const handle = await shop.app.workflows.start(errand, { id: "errand", input: { plan } });
  await shop.until(async () => (await shop.begun("slow")).length === 1, "it is at work");
  const left = first.leave();
  await shop.until(async () => (await shop.workers()).some(({ isDraining }) => isDraining), "its worker leaves");
  const answer = handle.update("tell", "told");
  const isTaken = async () => (await handle.history()).some(({ event }) => event.kind === "UpdateAccepted");
  await shop.until(isTaken, "the run goes on deciding");
  await writeFile(gate, "");
  await left;
  assert.deepEqual(await shop.begun("told"), [], "whoever leaves begins nothing");
  await shop.start("second", { cluster: false });
  assert.equal(await answer, "activity told");
  assert.deepEqual(await handle.result(), outcomeOf(plan));
  assert.deepEqual(
    (await shop.attempts()).filter(({ kind }) => kind === "begin").map(({ key, process }) => [key, process]),
    [
      ["slow", "first"],
      ["told", "second"],
    ],
  );
  await shop.checkHistories();
  shop.finish();
});
