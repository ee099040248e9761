// Writes that wait for the thread together share a transaction, and nothing else.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import type { LimpetError } from "../../kernel/errors.ts";
import type { Store } from "../../ports/store/store.ts";
import { actor, change, commitOf, freshNamespace, take, takeAll, whole } from "../contract/shared.contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

describe("writes that arrive while the SQLite thread is busy", () => {
  let folder: string;
  let store: Store;
  let other: DatabaseSync;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "limpet-"));
    store = await openSqliteStore(join(folder, "limpet.db"));
    other = new DatabaseSync(join(folder, "limpet.db"));
  });
  after(async () => {
    other?.close();
    await store?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /**
   * Sends everything while another connection holds the lock, so that all of it waits when the first request
   * can go on.
   */
  async function together<T>(send: () => Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
    other.exec("BEGIN IMMEDIATE");
    const sent = send();
    other.exec("ROLLBACK");
    return Promise.allSettled(sent);
  }

  test("joined writes all get their own responses", async () => {
    const namespace = freshNamespace();
    const keys = Array.from({ length: 8 }, (_, i) => ({ ...actor(`${i}`, namespace), owner: "host-1" }));
    const held = await takeAll(store, keys);
    const results = await together<unknown[]>(() =>
      held.map((one, i) => (i % 2 === 0 ? store.commit([commitOf(one, whole(`${i}`))]) : store.take([keys[i]!]))),
    );
    for (const [i, result] of results.entries()) {
      assert.equal(result.status, "fulfilled");
      const [answer] = result.value;
      if (i % 2 === 0) assert.equal(answer, "committed");
      else assert.ok((answer as { epoch: number }).epoch > held[i]!.epoch);
    }
    assert.equal((await take(store, actor("4", namespace))).state?.whole, "4");
  });

  test("joined writes see each other in the order they were sent", async () => {
    const key = actor("alice");
    const held = await take(store, key);
    const [first, taken, second] = await together<unknown[]>(() => [
      store.commit([commitOf(held, whole("1"))]),
      store.take([{ ...key, owner: "host-2" }]),
      store.commit([commitOf(held, whole("2"), 1)]),
    ]);
    assert.deepEqual(first, { status: "fulfilled", value: ["committed"] });
    assert.deepEqual(second, { status: "fulfilled", value: ["fenced"] });
    assert.ok(taken?.status === "fulfilled");
    assert.deepEqual((taken.value[0] as { state: unknown }).state, { whole: "1", changes: [] });
  });

  test("an invalid write fails alone among joined writes", async () => {
    const namespace = freshNamespace();
    const held = await Promise.all(["a", "b", "c"].map((id) => take(store, actor(id, namespace))));
    const results = await together(() => [
      store.commit([commitOf(held[0]!, whole("a"))]),
      store.commit([commitOf(held[1]!, change("on top of nothing"))]),
      store.commit([commitOf(held[2]!, whole("c"))]),
    ]);
    assert.deepEqual(
      results.map((result) => (result.status === "fulfilled" ? result.value[0] : (result.reason as LimpetError).code)),
      ["committed", "INVARIANT", "committed"],
    );
    assert.equal((await take(store, actor("b", namespace))).state, undefined);
  });
});
