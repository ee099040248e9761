// The times of claims, on virtual time. The outcome of claims is tested with the processor.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLog } from "../ports/log.ts";
import type { Reminders } from "../ports/store/reminders.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { FairCapacity } from "./fair-capacity.ts";
import { Bench } from "./processor-kit.test.ts";
import { StoreClock } from "./store-clock.ts";

describe("the claim loop", () => {
  it("a lease counts from its request, however long the answer takes", async () => {
    const clock = new VirtualClock();
    const { reminders } = new MemoryStore(() => clock.now());
    const key = { namespace: "default", type: "Tea", id: "a", name: "tea" };
    const tick = { at: 0, due: 0, number: 1, attempt: 0 };
    const content = { schedule: "{}", data: undefined };
    await reminders.write([{ kind: "set", key, tick, content, lease: undefined, isNew: false }]);
    const [leaseMs, lateMs] = [10_000, 7_000];
    const slow: Pick<Reminders, "claim" | "watch"> = {
      watch: () => undefined,
      claim: async (request) => {
        const claim = await reminders.claim(request);
        await new Promise<void>((resolve) => clock.after(lateMs, resolve));
        return claim;
      },
    };
    const leases: number[] = [];
    const settings = { namespace: "default", pollMs: 60_000, aheadMs: 0, batchSize: 10, leaseMs };
    const loop = new ClaimLoop(settings, {
      clock,
      random: { number: () => 0.5, id: () => "token" },
      log: silentLog,
      store: slow as Reminders,
      storeClock: new StoreClock(clock),
      capacity: new FairCapacity(100),
      types: () => ["Tea"],
      claimed: (_reminder, _token, leaseUntil) => leases.push(leaseUntil),
    });
    const askedAt = clock.monotonic();
    loop.start();
    await clock.advance(20_000);
    await loop.stop();
    assert.deepEqual(leases, [askedAt + leaseMs]);
  });

  it("a process that delivers nothing learns the store's time, so that its reminders are punctual", async () => {
    for (const offsetMs of [3_600_000, -3_600_000]) {
      const bench = new Bench();
      const [setter, host] = [bench.open({ types: [], clock: { offsetMs }, aheadMs: 0 }), bench.open()];
      await bench.advance(1_000);
      const from = bench.now;
      await bench.during(setter.set("tea", { due: 4_000 }));
      await bench.advance(10_000);
      assert.equal(host.delivered.length, 1, `${host.delivered}`);
      const at = Number(host.delivered[0]!.split("@")[1]);
      assert.ok(at >= from + 3_990 && at <= from + 4_100, `${at} is not 4 seconds after ${from}`);
    }
  });

  it("a process that delivers nothing polls no more often than a store with notifications requires", async () => {
    const bench = new Bench();
    bench.open({ types: [] });
    await bench.advance(600_000);
    assert.ok(bench.claims > 5 && bench.claims < 50, `${bench.claims} claims in ten minutes`);
  });

  it("a frequent reminder leaves capacity for another one, however short the horizon is", async () => {
    const bench = new Bench();
    const host = bench.open({ concurrency: 1, aheadMs: 200, pollMs: 80, leaseMs: 2_000 });
    host.handler = () => host.sleep(90);
    await bench.during(host.set("drum", { due: 0, every: 100 }));
    await bench.advance(1_000);
    await bench.during(host.set("tea", { due: 500 }));
    const { claims } = bench;
    await bench.advance(10_000);
    assert.equal(host.delivered.filter((one) => one.startsWith("tea")).length, 1, `${host.delivered}`);
    assert.ok(bench.claims - claims < 1_000, `${bench.claims - claims} claims in ten seconds`);
  });
});
