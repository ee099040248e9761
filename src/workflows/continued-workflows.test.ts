// Runs that continue as new while clients send messages: no message is lost, none is handled twice.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { query, signal, update, workflow } from "./definition/definition.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

const said = signal<string>("said");
const add = update<number, number>("add");

describe("runs that continue as new", () => {
  /** Handles two signals in each run, and ends at the signal "end". */
  const listener = workflow("listener", async (ctx, heard: string[]): Promise<string[]> => {
    ctx.onQuery("heard", () => heard);
    const now = [...heard];
    for (let i = 0; i < 2; i++) {
      now.push(await ctx.signal(said));
      if (now.at(-1) === "end") return now;
    }
    return ctx.continueAsNew(now);
  });

  it("a workflow that keeps continuing as new handles every signal once and in order", async () => {
    await using app = await testLimpet({ workflows: [listener] });
    const handle = await app.workflows.start(listener, { id: "l", input: [] });
    const words = [...Array.from({ length: 25 }, (_, i) => `${i}`), "end"];
    await Promise.all(words.map((word) => handle.signal(said, word)));
    await app.advance("1s");
    assert.deepEqual(await handle.result(), words);
    assert.equal(await app.workflows.count({ workflowId: "l" }), 13);
  });

  it("unhandled signals of all names move to the next run in order of arrival", async () => {
    const late = workflow("late", async (ctx, round: number): Promise<string[]> => {
      if (round === 1) {
        await ctx.signal("go");
        ctx.continueAsNew(2);
      }
      const received: string[] = [];
      for (const name of ["b", "a"]) ctx.onSignal<string>(name, (word) => received.push(`${name}${word}`));
      await ctx.condition(() => received.length === 4);
      return received;
    });
    await using app = await testLimpet({ workflows: [late] });
    const handle = await app.workflows.start(late, { input: 1 });
    for (const [name, word] of ["a1", "b2", "a3", "b4"]) await handle.signal(name!, word);
    await handle.signal("go", undefined);
    await app.advance("1s");
    assert.deepEqual((await handle.result()).sort(), ["a1", "a3", "b2", "b4"]);
    const history = await app.workflows.get(handle.id).history();
    const received = history.flatMap(({ event }) => (event.kind === "SignalReceived" ? [event.input] : []));
    assert.deepEqual(received, ["1", "2", "3", "4"]);
  });

  it("a handle of an earlier run finds the current one", async () => {
    await using app = await testLimpet({ workflows: [listener] });
    const handle = await app.workflows.start(listener, { id: "l", input: [] });
    for (const word of ["1", "2", "3"]) {
      await handle.signal(said, word);
      await app.advance("1s");
    }
    assert.deepEqual(await handle.query(query<string[]>("heard")), ["1", "2"]);
    assert.equal((await handle.describe()).status, "continued");
    await handle.terminate("enough");
    await assert.rejects(handle.result(), hasCode("WORKFLOW_TERMINATED", /enough/));
  });

  it("a cancellation that was sent to the previous run cancels the next one", async () => {
    const patient = workflow("patient", async (ctx, round: number): Promise<string> => {
      await ctx.sleep(round === 1 ? "1m" : "1h");
      return ctx.continueAsNew(round + 1);
    });
    await using app = await testLimpet({ workflows: [patient] });
    const handle = await app.workflows.start(patient, { id: "p", input: 1 });
    await app.advance("2m");
    await handle.cancel("no more");
    await app.advance("1s");
    await assert.rejects(handle.result(), hasCode("WORKFLOW_CANCELLED"));
  });

  it("an update that was sent before the next run existed is handled by it", async () => {
    const store = new MemoryStore();
    const counter = workflow("counter", async (ctx, total: number): Promise<number> => {
      let sum = total;
      if (total > 0) ctx.onUpdate(add, (n) => (sum += n));
      await ctx.signal("go");
      if (total === 0) ctx.continueAsNew(1);
      return sum;
    });
    await using app = await testLimpet({ workflows: [counter], stateStore: store });
    const handle = await app.workflows.start(counter, { id: "c", input: 0 });
    await app.advance("1s");
    // The first message lets the run continue; the second has arrived by then and was not handled.
    const [, answer] = await Promise.all([handle.signal("go", undefined), handle.update(add, 41), app.advance("1s")]);
    assert.equal(answer, 42);
  });

  it("a caller of an update that the continued run had accepted gets an error", async () => {
    const forgetful = workflow("forgetful", async (ctx, round: number): Promise<void> => {
      ctx.onUpdate("wait", async () => void (await ctx.sleep("1h")));
      await ctx.signal("go");
      if (round < 2) ctx.continueAsNew(round + 1);
    });
    await using app = await testLimpet({ workflows: [forgetful] });
    const handle = await app.workflows.start(forgetful, { input: 1 });
    const answer = assert.rejects(handle.update("wait"), hasCode("WORKFLOW_CLOSED", /accepted.*continued as new/));
    await app.advance("1s");
    await handle.signal("go", undefined);
    await app.advance("1s");
    await answer;
  });

  it("a repeated update is answered with its first outcome", async () => {
    const counter = workflow("counter", async (ctx): Promise<void> => {
      let sum = 0;
      ctx.onUpdate(add, (n) => (sum += n));
      await ctx.signal("end");
    });
    await using app = await testLimpet({ workflows: [counter] });
    const handle = await app.workflows.start(counter, { input: undefined });
    const ask = (n: number) => Promise.all([handle.update(add, n, { id: "once" }), app.advance("1s")]);
    assert.deepEqual([(await ask(5))[0], (await ask(5))[0]], [5, 5]);
  });

  it("the next run keeps queue, memo, attributes, limits and parent", async () => {
    const child = workflow("child", async (ctx, round: number): Promise<string> => {
      await ctx.sleep("1m");
      if (round < 3) ctx.continueAsNew(round + 1);
      return `${ctx.memo.why} ${ctx.attributes.colour}`;
    });
    await using app = await testLimpet({ workflows: [child] });
    const options = { memo: { why: "because" }, attributes: { colour: "red" }, timeout: "1h", input: 1 } as const;
    const handle = await app.workflows.start(child, { id: "c", ...options });
    await app.advance("5m");
    assert.equal(await handle.result(), "because red");
    assert.equal(await app.workflows.count({ attributes: { colour: "red" } }), 3);
    const late = await app.workflows.start(child, { id: "late", ...options, timeout: "150s" });
    await app.advance("5m");
    await assert.rejects(late.result(), hasCode("WORKFLOW_TIMED_OUT"));
  });
});
