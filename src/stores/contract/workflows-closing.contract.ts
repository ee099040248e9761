// Watching workflows and closing the store: close waits for operations in progress, rejects everything after
// it, and loses nothing.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { setOf } from "./reminders-shared.contract.ts";
import { actor, commitOf, keep, take } from "./shared.contract.ts";
import { batchOf, closeAs, HOUR, lease, Site, type WorkflowsHarness, withSecond } from "./workflows-shared.contract.ts";

export function workflowClosingContract(harness: WorkflowsHarness): void {
  const { open, opened } = harness;

  describe("watching workflows", () => {
    const changes: [what: string, prepare: (it: Site) => Promise<() => Promise<unknown>>][] = [
      ["starts a run", async (it) => () => it.start("new")],
      [
        "wakes a run by a message",
        async (it) => {
          await it.idle("idle");
          return () => it.deliver("idle");
        },
      ],
      [
        "starts a run with a step",
        async (it) => {
          const held = await it.leased("parent");
          return () => it.complete(held, { starts: [it.startOf("child")] });
        },
      ],
      [
        "wakes a run with a step",
        async (it) => {
          const [held] = [await it.leased("from"), await it.idle("to")];
          return () => it.complete(held, { messages: [it.messageTo("to")] });
        },
      ],
      [
        "ends a step of a run with a new message",
        async (it) => {
          const held = await it.leased("busy");
          await it.deliver("busy");
          return () => it.complete(held);
        },
      ],
      [
        "returns a task",
        async (it) => {
          const held = await it.leased("given");
          return () => it.workflows.giveBack([{ ...held, pauseMs: 0, problem: undefined }]);
        },
      ],
      [
        "wakes a run on request",
        async (it) => {
          await it.idle("sleepy");
          return () => it.workflows.wake(it.key("sleepy"));
        },
      ],
      [
        "starts a run with a commit",
        async (it) => {
          const held = await take(it.store, actor("alice", it.namespace));
          return () => it.store.commit([{ ...commitOf(held, keep), starts: [it.startOf("of alice")] }]);
        },
      ],
      [
        "wakes a run with a commit",
        async (it) => {
          const held = await take(it.store, actor("bob", it.namespace));
          await it.idle("signalled");
          return () => it.store.commit([{ ...commitOf(held, keep), messages: [it.messageTo("signalled")] }]);
        },
      ],
      [
        "ends a watched run with a step",
        async (it) => {
          const held = await it.leased("watched");
          await it.workflows.watchEnds([held.ref]);
          return () => it.complete(held, { outcome: closeAs() });
        },
      ],
      [
        "closes a watched run",
        async (it) => {
          const held = await it.leased("killed");
          await it.workflows.watchEnds([held.ref]);
          return () => it.workflows.close(it.closing("killed"));
        },
      ],
    ];
    test("a watcher is notified when another process makes a task ready or ends a run", async (t) => {
      await withSecond(harness, async (second) => {
        const it = new Site(opened().store);
        const there = new Site(second ?? opened().store, it.namespace);
        let notifications = 0;
        const stop = it.workflows.watch(it.namespace, () => notifications++);
        if (stop === undefined) return t.skip("this store has no notifications");
        try {
          for (const [what, prepare] of changes) {
            const act = await prepare(there);
            // Notifications of the preparations have arrived by then, or else make the test weaker, not
            // wrong.
            await pause(20);
            const before = notifications;
            await act();
            for (let waited = 0; notifications === before; waited++) {
              assert.ok(waited < 10_000, `no notification when another process ${what}`);
              await pause(1);
            }
          }
        } finally {
          stop();
        }
      });
    });

    test("a watcher is not notified of other namespaces, nor after it has stopped", async (t) => {
      await withSecond(harness, async (second) => {
        const [it, elsewhere] = [new Site(opened().store), new Site(opened().store)];
        let [notifications, wrongly] = [0, 0];
        const stops = [
          it.workflows.watch(it.namespace, () => wrongly++),
          it.workflows.watch(elsewhere.namespace, () => wrongly++),
          it.workflows.watch(it.namespace, () => notifications++),
        ];
        if (stops[0] === undefined) return t.skip("this store has no notifications");
        stops[0]();
        await new Site(second ?? opened().store, it.namespace).start("a");
        while (notifications === 0) await pause(1);
        await pause(20);
        assert.equal(wrongly, 0);
        for (const stop of stops) stop?.();
      });
    });
  });

  describe("closing a store with workflows", () => {
    test("every workflow operation after close is rejected", async () => {
      const { store, dispose } = await open();
      try {
        const it = new Site(store);
        const held = await it.leased("a");
        await store.close();
        const { workflows, namespace } = it;
        const questions: (() => Promise<unknown>)[] = [
          () => it.start("b"),
          () => it.deliver("a"),
          () => it.complete(held),
          () => workflows.close(it.closing("a")),
          () => it.claim(),
          () => workflows.renew([held], HOUR),
          () => workflows.giveBack([{ ...held, pauseMs: 0, problem: undefined }]),
          () => workflows.wake(it.key("a")),
          () => workflows.history(held.ref, 0, 10),
          () => workflows.inbox(held.ref, 0, 10),
          () => workflows.find(it.key("a")),
          () => workflows.watchEnds([held.ref]),
          () => workflows.list({ namespace, limit: 1 }),
          () => workflows.count({ namespace, limit: 1 }),
          () => it.seen("w1"),
          () => workflows.forgetWorker(namespace, "w1"),
          () => workflows.workers(namespace),
          () => workflows.stickiness(namespace),
          () => workflows.prune(namespace, 0, 1),
        ];
        for (const question of questions) await assert.rejects(question, { code: "STORE_UNAVAILABLE" });
      } finally {
        await dispose();
      }
    });

    test("workflow operations in progress finish before close", async () => {
      const { store, dispose } = await open();
      try {
        const it = new Site(store);
        const held = await it.leased("a");
        const inProgress = [it.complete(held, { batch: batchOf("2") }), it.start("b"), it.deliver("a")];
        const results = Promise.all(inProgress);
        await store.close();
        const [step, start, delivery] = (await results) as [{ kind: string }, { isNew: boolean }, { kind: string }];
        assert.deepEqual([step.kind, start.isNew, delivery.kind], ["done", true, "delivered"]);
      } finally {
        await dispose();
      }
    });

    test("workflows are there when the store is opened again", async (t) => {
      const opened = await open();
      try {
        if (opened.reopen === undefined) return t.skip("this store forgets");
        const before = new Site(opened.store);
        const own = lease();
        const held = await before.leased("held", { lease: own, reminders: [setOf(before.place.key("timer"))] });
        await before.complete(held, {
          batch: batchOf("2"),
          outcome: { kind: "keep", leaseMs: HOUR },
          affinity: { worker: "w1", ms: HOUR },
        });
        await before.deliver("held", "k");
        await before.idle("idle");
        await before.closed("over");
        const last = await before.start("ready", { attributes: `{"a":1}`, memo: "m" });
        await before.seen("w1");
        const query = { namespace: before.namespace, limit: 10 };
        const runs = await before.workflows.list(query);
        const workers = await before.workflows.workers(before.namespace);
        await opened.store.close();
        const again = await opened.reopen();
        try {
          const after = new Site(again, before.namespace);
          assert.deepEqual(await after.workflows.list(query), runs);
          assert.deepEqual(await after.workflows.workers(after.namespace), workers);
          assert.deepEqual(await after.reminders(), ["timer"]);
          assert.deepEqual(await after.events(held.ref), ["started", "2"]);
          assert.deepEqual(await after.inbox(held.ref), [[1, "k"]]);
          assert.deepEqual(await after.ids(), ["ready"]);
          assert.equal((await after.complete({ ...held, last: 2 }, { batch: batchOf("3"), taken: 1 })).kind, "done");
          assert.ok((await after.start("next")).ref > last.ref);
        } finally {
          await again.close();
        }
      } finally {
        await opened.dispose();
      }
    });
  });
}
