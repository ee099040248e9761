// From a row to a delivery, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import { BEGINNING } from "../world/local-clock.ts";
import { Bench, key } from "./processor-kit.test.ts";
import { encodePlan } from "./schedule/plan.ts";

/** The times of the deliveries. */
const moments = (delivered: readonly string[]): number[] => delivered.map((text) => Number(text.split("@")[1]));
const numbers = (delivered: readonly string[]): number[] => delivered.map((text) => Number(/ (\d+)@/.exec(text)![1]));

/** A delivery takes a moment to leave. */
function assertPunctual(actual: readonly number[], expected: readonly number[], lateMs = 5): void {
  const isFine =
    actual.length === expected.length && actual.every((at, i) => at >= expected[i]! && at <= expected[i]! + lateMs);
  assert.ok(isFine, `${JSON.stringify(actual)} are not ${JSON.stringify(expected)}`);
}

describe("deliveries of the processor", () => {
  it("a reminder is delivered at its due time, however far away that is", async () => {
    const bench = new Bench();
    const desk = bench.open();
    await bench.advance(1_000);
    const dues = [1, 20, 26, 900, 4_900, 5_100, 7_000, 20_000, 33_000, 70_000, 3_600_000];
    for (const due of dues) await bench.during(desk.set(`in ${due}`, { due: new Date(BEGINNING + 1_100 + due) }));
    await bench.advance(3_700_000);
    assertPunctual(
      moments(desk.delivered),
      dues.map((due) => 1_100 + due),
    );
    assert.deepEqual(await bench.truth.count("default", 10), { all: 0, overdue: 0, dead: 0 });
  });

  for (const tells of [true, false]) {
    it(`reminders of other processes are delivered, from a store ${tells ? "with" : "without"} notifications`, async () => {
      const bench = new Bench({ tells });
      const [setter, desk] = [bench.open({ isIdle: true }), bench.open()];
      await bench.advance(10_000);
      for (const due of [0, 3_000, 8_000, 40_000]) await bench.during(setter.set(`in ${due}`, { due }));
      const from = bench.now;
      await bench.advance(60_000);
      assert.deepEqual(setter.delivered, []);
      // Without notifications, a reminder due before the next poll is late by one poll.
      assertPunctual(
        moments(desk.delivered),
        [0, 3_000, 8_000, 40_000].map((due) => Math.floor(from - 20 + due)),
        tells ? 25 : 2_525,
      );
    });
  }

  it("a reminder is delivered by the clock of the store, for any local clock and early timers", async () => {
    for (const clock of [{ offsetMs: 3_600_000 }, { offsetMs: -3_600_000 }, { earlyMs: 3 }, { grainMs: 4 }]) {
      const bench = new Bench();
      bench.world.database.offsetMs = 90_000;
      const desk = bench.open({ clock });
      await bench.advance(100);
      const due = bench.world.database.now + 4_000;
      await bench.during(desk.set("tea", { due: new Date(due) }));
      await bench.advance(10_000);
      assertPunctual(moments(desk.delivered), [due - BEGINNING - 90_000], 10);
    }
  });

  it("a reminder is never early while the store is slow and its answers are late", async () => {
    const bench = new Bench();
    bench.world.database.troubles = { ...bench.world.database.troubles, slow: 0.7, slowMs: 200 };
    const desk = bench.open();
    for (let i = 0; i < 40; i++) {
      await bench.during(desk.set(`tea ${i}`, { due: new Date(bench.world.database.now + 700 + i * 13) }));
      const { tick } = (await bench.stored(`tea ${i}`))!;
      await bench.advance(10_000);
      const [at] = moments(desk.delivered.splice(0));
      assert.ok(BEGINNING + at! >= tick.due, `${tick.due - BEGINNING} was delivered at ${at}`);
    }
  });

  it("the processor does not poll constantly for a reminder that is a little too far away or leased elsewhere", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    one.handler = () => one.sleep(60_000);
    await bench.during(one.set("long", { due: 0 }));
    await bench.during(one.set("far", { due: 9_000 }));
    await bench.advance(1_000);
    bench.claims = 0;
    await bench.advance(59_000);
    assert.ok(bench.claims < 30, `${bench.claims} claims in a minute`);
    assert.deepEqual([...one.delivered, ...two.delivered].length, 2);
  });

  it("a repeated reminder stays on its grid, near and far, settled by the handler or not", async () => {
    for (const settles of [false, true]) {
      for (const every of [100, 1_000, 7_000, 40_000]) {
        const bench = new Bench();
        const desk = bench.open();
        desk.handler = async ({ settlement }) => {
          if (!settles) return;
          await desk.store.settle([settlement]);
          return "settled";
        };
        await bench.during(desk.set("tea", { every }));
        const { tick } = (await bench.stored("tea"))!;
        await bench.advance(every * 10);
        const expected = Array.from({ length: desk.delivered.length }, (_, i) => tick.due - BEGINNING + i * every);
        assert.ok(desk.delivered.length >= 9, `${desk.delivered.length} of every ${every} ms`);
        assertPunctual(moments(desk.delivered), expected);
        assert.deepEqual(
          numbers(desk.delivered),
          expected.map((_, i) => i + 1),
        );
      }
    }
  });

  it("the processor takes no more local reminders than its capacity, and leaves the rest to others", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open({ batchSize: 10 }), bench.open({ batchSize: 10 })];
    for (const desk of [one, two]) desk.handler = () => desk.sleep(10);
    await bench.advance(100);
    const sets = Array.from({ length: 500 }, (_, i) => one.set("tea", { due: 0 }, "Bell", `${i}`));
    await bench.during(Promise.all(sets));
    assert.ok(one.processor.size.held <= 40, `${one.processor.size.held}`);
    await bench.advance(3_000);
    assert.equal(one.delivered.length + two.delivered.length, 500);
    assert.ok(two.delivered.length > 100, `${two.delivered.length}`);
  });

  it("later local reminders do not fill the capacity, and an earlier one is claimed and punctual", async () => {
    const bench = new Bench();
    const [desk, outside] = [bench.open({ batchSize: 10 }), bench.open({ isIdle: true })];
    await bench.advance(100);
    // Twenty times as many as there are places, without a pause: each is due after some seconds.
    for (let i = 0; i < 800; i++) {
      void desk.set(`later ${i}`, { due: 4_000 });
      if (i % 40 === 0) void outside.set(`sooner ${i}`, { due: 1_000 });
      await bench.advance(1);
    }
    await bench.advance(10_000);
    const sooner = moments(desk.delivered.filter((one) => one.startsWith("sooner")));
    assert.equal(desk.delivered.length, 820);
    assertPunctual(
      sooner,
      sooner.map((_, i) => 100 + 40 * i + 1_000),
    );
  });

  it("constantly ticking reminders do not fill the capacity, and a single one is delivered beside them", async () => {
    const bench = new Bench();
    const [desk, outside] = [bench.open({ batchSize: 1 }), bench.open({ isIdle: true })];
    await bench.advance(100);
    const ticking = Array.from({ length: 12 }, (_, i) => outside.set(`often ${i}`, { due: 10, every: 200 }));
    await bench.during(Promise.all(ticking));
    await bench.advance(3_000);
    await bench.during(outside.set("once", { due: 0 }));
    await bench.advance(3_000);
    assert.equal(desk.delivered.filter((one) => one.startsWith("once")).length, 1);
    for (const i of ticking.keys())
      assert.ok(
        desk.delivered.some((one) => one.startsWith(`often ${i} `)),
        `often ${i}`,
      );
  });

  it("the processor leaves or returns reminders that it cannot begin to idle processes", async () => {
    const bench = new Bench();
    const slow = { concurrency: 2, leaseMs: 30_000 };
    const [first, outside] = [bench.open(slow), bench.open({ isIdle: true })];
    await bench.during(
      Promise.all(Array.from({ length: 60 }, (_, i) => outside.set("tea", { due: 0 }, "Bell", `${i}`))),
    );
    first.handler = () => first.sleep(20_000);
    await bench.advance(3_000);
    assert.equal(first.processor.size.held, 4);
    const others = Array.from({ length: 20 }, () => bench.open(slow));
    for (const desk of others) desk.handler = () => desk.sleep(20_000);
    await bench.advance(70_000);
    const counts = [first, ...others].map(({ delivered }) => delivered.length);
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      60,
      `${counts}`,
    );
    assert.ok(Math.max(...counts) <= 8, `${counts}`);
  });

  it("the processor holds as many as before when it keeps up again", async () => {
    const bench = new Bench();
    const [desk, outside] = [bench.open({ concurrency: 20, batchSize: 10 }), bench.open({ isIdle: true })];
    const setMany = (name: string): Promise<unknown> =>
      bench.during(Promise.all(Array.from({ length: 100 }, (_, i) => outside.set(name, { due: 0 }, "Bell", `${i}`))));
    desk.handler = () => desk.sleep(20_000);
    await setMany("slow");
    await bench.advance(30_000);
    assert.ok(desk.processor.size.held <= 20, `${desk.processor.size.held}`);
    desk.handler = () => desk.sleep(1);
    await bench.advance(120_000);
    desk.handler = () => desk.sleep(1_000);
    await setMany("again");
    await bench.advance(500);
    assert.ok(desk.processor.size.held > 30, `${desk.processor.size.held}`);
    await bench.advance(600_000);
    assert.equal(desk.delivered.length, 200);
  });

  it("the processor does nothing before it was started", async () => {
    const bench = new Bench();
    const desk = bench.open({ isIdle: true });
    await bench.during(desk.set("tea", { due: 0 }));
    await bench.advance(60_000);
    assert.deepEqual([desk.delivered, bench.claims], [[], 0]);
  });

  it("the processor delivers 10,000 reminders of the same millisecond, each once", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open({ types: ["Bell", "Other"] }), bench.open()];
    const due = new Date(bench.world.database.now + 30_000);
    const writes = Array.from({ length: 10_000 }, (_, i) => one.book.set(key("tea", "Bell", `${i}`), { due }));
    await bench.truth.write(writes);
    const seen = new Map<string, number>();
    for (const desk of [one, two]) {
      desk.handler = async ({ reminder }) => {
        seen.set(reminder.key.id, (seen.get(reminder.key.id) ?? 0) + 1);
        await desk.sleep(5);
      };
    }
    await bench.advance(30_000 + 2_000);
    assert.deepEqual([seen.size, Math.max(...seen.values()), bench.most], [10_000, 1, 1]);
    assert.equal((await bench.truth.count("default", 10)).all, 0);
  });
});

