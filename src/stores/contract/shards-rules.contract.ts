// Rules of shards: the first process settles how ids map to shards, once; a reset drops the rule.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ground, newTerm, ODD_NAMES, type ShardsHarness, withSecond } from "./shards-shared.contract.ts";
import { freshNamespace } from "./shared.contract.ts";

export function shardRulesContract(harness: ShardsHarness): void {
  const ground = () => new Ground(harness.opened().store);

  describe("rules of shards", () => {
    test("the first rule is settled, and every later process gets it", async () => {
      await withSecond(harness, async (second) => {
        const it = ground();
        const first = it.rule(1_000, "a");
        assert.deepEqual(await it.shards.settle(first), first);
        for (const place of [it, it.at(second)]) {
          assert.deepEqual(await place.shards.settle(first), first);
          assert.deepEqual(await place.shards.settle(it.rule(1_001, "a")), first);
          assert.deepEqual(await place.shards.settle(it.rule(1_000, "b")), first);
        }
      });
    });

    test("each type of each namespace has a rule of its own, for all names", async () => {
      const [it, elsewhere] = [ground(), ground()];
      const rules = ODD_NAMES.map((name, i) => it.rule(i + 1, name, name));
      for (const rule of rules) assert.deepEqual(await it.shards.settle(rule), rule);
      for (const rule of rules) assert.deepEqual(await it.shards.settle({ ...rule, version: "other" }), rule);
      const other = elsewhere.rule(7, "other", ODD_NAMES[0]);
      assert.deepEqual(await elsewhere.shards.settle(other), other);
    });

    test("a version may be empty or long, and the shards may be many", async () => {
      const it = ground();
      for (const [i, version] of ["", "v".repeat(1_000)].entries()) {
        const rule = it.rule(100_000, version, `T${i}`);
        await it.shards.settle(rule);
        assert.deepEqual(await it.shards.settle({ ...rule, shards: 1 }), rule);
      }
    });

    test("only the fields of a rule are stored", async () => {
      const it = ground();
      const rule = it.rule();
      const more = Object.assign(() => {}, rule);
      assert.deepEqual({ ...(await it.shards.settle({ ...more, ...rule })) }, rule);
      assert.deepEqual({ ...(await it.shards.settle(it.rule(2))) }, rule);
    });
  });

  describe("reset of shards", () => {
    test("a reset deletes the rule, the homes and the remembered actors of a type, and nothing else", async () => {
      const [it, elsewhere] = [ground(), ground()];
      const kept: [Ground, string][] = [
        [it, "Order"],
        [it, "cart"],
        [it, "Car"],
        [it, "Cart2"],
        [elsewhere, "Cart"],
      ];
      for (const [place, type] of [[it, "Cart"] as const, ...kept]) {
        await place.shards.settle(place.rule(10, "1", type));
        await place.note(place.home(1, "h", type), place.home(2, "h", type));
        await place.remember(place.keep("a", 1, type), place.keep("b", 2, type));
      }
      await it.shards.reset(it.namespace, "Cart");
      assert.deepEqual(await it.ids(1), []);
      assert.deepEqual(await it.ids(2), []);
      for (const [place, type] of kept) {
        assert.deepEqual(await place.shards.settle(place.rule(11, "2", type)), place.rule(10, "1", type));
        const homes = (await place.homes()).filter((home) => home.type === type);
        assert.deepEqual(homes, [place.home(1, "h", type), place.home(2, "h", type)]);
        assert.deepEqual(await place.ids(2, type), ["b"]);
      }
      assert.equal((await it.homes()).length, 2 * (kept.length - 1));
      const anew = it.rule(20, "2");
      assert.deepEqual(await it.shards.settle(anew), anew);
      await it.note(it.home(1, "other"));
      await it.remember(it.keep("c", 1));
      assert.deepEqual(await it.ids(1), ["c"]);
    });

    test("a reset of an unknown or already reset type does nothing", async () => {
      const it = ground();
      await it.shards.reset(it.namespace, "Cart");
      await it.shards.settle(it.rule(3));
      await it.shards.reset(it.namespace, "Cart");
      await it.shards.reset(it.namespace, "Cart");
      assert.deepEqual(await it.shards.settle(it.rule(4)), it.rule(4));
    });

    test("a reset deletes nothing while a member hosts the type, unless that member has ended", async () => {
      const it = ground();
      const names = ["Cart", "Cart/told"];
      for (const name of names) await it.note(it.home(1, "h", name));
      await it.shards.settle(it.rule(3));
      await it.remember(it.keep("a", 1));
      const term = await newTerm(it.store);
      const incarnation = freshNamespace();
      const where = { namespace: it.namespace, address: "10.0.0.1:1", machine: "m", pid: 1 };
      const member = { ...where, incarnation, types: ["Order", "Cart"] };
      assert.ok(await it.store.coordination.persist(term, [{ kind: "save", member, isKnown: false }]));
      for (const name of names) assert.equal(await it.shards.reset(it.namespace, name, ["another"]), false);
      assert.deepEqual(await it.shards.settle(it.rule(4)), it.rule(3));
      assert.deepEqual(await it.ids(1), ["a"]);
      assert.equal((await it.homes()).length, 2);
      assert.equal(await it.shards.reset(it.namespace, "Car"), true);
      for (const name of names) assert.equal(await it.shards.reset(it.namespace, name, [incarnation]), true);
      assert.deepEqual(await it.homes(), []);
      assert.deepEqual(await it.shards.settle(it.rule(4)), it.rule(4));
      await it.store.coordination.leave([incarnation]);
      assert.equal(await it.shards.reset(it.namespace, "Cart"), true);
    });

    test("a reset deletes everything, however many actors are remembered", async () => {
      const it = ground();
      const count = 23_000;
      for (let from = 0; from < count; from += 1_000) {
        await it.remember(...Array.from({ length: 1_000 }, (_, i) => it.keep(`${from + i}`, i % 3)));
      }
      await it.remember(it.keep("stays", 1, "Order"));
      await it.shards.reset(it.namespace, "Cart");
      for (const shard of [0, 1, 2]) assert.deepEqual(await it.ids(shard), []);
      assert.deepEqual(await it.ids(1, "Order"), ["stays"]);
    });
  });
}
