// No lost wake-up: every delivered message is taken into the history, once, in the order of its number,
// however deliveries and steps interleave.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as breath } from "node:timers/promises";
import fc from "fast-check";
import type { Store } from "../../ports/store/store.ts";
import { freshNamespace } from "./shared.contract.ts";
import {
  batchOf,
  further,
  insistent,
  KEEP,
  leasedOf,
  REST,
  Site,
  type WorkflowsHarness,
  withSecond,
} from "./workflows-shared.contract.ts";

/**
 * How often in a row a claim may find nothing although messages are left, while other workers finish their
 * tasks.
 */
const PATIENCE = 2_000;

const batches = fc.array(fc.record({ size: fc.integer({ min: 1, max: 4 }), breaths: fc.nat(3) }), {
  minLength: 1,
  maxLength: 12,
});
const story = fc.record({
  senders: fc.array(batches, { minLength: 1, maxLength: 3 }),
  workers: fc.array(fc.record({ reads: fc.integer({ min: 1, max: 5 }), keeps: fc.boolean(), breaths: fc.nat(2) }), {
    minLength: 1,
    maxLength: 3,
  }),
});
type Story = typeof story extends fc.Arbitrary<infer T> ? T : never;

async function breathe(times: number): Promise<void> {
  for (let i = 0; i < times; i++) await breath();
}

async function play(stores: readonly Store[], { senders, workers }: Story): Promise<void> {
  // A message that was repeated after an ambiguous outcome may arrive twice, if the first has been taken by
  // then.
  let mayRepeat = false;
  const namespace = freshNamespace();
  const sites = stores.map((store) => {
    const workflows = insistent(store.workflows, () => {
      mayRepeat = true;
    });
    return new Site(store, namespace, workflows);
  });
  const [it] = sites as [Site];
  const { ref } = await it.idle("a");
  const total = senders.flat().reduce((sum, { size }) => sum + size, 0);
  const seen = new Set<string>();
  let isSent = false;

  const send = async (site: Site, sender: number): Promise<void> => {
    for (const [i, { size, breaths }] of senders[sender]!.entries()) {
      await breathe(breaths);
      const keys = Array.from({ length: size }, (_, k) => `${sender}/${i}/${k}`);
      await site.workflows.deliver(keys.map((key) => site.messageTo("a", key)));
    }
  };

  const work = async (site: Site, { reads, keeps, breaths }: Story["workers"][number], worker: string) => {
    for (let empty = 0; seen.size < total; ) {
      const [task] = (await site.claim({ worker, isSticky: false })).tasks;
      if (task === undefined) {
        if (isSent) empty++;
        assert.ok(empty < PATIENCE, `${total - seen.size} of ${total} were never seen`);
        await breath();
        continue;
      }
      empty = 0;
      const inbox = await site.workflows.inbox(ref, task.taken, reads);
      await breathe(breaths);
      let held = leasedOf(task);
      if (inbox.length > 0) {
        const keys = inbox.map(({ key }) => key);
        const taken = inbox.at(-1)!.number;
        const step = { batch: batchOf(...keys), taken, outcome: keeps ? KEEP : REST };
        const outcome = await site.complete(held, step);
        assert.equal(outcome.kind, "done");
        for (const key of keys) seen.add(key);
        held = further(held, keys.length, taken);
      }
      if (keeps || inbox.length === 0) assert.equal((await site.complete(held)).kind, "done");
    }
  };

  const one = (i: number): Site => sites[i % sites.length]!;
  await Promise.all([
    Promise.all(senders.map((_, i) => send(one(i + 1), i))).then(() => {
      isSent = true;
    }),
    ...workers.map((worker, i) => work(one(i), worker, `w${i}`)),
  ]);
  const all = (await it.events(ref)).slice(1);
  const events = mayRepeat ? [...new Set(all)] : all;
  assert.deepEqual([events.length, new Set(events).size], [total, total]);
  for (const [i, sent] of senders.entries()) {
    const mine = sent.flatMap(({ size }, b) => Array.from({ length: size }, (_, k) => `${i}/${b}/${k}`));
    assert.deepEqual(
      events.filter((key) => key.startsWith(`${i}/`)),
      mine,
      "not in the order they were sent",
    );
  }
  if (mayRepeat) return;
  const { state, arrived, taken } = await it.task("a");
  assert.deepEqual([state, arrived, taken, await it.inbox(ref)], ["idle", total, total, []]);
}

export function workflowWakeUpsContract(harness: WorkflowsHarness): void {
  const { opened, options } = harness;
  const numRuns = options.modelRuns ?? 100;

  describe("wake-ups of runs", () => {
    test("no wake-up is lost, however deliveries and steps interleave", async () => {
      await fc.assert(
        fc.asyncProperty(story, (one) => play([opened().store], one)),
        { numRuns },
      );
    });

    test("no wake-up is lost between different processes", async (t) => {
      await withSecond(harness, async (second) => {
        if (second === undefined) return t.skip("this store belongs to one process");
        await fc.assert(
          fc.asyncProperty(story, (one) => play([opened().store, second], one)),
          { numRuns: Math.ceil(numRuns / 2) },
        );
      });
    });

    test("no wake-up is lost when a message and a step are sent in the same moment, again and again", async () => {
      const { store } = opened();
      const it = new Site(store, undefined, insistent(store.workflows));
      let held = await it.leased("a");
      for (let i = 0; i < 50; i++) {
        const [outcome] = await Promise.all([it.complete(held, { batch: batchOf(`${i}`) }), it.deliver("a", `${i}`)]);
        assert.equal(outcome.kind, "done");
        const task = await it.theTask();
        assert.deepEqual([task.delivered, task.taken], [i + 1, i]);
        held = { ...leasedOf(task), taken: i + 1 };
      }
    });
  });
}
