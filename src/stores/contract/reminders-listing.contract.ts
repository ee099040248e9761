// Listing of reminders: pages in the order of names, and counts.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLastPage, type ReminderKey, type ReminderQuery } from "../../ports/store/reminders.ts";
import { assertAbout, HOUR, Place, type RemindersHarness, setOf, TRIED } from "./reminders-shared.contract.ts";

/** By code point; a character outside the basic plane comes after every character inside it. */
const IN_ORDER = ["A", "B", "Z", "a", "a b", "ab", "z", "é", "\uff5e", "🐚"];

export function reminderListingContract({ opened }: RemindersHarness): void {
  describe("listing of reminders", () => {
    const place = () => new Place(opened().store);
    const words = ({ type, id, name }: ReminderKey) => `${type}/${id}/${name}`;

    /**
     * Every combination of a few types, ids and names, set in another order; and all of them dead as well.
     */
    async function full(): Promise<{ it: Place; all: string[] }> {
      const it = place();
      const some = ["A", "ab", "🐚"];
      const keys = some.flatMap((type) => some.flatMap((id) => IN_ORDER.map((name) => it.key(name, id, type))));
      const lease = { token: "mine", leaseMs: HOUR };
      const shuffled = keys.map((key, i) => ({ key, rank: (i * 37) % keys.length })).sort((a, b) => a.rank - b.rank);
      const outcomes = await it.reminders.write(shuffled.map(({ key }) => setOf(key, { lease })));
      await it.reminders.settle(
        outcomes.map((one) => {
          assert.ok(one.kind === "set");
          return { kind: "dead", tick: TRIED, error: "e", generation: one.generation, token: "mine" };
        }),
      );
      await it.reminders.write(shuffled.map(({ key }) => setOf(key)));
      return { it, all: keys.map(words) };
    }

    for (const which of ["list", "listDead"] as const) {
      const list = (it: Place, query: Partial<ReminderQuery> = {}) =>
        it.reminders[which]({ namespace: it.namespace, limit: 1_000, ...query });

      test(`${which} returns all reminders, ordered by type, id and name, by code point`, async () => {
        const { it, all } = await full();
        assert.deepEqual(
          (await list(it)).map(({ key }) => words(key)),
          all,
        );
      });

      test(`${which} returns the reminders of a type, of an actor, and of an id in every type`, async () => {
        const { it, all } = await full();
        const found = async (query: Partial<ReminderQuery>) => (await list(it, query)).map(({ key }) => words(key));
        assert.deepEqual(
          await found({ type: "ab" }),
          all.filter((one) => one.startsWith("ab/")),
        );
        assert.deepEqual(
          await found({ type: "ab", id: "🐚" }),
          all.filter((one) => one.startsWith("ab/🐚/")),
        );
        assert.deepEqual(
          await found({ id: "A" }),
          all.filter((one) => one.split("/")[1] === "A"),
        );
        assert.deepEqual(await found({ type: "Nobody" }), []);
        assert.deepEqual(await found({ type: "ab", id: "nobody" }), []);
      });

      test(`pages of ${which} together are the whole list, for every page size`, async () => {
        const { it } = await full();
        for (const query of [{}, { type: "ab" }, { type: "A", id: "ab" }, { id: "🐚" }]) {
          const whole = await list(it, query);
          for (const limit of [1, 7, whole.length, whole.length + 1]) {
            const joined: (typeof whole)[number][] = [];
            for (let pages = 0; ; pages++) {
              assert.ok(pages <= whole.length, "no end");
              const page = await list(it, { ...query, limit, after: joined.at(-1)?.key });
              joined.push(...page);
              if (page.length < limit) break;
            }
            assert.deepEqual(joined, whole);
          }
        }
      });

      test(`${which} starts behind a reminder that no longer exists`, async () => {
        const { it, all } = await full();
        const after = { type: "ab", id: "B", name: "nobody" };
        assert.deepEqual(
          (await list(it, { after })).map(({ key }) => words(key)),
          all.filter((one) => one.startsWith("ab/ab/") || one.startsWith("ab/🐚/") || one.startsWith("🐚/")),
        );
        assert.deepEqual(await list(it, { type: "A", after }), []);
        assert.deepEqual(await list(it, { after: { type: "🐚🐚", id: "a", name: "a" } }), []);
      });

      test(`${which} returns nothing of other namespaces, and nothing for a limit of 0`, async () => {
        const { it } = await full();
        assert.deepEqual(await list(place()), []);
        assert.deepEqual(await list(it, { limit: 0 }), []);
      });
    }

    for (const which of ["list", "listDead"] as const) {
      /** Reminders with data of these sizes: mebibytes, or none. */
      const carrying = async (sizes: readonly (number | undefined)[]) => {
        const it = place();
        const keys = sizes.map((_, i) => it.key(`${i}`, "alice", i % 2 ? "A" : "B"));
        for (const [i, key] of keys.entries()) {
          const data = sizes[i] === undefined ? undefined : "é".repeat((sizes[i]! * 1024 * 1024) / 2);
          const token = "mine";
          const generation = await it.set(key, { data, lease: { token, leaseMs: HOUR } });
          if (which === "listDead") await it.settle({ kind: "dead", tick: TRIED, error: "e", generation, token });
        }
        return it;
      };
      const pages = async (it: Place, limit: number, isBrief = false) => {
        const found: string[][] = [];
        for (let after: ReminderQuery["after"]; ; ) {
          const query = { namespace: it.namespace, after, limit, isBrief };
          const page = await it.reminders[which](query);
          found.push(page.map(({ key, bytes }) => `${key.name}: ${bytes / 1024 / 1024}`));
          if (isLastPage(page, query)) return found;
          after = page.at(-1)?.key;
        }
      };

      test(`${which} ends a page early when its data is large, and returns a reminder larger than a page alone`, async () => {
        const it = await carrying([4, 1, undefined, 2, 3, 0.5, 4]);
        // Odd ones first: they are of type A.
        assert.deepEqual(await pages(it, 100), [["1: 1", "3: 2", "5: 0.5", "0: 4"], ["2: 0", "4: 3", "6: 4"], []]);
        assert.deepEqual(await pages(it, 2), [["1: 1", "3: 2"], ["5: 0.5", "0: 4"], ["2: 0", "4: 3"], ["6: 4"], []]);
      });

      test(`${which} returns the size of data without reading it`, async () => {
        const it = await carrying([4, 4, undefined]);
        assert.deepEqual(await pages(it, 100, true), [["1: 4", "0: 4", "2: 0"]]);
        const page = await it.reminders[which]({ namespace: it.namespace, limit: 9, isBrief: true });
        assert.ok(page.every(({ data }) => data === undefined));
      });
    }

    test("a listed reminder equals the result of get, including its lease", async () => {
      const it = place();
      for (const name of ["a", "b", "c"]) await it.set(it.key(name), { at: 5, data: `data ${name}`.repeat(400) });
      await it.claim({ limit: 2, leaseMs: 3 * HOUR });
      const listed = await it.reminders.list({ namespace: it.namespace, limit: 9 });
      for (const one of listed) assert.deepEqual(await it.reminders.get(one.key), one);
      const leased = listed.filter(({ leasedUntil }) => leasedUntil !== undefined);
      assert.equal(leased.length, 2);
      assertAbout(leased[0]!.leasedUntil, (await it.now()) + 3 * HOUR);
    });
  });

  describe("counts of reminders", () => {
    const place = () => new Place(opened().store);

    test("a count has all reminders, overdue ones without a lease, and dead ones", async () => {
      const it = place();
      const now = await it.now();
      const at = [-5, -4, -3, -2, 2, 3].map((hours) => now + hours * HOUR);
      await it.reminders.write(at.map((one, i) => setOf(it.key(`${i}`, "alice", i % 2 ? "A" : "B"), { at: one })));
      await it.set(it.key("held"), { lease: { token: "mine", leaseMs: 2 * HOUR } });
      assert.deepEqual(await it.reminders.count(it.namespace, 100), { all: 7, overdue: 4, dead: 0 });
      const [one] = (await it.claim({ types: ["A"], limit: 1, token: "mine", leaseMs: 2 * HOUR })).reminders;
      assert.deepEqual(await it.reminders.count(it.namespace, 100), { all: 7, overdue: 3, dead: 0 });
      await it.settle({ kind: "dead", tick: TRIED, error: "e", generation: one!.generation, token: "mine" });
      assert.deepEqual(await it.reminders.count(it.namespace, 100), { all: 6, overdue: 3, dead: 1 });
      await opened().advance(4 * HOUR);
      assert.deepEqual(await it.reminders.count(it.namespace, 100), { all: 6, overdue: 6, dead: 1 });
    });

    test("each count of reminders ends at a limit", async () => {
      const it = place();
      const keys = Array.from({ length: 30 }, (_, i) => it.key(`${i}`, "alice", `T${i % 3}`));
      const lease = { token: "mine", leaseMs: HOUR };
      const outcomes = await it.reminders.write(keys.map((key) => setOf(key, { lease })));
      await it.reminders.settle(
        outcomes.map((one) => {
          const generation = one.kind === "set" ? one.generation : 0;
          return { kind: "dead", tick: TRIED, error: "e", generation, token: "mine" };
        }),
      );
      await it.reminders.write(keys.map((key) => setOf(key)));
      for (const limit of [1, 25, 30]) {
        const counts = { all: limit, overdue: limit, dead: limit };
        assert.deepEqual(await it.reminders.count(it.namespace, limit), counts);
      }
      assert.deepEqual(await it.reminders.count(it.namespace, 31), { all: 30, overdue: 30, dead: 30 });
    });

    test("an empty namespace counts no reminders", async () => {
      const it = place();
      assert.deepEqual(await it.reminders.count(it.namespace, 10), { all: 0, overdue: 0, dead: 0 });
    });
  });
}
