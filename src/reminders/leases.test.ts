// Leases of claimed reminders, on virtual time: replaced rows, lost leases, settlements.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import { BEGINNING } from "../world/local-clock.ts";
import { assertPunctual, Bench, moments, numbers } from "./processor-kit.test.ts";

describe("replaced and cancelled reminders", () => {
  it("a replaced or cancelled reminder is not delivered, whichever process holds it", async () => {
    for (const writer of ["the holder", "another process"]) {
      const bench = new Bench();
      const [one, two] = [bench.open(), bench.open({ isIdle: true })];
      const other = writer === "the holder" ? one : two;
      for (const name of ["cancelled", "later", "sooner"]) await bench.during(one.set(name, { due: 3_000 }));
      await bench.advance(1_000);
      assert.equal(one.processor.size.claimed, 3);
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
    const host = bench.open();
    for (let i = 0; i < 20; i++) {
      await bench.during(host.set("flush", { due: 2_000 }));
      await bench.advance(300);
    }
    const last = bench.now - 300;
    await bench.advance(10_000);
    assertPunctual(moments(host.delivered), [Math.floor(last + 2_000 - 5)], 10);
  });

  it("a replaced reminder is not restored by the end of a delivery in progress", async () => {
    for (const change of ["cancel", "set"] as const) {
      const bench = new Bench();
      const host = bench.open();
      host.handler = () => host.sleep(2_000);
      await bench.during(host.set("tea", { every: 5_000 }));
      await bench.advance(6_000);
      if (change === "cancel") await bench.during(host.cancel("tea"));
      else await bench.during(host.set("tea", { due: 60_000 }));
      const stored = await bench.stored("tea");
      await bench.advance(20_000);
      assert.equal(host.delivered.length, 1);
      assert.deepEqual(await bench.stored("tea"), stored);
    }
  });

  it("a replaced reminder is not delivered by an early second claim while its first delivery is in progress", async () => {
    const bench = new Bench({ notifies: false });
    const [host, other] = [bench.open(), bench.open({ isIdle: true })];
    host.handler = async ({ settlement }) => {
      await host.store.settle([settlement]);
      await host.sleep(10_000);
      return "settled";
    };
    await bench.during(host.set("tea", { due: 0, every: 1_000, missed: "all" }));
    await bench.advance(5_000);
    assert.equal(host.delivered.length, 1);
    const stored = await bench.stored("tea");
    assert.ok(stored?.tick.number === 2 && stored.leasedUntil !== undefined, "it was claimed a second time");
    await bench.during(other.set("tea", { due: 3_600_000 }));
    await bench.advance(10_000);
    assert.deepEqual(host.delivered.slice(1), []);
  });

  it("a reminder cancelled at the last moment is not delivered once its holder knows", async () => {
    const bench = new Bench();
    const host = bench.open();
    await bench.during(host.set("tea", { due: 3_000 }));
    const { tick } = (await bench.stored("tea"))!;
    // The store has confirmed the claim, and the reminder is not due yet.
    await bench.advance(tick.at - BEGINNING - bench.now - 10);
    await bench.during(host.cancel("tea"));
    assert.ok(bench.now < tick.at - BEGINNING);
    await bench.advance(10_000);
    assert.deepEqual(host.delivered, []);
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
    const bench = new Bench({ notifies: false });
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
    let sent = 0;
    one.store.settle = async () => {
      sent++;
      throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
    };
    await bench.advance(60_000);
    assert.equal(sent, 1);
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
    const bench = new Bench({ notifies: false });
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
      const bench = new Bench({ notifies: false });
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
      for (const host of [one, two]) host.handler = () => host.sleep(15_000);
      await bench.advance(60_000);
      assert.equal(bench.most, 1);
    }
  });

  it("a lease counts from before the request that wrote it", async () => {
    for (let others = 0; others < 4; others++) {
      const bench = new Bench({ notifies: false });
      for (let i = 0; i < others; i++) bench.open({ isIdle: true });
      const [one, two] = [bench.open({ leaseMs: 20_000 }), bench.open({ leaseMs: 20_000 })];
      for (const host of [one, two]) host.handler = () => host.sleep(15_000);
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
    const host = bench.open();
    await bench.during(host.set("tea", { every: 1_000 }));
    const { tick } = (await bench.stored("tea"))!;
    // The outcome is stored with the handler's changes, and the next tick is claimed before the answer
    // arrives.
    host.handler = async ({ settlement }) => {
      await host.store.settle([settlement]);
      host.processor.expect(0);
      await host.sleep(300);
      return "settled";
    };
    await bench.advance(10_500);
    assert.deepEqual(numbers(host.delivered), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assertPunctual(
      moments(host.delivered),
      host.delivered.map((_, i) => tick.due - BEGINNING + i * 1_000),
    );
  });

  it("a settlement that arrives long after its timeout does not free a later claim", async () => {
    const bench = new Bench({ notifies: false });
    const [one, two] = [bench.open(), bench.open({ types: [] })];
    await bench.during(one.set("tea", { every: 8_000, due: 0 }));
    bench.at(8_500, () => {
      two.types = ["Bell"];
    });
    for (const host of [one, two]) host.handler = ({ tick }) => host.sleep(tick.number === 1 ? 10 : 5_000);
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
      for (const host of [one, two]) host.handler = () => host.sleep(ms);
      for (let i = 0; i < 5; i++) await bench.during(one.set(`tea ${i}`, { every: 1_000 + i * 500 }));
      bench.world.database.troubles = { ...bench.world.database.troubles, failsAfter: 0.4, slow: 0.3, slowMs: 800 };
      await bench.advance(25_000);
      assert.equal(bench.most, 1);
      const all = [...one.delivered, ...two.delivered].map((text) => text.split("@")[0]);
      assert.equal(new Set(all).size, all.length);
    }
  });

  it("a settlement has a token of its own, so that a restored store cannot confuse rows", async () => {
    const host = new Bench().open();
    const leases = [1, 2, 3].map(() => host.processor.ownLease("Cart", 0));
    assert.equal(new Set(leases.map((lease) => lease?.token)).size, leases.length);
  });

  it("a reminder that is handed over a second time is not settled again", async () => {
    for (const ms of [500, 1_200]) {
      const bench = new Bench();
      const host = bench.open();
      host.handler = () => host.sleep(500);
      await bench.during(host.set("tea", { due: 1_000 }));
      const stored = (await bench.stored("tea"))!;
      await bench.advance(ms);
      host.processor.adopt(stored, { token: "late", leaseMs: 30_000 }, host.process.clock.monotonic());
      await bench.advance(60_000);
      assert.equal(host.delivered.length, 1);
      assert.equal(await bench.stored("tea"), undefined);
    }
  });

  it("a settlement that the store does not answer is given up with the lease, and the tick comes again", async () => {
    const bench = new Bench();
    const host = bench.open();
    await bench.during(host.set("tea", { due: 1_000 }));
    host.handler = () => bench.world.database.goDown();
    await bench.advance(60_000);
    assert.equal(host.delivered.length, 1);
    host.handler = () => {};
    bench.world.database.comeBack();
    await bench.advance(10_000);
    assert.equal(host.delivered.length, 2);
    assert.equal(await bench.stored("tea"), undefined);
  });
});
