// Successive lives of an actor: nothing may leak from one into the next, and nothing may block one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, isLimpetError, LimpetError } from "../index.ts";
import type { Commit, CommitOutcome } from "../ports/store/store.ts";
import { MemoryStore, testLimpet } from "../testing.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A store that answers commits when the test allows it. */
class Slow extends MemoryStore {
  held: PromiseWithResolvers<void> | undefined;
  takes = 0;

  override take(...args: Parameters<MemoryStore["take"]>) {
    this.takes++;
    return super.take(...args);
  }

  override async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    await this.held?.promise;
    return super.commit(batch);
  }
}

describe("a life", () => {
  it("a life that wants to end while it begins first serves the call that activated it", async () => {
    class Shy extends Actor<{ n: number }> {
      initial() {
        return { n: 0 };
      }
      override onActivate() {
        this.deactivate();
      }
      inc() {
        return ++this.state.n;
      }
    }
    class ShyStateless extends Actor {
      override onActivate() {
        this.deactivate();
      }
      go() {
        return "served";
      }
    }
    const store = new Slow();
    await using app = await testLimpet({ actors: [Shy, ShyStateless], stateStore: store });
    assert.deepEqual(await Promise.all([1, 2].map(() => app.actor(Shy, "s").inc())), [1, 2]);
    assert.equal(await app.actor(ShyStateless, "s").go(), "served");
    await app.advance("1s");
    assert.equal(store.takes, 2);
    assert.ok(app.host.types().every(({ active }) => active === 0));
  });

  for (const outcome of ["committed", "lost"] as const) {
    it(`a life whose last commit is ${outcome} after its hook timed out does not disturb the next one`, async () => {
      class Slowpoke extends Actor<{ n: number }> {
        static options = { idleTimeout: "1m" };
        initial() {
          return { n: 0 };
        }
        inc() {
          return ++this.state.n;
        }
        override onDeactivate() {
          this.state.n += 100;
        }
      }
      const store = new Slow();
      await using app = await testLimpet({ actors: [Slowpoke], stateStore: store, drainTimeout: "5s" });
      await app.actor(Slowpoke, "a").inc();
      await app.actor(Slowpoke, "mate").inc();
      store.held = Promise.withResolvers();
      await app.advance("80s");
      const next = app.actor(Slowpoke, "a").inc();
      await tick();
      const { held } = store;
      store.held = undefined;
      if (outcome === "committed") held.resolve();
      else held.reject(new LimpetError("STATE_INVALID", "refused"));
      await app.advance("1s");
      const result = await next.catch((error: LimpetError) => error.code);
      assert.ok(result === 2 || result === 102 || result === "FENCED", `${result}`);
      assert.ok((await app.actor(Slowpoke, "a").inc()) > 1);
      assert.ok((await app.actor(Slowpoke, "mate").inc()) > 1);
    });
  }

  it("a life whose onActivate loses its commit is followed by a new one, and passes nothing on", async () => {
    let failing = true;
    class Fragile extends Actor<{ n: number }> {
      initial() {
        return { n: 0 };
      }
      override onActivate() {
        this.state.n += 10;
      }
      inc() {
        return ++this.state.n;
      }
    }
    class Failing extends Slow {
      override async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
        if (failing) throw new LimpetError("STATE_INVALID", "refused");
        return super.commit(batch);
      }
    }
    const store = new Failing();
    await using app = await testLimpet({ actors: [Fragile], stateStore: store });
    const first = app.actor(Fragile, "f").inc();
    await tick();
    await tick();
    failing = false;
    const result = await first.catch((error: LimpetError) => error.code);
    assert.ok(result === 11 || result === "STATE_INVALID", `${result}`);
    assert.ok(store.takes <= 2);
    assert.ok((await app.actor(Fragile, "f").inc()) >= 11);
  });

  it("timers end with their life: none is set afterwards, and no waiting tick activates the actor", async () => {
    const ran: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    class Clockwork extends Actor {
      static options = { idleTimeout: "1m" };
      async start() {
        const { timers } = this;
        this.timers.set("t", { due: "1s" }, () => ran.push("tick"));
        await held;
        this.deactivate();
        void tick().then(() => {
          try {
            timers.set("late", { due: "1s" }, () => ran.push("late"));
          } catch (error) {
            ran.push((error as LimpetError).code);
          }
        });
      }
    }
    await using app = await testLimpet({ actors: [Clockwork] });
    const call = app.actor(Clockwork, "c").start();
    await app.advance("5s");
    release();
    await call;
    await app.advance("5s");
    assert.deepEqual(ran, ["TIMER_INVALID"]);
    assert.deepEqual(app.host.types(), [{ type: "Clockwork", active: 0 }]);
  });

  it("timers do not prolong the life of their actor", async () => {
    let ticks = 0;
    class Ticking extends Actor {
      static options = { idleTimeout: "1m" };
      start() {
        this.timers.set("t", { every: "10s" }, () => ticks++);
      }
    }
    await using app = await testLimpet({ actors: [Ticking] });
    await app.actor(Ticking, "t").start();
    await app.advance("2m");
    assert.ok(ticks >= 5 && ticks <= 8, `${ticks}`);
    assert.deepEqual(app.host.types(), [{ type: "Ticking", active: 0 }]);
  });

  it("a result that only looks like a promise cannot block its actor", async () => {
    class Odd extends Actor {
      getter(): unknown {
        // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable.
        return Object.defineProperty({}, "then", {
          get() {
            throw new RangeError("getter");
          },
        });
      }
      call(): unknown {
        return {
          // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable.
          then() {
            throw new RangeError("call");
          },
        };
      }
      fine() {
        return "fine";
      }
    }
    await using app = await testLimpet({ actors: [Odd] });
    await assert.rejects(app.actor(Odd, "o").getter(), { message: "getter" });
    await assert.rejects(app.actor(Odd, "o").call(), { message: "call" });
    assert.equal(await app.actor(Odd, "o").fine(), "fine");
  });
});

