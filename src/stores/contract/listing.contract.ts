// Listing of actors: every actor that was ever taken, in order, in pages, and only the actors of the
// requested namespace.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ActorQuery, Store, StoredActor } from "../../ports/store/store.ts";
import { actor, change, clear, freshNamespace, type Harness, take, whole, write } from "./shared.contract.ts";

const names = (page: readonly StoredActor[]) => page.map(({ type, id }) => `${type}:${id}`);

/** All pages of `query`, each no longer than its limit. */
async function pages(store: Store, query: ActorQuery): Promise<StoredActor[]> {
  const all: StoredActor[] = [];
  let after = query.after;
  for (let i = 0; i < 100; i++) {
    const page = await store.list({ ...query, after });
    assert.ok(page.length <= query.limit);
    all.push(...page);
    if (page.length < query.limit) return all;
    const { type, id } = page.at(-1)!;
    after = { type, id };
  }
  assert.fail("a hundred pages did not end");
}

export function listingContract({ store }: Harness): void {
  async function fill(namespace: string, type: string, ids: readonly string[]): Promise<void> {
    await store().take(ids.map((id) => ({ namespace, type, id, owner: "host-1" })));
  }

  describe("listing of actors", () => {
    test("an actor is found with its owner, epoch, version, size and times", async () => {
      const key = actor("alice");
      assert.equal(await store().find(key), undefined);
      const held = await take(store(), key, "host-7");
      const fresh = await store().find(key);
      assert.equal(fresh?.type, key.type);
      assert.equal(fresh?.id, key.id);
      assert.equal(fresh?.owner, "host-7");
      assert.equal(fresh?.epoch, held.epoch);
      assert.equal(fresh?.version, 0);
      assert.equal(fresh?.bytes, 0);
      assert.equal(fresh?.committedAt, undefined);
      assert.ok(Number.isSafeInteger(fresh?.takenAt));
      await write(store(), held, whole("é🐚"));
      const stored = await store().find(key);
      assert.equal(stored?.version, 1);
      assert.equal(stored?.bytes, 6);
      assert.ok(Number.isSafeInteger(stored?.committedAt));
      assert.deepEqual(await store().list({ namespace: key.namespace, limit: 10 }), [stored]);
    });

    test("the size counts the whole state and its changes, in UTF-8 bytes", async () => {
      for (const first of ["é".repeat(10), "é".repeat(5_000)]) {
        const key = actor("alice");
        const size = async () => (await store().find(key))?.bytes;
        const held = await take(store(), key);
        await write(store(), held, whole(first), change("🐚"));
        assert.equal(await size(), first.length * 2 + 4);
        await write(store(), await take(store(), key), change("x"), whole("abc"));
        assert.equal(await size(), 3);
        await write(store(), await take(store(), key), clear);
        assert.equal(await size(), 0);
      }
    });

    test("actors are ordered by type and then id, by code point", async () => {
      const namespace = freshNamespace();
      // By UTF-16 unit the emoji would come before \uff5e; by a language's rules "a" would come before "B".
      const ids = ["\u{1f41a}", "\uff5e", "é", "z", "e\u0301", "a", "a b", "a-b", "ab", "B", "10", "9", "_", "%"];
      const order = ["%", "10", "9", "B", "_", "a", "a b", "a-b", "ab", "e\u0301", "z", "é", "\uff5e", "\u{1f41a}"];
      for (const type of ["b", "a", "A", "\u{1f41a}", "\uff5e"]) await fill(namespace, type, ids);
      const expected = ["A", "a", "b", "\uff5e", "\u{1f41a}"].flatMap((type) => order.map((id) => `${type}:${id}`));
      assert.deepEqual(names(await store().list({ namespace, limit: 1_000 })), expected);
      for (const limit of [1, 3, order.length]) {
        assert.deepEqual(names(await pages(store(), { namespace, limit })), expected);
        assert.deepEqual(
          names(await pages(store(), { namespace, type: "a", limit })),
          order.map((id) => `a:${id}`),
        );
      }
    });

    test("a page starts behind an actor that does not exist", async () => {
      const namespace = freshNamespace();
      for (const type of ["S", "T"]) await fill(namespace, type, ["a", "c"]);
      const behind = async (type: string, id: string) =>
        names(await store().list({ namespace, after: { type, id }, limit: 10 }));
      assert.deepEqual(await behind("S", "b"), ["S:c", "T:a", "T:c"]);
      assert.deepEqual(await behind("S", "z"), ["T:a", "T:c"]);
      assert.deepEqual(await behind("SS", "a"), ["T:a", "T:c"]);
      assert.deepEqual(await behind("T", "c"), []);
      const typed = await store().list({ namespace, type: "T", after: { type: "S", id: "a" }, limit: 10 });
      assert.deepEqual(names(typed), ["T:a", "T:c"]);
      assert.deepEqual(await store().list({ namespace, type: "S", after: { type: "T", id: "a" }, limit: 10 }), []);
    });

    test("a prefix is taken literally, with every special character", async () => {
      const namespace = freshNamespace();
      const ids = [
        "100%",
        "100% sure",
        "1000",
        "a_b",
        "aXb",
        "a_",
        "A_b",
        "[ab]",
        "a*",
        "a",
        "é1",
        "e\u03011",
        "\u{10ffff}x",
        "\u{10ffff}\u{10ffff}",
        "'",
        `"`,
        "\ud7ffq",
      ];
      await fill(namespace, "T", ids);
      await fill(namespace, "U", ["a_b", "zzz"]);
      const bytes = (text: string) => Buffer.from(text);
      for (const prefix of [
        ...ids,
        "",
        "100",
        "%",
        "_",
        "10_",
        "[",
        "*",
        "é",
        "e",
        "\u{10ffff}",
        "nobody",
        "\\",
        "\ud7ff",
      ]) {
        const expected = ids.filter((id) => id.startsWith(prefix)).sort((a, b) => bytes(a).compare(bytes(b)));
        for (const limit of [2, 100]) {
          const found = await pages(store(), { namespace, type: "T", prefix, limit });
          assert.deepEqual(
            found.map(({ id }) => id),
            expected,
            `prefix ${JSON.stringify(prefix)}`,
          );
        }
      }
      assert.deepEqual(names(await pages(store(), { namespace, prefix: "a_", limit: 2 })), ["T:a_", "T:a_b", "U:a_b"]);
    });

    test("one namespace sees no actor of another", async () => {
      const mine = freshNamespace();
      const theirs = [`${mine}x`, mine.slice(0, -1), mine.toUpperCase(), `${mine} `, "%", "_".repeat(mine.length)];
      await fill(mine, "T", ["shared", "mine"]);
      for (const namespace of theirs) await fill(namespace, "T", ["shared", "theirs"]);
      const held = await take(store(), actor("shared", mine, "T"));
      await write(store(), held, whole("secret"));
      for (const namespace of theirs) {
        const other = await take(store(), actor("shared", namespace, "T"));
        assert.notEqual(other.ref, held.ref);
        assert.equal(other.state, undefined);
        assert.equal(await store().find(actor("mine", namespace, "T")), undefined);
        assert.deepEqual(names(await store().list({ namespace, limit: 10 })), ["T:shared", "T:theirs"]);
      }
      assert.deepEqual(names(await store().list({ namespace: mine, limit: 10 })), ["T:mine", "T:shared"]);
      assert.deepEqual(names(await store().list({ namespace: mine, prefix: "th", limit: 10 })), []);
      await write(store(), { ...held, version: held.version + 1 }, clear);
    });

    test("an unused namespace is empty", async () => {
      assert.deepEqual(await store().list({ namespace: freshNamespace(), limit: 10 }), []);
    });

    test("an actor taken and committed again moves in epoch and version but stays one entry", async () => {
      const key = actor("alice");
      for (let i = 1; i <= 3; i++) {
        const held = await take(store(), key, `host-${i}`);
        await write(store(), held, whole(`${i}`));
        const page = await store().list({ namespace: key.namespace, limit: 10 });
        assert.equal(page.length, 1);
        assert.equal(page[0]!.owner, `host-${i}`);
        assert.equal(page[0]!.epoch, held.epoch);
        assert.equal(page[0]!.version, i);
      }
    });
  });
}
