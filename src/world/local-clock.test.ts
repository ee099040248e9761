import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { BEGINNING, type ClockTroubles, LocalClock } from "./local-clock.ts";
import { Timeline } from "./timeline.ts";
import { Dummy } from "./world-kit.test.ts";

const FOREVER = Number.POSITIVE_INFINITY;

function clockWith(troubles: ClockTroubles = {}) {
  const timeline = new Timeline();
  const actee = new Dummy(1);
  return { timeline, actee, clock: new LocalClock(timeline, actee, troubles) };
}

/** Times are sums of fractions. */
const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6;

describe("the clocks of a process", () => {
  test("clocks advance with the world", async () => {
    const { timeline, clock } = clockWith();
    const began = clock.monotonic();
    assert.equal(clock.now(), BEGINNING);
    await timeline.run(12_345);
    assert.ok(near(clock.monotonic() - began, 12_345));
    assert.equal(clock.now(), BEGINNING + 12_345);
  });

  test("the clocks of a process that starts later show the time of the world, and count from its own start", async () => {
    const { timeline, actee, clock } = clockWith();
    const began = clock.monotonic();
    await timeline.run(60_000);
    const later = new LocalClock(timeline, actee);
    assert.equal(later.now(), clock.now());
    assert.equal(later.monotonic(), began);
  });

  test("an offset affects the wall clock alone", async () => {
    const { timeline, clock } = clockWith({ offsetMs: -3_600_000 });
    const began = clock.monotonic();
    await timeline.run(1_000);
    assert.equal(clock.now(), BEGINNING - 3_600_000 + 1_000);
    assert.equal(clock.monotonic() - began, 1_000);
  });

  test("a jump affects the wall clock alone, and no timer fires because of it", async () => {
    const { timeline, clock } = clockWith();
    let rangAt = 0;
    clock.after(1_000, () => {
      rangAt = timeline.now;
    });
    await timeline.run(500);
    const before = clock.monotonic();
    clock.jump(86_400_000);
    assert.equal(clock.now(), BEGINNING + 86_400_000 + 500);
    clock.jump(-2 * 86_400_000);
    assert.equal(clock.now(), BEGINNING - 86_400_000 + 500);
    assert.equal(clock.monotonic(), before);
    await timeline.run(FOREVER);
    assert.equal(rangAt, 1_000);
  });

  test("clocks may be too fast or too slow, from the start or from a later time", async () => {
    const { timeline, clock } = clockWith({ rate: 1.5 });
    const began = clock.monotonic();
    await timeline.run(1_000);
    clock.drift(0.5);
    assert.ok(near(clock.monotonic() - began, 1_500));
    await timeline.run(2_000);
    assert.ok(near(clock.monotonic() - began, 2_000));
    assert.equal(clock.now(), BEGINNING + 2_000);
  });

  test("the monotonic clock stands still while the machine sleeps; the wall clock continues", async () => {
    const { timeline, clock } = clockWith({ rate: 2 });
    await timeline.run(100);
    const before = clock.monotonic();
    clock.sleep();
    await timeline.run(10_100);
    assert.equal(clock.monotonic(), before);
    assert.equal(clock.now(), BEGINNING + 200 + 10_000);
    // A sleeping machine does not fall asleep again.
    clock.sleep();
    clock.drift(1);
    await timeline.run(20_100);
    clock.wake();
    assert.equal(clock.monotonic(), before);
    assert.equal(clock.now(), BEGINNING + 200 + 20_000);
    await timeline.run(20_200);
    assert.ok(near(clock.monotonic() - before, 100));
    assert.equal(clock.now(), BEGINNING + 200 + 20_000 + 100);
    clock.wake();
    assert.ok(near(clock.monotonic() - before, 100));
  });

  test("the monotonic clock never goes back, under any fault", async () => {
    const trouble = fc.oneof(
      fc.double({ min: 0.1, max: 10, noNaN: true }).map((rate) => (clock: LocalClock) => clock.drift(rate)),
      fc.integer({ min: -1e9, max: 1e9 }).map((ms) => (clock: LocalClock) => clock.jump(ms)),
      fc.constant((clock: LocalClock) => clock.sleep()),
      fc.constant((clock: LocalClock) => clock.wake()),
    );
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 5_000 }), trouble), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { timeline, clock } = clockWith();
        let last = clock.monotonic();
        for (const [ms, happens] of all) {
          await timeline.run(timeline.now + ms);
          assert.ok(clock.monotonic() >= last);
          last = clock.monotonic();
          happens(clock);
          assert.ok(near(clock.monotonic(), last));
        }
      }),
    );
  });
});

