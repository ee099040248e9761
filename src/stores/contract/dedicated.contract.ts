// A dedicated scheduler has priority over an embedded one, but never takes the leadership from a leader that
// still has it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type CoordinationHarness,
  deserted,
  HOUR,
  listedIn,
  newCandidate,
  newDedicated,
} from "./coordination-shared.contract.ts";

export function dedicatedContract(harness: CoordinationHarness): void {
  describe("dedicated schedulers", () => {
    test("a dedicated scheduler is listed and waits while an embedded one leads", async () => {
      const { coordination, term } = await deserted(harness);
      const embedded = newCandidate();
      const dedicated = newDedicated();
      await coordination.campaign(embedded);
      const waiting = await coordination.campaign(dedicated);
      assert.deepEqual([waiting.term, waiting.leading], [term + 1, false]);
      assert.equal(waiting.leader?.incarnation, embedded.incarnation);
      assert.deepEqual(listedIn(waiting), [embedded.incarnation, dedicated.incarnation]);
    });

    test("a dedicated scheduler makes an embedded leader give up at its next step, and leads at its own next step", async () => {
      const { coordination, term } = await deserted(harness);
      const embedded = newCandidate();
      const dedicated = newDedicated();
      await coordination.campaign(embedded);
      await coordination.campaign(dedicated);
      const given = await coordination.campaign(embedded);
      assert.deepEqual([given.term, given.leading, given.leader], [term + 1, false, undefined]);
      assert.ok(given.schedulers.every(({ leader }) => !leader));
      const other = await coordination.campaign(newCandidate());
      assert.deepEqual([other.term, other.leading, other.leader], [term + 1, false, undefined]);
      const taken = await coordination.campaign(dedicated);
      assert.deepEqual([taken.term, taken.leading], [term + 2, true]);
      assert.equal((await coordination.campaign(embedded)).leading, false);
    });

    test("a dedicated scheduler leads as soon as the embedded leader's lease has ended, or its process is known to have ended", async () => {
      for (const how of ["lease", "death"]) {
        const { coordination, advance, term } = await deserted(harness);
        const embedded = newCandidate();
        const dedicated = newDedicated({ leaseMs: 3 * HOUR });
        await coordination.campaign(embedded);
        await coordination.campaign(dedicated);
        if (how === "lease") await advance(1.1 * HOUR);
        const taken = await coordination.campaign(dedicated, how === "death" ? [embedded.incarnation] : []);
        assert.deepEqual([taken.term, taken.leading, listedIn(taken)], [term + 2, true, [dedicated.incarnation]]);
      }
    });

    test("a dedicated leader stays the leader, whichever other schedulers campaign", async () => {
      const { coordination, term } = await deserted(harness);
      const dedicated = newDedicated();
      await coordination.campaign(dedicated);
      await coordination.campaign(newDedicated());
      await coordination.campaign(newCandidate());
      const kept = await coordination.campaign(dedicated);
      assert.deepEqual([kept.term, kept.leading], [term + 1, true]);
    });

    test("a waiting dedicated scheduler keeps embedded ones from a leadership that has ended", async () => {
      const { coordination, advance, term } = await deserted(harness);
      const dedicated = newDedicated({ leaseMs: 3 * HOUR });
      await coordination.campaign(newCandidate());
      await coordination.campaign(dedicated);
      await advance(1.1 * HOUR);
      const embedded = await coordination.campaign(newCandidate());
      assert.deepEqual([embedded.term, embedded.leading, embedded.leader], [term + 1, false, undefined]);
      assert.equal((await coordination.campaign(dedicated)).term, term + 2);
    });

    test("a dedicated scheduler that resigned, whose lease ended or whose process ended blocks no other scheduler", async () => {
      for (const how of ["resigned", "ran out", "ended"]) {
        const { coordination, advance, term } = await deserted(harness);
        const dedicated = newDedicated();
        const embedded = newCandidate({ leaseMs: 3 * HOUR });
        await coordination.campaign(dedicated);
        assert.equal((await coordination.campaign(embedded)).leading, false);
        if (how === "resigned") await coordination.resign(dedicated.incarnation);
        if (how === "ran out") await advance(1.1 * HOUR);
        const taken = await coordination.campaign(embedded, how === "ended" ? [dedicated.incarnation] : []);
        assert.deepEqual([taken.term, taken.leading, listedIn(taken)], [term + 2, true, [embedded.incarnation]], how);
      }
    });

    test("an embedded scheduler frees the leadership of a dead leader for a dedicated one, and takes nothing", async () => {
      const { coordination, term } = await deserted(harness);
      const [first, second] = [newDedicated(), newDedicated()];
      await coordination.campaign(first);
      await coordination.campaign(second);
      const embedded = await coordination.campaign(newCandidate(), [first.incarnation]);
      assert.deepEqual([embedded.term, embedded.leading, embedded.leader], [term + 1, false, undefined]);
      assert.equal((await coordination.campaign(second)).term, term + 2);
    });
  });
}
