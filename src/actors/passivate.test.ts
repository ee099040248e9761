// The effect of passivate(), for every placement.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Actor } from "../index.ts";
import { testLimpet } from "../testing.ts";
import { sharded } from "./options/sharded-options.ts";
import { events, Recorded } from "./recorded-kit.test.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Guest extends Recorded {
  incAndPassivate() {
    this.passivate();
    return ++this.state.n;
  }
  passivateAndThrow() {
    this.passivate();
    throw new RangeError("no");
  }
  passivateAfterwards() {
    const later = Promise.withResolvers<unknown>();
    setImmediate(() => {
      try {
        this.passivate();
        later.resolve(undefined);
      } catch (error) {
        later.resolve(error);
      }
    });
    afterwards = later.promise;
  }
}
let afterwards: Promise<unknown> = Promise.resolve();

class Sharded extends Guest {
  static options = { placement: sharded({ shards: 3 }) };
}
class Sticky extends Guest {
  static options = { placement: "sticky" as const };
}
class Remembered extends Guest {
  static options = { placement: sharded({ shards: 3, remember: true }) };
}

for (const type of [Guest, Sharded, Sticky, Remembered]) {
  describe(`passivate() of a ${type.name}`, () => {
    const open = () => {
      events.length = 0;
      return testLimpet({ actors: [type] });
    };

    it("passivate() makes the actor leave memory when its turn has ended", async () => {
      await using app = await open();
      assert.equal(await app.actor(type, "a").incAndPassivate(), 1);
      await app.advance("1m");
      assert.deepEqual(events, ["+a", "-a explicit"]);
      assert.equal(await app.actor(type, "a").inc(), 2);
      assert.deepEqual(events, ["+a", "-a explicit", "+a"]);
    });

    it("passivate() has no effect when its turn throws, like all effects of the turn", async () => {
      await using app = await open();
      await assert.rejects(app.actor(type, "a").passivateAndThrow(), RangeError);
      await app.advance("1m");
      assert.equal(await app.actor(type, "a").inc(), 1);
      assert.deepEqual(events, ["+a"]);
    });

    it("passivate() is rejected outside a turn", async () => {
      await using app = await open();
      await app.actor(type, "a").passivateAfterwards();
      assert.equal(((await afterwards) as { code?: string }).code, "STATE_OUTSIDE_TURN");
      await app.advance("1m");
      assert.deepEqual(events, ["+a"]);
    });

    it("passivate() loses no call and keeps their order at any moment", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.constantFrom("inc", "passivate", "pause"), { maxLength: 40 }), async (steps) => {
          await using app = await open();
          const replies: Promise<number>[] = [];
          for (const step of steps) {
            if (step === "inc") replies.push(app.actor(type, "a").inc());
            else if (step === "passivate") replies.push(app.actor(type, "a").incAndPassivate());
            else await tick();
          }
          assert.deepEqual(
            await Promise.all(replies),
            Array.from(replies, (_, i) => i + 1),
          );
        }),
        { numRuns: 30 },
      );
    });
  });
}

describe("passivate()", () => {
  it("passivate() in onActivate serves the waiting calls, one in each life, and leaves", async () => {
    const lives: string[] = [];
    class Brief extends Actor<{ n: number }> {
      initial() {
        return { n: 0 };
      }
      override onActivate() {
        lives.push("+");
        this.passivate();
      }
      inc() {
        return ++this.state.n;
      }
    }
    await using app = await testLimpet({ actors: [Brief] });
    const calls = [1, 2, 3].map(() => app.actor(Brief, "a").inc());
    assert.deepEqual(await Promise.all(calls), [1, 2, 3]);
    assert.deepEqual(lives, ["+", "+", "+"]);
    assert.equal(app.host.types()[0]!.active, 0);
  });

  it("passivate() of a nested turn counts when the outer turn has ended, and not if the nested one threw", async () => {
    const left: string[] = [];
    class Nested extends Actor {
      static options = { reentrant: true };
      override onDeactivate() {
        left.push(this.id);
      }
      async outer(inner: "good" | "bad") {
        const self = this.actor<Nested>("Nested", this.id);
        await self[inner]().catch(() => {});
        await tick();
        return left.length;
      }
      good() {
        this.passivate();
      }
      bad() {
        this.passivate();
        throw new Error("no");
      }
    }
    await using app = await testLimpet({ actors: [Nested] });
    assert.equal(await app.actor(Nested, "a").outer("bad"), 0);
    await app.advance("1s");
    assert.deepEqual(left, []);
    assert.equal(await app.actor(Nested, "b").outer("good"), 0);
    await app.advance("1s");
    assert.deepEqual(left, ["b"]);
  });

  it("passivate() in the tick of a timer makes the actor leave", async () => {
    events.length = 0;
    class Ticking extends Guest {
      override onActivate() {
        super.onActivate();
        this.timers.set("bye", { due: "10s" }, () => this.passivate());
      }
    }
    await using app = await testLimpet({ actors: [Ticking] });
    await app.actor(Ticking, "a").inc();
    await app.advance("11s");
    assert.deepEqual(events, ["+a", "-a explicit"]);
  });
});

describe("sharded actors", () => {
  it("sharded actors leave memory after their idle timeout, except for remembered ones", async () => {
    events.length = 0;
    class Idle extends Guest {
      static options = { idleTimeout: "1m", placement: sharded() };
    }
    class Stays extends Guest {
      static options = { idleTimeout: "1m", placement: sharded({ remember: true }) };
    }
    await using app = await testLimpet({ actors: [Idle, Stays] });
    await app.actor(Idle, "idle").inc();
    await app.actor(Stays, "stays").inc();
    await app.advance("1h");
    assert.deepEqual(events, ["+idle", "+stays", "-idle idle"]);
    assert.equal(await app.actor(Idle, "idle").inc(), 2);
  });
});
