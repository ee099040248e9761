import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Actor, isLimpetError } from "../index.ts";
import { testLimpet } from "../testing.ts";

/** A promise and its ends. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("turns", () => {
  it("turns of one actor run one at a time, in the order of the calls, starting with the first", async () => {
    const seen: string[] = [];
    class Diary extends Actor<{ n: number }> {
      initial() {
        return { n: 0 };
      }
      override async onActivate() {
        seen.push("activate");
        await tick();
        seen.push("activated");
      }
      async write(n: number) {
        seen.push(`begin ${n}`);
        await tick();
        this.state.n++;
        seen.push(`end ${n}`);
        return this.state.n;
      }
    }
    await using app = await testLimpet({ actors: [Diary] });
    const diary = app.actor(Diary, "d");
    assert.deepEqual(await Promise.all([diary.write(1), diary.write(2), diary.write(3)]), [1, 2, 3]);
    assert.deepEqual(seen, ["activate", "activated", "begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
  });

  it("turns never overlap and keep the order of their callers, with any mix of actions", async () => {
    const step = fc.constantFrom("sync", "microtask", "macrotask", "throw", "change", "change then throw");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), step), { maxLength: 30 }), async (calls) => {
        const running = new Set<string>();
        const order = new Map<string, number[]>();
        class Busy extends Actor<{ sum: number }> {
          initial() {
            return { sum: 0 };
          }
          work(n: number, how: string): unknown {
            assert.ok(!running.has(this.id), "two turns overlap");
            running.add(this.id);
            order.set(this.id, [...(order.get(this.id) ?? []), n]);
            if (how.startsWith("change")) this.state.sum += n;
            const done = () => {
              running.delete(this.id);
              if (how.endsWith("throw")) throw new RangeError(String(n));
              return this.state.sum;
            };
            if (how === "microtask") return Promise.resolve().then(done);
            if (how === "macrotask") return tick().then(done);
            return done();
          }
        }
        await using app = await testLimpet({ actors: [Busy] });
        const sums = [0, 0, 0];
        const results = await Promise.allSettled(
          calls.map(([actor, how], n) => app.actor(Busy, `a${actor}`).work(n, how)),
        );
        const asked = new Map<string, number[]>();
        for (const [n, [actor, how]] of calls.entries()) {
          asked.set(`a${actor}`, [...(asked.get(`a${actor}`) ?? []), n]);
          if (how === "change") sums[actor]! += n;
          const result = results[n]!;
          if (how.endsWith("throw")) assert.equal(result.status, "rejected");
          else assert.deepEqual(result, { status: "fulfilled", value: sums[actor] });
        }
        assert.deepEqual(order, asked);
      }),
      { numRuns: 60 },
    );
  });

  it("turns of different actors do not wait for each other", async () => {
    const held = gate();
    class Door extends Actor {
      async wait() {
        await held.opened;
      }
      pass() {
        return this.id;
      }
    }
    await using app = await testLimpet({ actors: [Door] });
    const stuck = app.actor(Door, "a").wait();
    assert.equal(await app.actor(Door, "b").pass(), "b");
    held.open();
    await stuck;
  });

  it("arguments and results are copies, so that callers share no object with an actor", async () => {
    class Box extends Actor<{ list: number[] }> {
      initial() {
        return { list: [] as number[] };
      }
      put(list: number[]) {
        this.state.list = list;
        return this.state.list;
      }
      get() {
        return this.state.list;
      }
      get unused() {
        return 1;
      }
    }
    await using app = await testLimpet({ actors: [Box] });
    const box = app.actor(Box, "b");
    const given = [1];
    const returned = await box.put(given);
    given.push(2);
    returned.push(3);
    (await box.get()).push(4);
    assert.deepEqual(await box.get(), [1]);
  });

  it("arguments and results that cannot be serialized are rejected, and the error names the place", async () => {
    class Odd extends Actor {
      take(_value: unknown) {
        return "taken";
      }
      give(): unknown {
        return { deep: [new WeakMap()] };
      }
    }
    await using app = await testLimpet({ actors: [Odd] });
    const odd = app.actor(Odd, "o");
    await assert.rejects(odd.take({ f: () => 1 }), {
      code: "ARGUMENT_INVALID",
      message: /^argument 1\.f \(a function\)/,
    });
    await assert.rejects(odd.give(), {
      code: "RESULT_INVALID",
      message: /^the result of give\.deep\[0\] \(an instance of WeakMap\)/,
    });
  });

  it("a thrown error reaches the caller with its name, message, code and cause", async () => {
    class PaymentError extends Error {
      override name = "PaymentError";
      code = "CARD_DECLINED";
    }
    class Till extends Actor {
      async pay() {
        throw new PaymentError("declined", { cause: new TypeError("expired") });
      }
      odd() {
        throw "just text";
      }
    }
    await using app = await testLimpet({ actors: [Till] });
    await assert.rejects(app.actor(Till, "t").pay(), (error: PaymentError) => {
      assert.equal(error.name, "PaymentError");
      assert.equal(error.message, "declined");
      assert.equal(error.code, "CARD_DECLINED");
      assert.equal((error.cause as Error).message, "expired");
      return true;
    });
    await assert.rejects(app.actor(Till, "t").odd(), { name: "Error", message: "just text" });
  });
});

describe("a mailbox", () => {
  it("a mailbox rejects calls beyond its limit, and accepts them again when there is room", async () => {
    const held = gate();
    class Slow extends Actor {
      static options = { mailboxLimit: 2 };
      async go(n: number) {
        await held.opened;
        return n;
      }
    }
    await using app = await testLimpet({ actors: [Slow] });
    const slow = app.actor(Slow, "s");
    const accepted = [slow.go(1), slow.go(2), slow.go(3)];
    await assert.rejects(slow.go(4), { code: "MAILBOX_FULL", retry: "later" });
    held.open();
    assert.deepEqual(await Promise.all(accepted), [1, 2, 3]);
    assert.equal(await slow.go(5), 5);
  });

  it("a mailbox frees the place of a call whose caller gave up", async () => {
    const held = gate();
    const ran: number[] = [];
    class Slow extends Actor {
      static options = { mailboxLimit: 1, callTimeout: "1s" };
      async go(n: number) {
        ran.push(n);
        await held.opened;
      }
    }
    await using app = await testLimpet({ actors: [Slow] });
    const first = app.actor(Slow, "s", { timeout: "1h" }).go(1);
    const second = app.actor(Slow, "s").go(2);
    const gaveUp = assert.rejects(second, { code: "CALL_TIMEOUT" });
    await app.advance("1s");
    await gaveUp;
    const third = app.actor(Slow, "s", { timeout: "1h" }).go(3);
    held.open();
    await Promise.all([first, third]);
    assert.deepEqual(ran, [1, 3]);
  });
});

describe("a call", () => {
  it("a call that times out fails for its caller, and the actor is notified through its signal", async () => {
    const aborted = gate();
    let reason: unknown;
    class Slow extends Actor {
      static options = { callTimeout: "5s" };
      async go() {
        assert.equal(this.deadline, app.clock.now() + 5_000);
        this.signal.addEventListener("abort", () => {
          reason = this.signal.reason;
          aborted.open();
        });
        await aborted.opened;
      }
    }
    await using app = await testLimpet({ actors: [Slow] });
    const call = assert.rejects(app.actor(Slow, "s").go(), {
      code: "CALL_TIMEOUT",
      retry: "unknown",
      message: "Slow/s.go took longer than 5s",
    });
    await app.advance("4999ms");
    assert.equal(reason, undefined);
    await app.advance("1ms");
    await call;
    await aborted.opened;
    assert.ok(isLimpetError(reason, "CALL_TIMEOUT"));
  });

  it("a cancelled call is cancelled in every actor it has reached, and never starts where it still waits", async () => {
    const held = gate();
    const signals: AbortSignal[] = [];
    const ran: string[] = [];
    class Relay extends Actor {
      async pass(to: string[]): Promise<void> {
        ran.push(this.id);
        signals.push(this.signal);
        const [next, ...rest] = to;
        if (next === undefined) await held.opened;
        else await this.actor(Relay, next).pass(rest);
      }
    }
    await using app = await testLimpet({ actors: [Relay] });
    const busy = app.actor(Relay, "last").pass([]);
    const controller = new AbortController();
    const call = app.actor(Relay, "a", { signal: controller.signal }).pass(["b", "last"]);
    await tick();
    assert.deepEqual(ran, ["last", "a", "b"]);
    controller.abort(new Error("changed my mind"));
    await assert.rejects(
      call,
      (error) => isLimpetError(error, "CALL_CANCELLED") && /changed/.test(String(error.cause)),
    );
    assert.deepEqual(
      signals.map((signal) => signal.aborted),
      [false, true, true],
    );
    held.open();
    await busy;
    await app.actor(Relay, "last").pass([]);
    assert.deepEqual(ran, ["last", "a", "b", "last"]);
  });

  it("a call with an already aborted signal is not made", async () => {
    class Never extends Actor {
      run() {
        assert.fail("it ran");
      }
    }
    await using app = await testLimpet({ actors: [Never] });
    await assert.rejects(app.actor(Never, "n", { signal: AbortSignal.abort() }).run(), { code: "CALL_CANCELLED" });
  });

  it("a call made within a turn never waits longer than the turn may", async () => {
    const deadlines: (number | undefined)[] = [];
    class Outer extends Actor {
      static options = { callTimeout: "5s" };
      async run() {
        deadlines.push(this.deadline);
        await this.actor(Inner, "i").run();
        await this.actor(Inner, "i", { timeout: "1s" }).run();
      }
    }
    class Inner extends Actor {
      static options = { callTimeout: "1h" };
      run() {
        deadlines.push(this.deadline);
      }
    }
    await using app = await testLimpet({ actors: [Outer, Inner] });
    const now = app.clock.now();
    await app.actor(Outer, "o").run();
    assert.deepEqual(deadlines, [now + 5_000, now + 5_000, now + 1_000]);
  });

  it("a call to a missing or private method gets an error that lists the methods", async () => {
    class Safe extends Actor<{ n: number }> {
      initial() {
        return { n: 1 };
      }
      field = () => "a function in a field";
      _hidden() {
        return "hidden";
      }
      open() {
        return "open";
      }
    }
    await using app = await testLimpet({ actors: [Safe] });
    const safe = app.actor(Safe, "s") as unknown as Record<string, () => Promise<unknown>>;
    assert.equal(await safe.open!(), "open");
    assert.equal(await safe.field!(), "a function in a field");
    for (const name of [
      "_hidden",
      "onActivate",
      "initial",
      "clear",
      "constructor",
      "toLocaleString",
      "missing",
      "state",
    ]) {
      await assert.rejects(app.host.call("Safe", "s", name, []), { code: "METHOD_UNKNOWN", message: /it has: open$/ });
    }
    await assert.rejects(safe.missing!(), { code: "METHOD_UNKNOWN" });
    assert.equal(await safe, safe, "a handle is not a promise");
    assert.throws(() => app.actor("Nobody", "x"), { code: "ACTOR_TYPE_UNKNOWN" });
    assert.throws(() => app.actor("save", "x"), { message: /"save" here; .*did you mean "Safe"\?/ });
    assert.throws(() => app.actor(Safe, "a/b"), { code: "NAME_INVALID" });
    assert.throws(() => new Safe(), { code: "ARGUMENT_INVALID" });
  });
});
