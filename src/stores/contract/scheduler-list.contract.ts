// The list of schedulers: every scheduler that campaigned within its own lease, in one order.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import {
  type CoordinationHarness,
  deserted,
  entryOf,
  HOUR,
  listedIn,
  newCandidate,
} from "./coordination-shared.contract.ts";

export function scheduleListContract(harness: CoordinationHarness): void {
  describe("list of schedulers", () => {
    test("the list of schedulers is in the order of address, then incarnation, by code point", async () => {
      const { coordination } = await deserted(harness);
      const places = ["b", "", "a", "\u{1f41a}", "B", "\uff5e", "ab", "é"];
      const candidates = places.flatMap((address) => [
        newCandidate({ address, incarnation: `${address}-\u{1f41a}` }),
        newCandidate({ address, incarnation: `${address}-\uff5e` }),
      ]);
      for (const candidate of candidates) await coordination.campaign(candidate);
      const { schedulers } = await coordination.campaign(candidates[0]!);
      const bytes = ({ address, incarnation }: { address: string; incarnation: string }) =>
        Buffer.concat([Buffer.from(address), Buffer.alloc(1), Buffer.from(incarnation)]);
      const sorted = [...candidates].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
      assert.deepEqual(
        schedulers,
        sorted.map((candidate) => entryOf(candidate, candidate === candidates[0])),
      );
    });

    test("the list of schedulers has each scheduler for as long as its own lease", async () => {
      const { coordination, advance } = await deserted(harness);
      const short = newCandidate({ leaseMs: HOUR });
      const long = newCandidate({ leaseMs: 3 * HOUR });
      const asking = newCandidate({ leaseMs: 10 * HOUR });
      for (const one of [asking, short, long]) await coordination.campaign(one);
      const listed = async () => new Set(listedIn(await coordination.campaign(asking)));
      await advance(0.9 * HOUR);
      assert.ok((await listed()).has(short.incarnation));
      await advance(0.2 * HOUR);
      assert.deepEqual(await listed(), new Set([asking.incarnation, long.incarnation]));
      await advance(2 * HOUR);
      assert.deepEqual(await listed(), new Set([asking.incarnation]));
      // The scheduler is listed again, like a new one.
      await coordination.campaign(short);
      assert.deepEqual(await listed(), new Set([asking.incarnation, short.incarnation]));
    });

    test("the list of schedulers has the latest values of each: an address appears when its server is open", async () => {
      const { coordination } = await deserted(harness);
      const closed = newCandidate({ address: "" });
      const open = { ...closed, address: "10.0.0.9:7400" };
      const other = newCandidate();
      assert.deepEqual((await coordination.campaign(closed)).leader, entryOf(closed, true));
      assert.deepEqual((await coordination.campaign(open)).leader, entryOf(open, true));
      const result = await coordination.campaign(other);
      assert.deepEqual(result.leader, entryOf(open, true));
      assert.equal(result.schedulers.length, 2);
      await coordination.campaign({ ...other, address: "10.0.0.9:7401" });
      const { schedulers } = await coordination.campaign(open);
      assert.deepEqual(
        schedulers.map(({ address }) => address),
        ["10.0.0.9:7400", "10.0.0.9:7401"],
      );
    });

    test("the list of schedulers has a limit: one too many is rejected, and the listed ones go on", async (t) => {
      const opened = await harness.open();
      try {
        const { coordination } = opened.store;
        if (opened.listMany === undefined) return t.skip("this store lists no scheduler without a campaign");
        const leader = newCandidate({ leaseMs: 10 * HOUR });
        const { term } = await coordination.campaign(leader);
        await opened.listMany(LIMITS.schedulers - 1, false);
        await assert.rejects(coordination.campaign(newCandidate()), {
          code: "STORE_UNAVAILABLE",
          message: /more than 10000 schedulers in the store/,
        });
        const kept = await coordination.campaign(leader);
        assert.deepEqual([kept.term, kept.leading, kept.schedulers.length], [term, true, LIMITS.schedulers]);
        await opened.advance(2 * HOUR);
        assert.equal((await coordination.campaign(newCandidate())).schedulers.length, 2);
      } finally {
        await opened.dispose();
      }
    });
  });
}
