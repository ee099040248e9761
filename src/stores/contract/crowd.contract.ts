// Many operations at once: callers of one store, and two store objects on the same data. No write is lost,
// and none is applied twice.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ActorKey } from "../../kernel/names.ts";
import type { Store } from "../../ports/store/store.ts";
import {
  actor,
  change,
  commitOf,
  freshNamespace,
  type Harness,
  send,
  take,
  takeAll,
  whole,
} from "./shared.contract.ts";

/** Adds one to a stored number `times` times, and takes the actor again whenever a commit was fenced. */
async function increments(store: Store, key: ActorKey, times: number, owner: string): Promise<void> {
  let held = await take(store, key, owner);
  let ahead = 0;
  let value = Number(held.state?.whole ?? 0);
  let fencedInARow = 0;
  for (let done = 0; done < times; ) {
    const outcome = await send(store, commitOf(held, whole(`${value + 1}`), ahead));
    if (outcome === "committed") {
      value++;
      ahead++;
      done++;
      fencedInARow = 0;
    } else {
      assert.ok(++fencedInARow < 1_000, "no holder makes progress");
      // Holders in lockstep would take it from each other for ever before either can commit.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
      held = await take(store, key, owner);
      ahead = 0;
      value = Number(held.state?.whole ?? 0);
    }
  }
}

export function crowdContract({ store, opened }: Harness): void {
  describe("many operations on actors at once", () => {
    test("concurrent takes of one actor all have different epochs, and only the highest can commit", async () => {
      const key = actor("alice");
      const held = await Promise.all(Array.from({ length: 50 }, (_, i) => take(store(), key, `host-${i}`)));
      assert.equal(new Set(held.map(({ epoch }) => epoch)).size, 50);
      assert.equal(new Set(held.map(({ ref }) => ref)).size, 1);
      const last = Math.max(...held.map(({ epoch }) => epoch));
      const outcomes = await Promise.all(held.map((one) => send(store(), commitOf(one, whole(`${one.epoch}`)))));
      for (const [i, outcome] of outcomes.entries()) {
        assert.equal(outcome, held[i]!.epoch === last ? "committed" : "fenced");
      }
      assert.deepEqual((await take(store(), key)).state, { whole: `${last}`, changes: [] });
    });

    test("only one of many commits on the same version wins", async () => {
      const key = actor("alice");
      const held = await take(store(), key);
      const commits = Array.from({ length: 30 }, (_, i) =>
        commitOf(held, i % 2 === 0 ? whole(`${i}`) : whole(`${i}`.repeat(2_000))),
      );
      const outcomes = await Promise.all(commits.map((commit) => send(store(), commit)));
      assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 1);
      const winner = commits[outcomes.indexOf("committed")]!;
      const next = await take(store(), key);
      assert.equal(next.version, 1);
      assert.equal(next.state?.whole, winner.write.kind === "whole" && winner.write.data);
    });

    test("batches that share actors in different orders all succeed", async () => {
      const namespace = freshNamespace();
      const keys = Array.from({ length: 40 }, (_, i) => actor(`id-${i}`, namespace));
      const shifted = (by: number) => [...keys.slice(by), ...keys.slice(0, by)];
      const orders = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? shifted(i * 4) : shifted(i * 4).reverse()));
      const stores = [store(), await opened().second?.()];
      try {
        const taken = await Promise.all(
          orders.map((order, i) =>
            takeAll(
              stores[i % 2] ?? store(),
              order.map((key) => ({ ...key, owner: `host-${i}` })),
            ),
          ),
        );
        for (const [k] of keys.entries()) {
          const epochs = orders.map((order, i) => taken[i]![order.indexOf(keys[k]!)]!.epoch);
          assert.equal(new Set(epochs).size, orders.length);
        }
        const outcomes = await Promise.all(
          taken.map((held, i) => (stores[i % 2] ?? store()).commit(held.map((one) => commitOf(one, whole(`${i}`))))),
        );
        const won = outcomes.flat().filter((outcome) => outcome === "committed").length;
        assert.equal(won, keys.length);
      } finally {
        await stores[1]?.close();
      }
    });

    test("holders that take an actor from each other lose no increment", async () => {
      const key = actor("counter");
      await Promise.all(["a", "b", "c"].map((owner) => increments(store(), key, 100, owner)));
      assert.equal((await take(store(), key)).state?.whole, "300");
    });

    test("two stores on the same data that take an actor from each other lose no increment", async (t) => {
      const second = await opened().second?.();
      if (second === undefined) return t.skip("this store has no second process");
      try {
        const key = actor("counter");
        await Promise.all([increments(store(), key, 300, "first"), increments(second, key, 300, "second")]);
        assert.equal((await take(second, key)).state?.whole, "600");
        assert.equal((await take(store(), key)).state?.whole, "600");
        assert.deepEqual(await store().find(key), await second.find(key));
      } finally {
        await second.close();
      }
    });

    test("a store fences commits to an actor that another store on the same data took", async (t) => {
      const second = await opened().second?.();
      if (second === undefined) return t.skip("this store has no second process");
      try {
        const key = actor("alice");
        const here = await take(store(), key, "first");
        assert.equal(await send(store(), commitOf(here, whole("w".repeat(3_000)))), "committed");
        const there = await take(second, key, "second");
        assert.deepEqual(there.state, { whole: "w".repeat(3_000), changes: [] });
        assert.equal(await send(store(), commitOf(here, change("late"), 1)), "fenced");
        assert.equal(await send(second, commitOf(there, change("mine"))), "committed");
        assert.deepEqual((await take(store(), key)).state, { whole: "w".repeat(3_000), changes: ["mine"] });
      } finally {
        await second.close();
      }
    });

    test("a listing during commits is never torn", async () => {
      const namespace = freshNamespace();
      const held = await takeAll(store(), [{ ...actor("alice", namespace), owner: "host-1" }]);
      const writer = (async () => {
        for (let i = 0; i < 100; i++) {
          await send(store(), commitOf(held[0]!, whole("x".repeat(i % 2 === 0 ? i + 1 : 3_000 + i)), i));
        }
      })();
      let seen = -1;
      for (let i = 0; i < 50; i++) {
        const found = await store().find(actor("alice", namespace));
        const { version, bytes } = found!;
        assert.ok(version >= seen);
        seen = version;
        const last = version - 1;
        assert.equal(bytes, version === 0 ? 0 : last % 2 === 0 ? last + 1 : 3_000 + last);
      }
      await writer;
    });
  });
}
