import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Happening, KIND, Timeline } from "./timeline.ts";
import { Dummy } from "./world-kit.test.ts";

const FOREVER = Number.POSITIVE_INFINITY;

/** Plans an event that records its name and the time. */
function noting(timeline: Timeline) {
  const seen: string[] = [];
  const plan = (at: number, name: string, actee?: Dummy): Happening =>
    timeline.plan(at, KIND.timer, actee, () => void seen.push(`${name}@${timeline.now}`));
  return { seen, plan };
}

describe("planned events", () => {
  test("planned events run in the order of time, and at the same time in the order in which they were planned", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 }), (moments) => {
        const timeline = new Timeline();
        const { seen, plan } = noting(timeline);
        for (const [i, at] of moments.entries()) plan(at, `${i}`);
        while (timeline.step(FOREVER));
        const expected = [...moments.entries()].sort(([, a], [, b]) => a - b).map(([i, at]) => `${i}@${at}`);
        assert.deepEqual(seen, expected);
      }),
    );
  });

  test("an event for now runs after events already planned for now, and before all later ones", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    timeline.plan(5, KIND.timer, undefined, () => {
      plan(5, "for now");
      plan(1, "for the past");
    });
    plan(5, "before");
    plan(5.5, "later");
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["before@5", "for now@5", "for the past@5", "later@5.5"]);
  });

  test("a cancelled event does not run, and time does not stop for it", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    const cancelled = plan(3, "cancelled");
    plan(7, "kept");
    timeline.plan(1, KIND.timer, undefined, () => cancelled.cancel());
    await timeline.run(2);
    assert.equal(timeline.next, 7);
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["kept@7"]);
    assert.equal(timeline.steps, 2);
    assert.equal(timeline.next, undefined);
  });

  test("an event that its owner holds back runs behind the others when it is planned again", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    const sleeper = new Dummy(1);
    sleeper.isAsleep = true;
    plan(1, "held", sleeper);
    plan(2, "held too", sleeper);
    plan(3, "of somebody else", new Dummy(2));
    timeline.plan(10, KIND.script, undefined, () => sleeper.wake(timeline));
    plan(10, "planned for then", sleeper);
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["of somebody else@3", "planned for then@10", "held@10", "held too@10"]);
  });

  test("an event of an ended owner never runs, and counts as no step", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    const gone = new Dummy(1);
    plan(1, "in time", gone);
    timeline.plan(2, KIND.script, undefined, () => {
      gone.hasEnded = true;
    });
    plan(3, "too late", gone);
    await timeline.run(FOREVER);
    assert.deepEqual([seen, timeline.steps], [["in time@1"], 2]);
  });
});

describe("runs of the timeline", () => {
  test("a run ends at its given time, with all events of that time and none of a later one", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    for (const at of [10, 10.001, 10, 9]) plan(at, "it");
    await timeline.run(10);
    assert.deepEqual(seen, ["it@9", "it@10", "it@10"]);
    assert.equal(timeline.now, 10);
    await timeline.run(20);
    assert.deepEqual([seen.at(-1), timeline.now], ["it@10.001", 20]);
  });

  test("a run never goes back in time", async () => {
    const timeline = new Timeline();
    await timeline.run(20);
    await timeline.run(5);
    assert.equal(timeline.now, 20);
  });

  test("a run without an end continues until nothing is planned, and leaves time where it is", async () => {
    const timeline = new Timeline();
    const { plan } = noting(timeline);
    plan(3, "it");
    await timeline.run(FOREVER);
    assert.equal(timeline.now, 3);
    await timeline.run(FOREVER);
    assert.equal(timeline.now, 3);
  });

  test("a run checks before every step whether it is done", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    for (let i = 0; i < 1_000; i++) plan(i, "it");
    await timeline.run(FOREVER, () => seen.length === 700);
    assert.deepEqual([seen.length, timeline.now], [700, 699]);
    await timeline.run(FOREVER, () => true);
    assert.equal(seen.length, 700);
  });

  test("all promise callbacks of a step run before the next one, at the same time", async () => {
    const timeline = new Timeline();
    const seen: string[] = [];
    for (let i = 0; i < 1_000; i++) {
      timeline.plan(i, KIND.timer, undefined, async () => {
        for (let depth = 0; depth < 20; depth++) await undefined;
        process.nextTick(() => queueMicrotask(() => seen.push(`${i}@${timeline.now}`)));
      });
    }
    let after = 0;
    await timeline.run(FOREVER, undefined, () => {
      after++;
      assert.equal(seen.length, after);
    });
    assert.deepEqual(
      seen,
      Array.from({ length: 1_000 }, (_, i) => `${i}@${i}`),
    );
    assert.equal(after, 1_000);
  });

  test("a run stops at an event that throws, rejects with its error, and can continue behind it", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    plan(1, "before");
    timeline.plan(2, KIND.timer, undefined, () => {
      throw new Error("broken");
    });
    plan(3, "behind");
    await assert.rejects(timeline.run(FOREVER), /broken/);
    assert.deepEqual([seen, timeline.now], [["before@1"], 2]);
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["before@1", "behind@3"]);
  });

  test("a run stops when the observer after a step throws", async () => {
    const timeline = new Timeline();
    const { seen, plan } = noting(timeline);
    for (let i = 0; i < 10; i++) plan(i, "it");
    const look = (): void => {
      if (seen.length === 4) throw new Error("seen enough");
    };
    await assert.rejects(timeline.run(FOREVER, undefined, look), /seen enough/);
    assert.equal(seen.length, 4);
  });
});