describe("replaced and cancelled reminders", () => {
  it("a replaced or cancelled reminder is not delivered, whichever process holds it", async () => {
    for (const who of ["the holder", "somebody else"]) {
      const bench = new Bench();
      const [one, two] = [bench.open(), bench.open({ isIdle: true })];
      const other = who === "the holder" ? one : two;
      for (const name of ["cancelled", "later", "sooner"]) await bench.during(one.set(name, { due: 3_000 }));
      await bench.advance(1_000);
      assert.equal(one.processor.size.held, 3);
      await bench.during(other.cancel("cancelled"));
      await bench.during(other.set("later", { due: 5_000 }));
      await bench.during(other.set("sooner", { due: 1_000 }));
      const from = bench.now;
      await bench.advance(20_000);
      assertPunctual(
        moments(one.delivered),
        [from + 1_000, from + 5_000].map((at) => Math.floor(at - 10)),
        15,
      );
    }
  });

  it("a reminder that is replaced many times is delivered once", async () => {
    const bench = new Bench();
    const desk = bench.open();
    for (let i = 0; i < 20; i++) {
      await bench.during(desk.set("flush", { due: 2_000 }));
      await bench.advance(300);
    }
    const last = bench.now - 300;
    await bench.advance(10_000);
    assertPunctual(moments(desk.delivered), [Math.floor(last + 2_000 - 5)], 10);
  });

  it("a replaced reminder is not restored by the end of a delivery in progress", async () => {
    for (const change of ["cancel", "set"] as const) {
      const bench = new Bench();
      const desk = bench.open();
      desk.handler = () => desk.sleep(2_000);
      await bench.during(desk.set("tea", { every: 5_000 }));
      await bench.advance(6_000);
      if (change === "cancel") await bench.during(desk.cancel("tea"));
      else await bench.during(desk.set("tea", { due: 60_000 }));
      const stored = await bench.stored("tea");
      await bench.advance(20_000);
      assert.equal(desk.delivered.length, 1);
      assert.deepEqual(await bench.stored("tea"), stored);
    }
  });

  it("a replaced reminder is not delivered by an early second claim while its first delivery is in progress", async () => {
    const bench = new Bench({ tells: false });
    const [desk, other] = [bench.open(), bench.open({ isIdle: true })];
    desk.handler = async ({ settlement }) => {
      await desk.store.settle([settlement]);
      await desk.sleep(10_000);
      return "settled";
    };
    await bench.during(desk.set("tea", { due: 0, every: 1_000, missed: "all" }));
    await bench.advance(5_000);
    assert.equal(desk.delivered.length, 1);
    const stored = await bench.stored("tea");
    assert.ok(stored?.tick.number === 2 && stored.leasedUntil !== undefined, "it was claimed a second time");
    await bench.during(other.set("tea", { due: 3_600_000 }));
    await bench.advance(10_000);
    assert.deepEqual(desk.delivered.slice(1), []);
  });

  it("a reminder cancelled at the last moment is not delivered once its holder knows", async () => {
    const bench = new Bench();
    const desk = bench.open();
    await bench.during(desk.set("tea", { due: 3_000 }));
    const { tick } = (await bench.stored("tea"))!;
    // The store has confirmed the claim, and the reminder is not due yet.
    await bench.advance(tick.at - BEGINNING - bench.now - 10);
    await bench.during(desk.cancel("tea"));
    assert.ok(bench.now < tick.at - BEGINNING);
    await bench.advance(10_000);
    assert.deepEqual(desk.delivered, []);
  });
});

