// Processes that deliver reminders come and go while they fire. Work spreads over all running processes. A
// stopping process releases its reminders at once; those of a dead one are claimed when its lease has ended,
// and not before.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import type { ClusterProcess } from "../support/cluster-process.ts";
import { Belfry, tickOf } from "./belfry.ts";

const FIRED = "limpet_reminders_fired_total";

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`processes that deliver reminders on ${store}, coming and going`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("processes share the work with new ones, and pass it on when they stop", async (t) => {
      await using place = await grounds.place();
      // They are free between two ticks, and no process can claim them all.
      const small = { pollInterval: "100ms", fetchAhead: "300ms", lease: "30s", batchSize: 20 } as const;
      await using belfry = await Belfry.open(t, place, small);
      const one = await belfry.start("one");
      const bells = Array.from({ length: 300 }, (_, i) => ({ type: i % 2 === 0 ? "Bell" : "Chimes", id: `${i}` }));
      const from = Date.now();
      const due = (i: number): Date => new Date(from + i * 3);
      await Promise.all(
        bells.map(({ type, id }, i) => belfry.set(type, id, "tick", { due: due(i), every: "1s", missed: "all" })),
      );
      const fireMore = async (...hosts: readonly ClusterProcess[]): Promise<void> => {
        const before = await Promise.all(hosts.map((host) => host.metric(FIRED)));
        const fired = async () => {
          const now = await Promise.all(hosts.map((host) => host.metric(FIRED)));
          return now.every((count, i) => count >= before[i]! + 50);
        };
        await belfry.until(fired, `each of ${hosts.map(({ name }) => name).join(", ")} fires fifty more`);
      };
      await fireMore(one);
      const [two, three] = (await belfry.startAll(["two", "three"])) as [ClusterProcess, ClusterProcess];
      await fireMore(one, two, three);
      await one.leave();
      await fireMore(two, three);
      await Promise.all(bells.map(({ type, id }) => belfry.cancel(type, id, "tick")));
      await Promise.all([two.leave(), three.leave()]);

      const begun = await belfry.begun();
      assert.deepEqual(new Set(begun.map(({ process }) => process)), new Set(["one", "two", "three"]));
      const expected = new Set<string>();
      for (const { type, id } of bells) {
        const bell = `${type}/${id}`;
        const last = Math.max(0, ...begun.filter((stroke) => stroke.bell === bell).map(({ number }) => number));
        for (let number = 1; number <= last; number++) expected.add(tickOf({ bell, name: "tick", number }));
      }
      assert.deepEqual(await belfry.check(expected), [], "nothing fires twice when nobody is lost");
    });

    /** Reminders that the process has claimed, because they were set there and are due soon. */
    async function held(belfry: Belfry, host: ClusterProcess, due: string): Promise<Set<string>> {
      const ids = await belfry.idsOn(host, "Bell", 50);
      await Promise.all(ids.map((id) => host.call("Bell", id, "set", ["held", { due }])));
      return new Set(ids.map((id) => tickOf({ bell: `Bell/${id}`, name: "held", number: 1 })));
    }

    test("a stopping process releases its reminders: others deliver them long before the lease would have ended", async (t) => {
      await using place = await grounds.place();
      const long = { pollInterval: "100ms", fetchAhead: "10s", lease: "10m" } as const;
      await using belfry = await Belfry.open(t, place, long);
      const [one] = (await belfry.startAll(["one", "two"])) as [ClusterProcess];
      await belfry.settled(2);
      const expected = await held(belfry, one, "3s");
      const leases = new Map((await belfry.rows()).map(({ key, leasedUntil }) => [key.id, leasedUntil]));
      await one.leave();
      for (const { key, leasedUntil } of await belfry.rows()) {
        assert.ok(leases.get(key.id)! > Date.now(), "it had a lease");
        assert.notEqual(leasedUntil, leases.get(key.id), "it has left, and its lease has not");
      }
      await belfry.done();
      assert.deepEqual(await belfry.check(expected), []);
      const passedOn = (await belfry.begun()).filter(({ process }) => process === "two");
      assert.ok(passedOn.length > 0, "they were all over before it left");
      for (const { at, bell } of passedOn) assert.ok(at < leases.get(bell.split("/")[1]!)!);
    });

    test("another process delivers the reminders of a killed process, as first attempts", async (t) => {
      await using place = await grounds.place();
      const short = { pollInterval: "100ms", fetchAhead: "1500ms", lease: "4500ms" } as const;
      await using belfry = await Belfry.open(t, place, short);
      const [one] = (await belfry.startAll(["one", "two"])) as [ClusterProcess];
      await belfry.settled(2);
      const expected = await held(belfry, one, "1400ms");
      await belfry.kill(one);
      const rows = await belfry.rows();
      assert.ok(rows.length > 0, "they were all over before it was killed");
      await belfry.done();
      const again = await belfry.check(expected);
      const begun = (await belfry.begun()).filter(({ process }) => process === "two");
      // The database detects the end of the process, or the lease ends: kills.test.ts distinguishes the two.
      for (const { key } of rows) assert.equal(begun.find(({ bell }) => bell === `Bell/${key.id}`)?.attempt, 1);
      t.diagnostic(`${rows.length} had a lease when it was killed, ${again.length} had begun`);
    });
  });
}
