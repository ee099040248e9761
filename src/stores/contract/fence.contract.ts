// The fence: the last process that took an actor may commit, once per version, and may repeat the same commit
// any number of times.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Taken } from "../../ports/store/store.ts";
import {
  actor,
  change,
  clear,
  commitOf,
  freshNamespace,
  type Harness,
  keep,
  send,
  take,
  whole,
  write,
} from "./shared.contract.ts";

export function fenceContract({ store, opened }: Harness): void {
  describe("fence of actors", () => {
    test("each take of an actor has a higher epoch than every take before it", async () => {
      const key = actor("alice");
      let last = 0;
      for (let i = 0; i < 5; i++) {
        const { epoch } = await take(store(), key);
        assert.ok(Number.isSafeInteger(epoch) && epoch > last, `${epoch} after ${last}`);
        last = epoch;
      }
    });

    test("epochs are at least the store's clock in milliseconds, for new rows too, and differ for all takes", async () => {
      const [alice, bob] = [actor("alice"), actor("bob")];
      const epochs = [];
      for (const key of [alice, bob, alice, bob]) epochs.push((await take(store(), key)).epoch);
      // Clocks of other machines may differ a little; a number that counts takes is far away from all of
      // them.
      for (const epoch of epochs) assert.ok(epoch > Date.UTC(2026, 0, 1), `${epoch}`);
      assert.equal(new Set(epochs).size, epochs.length);
      assert.deepEqual(
        epochs,
        epochs.toSorted((a, b) => a - b),
      );
    });

    test("an actor that was never committed has no state and version 0", async () => {
      const { state, version } = await take(store(), actor("alice"));
      assert.equal(state, undefined);
      assert.equal(version, 0);
    });

    test("a take returns the state and the version of the last holder, and keeps the ref", async () => {
      const key = actor("alice");
      const first = await take(store(), key);
      await write(store(), first, whole("one"), whole("two"), change("+"));
      const second = await take(store(), key);
      assert.equal(second.ref, first.ref);
      assert.equal(second.version, first.version + 3);
      assert.deepEqual(second.state, { whole: "two", changes: ["+"] });
    });

    test("a take alone changes neither state nor version", async () => {
      const key = actor("alice");
      await write(store(), await take(store(), key), whole("one"));
      const second = await take(store(), key);
      const third = await take(store(), key);
      assert.equal(third.version, second.version);
      assert.deepEqual(third.state, { whole: "one", changes: [] });
    });

    test("a holder whose actor was taken by another can neither write, change nor clear", async () => {
      const key = actor("alice");
      const old = await take(store(), key, "host-1");
      await write(store(), old, whole("before"));
      const current = await take(store(), key, "host-2");
      for (const late of [whole("late"), change("late"), clear]) {
        assert.equal(await send(store(), commitOf(old, late, 1)), "fenced");
      }
      assert.equal(await send(store(), commitOf(current, whole("after"))), "committed");
      for (const late of [whole("late"), change("late"), clear]) {
        assert.equal(await send(store(), commitOf(old, late, 1)), "fenced");
        assert.equal(await send(store(), commitOf(old, late, 2)), "fenced");
      }
      assert.deepEqual((await take(store(), key)).state, { whole: "after", changes: [] });
    });

    test("an epoch that was never assigned is fenced", async () => {
      const held = await take(store(), actor("alice"));
      assert.equal(await send(store(), { ...commitOf(held, whole("x")), epoch: held.epoch + 1 }), "fenced");
      assert.equal(await send(store(), commitOf(held, whole("x"))), "committed");
    });

    test("a process whose own takes do not include the row is fenced, whichever ref, epoch and version it sends", async (t) => {
      const second = await opened().second?.();
      if (second === undefined) return t.skip("this store has no second process");
      try {
        const held = await take(store(), actor("alice"), "first");
        await take(second, actor("bob"), "second");
        for (const write of [whole("bob"), clear, keep]) {
          assert.equal(await send(second, commitOf(held, write)), "fenced");
        }
        assert.equal(await send(store(), commitOf(held, whole("alice"))), "committed");
        for (const write of [whole("bob"), change("bob"), clear, keep]) {
          assert.equal(await send(second, commitOf(held, write, 1)), "fenced");
        }
      } finally {
        await second.close();
      }
    });

    test("a commit that builds on another version than the stored one is fenced", async () => {
      const key = actor("alice");
      const held = await take(store(), key);
      await write(store(), held, whole("one"), whole("two"));
      for (const ahead of [0, 1, 3]) {
        assert.equal(await send(store(), commitOf(held, whole("wrong"), ahead)), "fenced");
        assert.equal(await send(store(), commitOf(held, change("wrong"), ahead)), "fenced");
        assert.equal(await send(store(), commitOf(held, clear, ahead)), "fenced");
      }
      assert.equal(await send(store(), commitOf(held, whole("three"), 2)), "committed");
      assert.deepEqual((await take(store(), key)).state, { whole: "three", changes: [] });
    });

    test("a commit to a row that does not exist is fenced", async () => {
      const held = await take(store(), actor("alice"));
      assert.equal(await send(store(), { ...commitOf(held, whole("x")), ref: 2 ** 40 }), "fenced");
    });

    for (const [name, last] of [
      ["whole", whole("3")],
      ["change", change("3")],
      ["clear", clear],
    ] as const) {
      test(`the same ${name} commit sent again is applied once and reported as committed each time`, async () => {
        const key = actor("alice");
        const held = await take(store(), key);
        await write(store(), held, whole("1"), change("2"));
        const commit = commitOf(held, last, 2);
        for (let i = 0; i < 3; i++) assert.equal(await send(store(), commit), "committed");
        const next = await take(store(), key);
        assert.equal(next.version, held.version + 3);
        const expected = {
          whole: { whole: "3", changes: [] },
          change: { whole: "1", changes: ["2", "3"] },
          clear: undefined,
        };
        assert.deepEqual(next.state, expected[name]);
      });
    }

    test("a commit whose response was lost is still recognised after another holder took the actor", async () => {
      const key = actor("alice");
      const old = await take(store(), key, "host-1");
      const commit = commitOf(old, whole("mine"));
      assert.equal(await send(store(), commit), "committed");
      const current = await take(store(), key, "host-2");
      assert.equal(await send(store(), commit), "committed");
      assert.equal(await send(store(), commitOf(current, whole("theirs"))), "committed");
      assert.equal(await send(store(), commit), "fenced");
      assert.deepEqual((await take(store(), key)).state, { whole: "theirs", changes: [] });
    });

    test("a cleared actor keeps its epoch and its version", async () => {
      const key = actor("alice");
      const held = await take(store(), key);
      await write(store(), held, whole("one"), clear);
      const next = await take(store(), key);
      assert.ok(next.epoch > held.epoch);
      assert.equal(next.version, held.version + 2);
      assert.equal(next.state, undefined);
      assert.equal(await send(store(), commitOf(held, whole("ghost"), 2)), "fenced");
      await write(store(), next, whole("again"));
      assert.deepEqual((await take(store(), key)).state, { whole: "again", changes: [] });
    });

    test("a fenced commit of a batch does not affect the rest, and results are in the order of the commits", async () => {
      const namespace = freshNamespace();
      const ids = ["a", "b", "c", "d", "e", "f"];
      const held: Taken[] = [];
      for (const id of ids) held.push(await take(store(), actor(id, namespace)));
      await take(store(), actor("b", namespace), "host-2");
      await take(store(), actor("e", namespace), "host-2");
      const again = commitOf(held[3]!, whole("d"));
      assert.equal(await send(store(), again), "committed");
      const kinds = [whole("a"), whole("b"), whole("c"), whole("d"), clear, whole("f")];
      const batch = held.map((one, i) => (i === 3 ? again : commitOf(one, kinds[i]!))).reverse();
      assert.deepEqual(await store().commit(batch), [
        "committed",
        "fenced",
        "committed",
        "committed",
        "fenced",
        "committed",
      ]);
      const states = [];
      for (const id of ids) states.push((await take(store(), actor(id, namespace))).state?.whole);
      assert.deepEqual(states, ["a", undefined, "c", "d", undefined, "f"]);
    });
  });
}
