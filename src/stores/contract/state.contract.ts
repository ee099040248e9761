// States of actors: text is returned exactly as it was written, for every size, number of chunks and name of
// the actor.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { type ActorKey, nameProblem } from "../../kernel/names.ts";
import {
  actor,
  change,
  clear,
  commitOf,
  freshNamespace,
  type Harness,
  send,
  take,
  takeAll,
  whole,
  write,
} from "./shared.contract.ts";

const AWKWARD = [
  "",
  " ",
  "trailing space ",
  "\n\r\t\u0001\u001f\u007f\u0085\u2028\ufeff",
  JSON.stringify("\u0000 escaped, and a lone \ud800 escaped too"),
  `it's "quoted" \`and\` \\slashed\\ $1 $$ :name ?1 @x %s %_ -- /* ; */`,
  "__proto__ constructor || toString",
  "日本語 العربية עברית e\u0301 \u00e9 \uffff \ufffd",
  "🐚👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿\u{10ffff}",
  '{"a":[1,2,{"b":null}]}',
  "null",
  "12",
];

/** Names that a careless comparison would take for the same. */
const ALIKE = [
  "caf\u00e9",
  "cafe\u0301",
  "Caf\u00e9",
  "CAF\u00c9",
  "caf\u00e9 ",
  " caf\u00e9",
  "caf\u00e9\u200b",
  "straße",
  "strasse",
  "1",
  "01",
  "1.0",
];