describe("leases of reminders", () => {
  for (const [length, settings] of [
    ["long", {}],
    // Rows that a process writes with its own lease cause no notification: others find them by polling.
    ["short", { leaseMs: 3_000, aheadMs: 1_000, pollMs: 500 }],
  ] as const) {
    it(`a ${length} lease of a dead process expires in time and not before, and another process delivers`, async () => {
      const bench = new Bench();
      const [one, two] = [bench.open(settings), bench.open(settings)];
      await bench.advance(10_000);
      await bench.during(one.set("tea", { due: 900 }));
      const { leasedUntil } = (await bench.stored("tea"))!;
      assert.ok(leasedUntil! > bench.now + BEGINNING, "it has been taken on");
      one.process.end(true);
      await bench.advance(60_000);
      const [at] = moments(two.delivered);
      assert.ok(at! >= leasedUntil! - BEGINNING && at! <= leasedUntil! - BEGINNING + 100, `${at}`);
      assert.equal(two.delivered.length, 1);
    });
  }

  it("a lease is renewed while a handler takes long, and no other process gets the reminder", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    one.handler = () => one.sleep(200_000);
    await bench.during(one.set("tea", { due: 0 }));
    await bench.advance(250_000);
    assert.deepEqual([one.delivered.length, two.delivered.length], [1, 0]);
    assert.equal(await bench.stored("tea"), undefined);
  });

  it("a lease is renewed while a stopping process waits for a handler", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    one.handler = () => one.sleep(100_000);
    await bench.during(one.set("tea", { due: 0 }));
    await bench.advance(1_000);
    await bench.during(one.processor.stop(120_000));
    assert.ok(bench.now >= 100_000);
    assert.equal(await bench.stored("tea"), undefined);
    await bench.advance(60_000);
    assert.deepEqual(two.delivered, []);
  });

  it("a lease that a process slept through is lost, and another process delivers its reminders", async () => {
    for (const how of ["pause", "suspend"] as const) {
      const bench = new Bench();
      const [one, two] = [bench.open(), bench.open()];
      await bench.during(one.set("tea", { due: 2_000 }));
      await bench.advance(500);
      one.process.sleep(60_000, how);
      await bench.advance(100_000);
      assert.deepEqual([one.delivered.length, two.delivered.length, bench.most], [0, 1, 1]);
    }
  });

  it("a lease that expired while a handler slept with its process is settled by its new holder", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    one.handler = () => one.sleep(1_000);
    await bench.during(one.set("tea", { every: 300_000, due: 0 }));
    await bench.advance(500);
    one.process.sleep(100_000, "pause");
    await bench.advance(200_000);
    assert.deepEqual([one.delivered.length, two.delivered.length], [1, 1]);
    const { tick, leasedUntil } = (await bench.stored("tea"))!;
    assert.deepEqual([tick.number, tick.attempt, leasedUntil], [2, 0, undefined]);
  });

  it("a lease ends at once when a process stops, which returns reminders that have not begun", async () => {
    const bench = new Bench({ tells: false });
    const [one, two] = [bench.open(), bench.open()];
    for (const due of [3_000, 3_500]) await bench.during(one.set(`in ${due}`, { due }));
    await bench.advance(100);
    await bench.during(one.processor.stop(10_000));
    assert.ok(bench.now < 200);
    assert.equal((await bench.stored("in 3000"))?.leasedUntil, undefined);
    await bench.advance(10_000);
    assert.deepEqual([one.delivered, numbers(two.delivered)], [[], [1, 1]]);
    assertPunctual(
      moments(two.delivered).map((at) => at % 1_000),
      [0, 500],
      50,
    );
  });

  it("a stopped process sends a late settlement once, whether the store answers or not", async () => {
    const bench = new Bench();
    const one = bench.open();
    one.handler = () => one.sleep(5_000);
    await bench.during(one.set("tea", { due: 0 }));
    await bench.advance(100);
    await bench.during(one.processor.stop(1_000));
    let told = 0;
    one.store.settle = async () => {
      told++;
      throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
    };
    await bench.advance(60_000);
    assert.equal(told, 1);
  });

  it("a settlement that the store does not confirm is not sent again after its process has stopped", async () => {
    const bench = new Bench();
    const one = bench.open();
    let sent = 0;
    one.store.settle = async () => {
      sent++;
      throw new LimpetError("STORE_UNAVAILABLE", "the connection was refused");
    };
    await bench.during(one.set("tea", { due: 0 }));
    await bench.advance(100);
    await bench.during(one.processor.stop(1_000));
    const before = sent;
    assert.ok(before > 1);
    await bench.advance(60_000);
    assert.equal(sent, before);
  });

  it("a lease written while its process stops is returned", async () => {
    const bench = new Bench({ tells: false });
    const [one, two] = [bench.open(), bench.open()];
    await bench.advance(100);
    bench.world.database.latency = { leastMs: 50, moreMs: 1 };
    const set = one.set("tea", { due: 1_000 });
    await bench.advance(20);
    await bench.during(one.processor.stop(10_000));
    await bench.during(set);
    await bench.advance(5_000);
    assert.deepEqual([one.delivered.length, two.delivered.length], [0, 1]);
  });

  it("a lease counts from before its claim", async () => {
    for (let others = 0; others < 4; others++) {
      const bench = new Bench({ tells: false });
      for (let i = 0; i < others; i++) bench.open({ isIdle: true });
      bench.world.database.latency = { leastMs: 5, moreMs: 1 };
      const [setter, one] = [bench.open({ isIdle: true }), bench.open({ pollMs: 1_000 })];
      await bench.advance(100);
      await bench.during(setter.set("tea", { due: 4_500 }));
      // The process sleeps when the store has made the claim, and wakes when most of the lease is over.
      let isClaimed = false;
      bench.world.database.watchers.push({
        claimed: (_station, _request, { reminders }) => {
          if (isClaimed || reminders.length === 0) return;
          isClaimed = true;
          one.process.sleep(27_000, "pause");
        },
      });
      await bench.advance(10_000);
      assert.ok(isClaimed);
      const two = bench.open();
      for (const desk of [one, two]) desk.handler = () => desk.sleep(15_000);
      await bench.advance(60_000);
      assert.equal(bench.most, 1);
    }
  });

  it("a lease counts from before the request that wrote it", async () => {
    for (let others = 0; others < 4; others++) {
      const bench = new Bench({ tells: false });
      for (let i = 0; i < others; i++) bench.open({ isIdle: true });
      const [one, two] = [bench.open({ leaseMs: 20_000 }), bench.open({ leaseMs: 20_000 })];
      for (const desk of [one, two]) desk.handler = () => desk.sleep(15_000);
      await bench.advance(100);
      bench.world.database.latency = { leastMs: 5, moreMs: 1 };
      const set = one.set("tea", { due: 4_500 }).catch(() => {});
      // The process sleeps when the store has written it, and wakes when most of the lease is over.
      await bench.advance(9);
      one.process.sleep(18_000, "pause");
      await bench.advance(18_000);
      await bench.during(set);
      await bench.advance(60_000);
      assert.equal(bench.most, 1);
    }
  });
});

