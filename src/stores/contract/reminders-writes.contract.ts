// Setting and cancelling reminders: one row for each key, and stored values equal the written ones.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { cancelOf, HOUR, leasesOf, Place, type RemindersHarness, setOf } from "./reminders-shared.contract.ts";

const AWKWARD = [
  " ",
  `it's "quoted" \`and\` $1 $$ :name ?1 @x %s %_ -- * ; {"a":[1]} ,{}`,
  "__proto__",
  "日本語 العربية e\u0301 \u00e9 \uffff",
  "🐚👩‍👩‍👧‍👦\u{10ffff}",
  "null",
  "NULL",
  "12",
  "012",
];

export function reminderWritesContract({ opened }: RemindersHarness): void {
  describe("setting and cancelling reminders", () => {
    const place = () => new Place(opened().store);

    test("a stored reminder equals the one that was set", async () => {
      const it = place();
      const key = it.key("tea");
      const tick = { at: 1_900_000_000_123, due: 1_900_000_000_001, number: 7, attempt: 3 };
      const generation = await it.set(key, { ...tick, schedule: "every 5 minutes", data: "milk" });
      assert.deepEqual(await it.reminders.get(key), {
        key,
        generation,
        tick,
        schedule: "every 5 minutes",
        data: "milk",
        bytes: 4,
        leasedUntil: undefined,
      });
    });

    test("a reminder that was never set does not exist, and cancelling it does nothing", async () => {
      const it = place();
      assert.equal(await it.reminders.get(it.key("tea")), undefined);
      assert.equal(await it.cancel(it.key("tea")), false);
    });

    test("an absent value is not the same as empty data", async () => {
      const it = place();
      await it.set(it.key("none"), { data: undefined });
      await it.set(it.key("empty"), { data: "" });
      assert.equal((await it.stored(it.key("none"))).data, undefined);
      assert.equal((await it.stored(it.key("empty"))).data, "");
      const { reminders } = await it.claim();
      const data = new Map(reminders.map((one) => [one.key.name, one.data]));
      assert.deepEqual([data.get("none"), data.get("empty")], [undefined, ""]);
    });

    test("names, schedules and data of reminders may be any text", async () => {
      const it = place();
      for (const text of AWKWARD) {
        const key = it.key(text, text, text);
        await it.set(key, { schedule: text, data: text });
        const { schedule, data, ...stored } = await it.stored(key);
        assert.deepEqual([stored.key, schedule, data], [key, text, text]);
      }
      const { reminders } = await it.claim({ types: AWKWARD });
      assert.equal(reminders.length, AWKWARD.length);
      for (const { key, schedule, data } of reminders) {
        for (const text of [key.type, key.id, schedule, data]) assert.equal(text, key.name);
      }
    });

    test("names of reminders may have the longest allowed length", async () => {
      const it = place();
      const key = it.key("n".repeat(LIMITS.idBytes), "i".repeat(LIMITS.idBytes), "t".repeat(LIMITS.wordBytes));
      await it.set(key);
      assert.deepEqual((await it.stored(key)).key, key);
    });

    test("data of four mebibytes is set, replaced, claimed, moved on and cancelled like any other", async () => {
      const it = place();
      const key = it.key("large");
      const large = "🐚x".repeat(4 * 1024 * 205);
      await it.set(key, { data: "y".repeat(4 * 1024 * 1024) });
      await it.set(key, { data: large });
      assert.equal((await it.stored(key)).data, large);
      const { reminders } = await it.claim({ token: "mine" });
      assert.equal(reminders[0]?.data, large);
      const { generation, tick } = reminders[0]!;
      const next = { kind: "next", tick: { ...tick, number: 2 }, leaseMs: undefined } as const;
      assert.equal(await it.settle({ ...next, generation, token: "mine" }), true);
      assert.equal((await it.stored(key)).data, large);
      await it.set(key, { data: "small" });
      assert.equal((await it.stored(key)).data, "small");
      await it.set(key, { data: large });
      assert.equal(await it.cancel(key), true);
      await it.set(key);
      assert.equal((await it.stored(key)).data, undefined);
    });

    test("times of reminders may be far in the future and long ago", async () => {
      const it = place();
      for (const at of [0, 1, Date.UTC(9999, 11, 31)]) {
        await it.set(it.key(`${at}`), { at, number: 2 ** 40 });
        const { tick } = await it.stored(it.key(`${at}`));
        assert.deepEqual(tick, { at, due: at, number: 2 ** 40, attempt: 0 });
      }
      assert.deepEqual(await it.names(), ["0", "1"]);
    });

    test("a second set replaces everything and assigns a new generation", async () => {
      const it = place();
      const key = it.key("tea");
      const before = await it.set(key, { at: 1, number: 5, attempt: 2, schedule: "old", data: "old" });
      const after = await it.set(key, { at: 2, schedule: "new" });
      assert.notEqual(after, before);
      const tick = { at: 2, due: 2, number: 1, attempt: 0 };
      assert.deepEqual(await it.reminders.get(key), {
        key,
        generation: after,
        tick,
        schedule: "new",
        data: undefined,
        bytes: 0,
        leasedUntil: undefined,
      });
      assert.equal((await it.reminders.list({ namespace: it.namespace, limit: 10 })).length, 1);
    });

    test("no generation is assigned twice, after any cancel, replacement or completion", async () => {
      const it = place();
      const seen = new Set<number>();
      for (let i = 0; i < 5; i++) {
        for (const name of ["a", "b"]) {
          const generation = await it.set(it.key(name));
          assert.ok(Number.isSafeInteger(generation) && !seen.has(generation), `${generation} again`);
          seen.add(generation);
        }
        await it.cancel(it.key("b"));
        const { reminders } = await it.claim({ token: "mine" });
        for (const { generation } of reminders) await it.settle({ kind: "done", generation, token: "mine" });
      }
    });

    test("a set that requires a new key changes nothing when the key exists", async () => {
      const it = place();
      const key = it.key("tea");
      const [first] = await it.reminders.write([setOf(key, { data: "first", isNew: true })]);
      assert.equal(first?.kind, "set");
      const before = await it.reminders.get(key);
      assert.deepEqual(await it.reminders.write([setOf(key, { data: "second", isNew: true })]), [{ kind: "exists" }]);
      assert.deepEqual(await it.reminders.get(key), before);
      await it.cancel(key);
      assert.equal((await it.reminders.write([setOf(key, { isNew: true })]))[0]?.kind, "set");
    });

    test("a set that requires a new key does not affect the lease on an existing reminder", async () => {
      const it = place();
      const key = it.key("tea");
      await it.set(key);
      const { reminders } = await it.claim({ token: "mine" });
      await it.reminders.write([setOf(key, { isNew: true })]);
      assert.equal(await it.settle({ kind: "done", generation: reminders[0]!.generation, token: "mine" }), true);
    });

    test("a cancelled reminder is gone, and cancelling it again does nothing", async () => {
      const it = place();
      await it.set(it.key("tea"));
      await it.set(it.key("cake"));
      assert.equal(await it.cancel(it.key("tea")), true);
      assert.equal(await it.cancel(it.key("tea")), false);
      assert.equal(await it.reminders.get(it.key("tea")), undefined);
      assert.deepEqual(await it.names(), ["cake"]);
    });

    test("a batch of writes may mix all kinds, and its results are in its order", async () => {
      const it = place();
      await it.set(it.key("there"));
      await it.set(it.key("replaced"));
      await it.set(it.key("cancelled"));
      const outcomes = await it.reminders.write([
        cancelOf(it.key("nobody")),
        setOf(it.key("there"), { isNew: true }),
        setOf(it.key("fresh"), { isNew: true, data: "x".repeat(5_000) }),
        cancelOf(it.key("cancelled")),
        setOf(it.key("replaced"), { data: "new" }),
      ]);
      const kinds = outcomes.map((one) => (one.kind === "cancelled" ? one.existed : one.kind));
      assert.deepEqual(kinds, [false, "exists", "set", true, "set"]);
      for (const [i, name] of [[2, "fresh"] as const, [4, "replaced"] as const]) {
        const outcome = outcomes[i]!;
        assert.equal(outcome.kind === "set" && outcome.generation, (await it.stored(it.key(name))).generation);
      }
      assert.deepEqual((await it.names()).sort(), ["fresh", "replaced", "there"]);
    });

    test("an empty batch of reminder operations does nothing", async () => {
      const it = place();
      assert.deepEqual(await it.reminders.write([]), []);
      assert.deepEqual(await it.reminders.settle([]), []);
      assert.deepEqual(await it.reminders.renew(leasesOf([], "mine"), HOUR), []);
    });

    test("a batch of a thousand reminders is set and claimed whole", async () => {
      const it = place();
      const names = Array.from({ length: 1_000 }, (_, i) => `${i}`);
      const outcomes = await it.reminders.write(names.map((name, i) => setOf(it.key(name), { at: i, data: name })));
      assert.equal(new Set(outcomes.map((one) => one.kind === "set" && one.generation)).size, 1_000);
      const { reminders } = await it.claim();
      assert.deepEqual(
        reminders.map(({ key, data }) => [key.name, data]),
        names.map((name) => [name, name]),
      );
    });

    test("the same name in another namespace, type or id is another reminder", async () => {
      const [here, there] = [place(), place()];
      const keys = [here.key("tea"), there.key("tea"), here.key("tea", "bob"), here.key("tea", "alice", "Order")];
      for (const [i, key] of keys.entries()) await here.set(key, { data: `${i}` });
      await here.cancel(keys[0]!);
      for (const [i, key] of keys.entries()) {
        assert.equal((await here.reminders.get(key))?.data, i === 0 ? undefined : `${i}`);
      }
    });

    test("later changes of a caller's objects change no stored reminder", async () => {
      const it = place();
      const key = { ...it.key("tea") };
      const tick = { at: 1, due: 1, number: 1, attempt: 0 };
      const content = { schedule: "once", data: "milk" };
      await it.reminders.write([{ kind: "set", key, tick, content, lease: undefined, isNew: false }]);
      Object.assign(tick, { at: 2 });
      Object.assign(content, { data: "sugar" });
      Object.assign(key, { name: "cake" });
      const stored = await it.stored(it.key("tea"));
      assert.deepEqual([stored.tick.at, stored.data, stored.key.name], [1, "milk", "tea"]);
    });
  });
}
