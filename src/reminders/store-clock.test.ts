import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Clock } from "../ports/clock.ts";
import { StoreClock } from "./store-clock.ts";

/** The store's clock and the local one, with any difference. */
class Clocks {
  mono = 5_000;
  /** With fractions, which answers of the store do not have. */
  store = 1_000_000;
  wall = 77;
  readonly clock: Clock = {
    now: () => this.wall,
    monotonic: () => this.mono,
    after: () => ({ cancel: () => {} }),
    soon: () => {},
  };
  readonly known = new StoreClock(this.clock);

  pass(ms: number, rate = 1): void {
    this.store += ms;
    this.mono += ms * rate;
  }

  /** A request with these durations of both ways. */
  ask(there: number, back: number, rate = 1): void {
    const askedAt = this.mono;
    this.pass(there, rate);
    const answered = Math.floor(this.store);
    this.pass(back, rate);
    this.known.observe(answered, askedAt);
  }

  get error(): number {
    return this.known.now() - this.store;
  }
}

describe("estimates of the store's clock", () => {
  it("the estimate is the local wall clock until the first answer of the store", () => {
    const clocks = new Clocks();
    assert.equal(clocks.known.now(), 77);
    clocks.ask(1, 1);
    assert.equal(clocks.known.now(), 1_000_001);
  });

  it("the estimate is never ahead of the store while the local clock is right, and behind by no more than the fastest answer took", () => {
    const way = fc.double({ min: 0, max: 500, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(way, way, way), { minLength: 1, maxLength: 30 }), (questions) => {
        const clocks = new Clocks();
        let fastest = Number.POSITIVE_INFINITY;
        for (const [pause, there, back] of questions) {
          clocks.pass(pause);
          clocks.ask(there, back);
          fastest = Math.min(fastest, back);
          assert.ok(clocks.error <= 1e-6, `ahead by ${clocks.error}`);
          // An old answer counts for a little less, because clocks drift.
          assert.ok(clocks.error >= -fastest - 1 - 50, `behind by ${-clocks.error}`);
        }
      }),
    );
  });

  it("the estimate keeps a fast answer when slower ones follow", () => {
    const clocks = new Clocks();
    clocks.ask(0.5, 0.5);
    for (let i = 0; i < 10; i++) clocks.ask(300, 300);
    assert.ok(clocks.error > -2.5, `behind by ${-clocks.error}`);
  });

  it("the estimate is ahead of the store by the gain of the local clock until the next answer, and no more", () => {
    const clocks = new Clocks();
    for (let i = 0; i < 100; i++) {
      clocks.pass(2_000, 1.005);
      assert.ok(clocks.error <= 13.1, `ahead by ${clocks.error}`);
      clocks.ask(1, 1, 1.005);
      assert.ok(clocks.error <= 3.1, `ahead by ${clocks.error} after an answer`);
    }
  });

  it("the estimate follows at once when the store's clock is set, ahead or back, or the local machine has slept", () => {
    for (const jump of [30_000, -30_000, 3_600_000, -3_600_000]) {
      const clocks = new Clocks();
      clocks.ask(1, 1);
      clocks.store += jump;
      clocks.ask(1, 1);
      assert.ok(Math.abs(clocks.error) <= 3, `off by ${clocks.error} after a jump of ${jump}`);
    }
  });
});