describe("settlements", () => {
  it("a settlement that is answered after the row was claimed again does not lose the row", async () => {
    const bench = new Bench();
    const desk = bench.open();
    await bench.during(desk.set("tea", { every: 1_000 }));
    const { tick } = (await bench.stored("tea"))!;
    // The outcome is stored with the handler's changes, and the next tick is claimed before the answer
    // arrives.
    desk.handler = async ({ settlement }) => {
      await desk.store.settle([settlement]);
      desk.processor.wrote(0);
      await desk.sleep(300);
      return "settled";
    };
    await bench.advance(10_500);
    assert.deepEqual(numbers(desk.delivered), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assertPunctual(
      moments(desk.delivered),
      desk.delivered.map((_, i) => tick.due - BEGINNING + i * 1_000),
    );
  });

  it("a settlement that arrives long after its timeout does not free a later claim", async () => {
    const bench = new Bench({ tells: false });
    const [one, two] = [bench.open(), bench.open({ types: [] })];
    await bench.during(one.set("tea", { every: 8_000, due: 0 }));
    bench.at(8_500, () => {
      two.types = ["Bell"];
    });
    for (const desk of [one, two]) desk.handler = ({ tick }) => desk.sleep(tick.number === 1 ? 10 : 5_000);
    // The first attempt is delayed until the next tick is being delivered.
    const settle = one.store.settle.bind(one.store);
    let attempts = 0;
    one.store.settle = async (batch) => {
      if (++attempts > 1) return settle(batch);
      bench.at(bench.now + 9_000, () => void settle(batch));
      throw new LimpetError("COMMIT_UNKNOWN", "no answer");
    };
    await bench.advance(14_000);
    assert.deepEqual([numbers(one.delivered), two.delivered.length, bench.most], [[1, 2], 0, 1]);
    assert.ok(attempts > 1);
  });

  it("a settlement that is repeated because its answer was lost changes nothing", async () => {
    for (let ms = 300; ms < 1_000; ms += 50) {
      const bench = new Bench();
      const [one, two] = [bench.open(), bench.open()];
      for (const desk of [one, two]) desk.handler = () => desk.sleep(ms);
      for (let i = 0; i < 5; i++) await bench.during(one.set(`tea ${i}`, { every: 1_000 + i * 500 }));
      bench.world.database.troubles = { ...bench.world.database.troubles, failsAfter: 0.4, slow: 0.3, slowMs: 800 };
      await bench.advance(25_000);
      assert.equal(bench.most, 1);
      const all = [...one.delivered, ...two.delivered].map((text) => text.split("@")[0]);
      assert.equal(new Set(all).size, all.length);
    }
  });

  it("a settlement has a token of its own, so that a restored store cannot confuse rows", async () => {
    const desk = new Bench().open();
    const leases = [1, 2, 3].map(() => desk.processor.ownLease("Cart", 0));
    assert.equal(new Set(leases.map((lease) => lease?.token)).size, leases.length);
  });

  it("a reminder that is handed over a second time is not settled again", async () => {
    for (const ms of [500, 1_200]) {
      const bench = new Bench();
      const desk = bench.open();
      desk.handler = () => desk.sleep(500);
      await bench.during(desk.set("tea", { due: 1_000 }));
      const stored = (await bench.stored("tea"))!;
      await bench.advance(ms);
      desk.processor.adopt(stored, { token: "late", leaseMs: 30_000 }, desk.process.clock.monotonic());
      await bench.advance(60_000);
      assert.equal(desk.delivered.length, 1);
      assert.equal(await bench.stored("tea"), undefined);
    }
  });

  it("a settlement that the store does not answer is given up with the lease, and the tick comes again", async () => {
    const bench = new Bench();
    const desk = bench.open();
    await bench.during(desk.set("tea", { due: 1_000 }));
    desk.handler = () => bench.world.database.goDown();
    await bench.advance(60_000);
    assert.equal(desk.delivered.length, 1);
    desk.handler = () => {};
    bench.world.database.comeBack();
    await bench.advance(10_000);
    assert.equal(desk.delivered.length, 2);
    assert.equal(await bench.stored("tea"), undefined);
  });
});

describe("failed deliveries", () => {
  it("a failed tick is retried at growing pauses with the same number and due time, and becomes a dead letter", async () => {
    const bench = new Bench();
    const desk = bench.open();
    const seen: [number, number, number][] = [];
    desk.handler = ({ tick }) => {
      seen.push([tick.due, tick.number, tick.attempt]);
      throw new TypeError("no tea");
    };
    await bench.during(desk.set("tea", { every: 60_000, due: 0, data: "x", onFailure: { attempts: 5, pause: "1s" } }));
    const { tick } = (await bench.stored("tea"))!;
    await bench.advance(50_000);
    assert.deepEqual(
      seen,
      [1, 2, 3, 4, 5].map((attempt) => [tick.due, 1, attempt]),
    );
    const at = moments(desk.delivered);
    const pauses = at.slice(1).map((moment, i) => moment - at[i]!);
    for (const [i, pause] of pauses.entries()) assert.ok(pause >= 750 * 2 ** i && pause <= 1_260 * 2 ** i, `${pauses}`);
    const [dead] = await bench.truth.listDead({ namespace: "default", limit: 10 });
    assert.deepEqual([dead?.error, dead?.tick.due, dead?.key.name], ["TypeError: no tea", tick.due, "tea"]);
    assert.ok(
      desk.late.length === 1 && desk.late[0]! < 1,
      `only the first try tells how punctual it was: ${desk.late}`,
    );
    assert.equal(await bench.stored("tea"), undefined);
  });

  it("a failed tick is dropped if its policy says so, and the next tick comes as planned", async () => {
    const bench = new Bench();
    const desk = bench.open();
    desk.handler = ({ tick }) => {
      if (tick.number < 3) throw new Error("no tea");
    };
    const onFailure = { attempts: 2, pause: "100ms", giveUp: "drop" } as const;
    await bench.during(desk.set("tea", { every: 10_000, onFailure }));
    await bench.advance(35_000);
    assert.deepEqual(numbers(desk.delivered), [1, 1, 2, 2, 3]);
    assert.equal((await bench.truth.count("default", 10)).dead, 0);
  });

  it("a failed tick keeps its attempts when another process continues it", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    const attempts: number[] = [];
    for (const desk of [one, two]) {
      desk.handler = ({ tick }) => {
        attempts.push(tick.attempt);
        if (attempts.length === 2) desk.process.end(false);
        if (tick.attempt < 4) throw new Error("no tea");
      };
    }
    await bench.during(one.set("tea", { due: 0, onFailure: { pause: "500ms" } }));
    await bench.advance(60_000);
    // The outcome of the second attempt was lost, so it was made again.
    assert.deepEqual(attempts, [1, 2, 2, 3, 4]);
  });

  it("a reminder continues on its grid after failures, and runs missed ticks by its policy", async () => {
    const bench = new Bench();
    const desk = bench.open();
    desk.handler = ({ tick }) => {
      if (tick.number === 2 && tick.attempt < 4) throw new Error("no tea");
    };
    await bench.during(desk.set("tea", { every: 1_000, onFailure: { pause: "1s" } }));
    const { tick } = (await bench.stored("tea"))!;
    await bench.advance(20_000);
    const seen = numbers(desk.delivered);
    assert.deepEqual(seen.slice(0, 5), [1, 2, 2, 2, 2]);
    // After it the latest tick comes once, and then every one.
    const rest = seen.slice(5);
    assert.ok(rest.length > 8 && rest[0]! > 3, `${seen}`);
    assert.deepEqual(
      rest,
      rest.map((_, i) => rest[0]! + i),
    );
    assertPunctual(
      moments(desk.delivered).slice(7),
      rest.slice(2).map((number) => tick.due - BEGINNING + (number - 1) * 1_000),
    );
  });

  it("a tick that did not reach its actor is no attempt, and another process may deliver it", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    one.handler = () => {
      throw new LimpetError("NO_HOST", "nobody here");
    };
    const attempts: number[] = [];
    two.handler = ({ tick }) => void attempts.push(tick.attempt);
    await bench.during(one.set("tea", { due: 0, onFailure: { attempts: 1, pause: "1h" } }));
    await bench.advance(60_000);
    assert.deepEqual(attempts, [1]);
    assert.ok(one.delivered.length >= 1);
    assert.deepEqual(await bench.truth.count("default", 10), { all: 0, overdue: 0, dead: 0 });
  });

  it("a thrown value that is no error is recorded as well as possible", async () => {
    const bench = new Bench();
    const desk = bench.open();
    const thrown = [undefined, "tea", Object.create(null), Symbol("tea"), new Error("x".repeat(10_000))];
    desk.handler = ({ reminder }) => {
      throw thrown[Number(reminder.key.name)];
    };
    for (const [i] of thrown.entries()) await bench.during(desk.set(`${i}`, { due: 0, onFailure: { attempts: 1 } }));
    await bench.advance(10_000);
    const dead = await bench.truth.listDead({ namespace: "default", limit: 10 });
    assert.deepEqual(
      dead.map(({ error }) => error.slice(0, 26)),
      [
        "a value of type undefined",
        '"tea"',
        "a value of type object",
        "a value of type symbol",
        `Error: ${"x".repeat(19)}`,
      ],
    );
    assert.ok(dead.every(({ error }) => error.length <= 2_000));
  });
});

