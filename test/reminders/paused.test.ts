// A process stops in the middle of a tick, for longer than its lease on the reminder and on its actors.
// Others continue meanwhile. Its settlement of that tick has no effect: neither on the state nor on the ticks
// that others have counted since.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ClusterSettings } from "../../src/config/settings.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import type { ClusterProcess } from "../support/cluster-process.ts";
import { Belfry, tickOf } from "./belfry.ts";

const TICKS = 8;
const EVERY_MS = 500;
/** Long enough to be stopped in the middle of it, also on a busy machine. */
const LINGER_MS = 3_000;
/** Short, because the test waits for all of it, and long enough to be renewed. */
const CALMER = { lease: "5s", leaderLease: "2s", roundTimeout: "4s", moveTimeout: "1s" } satisfies ClusterSettings;
const UNSAID = "reminder.settle.failed";

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`a process on ${store} that stands still while it handles a reminder`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("a late settlement of a paused process does not count, and the ticks of others do", async (t) => {
      await using place = await grounds.place();
      const short = { pollInterval: "100ms", fetchAhead: "500ms", lease: "4s" } as const;
      await using belfry = await Belfry.open(t, place, short);
      const [sleeper, other] = (await belfry.startAll(["sleeper", "other"], { cluster: CALMER })) as [
        ClusterProcess,
        ClusterProcess,
      ];
      await belfry.settled(2);
      const bells: { type: string; id: string }[] = [];
      for (const type of ["Bell", "Chimes"] as const) {
        for (const id of await belfry.idsOn(sleeper, type, 3)) bells.push({ type, id });
      }
      const options = { due: "300ms", every: EVERY_MS, times: TICKS, missed: "all", data: { lingerMs: LINGER_MS } };
      await Promise.all(bells.map(({ type, id }) => sleeper.call(type, id, "set", ["tick", options])));
      await belfry.until(async () => (await belfry.begun()).length === bells.length, "all of them have begun");
      // Certainly those without state; each process may have claimed some of the others, and has them
      // delivered there.
      const taken = await sleeper.metric("limpet_reminders_claimed_total");
      assert.ok(taken >= bells.length / 2, `it has taken on ${taken}`);

      const ticks = async (process: string, kind: "begin" | "end", number: number) =>
        (await belfry.strokes()).filter(
          (stroke) => stroke.process === process && stroke.kind === kind && stroke.number === number,
        );
      await belfry.paused(sleeper, async () => {
        const third = async () => (await ticks("other", "end", 3)).length === bells.length;
        await belfry.until(third, "the other one has gone on with three ticks of each");
        assert.deepEqual(await ticks("sleeper", "end", 1), [], "it stood still before it was done");
      });
      await belfry.until(async () => (await ticks("sleeper", "end", 1)).length === bells.length, "it wakes up");
      // Its connections may have been closed meanwhile: then it could not even send it, and logs this.
      const output = async () =>
        (await sleeper.metric("limpet_reminders_replaced_total")) + sleeper.output.split(UNSAID).length - 1;
      await belfry.until(
        async () => (await output()) >= taken,
        "it has said what became of the first ticks, and that did not count",
      );
      await belfry.done();

      for (const { id } of bells.filter(({ type }) => type === "Chimes")) {
        const rung = await other.call("Chimes", id, "rung");
        assert.deepEqual(
          rung,
          Array.from({ length: TICKS }, (_, i) => ["tick", i + 1]),
        );
      }
      const expected = new Set<string>();
      for (const { type, id } of bells) {
        for (let number = 1; number <= TICKS; number++) {
          expected.add(tickOf({ bell: `${type}/${id}`, name: "tick", number }));
        }
      }
      const again = await belfry.check(expected);
      assert.deepEqual(
        again.map((times) => times.map(({ number, process }) => [number, process])),
        bells.map(() => [
          [1, "sleeper"],
          [1, "other"],
        ]),
        "only the tick that it slept through began twice",
      );
      const byBell = Map.groupBy(await belfry.begun(), ({ bell }) => bell);
      for (const begun of byBell.values()) {
        const [first] = begun;
        for (const { due, number } of begun) assert.equal(due, first!.due + (number - 1) * EVERY_MS);
      }
    });
  });
}
