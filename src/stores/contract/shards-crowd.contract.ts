// Many operations on shards at once: one rule is settled, no term overwrites a later one, and no remembered
// actor is lost.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { byBytes, Ground, newTerm, type ShardsHarness, withSecond } from "./shards-shared.contract.ts";

export function shardCrowdContract(harness: ShardsHarness): void {
  /** The same ground in two processes; in one, where there can be no second. */
  const together = (work: (it: Ground, places: readonly [Ground, Ground]) => Promise<void>) =>
    withSecond(harness, async (second) => {
      const it = new Ground(harness.opened().store);
      await work(it, [it, it.at(second)]);
    });

  describe("many operations on shards at once", () => {
    test("only one of many requests settles a rule, and all get the same one", () =>
      together(async (it, places) => {
        for (let round = 0; round < 10; round++) {
          const type = `T${round}`;
          const rules = Array.from({ length: 20 }, (_, i) => it.rule(i + 1, `${i}`, type));
          const settled = await Promise.all(rules.map((rule, i) => places[i % 2]!.shards.settle(rule)));
          assert.ok(rules.some((rule) => rule.version === settled[0]!.version && rule.shards === settled[0]!.shards));
          for (const one of settled) assert.deepEqual(one, settled[0]);
          assert.deepEqual(await it.shards.settle(it.rule(99, "late", type)), settled[0]);
        }
      }));

    test("a term never overwrites homes of a later one", () =>
      together(async (it, [old, next]) => {
        for (let round = 0; round < 15; round++) {
          const term = await newTerm(old.store);
          const homes = (term: string) => Array.from({ length: 20 }, (_, shard) => it.home(shard, `${term} ${round}`));
          const late = Array.from({ length: 8 }, () => old.shards.noteHomes(term, homes("old")));
          const later = await newTerm(next.store);
          const more = Array.from({ length: 4 }, () => old.shards.noteHomes(term, homes("old")));
          assert.equal(await next.shards.noteHomes(later, homes("next")), true);
          await Promise.all(late);
          assert.ok((await Promise.all(more)).every((isCurrent) => !isCurrent));
          assert.deepEqual(await it.homes(), homes("next"));
        }
      }));

    test("a reader of homes sees each step whole", () =>
      together(async (it, [writer, reader]) => {
        const term = await newTerm(writer.store);
        let isOver = false;
        const writing = (async () => {
          for (let step = 0; step < 20; step++) {
            const homes = Array.from({ length: 50 }, (_, shard) =>
              it.home(shard, step % 5 === 0 ? undefined : `h${step}`),
            );
            assert.ok(await writer.shards.noteHomes(term, homes));
          }
          isOver = true;
        })();
        while (!isOver) {
          const homes = await reader.homes();
          assert.ok(homes.length === 0 || homes.length === 50, `${homes.length} of 50`);
          assert.ok(new Set(homes.map(({ incarnation }) => incarnation)).size <= 1);
        }
        await writing;
      }));

    test("actors that many processes remember in many shards are all there", () =>
      together(async (it, places) => {
        const ids = Array.from({ length: 40 }, (_, i) => `${i}`).sort(byBytes);
        await Promise.all(
          Array.from({ length: 40 }, (_, i) => {
            const shard = i % 10;
            const part = ids.filter((_, n) => n % 4 === Math.floor(i / 10));
            return places[i % 2]!.remember(...part.map((id) => it.keep(id, shard)));
          }),
        );
        for (let shard = 0; shard < 10; shard++) assert.deepEqual(await it.ids(shard), ids);
      }));

    test("requests that remember and forget the same actors in every order all succeed", () =>
      together(async (it, places) => {
        const ids = Array.from({ length: 60 }, (_, i) => `${i}`);
        for (let round = 0; round < 5; round++) {
          await Promise.all(
            Array.from({ length: 16 }, (_, n) => {
              const order = n % 2 === 0 ? ids : ids.toReversed();
              const changes = order.map((id, i) => ((i + n) % 3 === 0 ? it.forget(id) : it.keep(id)));
              return places[(n >> 1) % 2]!.remember(...changes);
            }),
          );
          const left = await it.ids();
          assert.deepEqual(left, [...new Set(left)].sort(byBytes));
        }
        await it.remember(...ids.map((id, i) => (i % 2 === 0 ? it.forget(id) : it.keep(id))));
        assert.deepEqual(await it.ids(), ids.filter((_, i) => i % 2 === 1).sort(byBytes));
      }));

    test("a write of a former home never counts once the next home was written", () =>
      together(async (it, [old, next]) => {
        for (let round = 0; round < 15; round++) {
          const [a, b] = [`a ${round}`, `b ${round}`];
          await next.note(it.home(0, a), it.home(1, a));
          const both = (id: string) => [it.keep(id, 0), it.keep(id, 1)];
          assert.deepEqual(await old.shards.remember(a, both("x")), [true, true]);
          const gone = [it.forget("x", 1), it.forget("x", 0)];
          const late = Array.from({ length: 8 }, () => old.shards.remember(a, gone));
          await next.note(it.home(1, b), it.home(0, b));
          const more = Array.from({ length: 4 }, () => old.shards.remember(a, gone));
          assert.deepEqual(await next.shards.remember(b, both("x")), [true, true]);
          // Each counts as a whole or not at all, as both shards moved together.
          for (const [one, other] of await Promise.all(late)) assert.equal(one, other);
          for (const made of await Promise.all(more)) assert.deepEqual(made, [false, false]);
          assert.deepEqual([await it.ids(0), await it.ids(1)], [["x"], ["x"]]);
        }
      }));

    test("a type that many processes reset at once is reset", () =>
      together(async (it, places) => {
        await it.shards.settle(it.rule(5));
        await it.note(...Array.from({ length: 100 }, (_, shard) => it.home(shard, "h")));
        await it.remember(...Array.from({ length: 500 }, (_, i) => it.keep(`${i}`, i % 5)));
        await Promise.all(Array.from({ length: 6 }, (_, i) => places[i % 2]!.shards.reset(it.namespace, "Cart")));
        assert.deepEqual(await it.homes(), []);
        assert.deepEqual(await it.ids(3), []);
        assert.deepEqual(await it.shards.settle(it.rule(6)), it.rule(6));
      }));
  });
}
