// Real processes that a workflow ends, one after the other: after three of them the run is parked, and the
// next process lives.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { tempPlace } from "../support/two-stores.ts";
import { deadly, EXIT_CODE } from "./deadly.ts";
import { errand } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const MODULE = import.meta.resolve("./deadly.ts");
const MOST_LOST = 3;
const MANY = 8;

test("a workflow that calls process.exit ends three processes and is parked; the fourth lives and rejects queries", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, { lease: "500ms", pollInterval: "100ms" });
  const { workflows } = shop.app;
  // Started by a process without workers: only the workers die.
  const handle = await workflows.start(deadly, { id: "deadly", input: undefined });
  const blocked = async (): Promise<string | undefined> => (await handle.describe()).blocked;
  let deaths = 0;
  while ((await blocked()) === undefined && deaths < MANY) {
    // It may die before it reports that it is ready.
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

/** Starts the workflow in a process with its code. The process dies, or prints the reason of a parked run. */
function startInProcess(store: string) {
  const code = `
    import { limpet } from ${JSON.stringify(import.meta.resolve("../../src/index.ts"))};
    import { deadly } from ${JSON.stringify(MODULE)};
    const worker = { lease: "300ms", pollInterval: "50ms" };
    const app = await limpet({ workflows: [deadly], store: ${JSON.stringify(store)}, cluster: false, http: false, worker });
    const handle = await app.workflows.start(deadly, { id: "d", ifRunning: "existing" });
    for (;;) {
      const { blocked } = await handle.describe();
      if (blocked !== undefined) {
        console.log(blocked);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await app.stop();`;
  const flags = ["--conditions=limpet-source", "--input-type=module-typescript"];
  return spawnSync(process.execPath, [...flags, "--eval", code], { encoding: "utf8", timeout: 120_000 });
}

test("a start whose first step ends its process is stored and counted, and parked when it is repeated", {
  timeout: 300_000,
}, async () => {
  await using place = await tempPlace();
  const ends = Array.from({ length: MOST_LOST + 1 }, () => startInProcess(place.store));
  const codes = ends.map(({ status }) => status);
  assert.deepEqual(codes, [...Array.from({ length: MOST_LOST }, () => EXIT_CODE), 0], ends.at(-1)?.stderr);
  assert.match(ends.at(-1)!.stdout, /^parked: attempts lost: 3 attempts in a row/);
});
