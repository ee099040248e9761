import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import { Prng } from "../kernel/prng.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import type { ClaimedReminder, OwnLease, ReminderKey } from "../ports/store/reminders.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { key } from "./processor-kit.test.ts";
import { decodePlan } from "./schedule/plan.ts";
import { resolveSchedule } from "./schedule/schedule.ts";
import { StoreClock } from "./store-clock.ts";
import { BatchedReminderWriter, showSchedule } from "./writer.ts";

const ACTOR = { namespace: "default", type: "Bell", id: "a" };

/** A writer on a store in memory, and its notifications of the processor. */
class Desk {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly storeClock = new StoreClock(this.clock);
  lease: OwnLease | undefined;
  answered = 0;
  readonly held: (ClaimedReminder & OwnLease & { readonly askedAt: number })[] = [];
  readonly wrote: number[] = [];
  readonly changed: ReminderKey[] = [];
  readonly book = new BatchedReminderWriter({
    clock: this.clock,
    random: new Prng("book"),
    store: this.store.reminders,
    storeClock: this.storeClock,
    patienceMs: 1_000,
    ownLease: () => this.lease,
    answered: () => void this.answered++,
    holds: (reminder, lease, askedAt) => this.held.push({ ...reminder, ...lease, askedAt }),
    wrote: (at) => this.wrote.push(at),
    changed: (changed) => this.changed.push(changed),
  });

  set(name: string, options: ReminderOptions, isNew = false): Promise<boolean> {
    return this.book.write(this.book.set(key(name), options, isNew));
  }
}

