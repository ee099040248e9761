// Leadership: one scheduler leads at a time, and the next leader has a higher term.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ElectionResult } from "../../ports/store/coordination.ts";
import { termAt } from "../leadership.ts";
import {
  type CoordinationHarness,
  deserted,
  entryOf,
  HOUR,
  listedIn,
  newCandidate,
  newDedicated,
} from "./coordination-shared.contract.ts";

export function leadershipContract(harness: CoordinationHarness): void {
  describe("leadership", () => {
    test("the first scheduler that campaigns leads, in a term of the store's clock, and receives everything", async () => {
      const opened = await harness.open();
      try {
        const { coordination } = opened.store;
        const alone = newCandidate();
        const standing = await coordination.campaign(alone);
        assert.ok(Math.abs(standing.term - termAt(Date.now())) < 100 * HOUR, `term ${standing.term}`);
        const expected: ElectionResult = {
          term: standing.term,
          leading: true,
          schedulers: [entryOf(alone, true)],
          hostLeaseMs: 30_000,
          leader: entryOf(alone, true),
        };
        assert.deepEqual(standing, expected);
      } finally {
        await opened.dispose();
      }
    });

    test("a new term is above every term that its leader has seen, also when the store has lost terms", async () => {
      const { coordination, term } = await deserted(harness);
      const seenTerm = term + 1_000;
      const first = newCandidate({ seenTerm });
      assert.equal((await coordination.campaign(first)).term, seenTerm + 1);
      // It keeps its term.
      assert.equal((await coordination.campaign({ ...first, seenTerm: seenTerm + 1 })).term, seenTerm + 1);
    });

    test("there is no term before a scheduler has led", async (t) => {
      const opened = await harness.open();
      try {
        if (opened.listMany === undefined) return t.skip("this store lists no scheduler without a campaign");
        await opened.listMany(1, true);
        const { term, leading, leader, hostLeaseMs } = await opened.store.coordination.campaign(newCandidate());
        assert.deepEqual([term, leading, leader, hostLeaseMs], [0, false, undefined, 0]);
      } finally {
        await opened.dispose();
      }
    });

    test("a second scheduler does not lead, and gets the leader's entry", async () => {
      const { coordination, term } = await deserted(harness);
      const first = newCandidate({ machine: "machine-7", pid: 77 });
      const second = newCandidate();
      await coordination.campaign(first);
      assert.deepEqual(await coordination.campaign(second), {
        term: term + 1,
        leading: false,
        schedulers: [entryOf(first, true), entryOf(second, false)],
        hostLeaseMs: 30_000,
        leader: entryOf(first, true),
      });
    });

    test("a leader that renews its lease leads for any time, in one term", async () => {
      const { coordination, advance, term } = await deserted(harness);
      const first = newCandidate();
      const second = newCandidate();
      for (let i = 0; i < 5; i++) {
        const kept = await coordination.campaign(first);
        assert.deepEqual([kept.term, kept.leading], [term + 1, true]);
        const other = await coordination.campaign(second);
        assert.deepEqual([other.term, other.leading], [term + 1, false]);
        await advance(0.9 * HOUR);
      }
    });

    test("a leadership ends after its lease, and the next scheduler that campaigns leads the next term", async () => {
      const { coordination, advance, term } = await deserted(harness);
      const first = newCandidate();
      const second = newCandidate();
      await coordination.campaign(first);
      await advance(0.99 * HOUR);
      assert.equal((await coordination.campaign(second)).leading, false);
      await advance(0.02 * HOUR);
      const taken = await coordination.campaign(second);
      assert.deepEqual([taken.term, taken.leading, taken.leader?.incarnation], [term + 2, true, second.incarnation]);
      const late = await coordination.campaign(first);
      assert.deepEqual([late.term, late.leading, late.leader?.incarnation], [term + 2, false, second.incarnation]);
    });

    test("the lease of a leadership is the leader's, not that of the campaigning scheduler", async () => {
      const { coordination, advance } = await deserted(harness);
      await coordination.campaign(newCandidate({ leaseMs: 3 * HOUR }));
      await advance(2 * HOUR);
      assert.equal((await coordination.campaign(newCandidate({ leaseMs: HOUR / 2 }))).leading, false);
      await advance(1.1 * HOUR);
      assert.equal((await coordination.campaign(newCandidate({ leaseMs: HOUR / 2 }))).leading, true);
      await advance(0.6 * HOUR);
      assert.equal((await coordination.campaign(newCandidate())).leading, true);
    });

    test("a scheduler that takes the leadership again after its lease ended begins a new term", async () => {
      const { coordination, advance, term } = await deserted(harness);
      const alone = newCandidate();
      await coordination.campaign(alone);
      await advance(1.1 * HOUR);
      const again = await coordination.campaign(alone);
      assert.deepEqual([again.term, again.leading], [term + 2, true]);
      assert.deepEqual(listedIn(again), [alone.incarnation]);
    });

    test("a leadership ends by itself, on the clock of the store", async () => {
      const { coordination, term } = await deserted(harness);
      await coordination.campaign(newCandidate({ leaseMs: 40 }));
      const second = newCandidate();
      let standing = await coordination.campaign(second);
      while (!standing.leading) standing = await coordination.campaign(second);
      assert.deepEqual([standing.term, listedIn(standing)], [term + 2, [second.incarnation]]);
    });

    test("a leader that resigns frees the leadership at once, and the next term is one higher", async () => {
      const { coordination, term } = await deserted(harness);
      const first = newCandidate();
      const second = newCandidate();
      await coordination.campaign(first);
      await coordination.campaign(second);
      await coordination.resign(first.incarnation);
      const next = await coordination.campaign(second);
      assert.deepEqual([next.term, next.leading, listedIn(next)], [term + 2, true, [second.incarnation]]);
      await coordination.resign(second.incarnation);
      const back = await coordination.campaign(second);
      assert.deepEqual([back.term, back.leading], [term + 3, true]);
    });

    test("a scheduler that does not lead and resigns only leaves the list", async () => {
      const { coordination, term } = await deserted(harness);
      const first = newCandidate();
      const second = newCandidate();
      await coordination.campaign(first);
      await coordination.campaign(second);
      await coordination.resign(second.incarnation);
      await coordination.resign("nobody");
      const kept = await coordination.campaign(first);
      assert.deepEqual([kept.term, kept.leading, listedIn(kept)], [term + 1, true, [first.incarnation]]);
    });

    test("the leadership of a dead scheduler is free at once", async () => {
      const { coordination, term } = await deserted(harness);
      const first = newCandidate();
      const bystander = newCandidate();
      const second = newCandidate();
      await coordination.campaign(first);
      await coordination.campaign(bystander);
      const taken = await coordination.campaign(second, ["nobody", first.incarnation]);
      assert.deepEqual([taken.term, taken.leading], [term + 2, true]);
      assert.deepEqual(listedIn(taken), [bystander.incarnation, second.incarnation]);
    });

    test("a living scheduler that was reported as dead comes back without its leadership", async () => {
      const { coordination, term } = await deserted(harness);
      const first = newCandidate();
      const second = newCandidate();
      await coordination.campaign(first);
      await coordination.campaign(second, [first.incarnation]);
      const back = await coordination.campaign(first);
      assert.deepEqual([back.term, back.leading], [term + 2, false]);
      assert.deepEqual(listedIn(back), [first.incarnation, second.incarnation]);
    });

    test("a scheduler that campaigns is never dead", async () => {
      const { coordination, term } = await deserted(harness);
      const alone = newCandidate();
      await coordination.campaign(alone);
      const kept = await coordination.campaign(alone, [alone.incarnation]);
      assert.deepEqual([kept.term, kept.leading, listedIn(kept)], [term + 1, true, [alone.incarnation]]);
    });

    test("a step of leadership whose response was lost can be repeated", async () => {
      const { coordination, term } = await deserted(harness);
      const first = newCandidate();
      const second = newCandidate();
      const result = await coordination.campaign(first);
      assert.deepEqual(await coordination.campaign(first), result);
      const took = await coordination.campaign(second, [first.incarnation]);
      assert.deepEqual(await coordination.campaign(second, [first.incarnation]), took);
      assert.equal(took.term, term + 2);
      await coordination.resign(second.incarnation);
      await coordination.resign(second.incarnation);
      assert.equal((await coordination.campaign(first)).term, term + 3);
    });

    test("a clock that is set back delays no scheduler for longer than a lease", async () => {
      const { coordination, advance, term } = await deserted(harness);
      const first = newDedicated();
      const second = newDedicated();
      await coordination.campaign(first);
      await advance(-100 * HOUR);
      const waiting = await coordination.campaign(second);
      assert.deepEqual([waiting.term, waiting.leading], [term + 1, false]);
      assert.deepEqual(listedIn(waiting), [first.incarnation, second.incarnation]);
      await advance(0.9 * HOUR);
      assert.equal((await coordination.campaign(second)).leading, false);
      await advance(0.2 * HOUR);
      const taken = await coordination.campaign(second);
      assert.deepEqual([taken.term, taken.leading, listedIn(taken)], [term + 2, true, [second.incarnation]]);
    });

    test("the host lease to wait for is the longest of this leader and of the one before it", async () => {
      const { coordination, hostLeaseMs } = await deserted(harness);
      const lead = async (ms: number) => {
        const next = newCandidate({ hostLeaseMs: ms });
        const standing = await coordination.campaign(next);
        await coordination.resign(next.incarnation);
        return standing.hostLeaseMs;
      };
      assert.equal(await lead(hostLeaseMs + 4), hostLeaseMs + 4);
      assert.equal(await lead(hostLeaseMs + 9), hostLeaseMs + 9);
      assert.equal(await lead(hostLeaseMs + 2), hostLeaseMs + 9);
      assert.equal(await lead(hostLeaseMs + 3), hostLeaseMs + 3);
    });

    test("a leader that changes its grants counts with the longest, also for its successor", async () => {
      const { coordination } = await deserted(harness);
      const first = newCandidate({ hostLeaseMs: 20 });
      assert.equal((await coordination.campaign(first)).hostLeaseMs, 20);
      assert.equal((await coordination.campaign({ ...first, hostLeaseMs: 50 })).hostLeaseMs, 50);
      assert.equal((await coordination.campaign({ ...first, hostLeaseMs: 10 })).hostLeaseMs, 50);
      assert.equal((await coordination.campaign(newCandidate({ hostLeaseMs: 30 }))).hostLeaseMs, 50);
      assert.equal(
        (await coordination.campaign(newCandidate({ hostLeaseMs: 30 }), [first.incarnation])).hostLeaseMs,
        50,
      );
    });

    test("two stores on the same data agree on the leader", async (t) => {
      const { coordination, term } = await deserted(harness);
      const second = await harness.opened().second?.();
      if (second === undefined) return t.skip("this store has no second process");
      try {
        const here = newCandidate();
        const there = newCandidate();
        await coordination.campaign(here);
        const result = await second.coordination.campaign(there);
        assert.deepEqual(
          [result.term, result.leading, result.leader?.incarnation],
          [term + 1, false, here.incarnation],
        );
        await coordination.resign(here.incarnation);
        assert.deepEqual((await second.coordination.campaign(there)).term, term + 2);
        assert.equal((await coordination.campaign(here)).leader?.incarnation, there.incarnation);
      } finally {
        await second.close();
      }
    });

    test("a closed store rejects every step of leadership", async () => {
      const opened = await harness.open();
      try {
        const { coordination } = opened.store;
        await coordination.campaign(newCandidate());
        await opened.store.close();
        const refused = { name: "LimpetError", code: "STORE_UNAVAILABLE" };
        await assert.rejects(coordination.campaign(newCandidate()), refused);
        await assert.rejects(coordination.resign("nobody"), refused);
        await assert.rejects(coordination.members(), refused);
        await assert.rejects(coordination.persist(1, []), refused);
      } finally {
        await opened.dispose();
      }
    });
  });
}
