// From a row to a delivery, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BEGINNING } from "../world/local-clock.ts";
import { assertPunctual, Bench, key, moments, numbers } from "./processor-kit.test.ts";
import { encodePlan } from "./schedule/plan.ts";

describe("deliveries of the processor", () => {
  it("a reminder is delivered at its due time, however far away that is", async () => {
    const bench = new Bench();
    const host = bench.open();
    await bench.advance(1_000);
    const dues = [1, 20, 26, 900, 4_900, 5_100, 7_000, 20_000, 33_000, 70_000, 3_600_000];
    for (const due of dues) await bench.during(host.set(`in ${due}`, { due: new Date(BEGINNING + 1_100 + due) }));
    await bench.advance(3_700_000);
    assertPunctual(
      moments(host.delivered),
      dues.map((due) => 1_100 + due),
    );
    assert.deepEqual(await bench.truth.count("default", 10), { all: 0, overdue: 0, dead: 0 });
  });

  for (const notifies of [true, false]) {
    it(`reminders of other processes are delivered, from a store ${notifies ? "with" : "without"} notifications`, async () => {
      const bench = new Bench({ notifies });
      const [setter, host] = [bench.open({ isIdle: true }), bench.open()];
      await bench.advance(10_000);
      for (const due of [0, 3_000, 8_000, 40_000]) await bench.during(setter.set(`in ${due}`, { due }));
      const from = bench.now;
      await bench.advance(60_000);
      assert.deepEqual(setter.delivered, []);
      // Without notifications, a reminder due before the next poll is late by one poll.
      assertPunctual(
        moments(host.delivered),
        [0, 3_000, 8_000, 40_000].map((due) => Math.floor(from - 20 + due)),
        notifies ? 25 : 2_525,
      );
    });
  }

  it("a reminder is delivered by the clock of the store, for any local clock and early timers", async () => {
    for (const clock of [{ offsetMs: 3_600_000 }, { offsetMs: -3_600_000 }, { earlyMs: 3 }, { grainMs: 4 }]) {
      const bench = new Bench();
      bench.world.database.offsetMs = 90_000;
      const host = bench.open({ clock });
      await bench.advance(100);
      const due = bench.world.database.now + 4_000;
      await bench.during(host.set("tea", { due: new Date(due) }));
      await bench.advance(10_000);
      assertPunctual(moments(host.delivered), [due - BEGINNING - 90_000], 10);
    }
  });

  it("a reminder is never early while the store is slow and its answers are late", async () => {
    const bench = new Bench();
    bench.world.database.troubles = { ...bench.world.database.troubles, slow: 0.7, slowMs: 200 };
    const host = bench.open();
    for (let i = 0; i < 40; i++) {
      await bench.during(host.set(`tea ${i}`, { due: new Date(bench.world.database.now + 700 + i * 13) }));
      const { tick } = (await bench.stored(`tea ${i}`))!;
      await bench.advance(10_000);
      const [at] = moments(host.delivered.splice(0));
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
        const host = bench.open();
        host.handler = async ({ settlement }) => {
          if (!settles) return;
          await host.store.settle([settlement]);
          return "settled";
        };
        await bench.during(host.set("tea", { every }));
        const { tick } = (await bench.stored("tea"))!;
        await bench.advance(every * 10);
        const expected = Array.from({ length: host.delivered.length }, (_, i) => tick.due - BEGINNING + i * every);
        assert.ok(host.delivered.length >= 9, `${host.delivered.length} of every ${every} ms`);
        assertPunctual(moments(host.delivered), expected);
        assert.deepEqual(
          numbers(host.delivered),
          expected.map((_, i) => i + 1),
        );
      }
    }
  });

  it("the processor takes no more local reminders than its capacity, and leaves the rest to others", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open({ batchSize: 10 }), bench.open({ batchSize: 10 })];
    for (const host of [one, two]) host.handler = () => host.sleep(10);
    await bench.advance(100);
    const sets = Array.from({ length: 500 }, (_, i) => one.set("tea", { due: 0 }, "Bell", `${i}`));
    await bench.during(Promise.all(sets));
    assert.ok(one.processor.size.claimed <= 40, `${one.processor.size.claimed}`);
    await bench.advance(3_000);
    assert.equal(one.delivered.length + two.delivered.length, 500);
    assert.ok(two.delivered.length > 100, `${two.delivered.length}`);
  });

  it("later local reminders do not fill the capacity, and an earlier one is claimed and punctual", async () => {
    const bench = new Bench();
    const [host, outside] = [bench.open({ batchSize: 10 }), bench.open({ isIdle: true })];
    await bench.advance(100);
    // Twenty times as many as there are places, without a pause: each is due after some seconds.
    for (let i = 0; i < 800; i++) {
      void host.set(`later ${i}`, { due: 4_000 });
      if (i % 40 === 0) void outside.set(`sooner ${i}`, { due: 1_000 });
      await bench.advance(1);
    }
    await bench.advance(10_000);
    const sooner = moments(host.delivered.filter((one) => one.startsWith("sooner")));
    assert.equal(host.delivered.length, 820);
    assertPunctual(
      sooner,
      sooner.map((_, i) => 100 + 40 * i + 1_000),
    );
  });

  it("constantly ticking reminders do not fill the capacity, and a single one is delivered beside them", async () => {
    const bench = new Bench();
    const [host, outside] = [bench.open({ batchSize: 1 }), bench.open({ isIdle: true })];
    await bench.advance(100);
    const ticking = Array.from({ length: 12 }, (_, i) => outside.set(`often ${i}`, { due: 10, every: 200 }));
    await bench.during(Promise.all(ticking));
    await bench.advance(3_000);
    await bench.during(outside.set("once", { due: 0 }));
    await bench.advance(3_000);
    assert.equal(host.delivered.filter((one) => one.startsWith("once")).length, 1);
    for (const i of ticking.keys())
      assert.ok(
        host.delivered.some((one) => one.startsWith(`often ${i} `)),
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
    assert.equal(first.processor.size.claimed, 4);
    const others = Array.from({ length: 20 }, () => bench.open(slow));
    for (const host of others) host.handler = () => host.sleep(20_000);
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
    const [host, outside] = [bench.open({ concurrency: 20, batchSize: 10 }), bench.open({ isIdle: true })];
    const setMany = (name: string): Promise<unknown> =>
      bench.during(Promise.all(Array.from({ length: 100 }, (_, i) => outside.set(name, { due: 0 }, "Bell", `${i}`))));
    host.handler = () => host.sleep(20_000);
    await setMany("slow");
    await bench.advance(30_000);
    assert.ok(host.processor.size.claimed <= 20, `${host.processor.size.claimed}`);
    host.handler = () => host.sleep(1);
    await bench.advance(120_000);
    host.handler = () => host.sleep(1_000);
    await setMany("again");
    await bench.advance(500);
    assert.ok(host.processor.size.claimed > 30, `${host.processor.size.claimed}`);
    await bench.advance(600_000);
    assert.equal(host.delivered.length, 200);
  });

  it("the processor does nothing before it was started", async () => {
    const bench = new Bench();
    const host = bench.open({ isIdle: true });
    await bench.during(host.set("tea", { due: 0 }));
    await bench.advance(60_000);
    assert.deepEqual([host.delivered, bench.claims], [[], 0]);
  });

  it("the processor delivers 10,000 reminders of the same millisecond, each once", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open({ types: ["Bell", "Other"] }), bench.open()];
    const due = new Date(bench.world.database.now + 30_000);
    const writes = Array.from({ length: 10_000 }, (_, i) => one.writer.set(key("tea", "Bell", `${i}`), { due }));
    await bench.truth.write(writes);
    const seen = new Map<string, number>();
    for (const host of [one, two]) {
      host.handler = async ({ reminder }) => {
        seen.set(reminder.key.id, (seen.get(reminder.key.id) ?? 0) + 1);
        await host.sleep(5);
      };
    }
    await bench.advance(30_000 + 2_000);
    assert.deepEqual([seen.size, Math.max(...seen.values()), bench.most], [10_000, 1, 1]);
    assert.equal((await bench.truth.count("default", 10)).all, 0);
  });
});

