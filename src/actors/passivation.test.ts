import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Actor, type DeactivationReason } from "../index.ts";
import { testLimpet } from "../testing.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
let events: string[] = [];

class Guest extends Actor<{ n: number; left: string[] }> {
  static options = { idleTimeout: "1m" };
  initial() {
    return { n: 0, left: [] as string[] };
  }
  override onActivate() {
    events.push(`+${this.id}`);
  }
  override async onDeactivate(reason: DeactivationReason) {
    events.push(`-${this.id} ${reason}`);
    await tick();
    this.state.left.push(reason);
  }
  inc() {
    return ++this.state.n;
  }
  left() {
    return this.state.left;
  }
  leaveNow() {
    this.deactivate();
    return ++this.state.n;
  }
  async hold(opened: number) {
    await holds[opened]!.promise;
    return ++this.state.n;
  }
}
let holds: PromiseWithResolvers<void>[] = [];

function open(options: { maxResident?: number } = {}) {
  events = [];
  holds = [Promise.withResolvers(), Promise.withResolvers()];
  return testLimpet({ actors: [Guest], ...options });
}

describe("an actor", () => {
  it("an actor leaves memory after its idle timeout, and returns with its state", async () => {
    await using app = await open();
    await app.actor(Guest, "a").inc();
    await app.advance("59s");
    assert.equal(await app.actor(Guest, "a").inc(), 2);
    await app.advance("59s");
    assert.deepEqual(events, ["+a"]);
    await app.advance("20s");
    assert.deepEqual(events, ["+a", "-a idle"]);
    assert.deepEqual(app.host.types(), [{ type: "Guest", active: 0 }]);
    assert.equal(await app.actor(Guest, "a").inc(), 3);
    assert.deepEqual(await app.actor(Guest, "a").left(), ["idle"], "what onDeactivate changed was committed");
  });

  it("an actor does not leave while a turn runs, even a very long one", async () => {
    await using app = await open();
    const call = app.actor(Guest, "a", { timeout: "1d" }).hold(0);
    await app.advance("1h");
    assert.deepEqual(events, ["+a"]);
    holds[0]!.resolve();
    await call;
  });

  it("an actor that calls deactivate() leaves after its turn", async () => {
    await using app = await open();
    assert.equal(await app.actor(Guest, "a").leaveNow(), 1);
    await app.advance("1s");
    assert.deepEqual(events, ["+a", "-a explicit"]);
  });

  it("an actor whose onDeactivate throws or hangs leaves anyway", async () => {
    class Rude extends Actor<{ n: number }> {
      static options = { idleTimeout: "1m" };
      initial() {
        return { n: 0 };
      }
      inc() {
        return ++this.state.n;
      }
      override async onDeactivate() {
        this.state.n = 99;
        if (this.id === "throws") throw new Error("no");
        await new Promise(() => {});
      }
    }
    await using app = await testLimpet({ actors: [Rude], drainTimeout: "10s" });
    for (const id of ["throws", "hangs"]) {
      await app.actor(Rude, id).inc();
      await app.advance("2m");
      assert.equal(await app.actor(Rude, id).inc(), 2, id);
    }
  });

  it("an actor whose onActivate throws fails the waiting calls, and activates again for the next one", async () => {
    let broken = true;
    class Fragile extends Actor {
      override async onActivate() {
        await tick();
        if (broken) throw new RangeError("not today");
      }
      go() {
        return "ok";
      }
    }
    await using app = await testLimpet({ actors: [Fragile] });
    const calls = await Promise.allSettled([1, 2].map(() => app.actor(Fragile, "f").go()));
    for (const call of calls) assert.ok(call.status === "rejected" && call.reason instanceof RangeError);
    broken = false;
    assert.equal(await app.actor(Fragile, "f").go(), "ok");
  });
});

describe("a call that arrives while an actor leaves", () => {
  it("a call that arrives while an actor leaves reaches its next activation", async () => {
    await using app = await open();
    await app.actor(Guest, "a").leaveNow();
    const calls = [app.actor(Guest, "a").inc(), app.actor(Guest, "a").inc()];
    assert.deepEqual(await Promise.all(calls), [2, 3]);
    assert.deepEqual(events, ["+a", "-a explicit", "+a"]);
  });

  it("a call that arrives at any moment of a deactivation is never lost, failed or repeated", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom("inc", "leave", "pause"), { maxLength: 40 }), async (steps) => {
        await using app = await open();
        const replies: Promise<number>[] = [];
        for (const step of steps) {
          if (step === "inc") replies.push(app.actor(Guest, "a").inc());
          else if (step === "leave") replies.push(app.actor(Guest, "a").leaveNow());
          else await tick();
        }
        const expected = Array.from(replies, (_, i) => i + 1);
        assert.deepEqual(await Promise.all(replies), expected);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the limit on resident actors", () => {
  it("the least recently used actors leave at the limit of the host", async () => {
    await using app = await open({ maxResident: 3 });
    for (const id of ["a", "b", "c"]) await app.actor(Guest, id).inc();
    await app.actor(Guest, "a").inc();
    await app.actor(Guest, "d").inc();
    await app.advance("1s");
    assert.deepEqual(events, ["+a", "+b", "+c", "-b memory", "+d"]);
    assert.equal(await app.actor(Guest, "b").inc(), 2);
  });

  it("busy actors may exceed the limit by as many again, and then calls are rejected", async () => {
    await using app = await open({ maxResident: 1 });
    const busy = [app.actor(Guest, "a").hold(0), app.actor(Guest, "b").hold(0)];
    await app.advance("1s");
    await assert.rejects(app.actor(Guest, "c").inc(), { code: "HOST_FULL", retry: "later" });
    holds[0]!.resolve();
    assert.deepEqual(await Promise.all(busy), [1, 1]);
    assert.equal(await app.actor(Guest, "c").inc(), 1);
  });
});

describe("stopping", () => {
  it("a stop lets running turns and the calls behind them end, deactivates every actor, and rejects new calls", async () => {
    await using app = await open();
    await app.actor(Guest, "b").inc();
    const calls = [app.actor(Guest, "a").hold(0), app.actor(Guest, "a").inc()];
    await tick();
    const stopped = app.stop();
    await assert.rejects(app.actor(Guest, "b").inc(), { code: "STOPPING", retry: "elsewhere" });
    assert.equal(app.host.status().ready, false);
    holds[0]!.resolve();
    assert.deepEqual(await Promise.all(calls), [1, 2]);
    await stopped;
    assert.deepEqual(events.toSorted(), ["+a", "+b", "-a stop", "-b stop"]);
  });

  it("a stop does not wait forever: turns that run past the drain timeout are aborted through their signal", async () => {
    let signal: AbortSignal | undefined;
    class Endless extends Actor {
      async go() {
        signal = this.signal;
        await new Promise(() => {});
      }
    }
    await using app = await testLimpet({ actors: [Endless], drainTimeout: "10s" });
    const call = app.actor(Endless, "e", { timeout: "1h" }).go();
    const rejected = assert.rejects(call, { code: "CALL_CANCELLED", retry: "unknown", message: /the process stopped/ });
    await app.stop();
    await rejected;
    assert.equal(signal?.aborted, true);
  });
});