describe("the writer of reminders", () => {
  it("the writer stores the options, counted from the time of the store", async () => {
    const desk = new Desk();
    desk.storeClock.heard(desk.clock.now() + 3_600_000, desk.clock.monotonic());
    const now = Math.round(desk.storeClock.now());
    assert.equal(await desk.set("tea", { due: "10m", every: "1h", data: { cups: 2 } }), true);
    const stored = await desk.store.reminders.get(key("tea"));
    const at = now + 600_000;
    assert.deepEqual(stored?.tick, { at, due: at, number: 1, attempt: 0 });
    assert.deepEqual(decodePlan(stored!.schedule).schedule, resolveSchedule({ due: "10m", every: "1h" }, now));
    assert.deepEqual([desk.wrote, desk.held], [[at], []]);
  });

  it("the writer shows a stored reminder and a future one in the same way", async () => {
    const desk = new Desk();
    const write = desk.book.set(key("tea"), { due: "10m", every: "1h", times: 3, data: [1, { a: null }] });
    const shown = {
      name: "tea",
      next: desk.clock.now() + 600_000,
      number: 1,
      attempt: 0,
      data: [1, { a: null }],
      schedule: "every 1h, 3 times",
    };
    assert.deepEqual(desk.book.shown(write), shown);
    await desk.book.write(write);
    assert.deepEqual(await desk.book.get(key("tea")), shown);
    assert.deepEqual(await desk.book.list(ACTOR), [shown]);
    assert.equal(await desk.book.get(key("coffee")), undefined);
  });

  it("the writer shows the data of a reminder as it was given, or nothing", async () => {
    const desk = new Desk();
    for (const [i, data] of [undefined, null, 0, "", false, { a: [1] }].entries()) {
      await desk.set(`${i}`, { due: "1h", data });
      assert.deepEqual((await desk.book.get(key(`${i}`)))?.data, data);
    }
  });

  it("the writer lists all reminders of an actor, however many there are, and none of another", async () => {
    const desk = new Desk();
    const count = LIMITS.listPage * 2 + 1;
    const names = Array.from({ length: count }, (_, i) => `${i}`.padStart(5, "0"));
    await desk.store.reminders.write(names.map((name) => desk.book.set(key(name), { due: "1h" })));
    await desk.store.reminders.write([desk.book.set(key("other", "Bell", "b"), { due: "1h" })]);
    assert.deepEqual(
      (await desk.book.list(ACTOR)).map(({ name }) => name),
      names,
    );
  });

  it("the writer hands over a reminder with a lease, counted from before the request", async () => {
    const desk = new Desk();
    desk.lease = { token: "mine", leaseMs: 30_000 };
    await desk.clock.advance(500);
    await desk.set("tea", { due: "1s" });
    const [held] = desk.held;
    assert.deepEqual([held?.token, held?.leaseMs, held?.key.name, held?.askedAt], ["mine", 30_000, "tea", 500]);
    assert.deepEqual([desk.wrote, desk.answered], [[], 1]);
    const stored = await desk.store.reminders.get(key("tea"));
    assert.deepEqual([stored?.generation, stored?.leasedUntil], [held?.generation, desk.clock.now() + 30_000]);
  });

  it("the writer reserves no place for a failed write", async () => {
    const desk = new Desk();
    desk.lease = { token: "mine", leaseMs: 30_000 };
    await desk.set("tea", { due: "1s" }, true);
    await desk.set("tea", { due: "1s" }, true);
    await desk.store.close();
    const failing = desk.set("coffee", { due: "1s" });
    failing.catch(() => {});
    await desk.clock.advance(5_000);
    await assert.rejects(failing);
    assert.deepEqual([desk.answered, desk.held.length], [3, 1]);
  });

  it("the writer reports whether a new reminder exists already, and leaves the existing one alone", async () => {
    const desk = new Desk();
    assert.equal(await desk.set("tea", { due: "1h" }, true), true);
    assert.equal(await desk.set("tea", { due: "2h" }, true), false);
    assert.equal((await desk.book.get(key("tea")))?.next, desk.clock.now() + 3_600_000);
    assert.equal(desk.changed.length, 1);
  });

  it("the writer recognizes its own new reminder when the answer to the first attempt was lost", async () => {
    const desk = new Desk();
    const losing = (): void => {
      const { write } = desk.store.reminders;
      desk.store.reminders.write = async (batch) => {
        desk.store.reminders.write = write;
        await write.call(desk.store.reminders, batch);
        await between?.();
        throw new LimpetError("COMMIT_UNKNOWN", "no answer");
      };
    };
    let between: (() => Promise<unknown>) | undefined;
    const setNew = async (name: string): Promise<boolean> => {
      losing();
      const asked = desk.set(name, { due: "1h", data: "same" }, true);
      asked.catch(() => {});
      await desk.clock.advance(100);
      return asked;
    };
    desk.lease = { token: "mine", leaseMs: 30_000 };
    assert.equal(await setNew("tea"), true);
    const stored = await desk.store.reminders.get(key("tea"));
    assert.deepEqual([desk.held.length, desk.held[0]?.generation], [1, stored?.generation]);
    // A reminder of another writer is not confused with it, even if it is equal in every other way.
    between = async () => {
      await desk.store.reminders.write([{ kind: "cancel", key: key("coffee") }]);
      await desk.store.reminders.write([desk.book.set(key("coffee"), { due: "1h", data: "same" }, true)]);
    };
    await assert.rejects(setNew("coffee"), (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    // Without an ambiguous attempt it is as ever.
    assert.equal(await desk.set("tea", { due: "1h", data: "same" }, true), false);
  });

  it("the writer shows an unreadable reminder as damaged, and the others as they are", async () => {
    const desk = new Desk();
    const good = desk.book.set(key("good"), { due: "1h", data: 7 });
    const bad = { ...good, key: key("bad"), content: { ...good.content, schedule: "{" } };
    const odd = { ...good, key: key("odd"), content: { ...good.content, data: '{"$":"nonsense"}' } };
    await desk.store.reminders.write([good, bad, odd]);
    const seen = await desk.book.list(ACTOR);
    assert.deepEqual(
      seen.map(({ name, schedule, data }) => [name, schedule, data]),
      [
        ["bad", "cannot be read", undefined],
        ["good", "once", 7],
        ["odd", "cannot be read", undefined],
      ],
    );
    assert.match(seen[0]?.damaged ?? "", /schedule cannot be read/);
    assert.match(seen[2]?.damaged ?? "", /data cannot be read/);
    assert.equal(seen[1]?.damaged, undefined);
    assert.deepEqual(await desk.book.get(key("bad")), seen[0]);
  });

  it("the writer notifies the processor of changes: after its own writes and after writes of turns", async () => {
    const desk = new Desk();
    await desk.set("tea", { due: "1h" });
    await desk.book.write({ kind: "cancel", key: key("tea") });
    desk.book.written([
      desk.book.set(key("late"), { due: "2h" }),
      desk.book.set(key("soon"), { due: "1s" }),
      { kind: "cancel", key: key("gone") },
    ]);
    assert.deepEqual(
      desk.changed.map(({ name }) => name),
      ["tea", "tea", "late", "soon", "gone"],
    );
    assert.deepEqual(desk.wrote, [desk.clock.now() + 3_600_000, desk.clock.now() + 1_000]);
    desk.book.written([{ kind: "cancel", key: key("gone") }]);
    assert.equal(desk.wrote.length, 2);
  });

  it("the writer rejects invalid options before anything is written", () => {
    const { book } = new Desk();
    const refused: readonly [ReminderOptions, RegExp][] = [
      [{}, /^schedule: /],
      [undefined as unknown as ReminderOptions, /^schedule: /],
      ["10m" as ReminderOptions, /^reminder: .*\{ due: "10m" \}/],
      [{ due: "soon" }, /^due: /],
      [{ due: 0, data: () => {} }, /^data/],
      [{ due: 0, onFailure: { attempts: 0 } }, /^onFailure/],
    ];
    for (const [options, what] of refused) {
      assert.throws(
        () => book.set(key("tea"), options),
        (error) => isLimpetError(error, "REMINDER_INVALID") && what.test(error.message),
      );
    }
  });

  it("the writer rejects too large data, counted in bytes", () => {
    const { book } = new Desk();
    const fits = "x".repeat(LIMITS.reminderBytes - 2);
    book.set(key("tea"), { due: 0, data: fits });
    for (const data of [`${fits}x`, "é".repeat(LIMITS.reminderBytes / 2)]) {
      assert.throws(
        () => book.set(key("tea"), { due: 0, data }),
        (error) => isLimpetError(error, "REMINDER_INVALID") && /bytes; the limit is/.test(error.message),
      );
    }
  });
});

describe("schedules for display", () => {
  const NOW = Date.UTC(2030, 0, 1);
  for (const [options, text] of [
    [{ due: "5m" }, "once"],
    [{ every: "15m" }, "every 15m"],
    [{ every: "P1M2DT3H" }, "every 1 month 2 days 3h (UTC)"],
    [{ every: "R5/PT10S" }, "every 10s, 5 times"],
    [{ cron: "0 9 * * 1", timezone: "Europe/Paris" }, "cron 0 9 * * 1 (Europe/Paris)"],
    [{ every: "1h", until: "2030-02-01T00:00:00Z" }, "every 1h until 2030-02-01T00:00:00.000Z"],
  ] as const) {
    it(`the schedule ${JSON.stringify(options)} is shown as "${text}"`, () =>
      assert.equal(showSchedule(resolveSchedule(options, NOW)), text));
  }
});