describe("types of reminders", () => {
  it("a type without a host stays in the store until a process gains it, also at run time", async () => {
    const bench = new Bench();
    const host = bench.open();
    await bench.during(host.set("tea", { due: 0 }, "Kettle"));
    await bench.advance(290_000);
    assert.deepEqual([host.delivered, (await bench.stored("tea", "Kettle"))?.tick.attempt], [[], 0]);
    host.types = ["Bell", "Kettle"];
    await bench.advance(2_600);
    assert.equal(host.delivered.length, 1);
  });

  it("a type that a process can no longer deliver is returned at its due time", async () => {
    const bench = new Bench({ notifies: false });
    const [one, two] = [bench.open(), bench.open()];
    await bench.during(one.set("tea", { due: 3_000 }));
    one.types = [];
    await bench.advance(10_000);
    assert.deepEqual([one.delivered.length, two.delivered.length], [0, 1]);
    assertPunctual(moments(two.delivered), [3_000], 2_600);
  });

  it("a type with slow handlers does not delay others", async () => {
    const bench = new Bench();
    const host = bench.open({ types: ["Slow", "Slower", "Bell"], concurrency: 20, batchSize: 10 });
    host.handler = ({ reminder }) => (reminder.key.type === "Bell" ? undefined : host.sleep(60_000));
    for (const type of ["Slow", "Slower"]) {
      await bench.truth.write(
        Array.from({ length: 200 }, (_, i) => host.writer.set(key("tea", type, `${i}`), { due: 0 })),
      );
    }
    await bench.advance(5_000);
    host.delivered.length = 0;
    const dues = [0, 500, 3_000, 20_000];
    const from = bench.world.database.now + 100;
    for (const due of dues) await bench.during(host.set(`in ${due}`, { due: new Date(from + due) }));
    await bench.advance(30_000);
    assertPunctual(
      moments(host.delivered),
      dues.map((due) => from - BEGINNING + due),
      20,
    );
  });

  it("a type in another namespace is not claimed", async () => {
    const bench = new Bench();
    const [host, other] = [bench.open(), bench.open({ namespace: "other" })];
    await bench.truth.write(
      Array.from({ length: 2_000 }, (_, i) => host.writer.set(key("tea", "Bell", `${i}`), { due: 0 })),
    );
    host.handler = () => host.sleep(60_000);
    const due = new Date(BEGINNING + 3_000);
    await bench.truth.write([other.writer.set({ ...key("coffee"), namespace: "other" }, { due })]);
    await bench.advance(10_000);
    assert.deepEqual(other.delivered, ["coffee 1@3000"]);
    assert.ok(host.delivered.every((text) => text.startsWith("tea ")));
  });

  it("a type with many overdue reminders lets others have their turn", async () => {
    const bench = new Bench();
    const host = bench.open({ types: ["Many", "Bell"], concurrency: 10, batchSize: 10, isIdle: true });
    host.handler = () => host.sleep(10);
    // Claims take longer than everything else, so that capacity is always free.
    const claim = host.store.claim.bind(host.store);
    host.store.claim = async (request) => {
      await host.sleep(20);
      return claim(request);
    };
    const due = new Date(BEGINNING - 60_000);
    await bench.truth.write(
      Array.from({ length: 1_000 }, (_, i) => host.writer.set(key("tea", "Many", `${i}`), { due })),
    );
    await bench.truth.write([host.writer.set(key("one"), { due: 0 })]);
    host.processor.start();
    await bench.advance(100);
    assert.ok(host.delivered.length < 100);
    assert.ok(
      host.delivered.some((text) => text.startsWith("one ")),
      `${host.delivered.length}`,
    );
    await bench.advance(20_000);
    assert.equal(host.delivered.length, 1_001);
  });

  it("a type with more reminders than the capacity is processed without a pause", async () => {
    for (const types of [["Bell"], ["Bell", "Other", "Third"]]) {
      const bench = new Bench();
      const host = bench.open({ types, concurrency: 10, batchSize: 10 });
      host.handler = () => host.sleep(10);
      await bench.truth.write(
        Array.from({ length: 2_000 }, (_, i) => host.writer.set(key("tea", "Bell", `${i}`), { due: 0 })),
      );
      await bench.advance(8_000);
      assert.equal(host.delivered.length, 2_000, `with ${types}`);
    }
  });
});

describe("the plan of a reminder", () => {
  it("the plan of a reminder is part of its delivery", async () => {
    const bench = new Bench();
    const host = bench.open();
    const write = host.writer.set(key("tea"), { due: 0, data: { cups: 2 }, onFailure: { attempts: 3 } });
    let seen: unknown;
    host.handler = ({ plan, reminder, settlement }) => {
      seen = [encodePlan(plan), reminder.data, settlement.kind];
    };
    await bench.during(host.writer.write(write));
    await bench.advance(1_000);
    assert.deepEqual(seen, [write.content.schedule, '{"cups":2}', "done"]);
  });
});
