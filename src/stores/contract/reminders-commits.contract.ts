// Commits with reminders: settlements and writes apply if the commit counts, in its transaction, and once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoredReminder } from "../../ports/store/reminders.ts";
import type { Commit, StateWrite, Taken } from "../../ports/store/store.ts";
import { cancelOf, freshToken, HOUR, Place, type RemindersHarness, setOf, TRIED } from "./reminders-shared.contract.ts";
import { actor, change, clear, commitOf, keep, send, take, takeAll, whole, write } from "./shared.contract.ts";

const LARGE = "w".repeat(5_000);

export function reminderCommitsContract({ opened }: RemindersHarness): void {
  const store = () => opened().store;
  const place = () => new Place(store());
  const alice = (it: Place, id = "alice") => actor(id, it.namespace);
  const claimed = async (it: Place, name: string) => {
    const token = freshToken();
    const generation = await it.set(it.key(name), { lease: { token, leaseMs: HOUR } });
    return { generation, token };
  };
  /** All reminders of this namespace, as names. */
  const there = async (it: Place) => {
    const [alive, dead] = await Promise.all([
      it.reminders.list({ namespace: it.namespace, limit: 100 }),
      it.reminders.listDead({ namespace: it.namespace, limit: 100 }),
    ]);
    const living = alive.map(({ key, tick }) => (tick.number === 1 ? key.name : `${key.name} ${tick.number}`));
    return [...living, ...dead.map(({ key }) => `dead ${key.name}`)];
  };

  /** A commit with every kind of reminder operation. */
  async function everything(it: Place, held: Taken, one: StateWrite, ahead = 0): Promise<Commit> {
    await it.set(it.key("cancelled"));
    await it.set(it.key("replaced"), { data: "old" });
    await it.set(it.key("there"), { data: "old" });
    const tick = { at: 9, due: 9, number: 2, attempt: 0 };
    return {
      ...commitOf(held, one, ahead),
      settle: [
        { kind: "done", ...(await claimed(it, "done")) },
        { kind: "next", tick, leaseMs: undefined, ...(await claimed(it, "next")) },
        { kind: "dead", tick: TRIED, error: "e", ...(await claimed(it, "died")) },
      ],
      reminders: [
        cancelOf(it.key("cancelled")),
        setOf(it.key("fresh"), { data: LARGE }),
        setOf(it.key("replaced"), { data: "new" }),
        setOf(it.key("there"), { data: "new", isNew: true }),
      ],
    };
  }
  const BEFORE = ["cancelled", "died", "done", "next", "replaced", "there"];
  const AFTER = ["fresh", "next 2", "replaced", "there", "dead died"];

  describe("commits with reminders", () => {
    for (const [name, before, one] of [
      ["a whole state", [], whole("1")],
      ["a large state", [], whole(LARGE)],
      ["a change", [whole("1")], change("2")],
      ["a change of a large state", [whole(LARGE)], change("2")],
      ["a cleared state", [whole("1")], clear],
      ["an unchanged state", [whole("1")], keep],
      ["an absent state", [], keep],
    ] as const) {
      test(`a commit of ${name} settles and writes its reminders`, async () => {
        const it = place();
        const held = await take(store(), alice(it));
        await write(store(), held, ...before);
        const commit = await everything(it, held, one, before.length);
        assert.deepEqual(await there(it), BEFORE);
        assert.equal(await send(store(), commit), "committed");
        assert.deepEqual(await there(it), AFTER);
        assert.equal((await it.stored(it.key("fresh"))).data, LARGE);
        assert.equal((await it.stored(it.key("replaced"))).data, "new");
        assert.equal((await it.stored(it.key("there"))).data, "old");
      });

      test(`a fenced commit of ${name} neither settles nor writes reminders`, async () => {
        const it = place();
        const held = await take(store(), alice(it));
        await write(store(), held, ...before);
        const commit = await everything(it, held, one, before.length);
        await take(store(), alice(it), "host-2");
        assert.equal(await send(store(), commit), "fenced");
        assert.deepEqual(await there(it), BEFORE);
        assert.equal(await send(store(), { ...commit, version: commit.version + 1 }), "fenced");
        assert.equal(await send(store(), { ...commit, ref: 2 ** 40 }), "fenced");
        assert.deepEqual(await there(it), BEFORE);
      });

      test(`a repeated commit of ${name} settles and writes its reminders once`, async () => {
        const it = place();
        const held = await take(store(), alice(it));
        await write(store(), held, ...before);
        const commit = await everything(it, held, one, before.length);
        assert.equal(await send(store(), commit), "committed");
        const { generation } = await it.stored(it.key("fresh"));
        await it.cancel(it.key("replaced"));
        await it.set(it.key("cancelled"));
        assert.equal(await send(store(), commit), "committed");
        await take(store(), alice(it), "host-2");
        assert.equal(await send(store(), commit), "committed");
        assert.equal((await it.stored(it.key("fresh"))).generation, generation);
        assert.deepEqual(await there(it), ["cancelled", "fresh", "next 2", "there", "dead died"]);
      });
    }

    test("a commit settles its reminders before it writes others", async () => {
      const it = place();
      const held = await take(store(), alice(it));
      const [done, next] = [await claimed(it, "done"), await claimed(it, "next")];
      const tick = { at: 9, due: 9, number: 2, attempt: 0 };
      const commit: Commit = {
        ...commitOf(held, whole("1")),
        settle: [
          { kind: "done", ...done },
          { kind: "next", tick, leaseMs: undefined, ...next },
        ],
        reminders: [setOf(it.key("done"), { data: "anew", isNew: true }), cancelOf(it.key("next"))],
      };
      assert.equal(await send(store(), commit), "committed");
      assert.deepEqual(await there(it), ["done"]);
      assert.equal((await it.stored(it.key("done"))).data, "anew");
    });

    test("a commit that sets a reminder with a lease leases it from then on", async () => {
      const it = place();
      const held = await take(store(), alice(it));
      const lease = { token: "mine", leaseMs: HOUR };
      await send(store(), { ...commitOf(held, keep), reminders: [setOf(it.key("tea"), { lease })] });
      assert.deepEqual(await it.names(), []);
      const { generation, leasedUntil } = await it.stored(it.key("tea"));
      assert.notEqual(leasedUntil, undefined);
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
    });

    test("a commit returns the generations of reminders set with a lease, and of no others", async () => {
      const it = place();
      const held = await take(store(), alice(it));
      await it.set(it.key("there"), { data: "old" });
      await it.set(it.key("cancelled"));
      const done = await claimed(it, "done");
      const lease = { token: "mine", leaseMs: HOUR };
      const commit: Commit = {
        ...commitOf(held, whole("1")),
        settle: [{ kind: "done", ...done }],
        reminders: [
          setOf(it.key("tea"), { lease }),
          cancelOf(it.key("cancelled")),
          setOf(it.key("free")),
          setOf(it.key("there"), { lease, isNew: true }),
          setOf(it.key("done"), { lease }),
          setOf(it.key("coffee"), { lease }),
        ],
      };
      const generation = async (name: string) => (await it.stored(it.key(name))).generation;
      assert.deepEqual(await send(store(), commit), {
        kind: "committed",
        generations: [
          ...[await generation("tea"), undefined, undefined, undefined],
          ...[await generation("done"), await generation("coffee")],
        ],
      });
      assert.deepEqual((await it.names()).sort(), ["free", "there"]);
      assert.equal(await send(store(), commit), "committed", "it has happened before");
      await opened().advance(2 * HOUR);
      assert.deepEqual((await it.names()).sort(), ["coffee", "done", "free", "tea", "there"]);
    });

    test("each commit of a batch gets its own generations, and a fenced or void one none", async () => {
      const it = place();
      const keys = Array.from({ length: 40 }, (_, i) => ({ ...alice(it, `${39 - i}`), owner: "host-1" }));
      const held = await takeAll(store(), keys);
      const lease = { token: "mine", leaseMs: HOUR };
      const nobodys = { kind: "done", generation: 2 ** 40, token: "nobody's" } as const;
      await takeAll(
        store(),
        keys.filter((_, i) => i % 5 === 3),
      );
      const outcomes = await store().commit(
        held.map((one, i): Commit => {
          const settle = i % 5 === 1 ? [nobodys] : undefined;
          const reminders = [setOf(it.key(`set ${i}`)), setOf(it.key(`leased ${i}`), { lease })];
          return {
            ...commitOf(one, whole(`${i}`)),
            settle,
            reminders: i % 5 === 2 ? reminders.slice(0, 1) : reminders,
          };
        }),
      );
      for (const [i, outcome] of outcomes.entries()) {
        const expected = ["leased", "void", "committed", "fenced", "leased"][i % 5]!;
        if (expected !== "leased") assert.equal(outcome, expected);
        else {
          const { generation } = await it.stored(it.key(`leased ${i}`));
          assert.deepEqual(outcome, { kind: "committed", generations: [undefined, generation] });
        }
      }
    });

    test("each commit of a batch applies its own reminders, and a fenced one none", async () => {
      const it = place();
      const keys = Array.from({ length: 60 }, (_, i) => ({ ...alice(it, `${i}`), owner: "host-1" }));
      const held = await takeAll(store(), keys);
      const settled = await Promise.all(keys.map((_, i) => claimed(it, `done ${i}`)));
      const fenced = (i: number) => i % 5 === 3;
      await takeAll(
        store(),
        keys.filter((_, i) => fenced(i)),
      );
      const outcomes = await store().commit(
        held.map((one, i): Commit => {
          const kinds = [whole(`${i}`), whole(LARGE), keep, clear, whole("x")];
          const settle = i % 3 === 0 ? [{ kind: "done", ...settled[i]! } as const] : undefined;
          const reminders = i % 2 === 0 ? [setOf(it.key(`set ${i}`)), setOf(it.key(`and ${i}`))] : [];
          return { ...commitOf(one, kinds[i % 5]!), settle, reminders };
        }),
      );
      assert.deepEqual(
        outcomes,
        keys.map((_, i) => (fenced(i) ? "fenced" : "committed")),
      );
      const expected = keys.flatMap((_, i) => [
        ...(i % 3 === 0 && !fenced(i) ? [] : [`done ${i}`]),
        ...(i % 2 === 0 && !fenced(i) ? [`set ${i}`, `and ${i}`] : []),
      ]);
      const names = (await it.reminders.list({ namespace: it.namespace, limit: 1_000 })).map(({ key }) => key.name);
      assert.deepEqual(names, expected.sort());
    });

    test("two commits of a batch may set the same reminder, and one of the two is stored", async () => {
      const it = place();
      const held = await takeAll(
        store(),
        ["a", "b", "c"].map((id) => ({ ...alice(it, id), owner: "host-1" })),
      );
      const shared = it.key("job", "shared", "Job");
      const outcomes = await store().commit(
        held.map((one, i) => ({ ...commitOf(one, whole("x")), reminders: [setOf(shared, { data: `${i}` })] })),
      );
      assert.deepEqual(outcomes, ["committed", "committed", "committed"]);
      assert.ok(["0", "1", "2"].includes((await it.stored(shared)).data!));
      assert.equal((await it.claim({ types: ["Job"] })).reminders.length, 1);
    });
  });

  describe("commits that settle reminders they no longer hold", () => {
    const NEXT = { at: 9, due: 9, number: 2, attempt: 0 };
    const passed = (ms: number) => opened().advance(ms);
    type Lease = { readonly generation: number; readonly token: string };
    const troubles: [what: string, (it: Place, lease: Lease) => Promise<unknown>][] = [
      ["was replaced", (it) => it.set(it.key("tea"), { data: "new" })],
      ["was replaced with a lease", (it) => it.set(it.key("tea"), { lease: { token: "t", leaseMs: HOUR } })],
      ["was cancelled", (it) => it.cancel(it.key("tea"))],
      ["is done", (it, lease) => it.settle({ kind: "done", ...lease })],
      ["is dead", (it, lease) => it.settle({ kind: "dead", tick: TRIED, error: "e", ...lease })],
      ["was released", (it, lease) => it.settle({ kind: "release", ...lease })],
      ["has moved on", (it, lease) => it.settle({ kind: "next", tick: NEXT, leaseMs: undefined, ...lease })],
      [
        "has moved on twice with the same lease",
        (it, lease) => it.settle({ kind: "next", tick: { ...NEXT, number: 3 }, leaseMs: HOUR, ...lease }),
      ],
      [
        "was claimed by another process after its lease ended",
        async (it) => {
          await passed(2 * HOUR);
          assert.ok((await it.names()).includes("tea"));
        },
      ],
      [
        "was claimed and released by another process",
        async (it) => {
          await passed(2 * HOUR);
          const token = freshToken();
          await it.claim({ token });
          await it.settle({ kind: "release", token, generation: (await it.stored(it.key("tea"))).generation });
        },
      ],
    ];
    const shown = async (it: Place) => (await it.reminders.list({ namespace: it.namespace, limit: 9 })).map(stable);
    // The store's clock may move, so times are left out.
    const stable = ({ key, generation, tick, data, leasedUntil }: StoredReminder) => [
      ...[key.name, generation, tick.number, tick.attempt, data, leasedUntil !== undefined],
    ];

    for (const [what, happens] of troubles) {
      test(`a commit is void and its writer may go on when its reminder ${what}`, async () => {
        const it = place();
        const held = await take(store(), alice(it));
        await write(store(), held, whole("1"));
        const lease = await claimed(it, "tea");
        await it.set(it.key("other"));
        await happens(it, lease);
        const before = await shown(it);
        const commit: Commit = {
          ...commitOf(held, whole("2"), 1),
          settle: [{ kind: "next", tick: NEXT, leaseMs: undefined, ...lease }],
          reminders: [setOf(it.key("tea")), setOf(it.key("fresh")), cancelOf(it.key("other"))],
        };
        for (let i = 0; i < 2; i++) assert.equal(await send(store(), commit), "void");
        assert.deepEqual(await shown(it), before);
        assert.equal((await store().find(alice(it)))?.version, 1);
        await write(store(), { ...held, version: 1 }, change("3"));
        const next = await take(store(), alice(it));
        assert.deepEqual(next.state, { whole: "1", changes: ["3"] });
        assert.equal(await send(store(), commit), "fenced");
      });
    }

    test("a commit that settles a reminder that never existed is void with every kind of state write", async () => {
      const it = place();
      for (const [i, one] of [whole("1"), whole(LARGE), clear, keep].entries()) {
        const held = await take(store(), alice(it, `${i}`));
        const settle = [{ kind: "done", generation: 2 ** 40, token: "nobody's" } as const];
        assert.equal(await send(store(), { ...commitOf(held, one), settle }), "void");
        assert.equal((await store().find(alice(it, `${i}`)))?.version, 0);
        assert.equal((await take(store(), alice(it, `${i}`))).state, undefined);
      }
    });

    test("one invalid settlement makes a commit void, and the other reminders stay as they are", async () => {
      const it = place();
      const held = await take(store(), alice(it));
      const [good, bad] = [await claimed(it, "good"), await claimed(it, "bad")];
      await it.cancel(it.key("bad"));
      const settle = [{ kind: "done", ...good } as const, { kind: "done", ...bad } as const];
      assert.equal(await send(store(), { ...commitOf(held, whole("1")), settle }), "void");
      assert.deepEqual(await there(it), ["good"]);
      assert.equal(await send(store(), { ...commitOf(held, whole("1")), settle: [settle[0]!] }), "committed");
      assert.deepEqual(await there(it), []);
    });

    test("an ended lease counts until another process claims the reminder", async () => {
      const it = place();
      const held = await take(store(), alice(it));
      const lease = await claimed(it, "tea");
      await passed(2 * HOUR);
      assert.equal(
        await send(store(), { ...commitOf(held, whole("1")), settle: [{ kind: "done", ...lease }] }),
        "committed",
      );
      assert.deepEqual(await there(it), []);
    });

    test("a void commit does not affect the other commits of its batch", async () => {
      const it = place();
      const keys = Array.from({ length: 30 }, (_, i) => ({ ...alice(it, `${i}`), owner: "host-1" }));
      const held = await takeAll(store(), keys);
      const leases = await Promise.all(keys.map((_, i) => claimed(it, `tick ${i}`)));
      const isVoid = (i: number) => i % 3 === 1;
      for (const [i] of keys.entries()) if (isVoid(i)) await it.set(it.key(`tick ${i}`), { data: "new" });
      const batch = held.map((one, i): Commit => {
        const kinds = [whole(`${i}`), whole(LARGE), keep];
        const settle = i % 5 === 0 ? undefined : [{ kind: "done", ...leases[i]! } as const];
        return { ...commitOf(one, kinds[i % 3]!), settle, reminders: [setOf(it.key(`set ${i}`))] };
      });
      const outcome = (i: number) => (isVoid(i) && i % 5 !== 0 ? "void" : "committed");
      for (let time = 0; time < 2; time++) {
        assert.deepEqual(
          await store().commit(batch),
          keys.map((_, i) => outcome(i)),
        );
      }
      const expected = keys.flatMap((_, i) => [
        ...(i % 5 === 0 || isVoid(i) ? [`tick ${i}`] : []),
        ...(outcome(i) === "committed" ? [`set ${i}`] : []),
      ]);
      assert.deepEqual(await there(it), expected.sort());
    });

    test("only one of two commits for the same tick counts", async () => {
      const it = place();
      const lease = await claimed(it, "tea");
      const held = await takeAll(
        store(),
        ["a", "b"].map((id) => ({ ...alice(it, id), owner: "host-1" })),
      );
      const outcomes = await Promise.all(
        held.map((one) => send(store(), { ...commitOf(one, whole("1")), settle: [{ kind: "done", ...lease }] })),
      );
      assert.deepEqual(outcomes.sort(), ["committed", "void"]);
    });
  });

  describe("commits that keep the state", () => {
    for (const [name, before, state] of [
      ["an absent state", [], undefined],
      ["a small state", [whole("1")], { whole: "1", changes: [] }],
      ["a small state with changes", [whole("1"), change("2")], { whole: "1", changes: ["2"] }],
      ["a large state with changes", [whole(LARGE), change("2")], { whole: LARGE, changes: ["2"] }],
      ["a cleared state", [whole("1"), clear], undefined],
    ] as const) {
      test(`a commit that keeps ${name} leaves it unchanged and raises the version`, async () => {
        const it = place();
        const held = await take(store(), alice(it));
        await write(store(), held, ...before);
        const bytes = (await store().find(alice(it)))?.bytes;
        const commit = commitOf(held, keep, before.length);
        for (let i = 0; i < 3; i++) assert.equal(await send(store(), commit), "committed");
        assert.equal(await send(store(), commitOf(held, whole("late"), before.length)), "fenced");
        const found = await store().find(alice(it));
        assert.deepEqual([found?.version, found?.bytes], [before.length + 1, bytes]);
        if (state !== undefined) await write(store(), { ...held, version: before.length + 1 }, change("3"));
        const next = await take(store(), alice(it));
        assert.equal(next.version, before.length + (state === undefined ? 1 : 2));
        assert.deepEqual(next.state, state && { whole: state.whole, changes: [...state.changes, "3"] });
      });
    }

    test("a commit that keeps the state is fenced like any other", async () => {
      const it = place();
      const held = await take(store(), alice(it));
      await take(store(), alice(it), "host-2");
      assert.equal(await send(store(), commitOf(held, keep)), "fenced");
      assert.equal((await store().find(alice(it)))?.version, 0);
    });
  });
}