describe("damaged rows", () => {
  it("a damaged row becomes a dead letter, and delays no other", async () => {
    const bench = new Bench();
    const desk = bench.open();
    const tick = { at: BEGINNING + 1_000, due: BEGINNING + 1_000, number: 1, attempt: 0 };
    const first = BEGINNING + 1_000;
    const odd = [
      "",
      "{",
      "null",
      '{"schedule":{"first":"x"}}',
      `{"schedule":{"first":${first},"every":{"months":"x"}}}`,
      `{"schedule":{"first":${first},"cron":"no cron","timezone":"UTC","missed":"once"}}`,
      `{"schedule":{"first":${first},"cron":"0 9 * * 1","timezone":"Moon/Sea","missed":"once"}}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":7}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":{"attempts":"many","pauseMs":1,"longestPauseMs":1,"giveUp":"keep"}}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":{"attempts":3,"pauseMs":null,"longestPauseMs":1,"giveUp":"keep"}}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":{"attempts":3,"pauseMs":1,"longestPauseMs":1,"giveUp":"maybe"}}`,
    ];
    await bench.truth.write(
      odd.map((schedule, i) => {
        const content = { schedule, data: undefined };
        return { kind: "set", key: key(`${i}`), tick, content, lease: undefined, isNew: false };
      }),
    );
    await bench.during(desk.set("tea", { due: new Date(first) }));
    await bench.advance(10_000);
    assert.deepEqual(
      desk.delivered.map((text) => text.split(" ")[0]),
      ["tea"],
    );
    assert.deepEqual(await bench.truth.count("default", 100), { all: 0, overdue: 0, dead: odd.length });
  });
});

