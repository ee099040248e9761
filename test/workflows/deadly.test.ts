// Real processes that a workflow ends, one after the other: after three of them the run is parked, and the
// next process lives.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempPlace } from "../support/two-stores.ts";
import { deadly } from "./deadly.ts";
import { errand } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const MODULE = import.meta.resolve("./deadly.ts");
const MOST_LOST = 3;
const MANY = 8;

test("a workflow that calls process.exit ends three processes and is parked; the fourth lives and refuses queries", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, { lease: "500ms", pollInterval: "100ms" });
  const { workflows } = shop.app;
  // Started by a process without workers, so that the start itself is durable.
  const handle = await workflows.start(deadly, { id: "deadly", input: undefined });
  const blocked = async (): Promise<string | undefined> => (await handle.describe()).blocked;
  let deaths = 0;
  while ((await blocked()) === undefined && deaths < MANY) {
    // It may die before it has said that it is there.
    const one = await shop.start(`worker ${deaths}`, { module: MODULE, cluster: false }).catch(() => undefined);
    await shop.until(
      async () => one?.dead !== false || (await blocked()) !== undefined,
      "it dies, or the run is parked",
    );
    if (one?.dead !== false) deaths++;
  }
  assert.equal(deaths, MOST_LOST);
  assert.match(String(await blocked()), /^parked: attempts lost: 3 attempts in a row/);
  const [alive] = shop.alive;
  await assert.rejects(handle.query("progress"), { code: "WORKFLOW_ATTEMPTS_LOST" });
  const plan = [{ do: "sleep", ms: 10 }] as const;
  const other = await workflows.start(errand, { id: "errand", input: { plan } });
  assert.deepEqual(await other.result(), []);
  assert.equal(alive?.dead, false);
  shop.finish();
});