describe("a timer", () => {
  test("a timer fires when its time has passed on the clock of its process", async () => {
    const { timeline, clock } = clockWith({ rate: 0.5 });
    const rangAt: number[] = [];
    clock.after(1_000, () => rangAt.push(timeline.now));
    await timeline.run(FOREVER);
    assert.deepEqual(rangAt, [2_000]);
  });

  test("a timer takes whole milliseconds and at least one, as timers of Node do", async () => {
    const { timeline, clock } = clockWith();
    const rangAt: number[] = [];
    for (const ms of [-5, 0, 0.2, 1, 1.1, 2]) clock.after(ms, () => rangAt.push(timeline.now));
    await timeline.run(FOREVER);
    assert.deepEqual(rangAt, [1, 1, 1, 1, 2, 2]);
  });

  test("a cancelled timer does not fire, also when its slow clock has postponed it", async () => {
    const { timeline, clock } = clockWith();
    const rang: string[] = [];
    clock.after(10, () => rang.push("at once")).cancel();
    const putOff = clock.after(10, () => rang.push("put off"));
    clock.drift(0.1);
    await timeline.run(50);
    putOff.cancel();
    await timeline.run(FOREVER);
    assert.deepEqual(rang, []);
  });

  test("a timer is early at most by the tolerance of its clock, however the clock changes meanwhile", async () => {
    const change = fc.tuple(fc.integer({ min: 1, max: 400 }), fc.double({ min: 0.2, max: 5, noNaN: true }));
    const property = fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 10 }),
      fc.array(change, { maxLength: 10 }),
      fc.constantFrom(0, 1, 15),
      fc.constantFrom(0, 10),
      async (lengths, changes, earlyMs, grainMs) => {
        const { timeline, clock } = clockWith({ earlyMs, grainMs });
        const began = clock.monotonic();
        const rang = new Map<number, number>();
        for (const [i, ms] of lengths.entries()) clock.after(ms, () => rang.set(i, clock.monotonic() - began));
        for (const [ms, rate] of changes) {
          await timeline.run(timeline.now + ms);
          clock.drift(rate);
        }
        await timeline.run(FOREVER);
        for (const [i, ms] of lengths.entries()) {
          assert.ok(rang.get(i)! > ms - earlyMs - 1e-5, `${ms} ms rang after ${rang.get(i)}`);
          // Half of it has always passed: no timer fires at the moment in which it is set.
          assert.ok(rang.get(i)! >= ms / 2 - 1e-5);
        }
      },
    );
    await fc.assert(property);
  });

  test("a timer may fire early on an early clock", async () => {
    const { timeline, clock } = clockWith({ earlyMs: 1 });
    const rangAt: number[] = [];
    for (const ms of [1, 2, 100]) clock.after(ms, () => rangAt.push(timeline.now));
    await timeline.run(FOREVER);
    assert.deepEqual(rangAt, [0.5, 1, 99]);
  });

  test("a timer fires at a multiple of the grain of its clock, and not before it is due", async () => {
    const { timeline, clock } = clockWith({ grainMs: 16 });
    await timeline.run(3);
    const rang: number[] = [];
    for (const ms of [1, 20, 100]) clock.after(ms, () => rang.push(clock.monotonic()));
    const set = clock.monotonic();
    await timeline.run(FOREVER);
    for (const at of rang) assert.ok(near(at / 16, Math.round(at / 16)), `${at} is no multiple`);
    for (const [i, ms] of [1, 20, 100].entries()) assert.ok(rang[i]! >= set + ms && rang[i]! < set + ms + 16);
  });

  test("a timer fires later by as long as its machine slept", async () => {
    const { timeline, actee, clock } = clockWith();
    const rangAt: number[] = [];
    clock.after(1_000, () => rangAt.push(timeline.now));
    await timeline.run(400);
    actee.isAsleep = true;
    clock.sleep();
    await timeline.run(5_400);
    clock.wake();
    actee.wake(timeline);
    await timeline.run(FOREVER);
    assert.deepEqual(rangAt, [6_000]);
  });

  test("a timer of a paused process fires as soon as the process resumes", async () => {
    const { timeline, actee, clock } = clockWith();
    const rangAt: number[] = [];
    clock.after(1_000, () => rangAt.push(timeline.now));
    clock.after(8_000, () => rangAt.push(timeline.now));
    await timeline.run(400);
    actee.isAsleep = true;
    await timeline.run(5_400);
    const before = clock.monotonic();
    actee.wake(timeline);
    await timeline.run(FOREVER);
    assert.deepEqual(rangAt, [5_400, 8_000]);
    assert.ok(near(clock.monotonic() - before, 2_600), "its clock went on");
  });
});

test("soon runs after all runnable work, and takes no time", async () => {
  const { timeline, clock } = clockWith();
  const seen: string[] = [];
  clock.after(5, () => {
    clock.soon(() => seen.push(`soon@${timeline.now}`));
    queueMicrotask(() => queueMicrotask(() => seen.push("microtask")));
    seen.push("now");
  });
  clock.after(5, () => seen.push("other"));
  await timeline.run(FOREVER);
  assert.deepEqual(seen, ["now", "microtask", "other", "soon@5"]);
});