export function stateContract({ store }: Harness): void {
  const roundTrip = async (key: ActorKey) => (await take(store(), key)).state;

  describe("states of actors", () => {
    test("a text is returned exactly, as a whole and as changes", async () => {
      for (const text of AWKWARD) {
        const key = actor("alice");
        await write(store(), await take(store(), key), whole(text), change(text), change("x"), change(text));
        assert.deepEqual(await roundTrip(key), { whole: text, changes: [text, "x", text] });
      }
    });

    test("unusual names work, and names that look alike are different actors", async () => {
      const namespace = freshNamespace();
      const valid = AWKWARD.filter((name) => nameProblem(name, LIMITS.wordBytes) === undefined);
      const names = [...valid, ...ALIKE, `it's "quoted" \`and\` $1 $$ :name @x %s %_ -- ; *`];
      for (const name of names) {
        await write(store(), await take(store(), { namespace, type: name, id: name }), whole(`whole ${name}`));
        await write(
          store(),
          await take(store(), { namespace: `${namespace}${name}`, type: "T", id: "1" }),
          whole(name),
        );
      }
      for (const name of names) {
        assert.deepEqual(await roundTrip({ namespace, type: name, id: name }), { whole: `whole ${name}`, changes: [] });
        assert.deepEqual(await roundTrip({ namespace: `${namespace}${name}`, type: "T", id: "1" }), {
          whole: name,
          changes: [],
        });
        const found = await store().find({ namespace, type: name, id: name });
        assert.equal(found?.type, name);
        assert.equal(found?.id, name);
      }
    });

    test("the longest names the rules allow work", async () => {
      const longest = { namespace: "n".repeat(128), type: "🐚".repeat(32), id: "é".repeat(256) };
      const held = await take(store(), longest, "o".repeat(128));
      await write(store(), held, whole("x"));
      assert.deepEqual(await roundTrip(longest), { whole: "x", changes: [] });
    });

    test("keys that differ only in how their words are split are different actors", async () => {
      const n = freshNamespace();
      const keys = [
        [`${n}a`, "b", "c"],
        [n, "ab", "c"],
        [n, "a", "bc"],
        [`${n}ab`, "c", "c"],
      ] as const;
      const refs = new Set<number>();
      for (const [namespace, type, id] of keys) refs.add((await take(store(), { namespace, type, id })).ref);
      assert.equal(refs.size, keys.length);
    });

    for (const size of [1_000, 1_024, 1_025, 100_000, 10_000_000]) {
      test(`a whole state of ${size} characters is returned with its changes, and a small one replaces it`, async () => {
        const key = actor("alice");
        const big = `${"0123456789abcdef🐚é".repeat(size / 19)}`.padEnd(size, "é");
        const held = await take(store(), key);
        await write(store(), held, whole(big), change("1"), change("2"));
        assert.deepEqual(await roundTrip(key), { whole: big, changes: ["1", "2"] });
        const next = await take(store(), key);
        await write(store(), next, change("3"), whole("small"));
        assert.deepEqual(await roundTrip(key), { whole: "small", changes: [] });
      });
    }

    test("thousands of changes are returned in order", async () => {
      const key = actor("alice");
      const held = await take(store(), key);
      await write(store(), held, whole("w".repeat(2_000)));
      const changes = Array.from({ length: 3_000 }, (_, i) => `c${i}`);
      // Changes of one actor build on each other, so they cannot share a batch.
      for (const [i, data] of changes.entries()) {
        assert.deepEqual(await store().commit([commitOf(held, change(data), i + 1)]), ["committed"]);
      }
      assert.deepEqual(await roundTrip(key), { whole: "w".repeat(2_000), changes });
    });

    for (const [name, first] of [
      ["small", "s"],
      ["large", "l".repeat(5_000)],
    ] as const) {
      test(`a whole state replaces a ${name} one and its changes`, async () => {
        const key = actor("alice");
        const held = await take(store(), key);
        await write(store(), held, whole(first), change("1"), change("2"), whole("n".repeat(3_000)), change("3"));
        assert.deepEqual(await roundTrip(key), { whole: "n".repeat(3_000), changes: ["3"] });
        await write(store(), await take(store(), key), whole("tiny"));
        assert.deepEqual(await roundTrip(key), { whole: "tiny", changes: [] });
      });

      test(`a clear removes a ${name} state and its changes for good`, async () => {
        const key = actor("alice");
        const held = await take(store(), key);
        await write(store(), held, whole(first), change("1"), clear);
        assert.equal(await roundTrip(key), undefined);
        const next = await take(store(), key);
        await write(store(), next, clear, whole("again"), change("2"));
        assert.deepEqual(await roundTrip(key), { whole: "again", changes: ["2"] });
      });
    }

    test("a fenced commit leaves nothing behind that a later change could pick up", async () => {
      const key = actor("alice");
      const old = await take(store(), key);
      await write(store(), old, whole("w".repeat(2_000)));
      const current = await take(store(), key);
      assert.equal(await send(store(), commitOf(old, change("ghost"), 1)), "fenced");
      assert.equal(await send(store(), commitOf(old, whole("g".repeat(5_000)), 1)), "fenced");
      await write(store(), current, change("mine"));
      assert.deepEqual(await roundTrip(key), { whole: "w".repeat(2_000), changes: ["mine"] });
    });

    test("an empty batch of takes or commits returns nothing", async () => {
      assert.deepEqual(await store().take([]), []);
      assert.deepEqual(await store().commit([]), []);
    });

    test("a batch of 512 is taken and committed in order", async () => {
      const namespace = freshNamespace();
      const keys = Array.from({ length: 512 }, (_, i) => actor(`id-${i}`, namespace));
      const held = await takeAll(
        store(),
        keys.map((key) => ({ ...key, owner: "host-1" })),
      );
      assert.equal(new Set(held.map(({ ref }) => ref)).size, 512);
      const writes = held.map((one, i) => commitOf(one, whole(i % 3 === 0 ? `${i}`.repeat(1_000) : `state ${i}`)));
      assert.deepEqual(await store().commit(writes), Array(512).fill("committed"));
      const mixed = held.map((one, i) => commitOf(one, i % 2 === 0 ? change(`change ${i}`) : clear, 1));
      assert.deepEqual(await store().commit(mixed), Array(512).fill("committed"));
      const again = await takeAll(store(), keys.map((key) => ({ ...key, owner: "host-2" })).reverse());
      for (const [i, one] of again.reverse().entries()) {
        assert.equal(one.ref, held[i]!.ref);
        assert.equal(one.version, 2);
        const data = i % 3 === 0 ? `${i}`.repeat(1_000) : `state ${i}`;
        assert.deepEqual(one.state, i % 2 === 0 ? { whole: data, changes: [`change ${i}`] } : undefined);
      }
    });

    test("a batch of takes may mix new, known, large and cleared actors", async () => {
      const namespace = freshNamespace();
      await write(store(), await take(store(), actor("large", namespace)), whole("x".repeat(50_000)), change("y"));
      await write(store(), await take(store(), actor("small", namespace)), whole("s"));
      await write(store(), await take(store(), actor("cleared", namespace)), whole("s"), clear);
      const ids = ["new", "cleared", "large", "new too", "small"];
      const held = await takeAll(
        store(),
        ids.map((id) => ({ ...actor(id, namespace), owner: "host-1" })),
      );
      assert.deepEqual(
        held.map(({ version }) => version),
        [0, 2, 2, 0, 1],
      );
      assert.deepEqual(
        held.map(({ state }) => state?.whole.length),
        [undefined, undefined, 50_000, undefined, 1],
      );
      assert.deepEqual(held[2]!.state?.changes, ["y"]);
    });
  });
}