describe("calls made within a turn", () => {
  const hung = new Promise<void>(() => {});
  class Hung extends Actor {
    async go() {
      await hung;
    }
  }
  class Caller extends Actor {
    static options = { callTimeout: "5s" };
    async two() {
      const first = this.actor(Hung, "first").go();
      const second = this.actor(Hung, "second").go();
      await second;
      await first;
    }
    forget() {
      outcome = this.actor(Hung, "forgotten", { timeout: "1h" })
        .go()
        .catch((error: LimpetError) => error.code);
      return "gone";
    }
  }
  let outcome: Promise<unknown>;

  it("calls of a turn that time out leave no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    await using app = await testLimpet({ actors: [Caller, Hung], drainTimeout: "1s" });
    const call = assert.rejects(app.actor(Caller, "c").two(), { code: "CALL_TIMEOUT" });
    await app.advance("6s");
    await call;
    await tick();
    process.off("unhandledRejection", note);
    assert.deepEqual(unhandled, []);
  });

  it("calls of a turn that are not awaited keep their inherited deadline", async () => {
    await using app = await testLimpet({ actors: [Caller, Hung], drainTimeout: "1s" });
    assert.equal(await app.actor(Caller, "c").forget(), "gone");
    await app.advance("4s");
    assert.equal(await Promise.race([outcome, "waiting"]), "waiting");
    await app.advance("2s");
    assert.equal(await outcome, "CALL_TIMEOUT");
  });

  it("a call notices a signal that is aborted while the callee has just begun", async () => {
    const controller = new AbortController();
    class Aborting extends Actor {
      async go() {
        controller.abort();
        await hung;
      }
    }
    await using app = await testLimpet({ actors: [Aborting], drainTimeout: "1s" });
    await assert.rejects(app.actor(Aborting, "a", { signal: controller.signal }).go(), (error) =>
      isLimpetError(error, "CALL_CANCELLED"),
    );
  });

  it("thousands of calls, one after another, may come back to a reentrant actor", async () => {
    class Crowd extends Actor<{ n: number }> {
      static options = { reentrant: true, mailboxLimit: 20_000 };
      initial() {
        return { n: 0 };
      }
      async fan(count: number) {
        const self = this.actor(Crowd, this.id);
        await Promise.all([self.first(), ...Array.from({ length: count }, () => self.inc())]);
        return this.state.n;
      }
      async first() {
        await tick();
        return ++this.state.n;
      }
      inc() {
        return ++this.state.n;
      }
    }
    await using app = await testLimpet({ actors: [Crowd] });
    assert.equal(await app.actor(Crowd, "c").fan(10_000), 10_001);
  });
});

describe("the limit on resident actors", () => {
  it("an idle actor is found for eviction behind any number of busy ones", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    class Guest extends Actor {
      async hold() {
        await held;
      }
      touch() {
        return this.id;
      }
    }
    await using app = await testLimpet({ actors: [Guest], maxResident: 100 });
    const busy = Array.from({ length: 90 }, (_, i) => app.actor(Guest, `busy${i}`).hold());
    for (let i = 0; i < 400; i++) assert.equal(await app.actor(Guest, `idle${i}`).touch(), `idle${i}`);
    assert.ok(app.host.types()[0]!.active <= 200);
    release();
    await Promise.all(busy);
  });
});
