// Claiming tasks: what is ready, of the namespace, queue, types and build asked for, and nothing that somebody else has.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAbout } from "./reminders-shared.contract.ts";
import { HOUR, heldOf, idsOf, lease, MINUTE, page, Site, type WorkflowsHarness } from "./workflows-shared.contract.ts";

export function workflowClaimsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("claiming tasks", () => {
    test("a claim tells the store's clock, even when it asks for nothing", async () => {
      const it = site();
      const { now, tasks, next } = await it.claim({ types: [] });
      assert.ok(Number.isFinite(now) && now > 1_500_000_000_000);
      assert.deepEqual([tasks, next], [[], undefined]);
      assert.ok((await it.claim()).now >= now);
    });

    test("a task that was claimed shows who has it, since when, until when, and how", async () => {
      const it = site();
      await it.start("a");
      const { now } = await it.claim({ lease: lease("me", HOUR) });
      const { state, attempt, worker, mode, claimedAt, at } = await it.task("a");
      assert.deepEqual([state, attempt, worker, mode], ["leased", 1, "me", "cold_replay"]);
      assertAbout(claimedAt, now);
      assertAbout(at, now + HOUR);
    });

    test("while it is leased nobody else gets it, not even the same worker", async () => {
      const it = site();
      await it.start("a");
      assert.deepEqual(await it.ids({ worker: "w1" }), ["a"]);
      assert.deepEqual(await it.ids({ worker: "w2" }), []);
      assert.deepEqual(await it.ids({ worker: "w1" }), []);
    });

    test("when its lease has run out it can be claimed again, as another attempt", async () => {
      const it = site();
      await it.start("a");
      await it.claim({ lease: lease("w1", HOUR) });
      await opened().advance(50 * MINUTE);
      assert.deepEqual(await it.ids(), []);
      for (let attempt = 2; attempt < 5; attempt++) {
        await opened().advance(HOUR + MINUTE);
        const task = await it.theTask({ lease: lease("w2", HOUR) });
        assert.equal(task.attempt, attempt);
      }
      assert.equal((await it.task("a")).worker, "w2");
    });

    test("whoever claimed it last is the only one who can go on", async () => {
      const it = site();
      await it.start("a");
      const first = heldOf(await it.theTask());
      await opened().advance(2 * HOUR);
      const second = heldOf(await it.theTask());
      assert.equal((await it.append(first, { page: page("of the first") })).kind, "lost");
      assert.equal((await it.append(second, { page: page("of the second") })).kind, "done");
      assert.deepEqual(await it.events(first.ref), ["started", "of the second"]);
    });

    test("no more than asked for, and those that are ready for longest come first", async () => {
      const it = site();
      await it.start("late", { delayMs: 3 * HOUR });
      await it.start("middle", { delayMs: 2 * HOUR });
      await it.start("early", { delayMs: HOUR });
      await it.start("not yet", { delayMs: 9 * HOUR });
      await opened().advance(4 * HOUR);
      await it.start("last");
      assert.deepEqual(await it.ids({ limit: 2 }), ["early", "middle"]);
      assert.deepEqual(await it.ids({ limit: 0 }), []);
      assert.deepEqual(await it.ids({ limit: 5 }), ["late", "last"]);
    });

    test("one that rests and is woken lines up behind those that were ready before", async () => {
      const it = site();
      await it.idle("a");
      await it.start("b", { delayMs: HOUR });
      await opened().advance(2 * HOUR);
      await it.arrive("a");
      assert.deepEqual(await it.ids(), ["b", "a"]);
    });

    test("a large crowd is claimed in parts, each once", async () => {
      const it = site();
      const ids = Array.from({ length: 250 }, (_, i) => `${i}`);
      await it.workflows.start(ids.map((id) => it.startOf(id)));
      const parts = [await it.ids({ limit: 100 }), await it.ids({ limit: 100 }), await it.ids({ limit: 100 })];
      assert.deepEqual(
        parts.map(({ length }) => length),
        [100, 100, 50],
      );
      assert.deepEqual(parts.flat().sort(), ids.sort());
    });

    test("a claim names all its tasks by one token", async () => {
      const it = site();
      await it.workflows.start(["a", "b", "c"].map((id) => it.startOf(id)));
      const { tasks } = await it.claim({ lease: lease("w1", HOUR, "shared") });
      assert.deepEqual(
        tasks.map(({ token }) => token),
        ["shared", "shared", "shared"],
      );
      const outcomes = await it.workflows.append(tasks.map((task) => it.appendOf(heldOf(task), { page: page("2") })));
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["done", "done", "done"],
      );
    });
  });

  describe("claiming only what was asked for", () => {
    test("types that were not asked for stay where they are", async () => {
      const it = site();
      for (const type of ["Order", "order", "Orders", "Cart"]) await it.start(type, { type });
      assert.deepEqual(await it.ids({ types: ["Order", "Nobody"] }), ["Order"]);
      assert.deepEqual(await it.ids({ types: ["Order"] }), []);
      assert.deepEqual((await it.ids({ types: ["Cart", "Cart", "order"] })).sort(), ["Cart", "order"]);
      assert.deepEqual(await it.ids({ types: [] }), []);
      assert.equal((await it.task("Orders")).state, "ready");
    });

    test("other queues are never seen", async () => {
      const it = site();
      for (const queue of ["main", "Main", "other"]) await it.start(queue, { queue });
      assert.deepEqual(await it.ids(), ["main"]);
      assert.deepEqual(await it.ids({ queue: "other" }), ["other"]);
      assert.deepEqual(await it.ids({ queue: "nobody's" }), []);
    });

    test("other namespaces are never seen", async () => {
      const [it, other] = [site(), site()];
      await other.start("a");
      const { tasks, next } = await it.claim();
      assert.deepEqual([tasks, next], [[], undefined]);
      assert.deepEqual(await other.ids(), ["a"]);
    });

    test("runs that are bound to another build are left alone", async () => {
      const it = site();
      await it.start("bound", { bound: "b1" });
      await it.start("other", { bound: "b2" });
      await it.start("free");
      assert.deepEqual((await it.ids({ build: "b2" })).sort(), ["free", "other"]);
      assert.deepEqual(await it.ids({ build: "b3" }), []);
      assert.deepEqual(await it.ids({ build: "b1" }), ["bound"]);
    });

    test("a crowd that nobody may have does not hide what can be claimed", async () => {
      const it = site();
      const crowd = (what: object) => Array.from({ length: 100 }, () => it.startOf(`${Math.random()}`, what));
      await it.workflows.start([...crowd({ type: "Other" }), ...crowd({ queue: "other" }), ...crowd({ bound: "b2" })]);
      await it.start("mine");
      assert.deepEqual(await it.ids({ limit: 1 }), ["mine"]);
    });
  });

  describe("when there is more to claim", () => {
    test("nothing is told when all runs are idle, over, or nobody's business", async () => {
      const it = site();
      await it.idle("idle");
      await it.closed("over");
      await it.start("other type", { type: "Other", delayMs: HOUR });
      await it.start("other queue", { queue: "other", delayMs: HOUR });
      await it.start("other build", { bound: "b2", delayMs: HOUR });
      const { tasks, next } = await it.claim();
      assert.deepEqual([tasks, next], [[], undefined]);
    });

    test("there is more now when no more was asked for", async () => {
      const it = site();
      for (const id of ["a", "b", "c"]) await it.start(id);
      const { now, tasks, next } = await it.claim({ limit: 2 });
      assert.equal(tasks.length, 2);
      assert.ok(next !== undefined && next <= now);
    });

    test("the earliest of those that are ready later is told", async () => {
      const it = site();
      const now = await it.now();
      await it.start("a", { delayMs: 5 * HOUR });
      await it.start("b", { delayMs: 3 * HOUR });
      await it.start("ready");
      const { tasks, next } = await it.claim();
      assert.deepEqual(idsOf(tasks), ["ready"]);
      assert.ok(next !== undefined && next <= now + 3 * HOUR + MINUTE);
      assertAbout((await it.claim({ lease: lease("w2") })).next, now + HOUR);
    });

    test("the end of another's lease is told", async () => {
      const it = site();
      const now = await it.now();
      await it.held("a", { lease: lease("w2", 3 * HOUR) });
      await it.held("b", { lease: lease("w2", 2 * HOUR) });
      assertAbout((await it.claim()).next, now + 2 * HOUR);
    });

    test("the end of another's affinity is told, at the latest", async () => {
      const it = site();
      await it.seen("w2");
      await it.idle("a", { affinity: { worker: "w2", ms: 2 * HOUR } });
      await it.arrive("a");
      const { now, tasks, next } = await it.claim({ worker: "w1", staleMs: 9 * HOUR });
      assert.deepEqual(tasks, []);
      assert.ok(next !== undefined && next > now && next <= now + 2 * HOUR);
    });
  });
}
