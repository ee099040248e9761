// Workflows beyond the limits: signals by the thousand, values that are too long, histories without an end.
// Each has an answer, nothing is lost, and other runs are not affected. A process without workflows makes all
// requests.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isLimpetError } from "../../src/index.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { tempPlace } from "../support/two-stores.ts";
import { errand, outcomeOf } from "./errands.ts";
import { collector, hoarder, listener } from "./extreme-errands.ts";
import { Workshop } from "./workshop.ts";

const MODULE = import.meta.resolve("./extreme-errands.ts");
const SIGNALS = 10_000;
const TOO_LONG = 2 * 1024 * 1024 + 1;
/** Twice as many are more than a history may have. */
const HOARD = 26_000;

const isTooLarge = (error: unknown): boolean => isLimpetError(error, "BODY_TOO_LARGE") && error.retry === "never";

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`workflows on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("workflows receive ten thousand signals, each once and in order, although their worker is killed", async (t) => {
      await using place = await grounds.place();
      await using shop = await Workshop.open(t, place, { lease: "1s", pollInterval: "100ms" });
      const first = await shop.start("first", { module: MODULE, cluster: false });
      const { workflows } = shop.app;
      const handle = await workflows.start(listener, { id: "listener", input: SIGNALS });
      const sent = Array.from({ length: SIGNALS }, (_, i) => handle.signal("number", i));
      await shop.until(async () => (await shop.run("listener")).events > 100, "it has heard some");
      await first.kill();
      await shop.start("second", { module: MODULE, cluster: false });
      await Promise.all(sent);
      const received = await handle.result();
      assert.deepEqual(
        received,
        Array.from({ length: SIGNALS }, (_, i) => i),
      );
      const { events } = await shop.checkHistories();
      assert.equal(events, SIGNALS + 2, "a start, the signals, an end");
      await assert.rejects(handle.signal("number", 1), { code: "WORKFLOW_CLOSED" });
      shop.finish();
    });
  });
}

test("a value that is too long is rejected where it is given, and the workflow continues", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, { lease: "5s", pollInterval: "100ms" });
  await shop.start("one", { module: MODULE, cluster: false });
  const { workflows } = shop.app;
  const long = "x".repeat(TOO_LONG);
  const plan = [{ do: "listen" }, { do: "activity", key: "a" }] as const;
  await assert.rejects(workflows.start("errand", { id: "long", input: long }), isTooLarge);
  await assert.rejects(workflows.start(errand, { id: "long", input: { plan }, memo: { long } }), isTooLarge);
  await assert.rejects(workflows.get("long").describe(), { code: "WORKFLOW_UNKNOWN" }, "nothing was started");
  const handle = await workflows.start(errand, { id: "short", input: { plan } });
  await assert.rejects(handle.signal("word", long), isTooLarge);
  await assert.rejects(handle.update("tell", long), isTooLarge);
  await handle.signal("word", "hello");
  assert.deepEqual(await handle.result(), outcomeOf(plan, ["hello"]));

  const collected = await workflows.start(collector, { id: "collector", input: TOO_LONG });
  assert.match(await collected.result(), /^ACTIVITY_FAILED (BODY_TOO_LARGE|RESULT_INVALID) /);
  assert.equal(await (await workflows.start(collector, { input: 1_000 })).result(), "1000");
  await shop.checkHistories();
  shop.finish();
});

test("workflows with a full history are parked with a reason; others continue, and they can be ended", {
  timeout: 600_000,
}, async (t) => {
  await using place = await tempPlace();
  await using shop = await Workshop.open(t, place, { lease: "5s", pollInterval: "100ms" });
  const host = await shop.start("one", { module: MODULE, cluster: false });
  const { workflows } = shop.app;
  const ids = ["to cancel", "to terminate"];
  for (const id of ids) {
    const handle = await workflows.start(hoarder, { id, input: HOARD });
    await shop.rests(id);
    await handle.signal("more", undefined);
  }
  for (const id of ids) {
    await shop.until(async () => (await workflows.get(id).describe()).blocked !== undefined, `${id} is parked`);
    const { blocked, status, historyEvents } = await workflows.get(id).describe();
    assert.match(blocked!, /no room for more/);
    assert.deepEqual([status, historyEvents], ["running", HOARD + 1], "nothing of it is lost");
  }
  const plan = [{ do: "activity", key: "a" }] as const;
  const beside = await workflows.start(errand, { id: "beside", input: { plan } });
  assert.deepEqual(await beside.result(), outcomeOf(plan));

  await workflows.get("to terminate").terminate("enough");
  await assert.rejects(workflows.get("to terminate").result(), { code: "WORKFLOW_TERMINATED" });
  await workflows.get("to cancel").cancel("enough");
  await assert.rejects(workflows.get("to cancel").result(), { code: "WORKFLOW_CANCELLED" });
  assert.ok((await host.metric("limpet_workflow_tasks_blocked_total")) >= ids.length);
  await shop.checkHistories();
  shop.finish();
});
