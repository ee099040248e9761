// Reading workflows: histories in event batches, single runs, and lists of them, the latest first.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import type { RunQuery } from "../../ports/store/workflows.ts";
import {
  batchOf,
  closeAs,
  freshId,
  further,
  HOUR,
  KEEP,
  type LeasedTask,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowReadingContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("reading histories", () => {
    /** Five event batches of ten bytes: events 1, 2-3, 4, 5-6, 7. */
    async function paged(it: Site): Promise<number> {
      const batches = [1, 2, 1, 2, 1].map((count, i) => ({ count, data: `page ${i}`.padEnd(10, ".") }));
      let held: LeasedTask = await it.leased("a", { first: batches[0]! });
      for (const one of batches.slice(1)) {
        assert.equal((await it.complete(held, { batch: one, outcome: KEEP })).kind, "done");
        held = further(held, one.count);
      }
      return held.ref;
    }

    const froms = async (it: Site, ref: number, after: number, bytes: number) => {
      const { batches, isCut } = await it.workflows.history(ref, after, bytes);
      return [...batches.map(({ from }) => from), isCut ? "cut" : "end"];
    };

    test("a history is read up to the requested bytes, at least one event batch, and reports whether there is more", async () => {
      const it = site();
      const ref = await paged(it);
      assert.deepEqual(await froms(it, ref, 0, 1_000), [1, 2, 4, 5, 7, "end"]);
      assert.deepEqual(await froms(it, ref, 0, 50), [1, 2, 4, 5, 7, "end"]);
      assert.deepEqual(await froms(it, ref, 0, 49), [1, 2, 4, 5, "cut"]);
      assert.deepEqual(await froms(it, ref, 0, 25), [1, 2, "cut"]);
      assert.deepEqual(await froms(it, ref, 0, 1), [1, "cut"]);
      assert.deepEqual(await froms(it, ref, 0, 0), [1, "cut"]);
    });

    test("a history starts with the first event batch that has events beyond the number", async () => {
      const it = site();
      const ref = await paged(it);
      assert.deepEqual(await froms(it, ref, 1, 1_000), [2, 4, 5, 7, "end"]);
      assert.deepEqual(await froms(it, ref, 2, 1_000), [2, 4, 5, 7, "end"]);
      assert.deepEqual(await froms(it, ref, 3, 1_000), [4, 5, 7, "end"]);
      assert.deepEqual(await froms(it, ref, 5, 20), [5, 7, "end"]);
      assert.deepEqual(await froms(it, ref, 6, 1), [7, "end"]);
      assert.deepEqual(await froms(it, ref, 7, 1_000), ["end"]);
      assert.deepEqual(await froms(it, ref, 99, 1_000), ["end"]);
    });

    test("a history can be read in parts, also of a closed run", async () => {
      const it = site();
      const ref = await paged(it);
      await it.workflows.close(it.closing("a", { batch: batchOf("the end") }));
      const read: string[] = [];
      for (let after = 0, isCut = true; isCut; ) {
        const part = await it.workflows.history(ref, after, 15);
        for (const { from, count, data } of part.batches) {
          assert.equal(from, after + 1);
          after += count;
          read.push(data.replaceAll(".", ""));
        }
        isCut = part.isCut;
      }
      assert.deepEqual(read, ["page 0", "page 1", "page 2", "page 3", "page 4", "the end"]);
    });

    test("a history of an unknown run is empty", async () => {
      assert.deepEqual(await site().workflows.history(2 ** 40, 0, 1_000), { batches: [], isCut: false });
    });

    test("a history of many steps stays in order", async () => {
      const it = site();
      let held = await it.leased("a", { first: batchOf("1") });
      for (let i = 2; i <= 120; i++) {
        await it.complete(held, { batch: batchOf(`${i}`), outcome: KEEP });
        held = further(held, 1);
      }
      assert.deepEqual(
        await it.events(held.ref),
        Array.from({ length: 120 }, (_, i) => `${i + 1}`),
      );
    });
  });

  describe("finding a run", () => {
    test("a lookup returns the open run, or else the latest, or a given one", async () => {
      const it = site();
      assert.equal(await it.workflows.find(it.key("a")), undefined);
      const first = await it.closed("a", {}, closeAs("failed"));
      const { runId } = await it.stored("a");
      const second = await it.closed("a");
      assert.equal((await it.stored("a")).ref, second.ref);
      const third = await it.start("a");
      assert.equal((await it.stored("a")).ref, third.ref);
      assert.equal((await it.stored("a", runId)).ref, first.ref);
      assert.equal(await it.workflows.find({ ...it.key("a"), runId: freshId() }), undefined);
      assert.equal(await it.workflows.find({ ...it.key("b"), runId }), undefined);
      assert.equal(await it.workflows.find({ ...it.key("a"), namespace: site().namespace }), undefined);
    });
  });

  describe("listing runs", () => {
    const ids = async (it: Site, query: Partial<RunQuery>) =>
      (await it.workflows.list({ namespace: it.namespace, limit: 100, ...query })).map(({ workflowId }) => workflowId);

    test("the latest runs come first, in pages, and no other namespace is visible", async () => {
      const [it, other] = [site(), site()];
      await other.start("other");
      const names = Array.from({ length: 25 }, (_, i) => `${i}`);
      for (const name of names) await it.start(name);
      const seen: string[] = [];
      for (let before: number | undefined; ; ) {
        const part = await it.workflows.list({ namespace: it.namespace, before, limit: 10 });
        seen.push(...part.map(({ workflowId }) => workflowId));
        if (part.length < 10) break;
        before = part.at(-1)!.ref;
      }
      assert.deepEqual(seen, names.reverse());
      assert.deepEqual(await ids(it, { limit: 0 }), []);
    });

    test("pages with every filter at once equal the list without pages", async () => {
      const it = site();
      for (let i = 0; i < 4; i++) await it.start(`order/${i}`, { type: "Order", queue: "main", attributes: `{"a":1}` });
      const all = {
        ...({ prefix: "order/", type: "Order", status: "running", queue: "main", attributes: { a: 1 } } as const),
        startedFrom: 0,
        startedBefore: 2 ** 50,
        isBlocked: false,
      } as const;
      const query = { namespace: it.namespace, limit: 2, ...all };
      const first = await it.workflows.list(query);
      const second = await it.workflows.list({ ...query, before: first.at(-1)!.ref });
      const names = [...first, ...second].map(({ workflowId }) => workflowId);
      assert.deepEqual(names, ["order/3", "order/2", "order/1", "order/0"]);
      assert.deepEqual(await ids(it, { ...all, isBlocked: true }), []);
      assert.deepEqual(await ids(it, { ...all, isBlocked: true, before: first[0]!.ref }), []);
      assert.equal(await it.workflows.count({ ...query, limit: 10 }), 4);
    });

    test("listed runs have the same values as found ones", async () => {
      const it = site();
      const held = await it.leased("open", { attributes: `{"a":1}`, memo: "m" });
      await it.complete(held, { batch: batchOf("2"), outcome: KEEP, affinity: { worker: "w1", ms: HOUR } });
      await it.closed("over");
      const listed = await it.workflows.list({ namespace: it.namespace, limit: 9 });
      assert.deepEqual(listed, [await it.stored("over"), await it.stored("open")]);
    });

    test("runs are listed by id, by id prefix, type, status and queue", async () => {
      const it = site();
      await it.closed("a/1");
      await it.start("a/1", { type: "Cart" });
      await it.start("a/2", { queue: "other" });
      await it.start("a%2");
      await it.start("A/3");
      await it.closed("b", { type: "Cart" }, closeAs("timed out"));
      assert.deepEqual(await ids(it, { workflowId: "a/1" }), ["a/1", "a/1"]);
      assert.deepEqual(await ids(it, { prefix: "a/" }), ["a/2", "a/1", "a/1"]);
      assert.deepEqual(await ids(it, { prefix: "a%" }), ["a%2"]);
      assert.deepEqual(await ids(it, { prefix: "_" }), []);
      assert.deepEqual(await ids(it, { prefix: "" }), ["b", "A/3", "a%2", "a/2", "a/1", "a/1"]);
      assert.deepEqual(await ids(it, { type: "Cart" }), ["b", "a/1"]);
      assert.deepEqual(await ids(it, { status: "completed" }), ["a/1"]);
      assert.deepEqual(await ids(it, { status: "timed out" }), ["b"]);
      assert.deepEqual(await ids(it, { status: "running", prefix: "a" }), ["a%2", "a/2", "a/1"]);
      assert.deepEqual(await ids(it, { queue: "other" }), ["a/2"]);
      assert.deepEqual(await ids(it, { type: "Cart", status: "running", queue: "main", workflowId: "a/1" }), ["a/1"]);
      assert.deepEqual(await ids(it, { type: "Nobody" }), []);
    });

    test("runs are listed by attributes, all of which must be equal", async () => {
      const it = site();
      const all: [id: string, attributes: object][] = [
        ["text", { customer: "alice", odd: `it's "odd" %_\\` }],
        ["number", { customer: 1, amount: 12.5 }],
        ["digits", { customer: "1" }],
        ["flag", { customer: true, "a.b c": "x" }],
        ["word", { customer: "true", other: "alice" }],
        ["nothing", {}],
      ];
      for (const [id, attributes] of all) await it.start(id, { attributes: JSON.stringify(attributes) });
      assert.deepEqual(await ids(it, { attributes: { customer: "alice" } }), ["text"]);
      assert.deepEqual(await ids(it, { attributes: { customer: 1 } }), ["number"]);
      assert.deepEqual(await ids(it, { attributes: { customer: "1" } }), ["digits"]);
      assert.deepEqual(await ids(it, { attributes: { customer: true } }), ["flag"]);
      assert.deepEqual(await ids(it, { attributes: { customer: "true" } }), ["word"]);
      assert.deepEqual(await ids(it, { attributes: { customer: false } }), []);
      assert.deepEqual(await ids(it, { attributes: { amount: 12.5, customer: 1 } }), ["number"]);
      assert.deepEqual(await ids(it, { attributes: { amount: 12.5, customer: 2 } }), []);
      assert.deepEqual(await ids(it, { attributes: { odd: `it's "odd" %_\\` } }), ["text"]);
      assert.deepEqual(await ids(it, { attributes: { "a.b c": "x" } }), ["flag"]);
      assert.equal((await ids(it, { attributes: {} })).length, all.length);
    });

    test("runs are listed by an attribute of the greatest length", async () => {
      const it = site();
      // A text that cannot be compressed.
      const text = createHash("shake256", { outputLength: (LIMITS.attributeBytes - 2) / 2 })
        .update("a")
        .digest("hex");
      const name = "n".repeat(LIMITS.wordBytes);
      await it.start("long", { attributes: JSON.stringify({ [name]: text }) });
      assert.deepEqual(await ids(it, { attributes: { [name]: text } }), ["long"]);
    });

    test("attributes are the ones of the last step, also of closed runs", async () => {
      const it = site();
      const held = await it.leased("a", { attributes: `{"stage":"first"}` });
      await it.complete(held, { outcome: KEEP, attributes: `{"stage":"second"}` });
      assert.deepEqual(await ids(it, { attributes: { stage: "first" } }), []);
      assert.deepEqual(await ids(it, { attributes: { stage: "second" } }), ["a"]);
      await it.complete(held, { outcome: closeAs(), attributes: `{"stage":"last"}` });
      assert.deepEqual(await ids(it, { attributes: { stage: "last" }, status: "completed" }), ["a"]);
    });

    test("runs are listed by their start time", async () => {
      const it = site();
      for (const id of ["a", "b", "c"]) {
        await it.start(id);
        await opened().advance(HOUR);
      }
      const now = await it.now();
      assert.deepEqual(await ids(it, { startedFrom: now - 2 * HOUR - MINUTE }), ["c", "b"]);
      assert.deepEqual(await ids(it, { startedBefore: now - 2 * HOUR + MINUTE }), ["b", "a"]);
      assert.deepEqual(await ids(it, { startedFrom: now - 2.5 * HOUR, startedBefore: now - 1.5 * HOUR }), ["b"]);
      const { startedAt } = await it.stored("b");
      assert.deepEqual(await ids(it, { startedFrom: startedAt, workflowId: "b" }), ["b"]);
      assert.deepEqual(await ids(it, { startedBefore: startedAt, workflowId: "b" }), []);
    });

    test("runs with a problem can be listed alone", async () => {
      const it = site();
      await it.start("fine");
      const [blocked, paused] = [await it.leased("blocked"), await it.leased("paused")];
      await it.workflows.giveBack([
        { ...blocked, pauseMs: HOUR, problem: "broken" },
        { ...paused, pauseMs: HOUR, problem: undefined },
      ]);
      assert.deepEqual(await ids(it, { isBlocked: true }), ["blocked"]);
      assert.deepEqual(await ids(it, { isBlocked: false }), ["paused", "blocked", "fine"]);
      await it.workflows.close(it.closing("blocked"));
      assert.deepEqual(await ids(it, { isBlocked: true }), []);
    });

    test("runs are counted, up to a limit", async () => {
      const it = site();
      for (let i = 0; i < 7; i++)
        await it.start(`${i}`, { type: i % 2 === 0 ? "Even" : "Odd", attributes: `{"i":${i % 3}}` });
      const count = (query: Partial<RunQuery>) => it.workflows.count({ namespace: it.namespace, limit: 100, ...query });
      assert.equal(await count({}), 7);
      assert.equal(await count({ limit: 5 }), 5);
      assert.equal(await count({ type: "Odd" }), 3);
      assert.equal(await count({ type: "Odd", attributes: { i: 0 } }), 1);
      assert.equal(await count({ status: "completed" }), 0);
      assert.equal(await count({ namespace: site().namespace }), 0);
    });
  });
}
