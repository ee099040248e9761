// Homes of shards: only the leader of the current term writes them, and they outlive every leader.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { newDedicated } from "./coordination-shared.contract.ts";
import { byBytes, Ground, newTerm, ODD_NAMES, type ShardsHarness, withSecond } from "./shards-shared.contract.ts";

export function shardHomesContract(harness: ShardsHarness): void {
  const ground = () => new Ground(harness.opened().store);

  describe("homes of shards", () => {
    test("homes are the last ones written, and gone when they are removed", async () => {
      const it = ground();
      assert.deepEqual(await it.homes(), []);
      await it.note(it.home(0, "a"), it.home(1, "a"), it.home(2, "b"));
      await it.note(it.home(1, "b"), it.home(2, undefined));
      assert.deepEqual(await it.homes(), [it.home(0, "a"), it.home(1, "b")]);
      await it.note(it.home(2, "c"), it.home(0, undefined), it.home(7, undefined));
      assert.deepEqual(await it.homes(), [it.home(1, "b"), it.home(2, "c")]);
      await it.note(it.home(1, undefined), it.home(2, undefined));
      await it.note(it.home(1, undefined), it.home(2, undefined));
      assert.deepEqual(await it.homes(), []);
    });

    test("homes are in the order of namespace, type and shard, for all names", async () => {
      const grounds = ["b", "\u{1f41a}", "B", "\uff5e", "a"].map((name) => {
        const { store, namespace } = ground();
        return new Ground(store, `${name} ${namespace}`);
      });
      const shards = [10, 2, 99_999, 0, 1];
      const all = grounds.flatMap((it, i) =>
        // All names in one of them, a few in the others.
        ODD_NAMES.slice(i === 0 ? 0 : -5).flatMap((type) =>
          shards.map((shard) => it.home(shard, `host of ${type}`, type)),
        ),
      );
      await grounds[0]!.note(...all);
      const own = new Set(grounds.map(({ namespace }) => namespace));
      const found = (await grounds[0]!.shards.homes()).filter(({ namespace }) => own.has(namespace));
      const sorted = all.toSorted(
        (a, b) => byBytes(a.namespace, b.namespace) || byBytes(a.type, b.type) || a.shard - b.shard,
      );
      assert.deepEqual(found, sorted);
    });

    test("several changes of a home in one step have the effect of one after the other", async () => {
      const it = ground();
      const steps = [
        { changes: [it.home(0, "a"), it.home(0, "b")], out: [it.home(0, "b")] },
        { changes: [it.home(0, "c"), it.home(0, undefined)], out: [] },
        { changes: [it.home(0, undefined), it.home(0, "d")], out: [it.home(0, "d")] },
        { changes: [it.home(0, "e"), it.home(1, "f"), it.home(0, "g")], out: [it.home(0, "g"), it.home(1, "f")] },
        { changes: [it.home(0, undefined), it.home(1, "h"), it.home(1, undefined), it.home(0, undefined)], out: [] },
      ];
      for (const { changes, out } of steps) {
        await it.note(...changes);
        assert.deepEqual(await it.homes(), out);
      }
    });

    test("homes are not changed by a term that is over, nor by a future one", async () => {
      const it = ground();
      const old = await newTerm(it.store);
      assert.equal(await it.shards.noteHomes(old, [it.home(0, "a")]), true);
      const term = await newTerm(it.store);
      for (const wrong of [old - 1, old, term + 1]) {
        assert.equal(await it.shards.noteHomes(wrong, [it.home(0, "b"), it.home(1, "b")]), false);
        assert.equal(await it.shards.noteHomes(wrong, [it.home(0, undefined)]), false);
        assert.equal(await it.shards.noteHomes(wrong, []), false);
      }
      assert.deepEqual(await it.homes(), [it.home(0, "a")]);
      assert.equal(await it.shards.noteHomes(term, []), true);
      assert.equal(await it.shards.noteHomes(term, [it.home(0, undefined)]), true);
      assert.deepEqual(await it.homes(), []);
    });

    test("homes can be written until another term begins, also when the leadership was given up", async () => {
      const it = ground();
      const leader = newDedicated();
      const { coordination } = it.store;
      const { term } = await coordination.campaign(leader);
      assert.equal(await it.shards.noteHomes(term, [it.home(0, "a")]), true);
      assert.equal((await coordination.campaign(leader)).term, term);
      assert.equal(await it.shards.noteHomes(term, [it.home(1, "a")]), true);
      await coordination.resign(leader.incarnation);
      assert.equal(await it.shards.noteHomes(term, [it.home(2, "a")]), true);
      await newTerm(it.store);
      assert.equal(await it.shards.noteHomes(term, [it.home(3, "a")]), false);
      assert.equal((await it.homes()).length, 3);
    });

    test("homes are there for the next leader, in any store on the same data", async (t) => {
      await withSecond(harness, async (second) => {
        if (second === undefined) return t.skip("this store has no second process");
        const it = ground();
        const there = it.at(second);
        const term = await newTerm(it.store);
        assert.equal(await it.shards.noteHomes(term, [it.home(0, "a"), it.home(1, "b")]), true);
        assert.deepEqual(await there.homes(), [it.home(0, "a"), it.home(1, "b")]);
        const next = await newTerm(second);
        assert.equal(await it.shards.noteHomes(term, [it.home(0, "c")]), false);
        assert.equal(await there.shards.noteHomes(next, [it.home(0, "d")]), true);
        assert.deepEqual(await it.homes(), [it.home(0, "d"), it.home(1, "b")]);
      });
    });

    test("homes may be many, and many may change in one step", async () => {
      const it = ground();
      const term = await newTerm(it.store);
      const all = Array.from({ length: 10 * LIMITS.shardChanges }, (_, shard) => it.home(shard, `host-${shard % 100}`));
      for (let from = 0; from < all.length; from += LIMITS.shardChanges) {
        assert.ok(await it.shards.noteHomes(term, all.slice(from, from + LIMITS.shardChanges)));
      }
      assert.deepEqual(await it.homes(), all);
      const moving = all.filter(({ shard }) => shard % 10 === 0).map(({ shard }) => it.home(shard, undefined));
      assert.ok(await it.shards.noteHomes(term, moving));
      assert.deepEqual(
        await it.homes(),
        all.filter(({ shard }) => shard % 10 !== 0),
      );
    });

    test("only the fields of a home are stored", async () => {
      const it = ground();
      const more = { ...it.home(0, "a"), callback: () => {} };
      await it.note(more);
      assert.deepEqual(await it.homes(), [it.home(0, "a")]);
    });
  });
}
