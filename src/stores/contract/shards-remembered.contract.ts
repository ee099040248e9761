// Remembered actors: a set for each shard, read in pages.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { byBytes, Ground, ODD_NAMES, type ShardsHarness, withSecond } from "./shards-shared.contract.ts";

export function rememberedContract(harness: ShardsHarness): void {
  const ground = () => new Ground(harness.opened().store);

  describe("remembered actors", () => {
    test("remembered actors are kept until they are forgotten, and both may be repeated", async () => {
      const it = ground();
      assert.deepEqual(await it.ids(), []);
      await it.remember(it.keep("b"), it.keep("a"));
      await it.remember(it.keep("b"), it.keep("c"));
      assert.deepEqual(await it.ids(), ["a", "b", "c"]);
      await it.remember(it.forget("b"), it.forget("never there"));
      await it.remember(it.forget("b"));
      assert.deepEqual(await it.ids(), ["a", "c"]);
      await it.remember(it.keep("b"), it.forget("a"));
      assert.deepEqual(await it.ids(), ["b", "c"]);
      await it.remember();
      await it.remember(it.forget("b"), it.forget("c"));
      assert.deepEqual(await it.ids(), []);
    });

    test("remembered actors belong to one shard of one type of one namespace", async () => {
      const [it, elsewhere] = [ground(), ground()];
      await it.remember(it.keep("a", 0), it.keep("b", 1), it.keep("c", 10), it.keep("d", 0, "Order"));
      await elsewhere.remember(elsewhere.keep("e", 0));
      await it.remember(it.forget("a", 1), it.forget("d", 0), it.forget("e", 0));
      assert.deepEqual(await Promise.all([0, 1, 10, 2].map((shard) => it.ids(shard))), [["a"], ["b"], ["c"], []]);
      assert.deepEqual(await it.ids(0, "Order"), ["d"]);
      assert.deepEqual(await elsewhere.ids(), ["e"]);
    });

    test("remembered actors are in the order of their code points, in pages of any size, for all names", async () => {
      const it = ground();
      const ids = [...ODD_NAMES, "x".repeat(LIMITS.idBytes), "\u{1f41a}".repeat(LIMITS.idBytes / 4)];
      const sorted = ids.toSorted(byBytes);
      for (const type of ["Cart", "''{\u{1f41a}"]) {
        await it.remember(...ids.map((id) => it.keep(id, 3, type)));
        for (const limit of [1, 2, 7, sorted.length, 1_000]) assert.deepEqual(await it.ids(3, type, limit), sorted);
        for (const [i, after] of sorted.entries()) {
          const page = await it.shards.remembered(it.shard(3, type), after, 3);
          assert.deepEqual(page, sorted.slice(i + 1, i + 4), after);
        }
      }
      await it.remember(...ids.map((id) => it.forget(id, 3)));
      assert.deepEqual(await it.ids(3), []);
      assert.deepEqual(await it.ids(3, "''{\u{1f41a}"), sorted);
    });

    test("a page of remembered actors starts behind an id that is gone or never existed", async () => {
      const it = ground();
      await it.remember(...["a", "c", "e"].map((id) => it.keep(id)));
      const behind = (after: string) => it.shards.remembered(it.shard(), after, 10);
      assert.deepEqual(await behind("b"), ["c", "e"]);
      await it.remember(it.forget("c"));
      assert.deepEqual(await behind("c"), ["e"]);
      assert.deepEqual(await behind("e"), []);
      assert.deepEqual(await behind("f"), []);
      assert.deepEqual(await behind(" "), ["a", "e"]);
    });

    test("several changes of a remembered actor in one step have the effect of one after the other", async () => {
      const it = ground();
      const steps = [
        { changes: [it.keep("a"), it.keep("a")], out: ["a"] },
        { changes: [it.forget("a"), it.keep("a")], out: ["a"] },
        { changes: [it.keep("a"), it.forget("a")], out: [] },
        { changes: [it.keep("a"), it.keep("b"), it.forget("a"), it.keep("a", 1)], out: ["b"] },
        { changes: [it.forget("b"), it.keep("b"), it.forget("b"), it.keep("c"), it.keep("b")], out: ["b", "c"] },
      ];
      for (const { changes, out } of steps) {
        await it.remember(...changes);
        assert.deepEqual(await it.ids(), out);
      }
      assert.deepEqual(await it.ids(1), ["a"]);
    });

    test("remembered actors may be many, and many may change in one step", async () => {
      const it = ground();
      const ids = Array.from({ length: 5 * LIMITS.shardChanges }, (_, i) => `actor-${(i * 7_919) % 10_007}`);
      for (let from = 0; from < ids.length; from += LIMITS.shardChanges) {
        await it.remember(...ids.slice(from, from + LIMITS.shardChanges).map((id) => it.keep(id)));
      }
      assert.deepEqual(await it.ids(), ids.toSorted(byBytes));
      await it.remember(...ids.slice(0, LIMITS.shardChanges).map((id) => it.forget(id)));
      assert.deepEqual(await it.ids(), ids.slice(LIMITS.shardChanges).toSorted(byBytes));
    });

    test("remembered actors are there in any store on the same data, under every leader", async (t) => {
      await withSecond(harness, async (second) => {
        if (second === undefined) return t.skip("this store has no second process");
        const it = ground();
        const there = it.at(second);
        await it.remember(it.keep("a"), it.keep("b"));
        assert.deepEqual(await there.ids(), ["a", "b"]);
        await there.remember(it.forget("a"), it.keep("c"));
        assert.deepEqual(await it.ids(), ["b", "c"]);
      });
    });

    test("remembered actors are changed only by the home of their shard, which gets the result of each change", async () => {
      const it = ground();
      await it.note(it.home(0, "a"), it.home(1, "b"));
      const outcome = (home: string) =>
        it.shards.remember(home, [it.keep("x", 0), it.keep("y", 1), it.keep("z", 2), it.keep("w", 0)]);
      assert.deepEqual(await outcome("a"), [true, false, false, true]);
      assert.deepEqual(await outcome("b"), [false, true, false, false]);
      assert.deepEqual(await outcome("c"), [false, false, false, false]);
      assert.deepEqual(await it.ids(0), ["w", "x"]);
      assert.deepEqual([await it.ids(1), await it.ids(2)], [["y"], []]);
      assert.deepEqual(await it.shards.remember("b", [it.forget("x", 0), it.forget("y", 1)]), [false, true]);
      assert.deepEqual([await it.ids(0), await it.ids(1)], [["w", "x"], []]);
      assert.deepEqual(await it.shards.remember("a", []), []);
      assert.deepEqual(await it.shards.remember("a", [it.keep("x", 0, "Order")]), [false], "of another type");
    });

    test("remembered actors are not changed by late writes of a former home", async () => {
      const it = ground();
      await it.note(it.home(0, "a"));
      assert.deepEqual(await it.shards.remember("a", [it.keep("x")]), [true]);
      await it.note(it.home(0, "b"));
      assert.deepEqual(await it.shards.remember("b", [it.keep("x"), it.keep("y")]), [true, true]);
      assert.deepEqual(await it.shards.remember("a", [it.forget("x"), it.keep("z")]), [false, false]);
      assert.deepEqual(await it.ids(), ["x", "y"]);
      await it.note(it.home(0, undefined));
      assert.deepEqual(await it.shards.remember("b", [it.forget("x")]), [false]);
      assert.deepEqual(await it.ids(), ["x", "y"]);
      // A process without a cluster has no homes, and earlier homes do not restrict it.
      await it.note(it.home(0, "c"));
      await it.remember(it.forget("y"));
      assert.deepEqual(await it.ids(), ["x"]);
    });

    test("the shards with remembered actors are listed in order, and shards without any are not", async () => {
      const it = ground();
      const shards = (type = "Cart") => it.shards.rememberedShards(it.namespace, type);
      assert.deepEqual(await shards(), []);
      const numbers = [99_999, 10, 2, 0, 1];
      await it.remember(...numbers.flatMap((shard) => ["a", "b", "c"].map((id) => it.keep(id, shard))));
      await it.remember(it.keep("a", 5, "Order"), it.forget("a", 7));
      await ground().remember(ground().keep("a", 3));
      assert.deepEqual(await shards(), [0, 1, 2, 10, 99_999]);
      assert.deepEqual(await shards("Order"), [5]);
      await it.remember(...["a", "b", "c"].map((id) => it.forget(id, 2)), it.forget("a", 10));
      assert.deepEqual(await shards(), [0, 1, 10, 99_999]);
      await it.remember(...Array.from({ length: 1_000 }, (_, shard) => it.keep("d", shard)));
      assert.deepEqual(await shards(), [...Array.from({ length: 1_000 }, (_, shard) => shard), 99_999]);
    });

    test("a page of remembered actors belongs to its caller", async () => {
      const it = ground();
      await it.remember(it.keep("a"), it.keep("b"));
      (await it.shards.remembered(it.shard(), undefined, 10)).pop();
      assert.deepEqual(await it.ids(), ["a", "b"]);
    });
  });
}
