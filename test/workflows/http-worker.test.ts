// Workers that run workflows over HTTP, in their own processes, are killed while they hold a task, and
// replaced; their hosts are killed as well. The runs end as planned.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Command } from "../support/command.ts";
import { freePort } from "../support/free-port.ts";
import { tempPlace } from "../support/two-stores.ts";
import { Workshop } from "./workshop.ts";

const SCRIPT = fileURLToPath(import.meta.resolve("./http-worker.ts"));
const NOTHING = import.meta.resolve("./nothing.ts");
const RUNS = 20;

test("a worker over HTTP is killed while it holds a task, and then its host: all runs end", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, {});
  const ports = [await freePort(), await freePort()];
  const urls = ports.map((port) => `http://127.0.0.1:${port}`).join(",");
  const host = (i: number) =>
    shop.start(`host ${i}`, { module: NOTHING, cluster: false, settings: { http: { port: ports[i] } } });
  const [first] = [await host(0), await host(1)];
  const worker = (id: string, how: "work" | "hold"): Command =>
    new Command(place.folder, [process.execPath, "--conditions=limpet-source", SCRIPT, urls, id, how]);

  const start = (id: string) => shop.app.workflows.start<string[]>("order", { id, queue: "orders", input: id });
  await start("held");
  await using holder = worker("w1", "hold");
  await holder.prints(/w1 holds held at attempt 1/);
  holder.signal("SIGKILL");
  await holder.ended();
  assert.equal((await shop.run("held")).task?.worker, "w1", "its lease is not over");

  const ids = Array.from({ length: RUNS }, (_, i) => `order-${i}`);
  // With the same id: the tasks of the previous process are its own at once.
  await using next = worker("w1", "work");
  await next.prints(/registered/);
  assert.deepEqual(await shop.handle("held").result(), ["held paid 1", "held paid 2"]);
  await Promise.all(ids.map(start));
  await shop.until(async () => (await shop.app.workflows.count({ status: "completed" })) > 3, "some are over");
  await first!.kill();
  for (const id of ids) assert.deepEqual(await shop.handle(id).result(), [`${id} paid 1`, `${id} paid 2`]);
  await shop.checkHistories();
  shop.finish();
});