describe("missed ticks", () => {
  const DOWN = 10_500;

  async function after(missed: "once" | "all" | "skip", down = DOWN) {
    const bench = new Bench();
    const before = bench.open();
    await bench.during(before.set("tea", { every: 1_000, times: 30, missed }));
    await bench.advance(2_500);
    await bench.during(before.processor.stop(1_000));
    await bench.advance(down);
    const desk = bench.open();
    await bench.advance(5_000);
    return { before: numbers(before.delivered), after: numbers(desk.delivered) };
  }

  it("missed ticks run once by default, the latest of them, late", async () => {
    const seen = await after("once");
    assert.deepEqual(seen.before, [1, 2]);
    assert.deepEqual(seen.after, [13, 14, 15, 16, 17, 18].slice(0, seen.after.length));
  });

  it("missed ticks run one after another with the policy all", async () => {
    const seen = await after("all");
    assert.deepEqual(seen.after.slice(0, 11), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  it("missed ticks with the policy all queue behind due reminders, and do not delay the others", async () => {
    const bench = new Bench();
    const desk = bench.open({ concurrency: 1 });
    desk.handler = () => desk.sleep(150);
    for (const name of ["drum", "gong", "horn"]) {
      await bench.during(desk.set(name, { due: 0, every: 200, missed: "all" }));
    }
    await bench.advance(5_000);
    await bench.during(bench.open({ isIdle: true }).set("tea", { due: 500 }));
    await bench.advance(3_000);
    assert.equal(desk.delivered.filter((one) => one.startsWith("tea")).length, 1, `${desk.delivered}`);
    const numbers = desk.delivered
      .filter((one) => one.startsWith("drum"))
      .map((one) => Number(/ (\d+)@/.exec(one)![1]));
    assert.deepEqual(
      numbers,
      [...numbers.keys()].map((i) => i + 1),
    );
  });

  it("missed ticks do not run with the policy skip", async () => {
    const seen = await after("skip");
    // A tick that is late by no more than a second is not missed.
    assert.deepEqual(seen.after.slice(0, 3), [13, 14, 15]);
    const longer = await after("skip", 60_000);
    assert.deepEqual(longer.after, []);
  });
});

describe("types of reminders", () => {
  it("a type without a host stays in the store until a process gains it, also at run time", async () => {
    const bench = new Bench();
    const desk = bench.open();
    await bench.during(desk.set("tea", { due: 0 }, "Kettle"));
    await bench.advance(290_000);
    assert.deepEqual([desk.delivered, (await bench.stored("tea", "Kettle"))?.tick.attempt], [[], 0]);
    desk.types = ["Bell", "Kettle"];
    await bench.advance(2_600);
    assert.equal(desk.delivered.length, 1);
  });

  it("a type that a process can no longer deliver is returned at its due time", async () => {
    const bench = new Bench({ tells: false });
    const [one, two] = [bench.open(), bench.open()];
    await bench.during(one.set("tea", { due: 3_000 }));
    one.types = [];
    await bench.advance(10_000);
    assert.deepEqual([one.delivered.length, two.delivered.length], [0, 1]);
    assertPunctual(moments(two.delivered), [3_000], 2_600);
  });

  it("a type with slow handlers does not delay others", async () => {
    const bench = new Bench();
    const desk = bench.open({ types: ["Slow", "Slower", "Bell"], concurrency: 20, batchSize: 10 });
    desk.handler = ({ reminder }) => (reminder.key.type === "Bell" ? undefined : desk.sleep(60_000));
    for (const type of ["Slow", "Slower"]) {
      await bench.truth.write(
        Array.from({ length: 200 }, (_, i) => desk.book.set(key("tea", type, `${i}`), { due: 0 })),
      );
    }
    await bench.advance(5_000);
    desk.delivered.length = 0;
    const dues = [0, 500, 3_000, 20_000];
    const from = bench.world.database.now + 100;
    for (const due of dues) await bench.during(desk.set(`in ${due}`, { due: new Date(from + due) }));
    await bench.advance(30_000);
    assertPunctual(
      moments(desk.delivered),
      dues.map((due) => from - BEGINNING + due),
      20,
    );
  });

  it("a type in another namespace is not claimed", async () => {
    const bench = new Bench();
    const [desk, other] = [bench.open(), bench.open({ namespace: "other" })];
    await bench.truth.write(
      Array.from({ length: 2_000 }, (_, i) => desk.book.set(key("tea", "Bell", `${i}`), { due: 0 })),
    );
    desk.handler = () => desk.sleep(60_000);
    const due = new Date(BEGINNING + 3_000);
    await bench.truth.write([other.book.set({ ...key("coffee"), namespace: "other" }, { due })]);
    await bench.advance(10_000);
    assert.deepEqual(other.delivered, ["coffee 1@3000"]);
    assert.ok(desk.delivered.every((text) => text.startsWith("tea ")));
  });

  it("a type with many overdue reminders lets others have their turn", async () => {
    const bench = new Bench();
    const desk = bench.open({ types: ["Many", "Bell"], concurrency: 10, batchSize: 10, isIdle: true });
    desk.handler = () => desk.sleep(10);
    // Claims take longer than everything else, so that capacity is always free.
    const claim = desk.store.claim.bind(desk.store);
    desk.store.claim = async (request) => {
      await desk.sleep(20);
      return claim(request);
    };
    const due = new Date(BEGINNING - 60_000);
    await bench.truth.write(
      Array.from({ length: 1_000 }, (_, i) => desk.book.set(key("tea", "Many", `${i}`), { due })),
    );
    await bench.truth.write([desk.book.set(key("one"), { due: 0 })]);
    desk.processor.start();
    await bench.advance(100);
    assert.ok(desk.delivered.length < 100);
    assert.ok(
      desk.delivered.some((text) => text.startsWith("one ")),
      `${desk.delivered.length}`,
    );
    await bench.advance(20_000);
    assert.equal(desk.delivered.length, 1_001);
  });

  it("a type with more reminders than the capacity is processed without a pause", async () => {
    for (const types of [["Bell"], ["Bell", "Other", "Third"]]) {
      const bench = new Bench();
      const desk = bench.open({ types, concurrency: 10, batchSize: 10 });
      desk.handler = () => desk.sleep(10);
      await bench.truth.write(
        Array.from({ length: 2_000 }, (_, i) => desk.book.set(key("tea", "Bell", `${i}`), { due: 0 })),
      );
      await bench.advance(8_000);
      assert.equal(desk.delivered.length, 2_000, `with ${types}`);
    }
  });
});

describe("the plan of a reminder", () => {
  it("the plan of a reminder is part of its delivery", async () => {
    const bench = new Bench();
    const desk = bench.open();
    const write = desk.book.set(key("tea"), { due: 0, data: { cups: 2 }, onFailure: { attempts: 3 } });
    let seen: unknown;
    desk.handler = ({ plan, reminder, settlement }) => {
      seen = [encodePlan(plan), reminder.data, settlement.kind];
    };
    await bench.during(desk.book.write(write));
    await bench.advance(1_000);
    assert.deepEqual(seen, [write.content.schedule, '{"cups":2}', "done"]);
  });
});
