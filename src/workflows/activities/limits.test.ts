// The limits of an activity, case by case.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pauseAfter } from "../definition/activity-options.ts";
import type { QueuedActivity } from "../definition/messages.ts";
import type { SerializedActivityOptions } from "../engine/events.ts";
import { firstLook, LOOK_MS, lateness, lookAt } from "./limits.ts";

const NOW = 100_000;
const activity = (options: SerializedActivityOptions, more: Partial<QueuedActivity> = {}): QueuedActivity => ({
  workflowId: "w",
  runId: "r",
  n: 1,
  name: "act",
  input: null,
  options,
  attempts: 0,
  scheduledAt: NOW,
  ...more,
});

describe("limits of a queued activity", () => {
  it("the limits of an activity are checked when the first of them is over, and not at all without limits", () => {
    for (const [options, first] of [
      [{}, undefined],
      [{ startToClose: 5, heartbeat: 5 }, undefined],
      [{ scheduleToStart: 70, scheduleToClose: 50 }, NOW + 50],
      [{ scheduleToStart: 70 }, NOW + 70],
      [{ attempts: 3 }, NOW + 600_000],
      [{ attempts: 3, startToClose: 40_000, scheduleToClose: 50_000 }, NOW + 40_000],
      [{ attempts: 3, heartbeat: 10 }, NOW + LOOK_MS],
    ] as const) {
      assert.equal(firstLook(activity(options)), first, JSON.stringify(options));
    }
  });

  /** `row`: attempts that began, the start of the last one, and the end of its lease. */
  const look = (
    options: SerializedActivityOptions,
    now: number,
    [begun, begunAt, leasedUntil]: readonly [number, number?, number?] = [0],
    attempts = 0,
  ) => {
    const tick = { at: NOW, due: begunAt ?? NOW, number: 1, attempt: begun };
    return lookAt(activity(options, { attempts }), { tick, leasedUntil }, now);
  };

  it("a check of the limits returns a problem or the moment of the next check", () => {
    const start = { scheduleToStart: 50 };
    assert.match(JSON.stringify(look(start, NOW + 50)), /not begun within 50 ms/);
    assert.deepEqual(look(start, NOW + 49), { again: NOW + 50 });
    // A worker claimed it and has not begun it.
    assert.match(JSON.stringify(look(start, NOW + 50, [0, NOW, NOW + 60])), /not begun/);
    assert.deepEqual(look(start, NOW + 50, [1, NOW + 1, NOW + 60]), { again: undefined });
    assert.deepEqual(look(start, NOW + 50, [0], 1), { again: undefined });
    const close = { scheduleToClose: 80 };
    assert.deepEqual(look(close, NOW + 50), { again: NOW + 80 });
    assert.match(JSON.stringify(look(close, NOW + 80, [1, NOW, NOW + 200])), /not done within 80 ms/);
    assert.deepEqual(look({ ...start, ...close }, NOW + 50, [1, NOW, NOW + 60]), { again: NOW + 80 });
  });

  it("attempts of a lost worker count when the lease of the last one is over", () => {
    const once = { attempts: 1, startToClose: 300_000 };
    const later = NOW + 300_000;
    assert.deepEqual(look(once, later), { again: later + 300_000 });
    assert.deepEqual(look(once, later, [1, NOW + 200_000, later + 10]), { again: NOW + 500_000 });
    assert.deepEqual(look(once, later, [1, NOW + 200_000, later + 600_000]), { again: later + 600_000 });
    assert.match(JSON.stringify(look(once, later, [1, NOW + 200_000, later - 1])), /reported no result/);
    const beating = { attempts: 2, heartbeat: 20_000 };
    assert.deepEqual(look(beating, later, [1, later, later + 45_000]), { again: later + 45_000 });
    // The checks are no more frequent than this.
    assert.deepEqual(look(beating, later, [1, later, later + 15_000]), { again: later + LOOK_MS });
    // Another worker may try it once more.
    assert.deepEqual(look(beating, later, [1, NOW]), { again: later + LOOK_MS });
    assert.match(JSON.stringify(look(beating, later, [1, NOW], 1)), /reported no result/);
  });

  it("an activity beyond its limits does not begin", () => {
    assert.equal(lateness(activity({}), 5, NOW + 1e12), undefined);
    assert.match(String(lateness(activity({ scheduleToStart: 5 }), 0, NOW + 5)), /not begun/);
    assert.equal(lateness(activity({ scheduleToStart: 5 }), 1, NOW + 5), undefined);
    assert.match(String(lateness(activity({ scheduleToClose: 5 }), 1, NOW + 5)), /not done/);
    assert.match(String(lateness(activity({ attempts: 3 }, { attempts: 1 }), 2, NOW)), /reported no result/);
    assert.equal(lateness(activity({ attempts: 3 }, { attempts: 2 }), 0, NOW), undefined);
  });
});

describe("pause before the next attempt", () => {
  it("the pause before the next attempt stays finite after any number of attempts", () => {
    assert.equal(pauseAfter({ initial: 0 }, 5_000, []), 0);
    assert.equal(pauseAfter({ initial: 1, longest: 50 }, 5_000, []), 50);
    assert.equal(pauseAfter(undefined, 5_000, ["Error"]), 60_000);
    assert.equal(pauseAfter({ delays: [] }, 1, []), undefined);
  });
});
