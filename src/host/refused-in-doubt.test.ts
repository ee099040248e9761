// Rejections that follow an unanswered attempt. The store may apply that attempt later, so such a rejection
// must not claim that nothing happened.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import type { Rewriting } from "../ports/store/reminders.ts";
import type { InboxMessage, RunStart, Workflows } from "../ports/store/workflows.ts";
import { type TestApp, testLimpet } from "../testing.ts";
import { workflow } from "../workflows/definition/definition.ts";
import { batchActivities } from "../workflows/worker/batched-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { go, hasCode, storeWith } from "./faults-kit.test.ts";

const waits = workflow("waits", async (ctx, input: string) => {
  await ctx.signal(go);
  return input;
});

/**
 * A store that gives no answer to the requests for which `isLost` holds. The test applies them later with
 * `late`.
 */
class Doubtful {
  readonly clock = new VirtualClock();
  readonly late: (() => Promise<unknown>)[] = [];
  isLost: (request: RunStart | InboxMessage) => boolean = () => false;
  more: Partial<Workflows> = {};
  readonly store = storeWith(this.clock, (workflows) => ({
    start: async (batch) => this.#answer(batch, () => workflows.start(batch)),
    deliver: async (batch) => this.#answer(batch, () => workflows.deliver(batch)),
    close: (closing) => (this.more.close ?? workflows.close.bind(workflows))(closing),
    history: (...args) => (this.more.history ?? workflows.history.bind(workflows))(...args),
  }));

  async #answer<T>(batch: readonly (RunStart | InboxMessage)[], work: () => Promise<T>): Promise<T> {
    if (!batch.some((request) => this.isLost(request))) return work();
    this.late.push(work);
    throw new LimpetError("COMMIT_UNKNOWN", "no answer in time");
  }

  /** Loses the next attempt; later ones are answered. */
  loseNext(workflowId: string): void {
    this.isLost = (request) => {
      if (request.workflowId !== workflowId) return false;
      this.isLost = () => false;
      return true;
    };
  }

  open(): Promise<TestApp> {
    return testLimpet({ workflows: [waits], clock: this.clock, stateStore: this.store }) as Promise<TestApp>;
  }
}

/** Advances time until the request is settled: the next attempt follows after a pause. */
async function settled<T>(app: TestApp, asked: Promise<T>): Promise<T> {
  asked.catch(() => {});
  await app.advance("1s");
  return asked;
}

const unavailable = async (): Promise<never> => {
  throw new LimpetError("STORE_UNAVAILABLE", "not now");
};

describe("a rejected start of a workflow", () => {
  it("a rejected start is ambiguous after an unanswered attempt, because that attempt can still start the workflow", async () => {
    const doubtful = new Doubtful();
    await using app = await doubtful.open();
    const first = await app.workflows.start(waits, { id: "x", input: "first" });
    doubtful.loseNext("x");
    const second = app.workflows.start(waits, { id: "x", input: "second" });
    await assert.rejects(settled(app, second), hasCode("COMMIT_UNKNOWN", /there is a workflow x already/));
    await first.signal(go, 1);
    assert.equal(await first.result(), "first");
    await doubtful.late[0]!();
    const late = app.workflows.get(waits, "x");
    await late.signal(go, 1);
    // The task is leased to the process that started the workflow, which does not know it.
    await app.advance("2d");
    assert.equal(await late.result(), "second");
  });

  it("a start is rejected for certain when every attempt was answered", async () => {
    const doubtful = new Doubtful();
    await using app = await doubtful.open();
    await app.workflows.start(waits, { id: "x", input: "first" });
    const second = app.workflows.start(waits, { id: "x", input: "second" });
    await assert.rejects(settled(app, second), hasCode("WORKFLOW_EXISTS"));
  });

  it("a start that accepts an existing run returns it, ambiguous or not", async () => {
    const doubtful = new Doubtful();
    await using app = await doubtful.open();
    const first = await app.workflows.start(waits, { id: "x", input: "first" });
    doubtful.loseNext("x");
    const second = app.workflows.start(waits, { id: "x", input: "second", ifRunning: "existing" });
    assert.equal((await settled(app, second)).runId, first.runId);
  });

  it("a start stays ambiguous when the run in its way cannot be ended", async () => {
    const doubtful = new Doubtful();
    await using app = await doubtful.open();
    await app.workflows.start(waits, { id: "x", input: "first" });
    doubtful.loseNext("x");
    doubtful.more = { close: unavailable };
    const second = app.workflows.start(waits, { id: "x", input: "second", ifRunning: "terminate" });
    await assert.rejects(settled(app, second), hasCode("COMMIT_UNKNOWN", /not now/));
  });
});

describe("a message to a closed workflow", () => {
  it("a message to a closed workflow is ambiguous after an unanswered attempt, because that attempt may have arrived", async () => {
    const doubtful = new Doubtful();
    await using app = await doubtful.open();
    const handle = await app.workflows.start(waits, { id: "x", input: "first" });
    await handle.signal(go, 1);
    await handle.result();
    await assert.rejects(handle.cancel("too late"), hasCode("WORKFLOW_CLOSED"));
    doubtful.loseNext("x");
    await assert.rejects(settled(app, handle.cancel("too late")), hasCode("COMMIT_UNKNOWN", /is over/));
  });
});

describe("a terminated workflow", () => {
  it("a terminated run is not reported as untouched when the notification of its children fails", async () => {
    const doubtful = new Doubtful();
    await using app = await doubtful.open();
    const handle = await app.workflows.start(waits, { id: "x", input: "first" });
    const { close } = doubtful.store.workflows;
    doubtful.more = {
      close: async (closing) => {
        doubtful.more = {};
        const isDone = await close(closing);
        doubtful.more = { history: unavailable };
        return isDone;
      },
    };
    await assert.rejects(handle.terminate("enough"), hasCode("COMMIT_UNKNOWN", /is over \(terminated\)/));
    assert.equal((await handle.describe()).status, "terminated");
  });
});

describe("a failed attempt of an activity", () => {
  it("a failed attempt is ambiguous when another worker has the row after an unanswered write", async () => {
    const clock = new VirtualClock();
    const answers: (() => Promise<boolean[]>)[] = [
      async () => {
        throw new LimpetError("COMMIT_UNKNOWN", "no answer in time");
      },
      async () => [false],
      async () => [false],
    ];
    const activities = batchActivities({ settle: unavailable, rewrite: () => answers.shift()!() }, clock, 10_000);
    const tick = { at: 0, due: 0, number: 1, attempt: 0 };
    const rewriting: Rewriting = { generation: 1, token: "mine", tick, leaseMs: undefined, data: "" };
    const first = activities.rewrite(rewriting);
    first.catch(() => {});
    await clock.advance("1s");
    await assert.rejects(first, hasCode("COMMIT_UNKNOWN"));
    assert.equal(await activities.rewrite(rewriting), false);
  });
});