describe("the trace of the timeline", () => {
  type Step = { readonly at: number; readonly kind: number; readonly who: number };
  const traceOf = (steps: readonly Step[]): string => {
    const timeline = new Timeline();
    for (const { at, kind, who } of steps) timeline.plan(at, kind, new Dummy(who), () => {});
    while (timeline.step(FOREVER));
    return timeline.trace;
  };
  const step = fc.record({
    at: fc.double({ min: 0, max: 1e6, noNaN: true }).map((at) => Math.round(at * 1_000) / 1_000),
    kind: fc.integer({ min: 1, max: 7 }),
    who: fc.integer({ min: 0, max: 600 }),
  });

  test("the trace of equal events is equal", () => {
    fc.assert(fc.property(fc.array(step), (steps) => assert.equal(traceOf(steps), traceOf(steps))));
  });

  test("the trace differs when one event has another owner, another kind, another time, or is missing", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1 }), fc.nat(), (steps, nat) => {
        const at = nat % steps.length;
        const changed = (change: Partial<Step>): Step[] => steps.with(at, { ...steps[at]!, ...change });
        const { kind, who, at: when } = steps[at]!;
        const others = [changed({ who: who + 1 }), changed({ kind: kind + 1 }), changed({ at: when + 0.5 })];
        for (const other of [...others, steps.toSpliced(at, 1)]) assert.notEqual(traceOf(other), traceOf(steps));
      }),
    );
  });

  test("the trace differs when two events are swapped", () => {
    const [a, b] = [
      { at: 1, kind: KIND.timer, who: 1 },
      { at: 1, kind: KIND.message, who: 2 },
    ];
    assert.notEqual(traceOf([a, b]), traceOf([b, a]));
  });

  test("the trace differs when another value is noted", () => {
    const noted = (...texts: readonly string[]): string => {
      const timeline = new Timeline();
      for (const text of texts) timeline.noteText(text);
      return timeline.trace;
    };
    assert.equal(noted("leading", "joined"), noted("leading", "joined"));
    const all = [noted(), noted("leading"), noted("leadinh"), noted("joined", "leading"), noted("leading", "joined")];
    assert.equal(new Set(all).size, all.length);
    assert.match(all[0]!, /^[0-9a-f]{16}$/);
  });

  test("the trace does not contain cancelled or dropped events", () => {
    const timeline = new Timeline();
    const gone = new Dummy(1);
    gone.hasEnded = true;
    timeline.plan(1, KIND.timer, undefined, () => {}).cancel();
    timeline.plan(2, KIND.timer, gone, () => {});
    while (timeline.step(FOREVER));
    assert.equal(timeline.trace, new Timeline().trace);
  });
});
