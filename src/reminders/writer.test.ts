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
class TestHost {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly storeClock = new StoreClock(this.clock);
  lease: OwnLease | undefined;
  unreserved = 0;
  readonly adopted: (ClaimedReminder & OwnLease & { readonly askedAt: number })[] = [];
  readonly expected: number[] = [];
  readonly changed: ReminderKey[] = [];
  readonly writer = new BatchedReminderWriter({
    clock: this.clock,
    random: new Prng("book"),
    store: this.store.reminders,
    storeClock: this.storeClock,
    patienceMs: 1_000,
    ownLease: () => this.lease,
    unreserve: () => void this.unreserved++,
    adopt: (reminder, lease, askedAt) => this.adopted.push({ ...reminder, ...lease, askedAt }),
    expect: (at) => this.expected.push(at),
    invalidate: (changed) => this.changed.push(changed),
  });

  set(name: string, options: ReminderOptions, isNew = false): Promise<boolean> {
    return this.writer.write(this.writer.set(key(name), options, isNew));
  }
}

describe("the writer of reminders", () => {
  it("the writer stores the options, counted from the time of the store", async () => {
    const host = new TestHost();
    host.storeClock.observe(host.clock.now() + 3_600_000, host.clock.monotonic());
    const now = Math.round(host.storeClock.now());
    assert.equal(await host.set("tea", { due: "10m", every: "1h", data: { cups: 2 } }), true);
    const stored = await host.store.reminders.get(key("tea"));
    const at = now + 600_000;
    assert.deepEqual(stored?.tick, { at, due: at, number: 1, attempt: 0 });
    assert.deepEqual(decodePlan(stored!.schedule).schedule, resolveSchedule({ due: "10m", every: "1h" }, now));
    assert.deepEqual([host.expected, host.adopted], [[at], []]);
  });

  it("the writer shows a stored reminder and a future one in the same way", async () => {
    const host = new TestHost();
    const write = host.writer.set(key("tea"), { due: "10m", every: "1h", times: 3, data: [1, { a: null }] });
    const shown = {
      name: "tea",
      next: host.clock.now() + 600_000,
      number: 1,
      attempt: 0,
      data: [1, { a: null }],
      schedule: "every 1h, 3 times",
    };
    assert.deepEqual(host.writer.shown(write), shown);
    await host.writer.write(write);
    assert.deepEqual(await host.writer.get(key("tea")), shown);
    assert.deepEqual(await host.writer.list(ACTOR), [shown]);
    assert.equal(await host.writer.get(key("coffee")), undefined);
  });

  it("the writer shows the data of a reminder as it was given, or nothing", async () => {
    const host = new TestHost();
    for (const [i, data] of [undefined, null, 0, "", false, { a: [1] }].entries()) {
      await host.set(`${i}`, { due: "1h", data });
      assert.deepEqual((await host.writer.get(key(`${i}`)))?.data, data);
    }
  });

  it("the writer lists all reminders of an actor, however many there are, and none of another", async () => {
    const host = new TestHost();
    const count = LIMITS.listPage * 2 + 1;
    const names = Array.from({ length: count }, (_, i) => `${i}`.padStart(5, "0"));
    await host.store.reminders.write(names.map((name) => host.writer.set(key(name), { due: "1h" })));
    await host.store.reminders.write([host.writer.set(key("other", "Bell", "b"), { due: "1h" })]);
    assert.deepEqual(
      (await host.writer.list(ACTOR)).map(({ name }) => name),
      names,
    );
  });

  it("the writer hands over a reminder with a lease, counted from before the request", async () => {
    const host = new TestHost();
    host.lease = { token: "mine", leaseMs: 30_000 };
    await host.clock.advance(500);
    await host.set("tea", { due: "1s" });
    const [adopted] = host.adopted;
    assert.deepEqual(
      [adopted?.token, adopted?.leaseMs, adopted?.key.name, adopted?.askedAt],
      ["mine", 30_000, "tea", 500],
    );
    assert.deepEqual([host.expected, host.unreserved], [[], 1]);
    const stored = await host.store.reminders.get(key("tea"));
    assert.deepEqual([stored?.generation, stored?.leasedUntil], [adopted?.generation, host.clock.now() + 30_000]);
  });

  it("the writer reserves no place for a failed write", async () => {
    const host = new TestHost();
    host.lease = { token: "mine", leaseMs: 30_000 };
    await host.set("tea", { due: "1s" }, true);
    await host.set("tea", { due: "1s" }, true);
    await host.store.close();
    const failing = host.set("coffee", { due: "1s" });
    failing.catch(() => {});
    await host.clock.advance(5_000);
    await assert.rejects(failing);
    assert.deepEqual([host.unreserved, host.adopted.length], [3, 1]);
  });

  it("the writer reports whether a new reminder exists already, and leaves the existing one alone", async () => {
    const host = new TestHost();
    assert.equal(await host.set("tea", { due: "1h" }, true), true);
    assert.equal(await host.set("tea", { due: "2h" }, true), false);
    assert.equal((await host.writer.get(key("tea")))?.next, host.clock.now() + 3_600_000);
    assert.equal(host.changed.length, 1);
  });

  it("the writer recognizes its own new reminder when the answer to the first attempt was lost", async () => {
    const host = new TestHost();
    const losing = (): void => {
      const { write } = host.store.reminders;
      host.store.reminders.write = async (batch) => {
        host.store.reminders.write = write;
        await write.call(host.store.reminders, batch);
        await between?.();
        throw new LimpetError("COMMIT_UNKNOWN", "no answer");
      };
    };
    let between: (() => Promise<unknown>) | undefined;
    const setNew = async (name: string): Promise<boolean> => {
      losing();
      const asked = host.set(name, { due: "1h", data: "same" }, true);
      asked.catch(() => {});
      await host.clock.advance(100);
      return asked;
    };
    host.lease = { token: "mine", leaseMs: 30_000 };
    assert.equal(await setNew("tea"), true);
    const stored = await host.store.reminders.get(key("tea"));
    assert.deepEqual([host.adopted.length, host.adopted[0]?.generation], [1, stored?.generation]);
    // A reminder of another writer is not confused with it, even if it is equal in every other way.
    between = async () => {
      await host.store.reminders.write([{ kind: "cancel", key: key("coffee") }]);
      await host.store.reminders.write([host.writer.set(key("coffee"), { due: "1h", data: "same" }, true)]);
    };
    await assert.rejects(setNew("coffee"), (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    // Without an ambiguous attempt it is as ever.
    assert.equal(await host.set("tea", { due: "1h", data: "same" }, true), false);
  });

  it("the writer shows an unreadable reminder as damaged, and the others as they are", async () => {
    const host = new TestHost();
    const good = host.writer.set(key("good"), { due: "1h", data: 7 });
    const bad = { ...good, key: key("bad"), content: { ...good.content, schedule: "{" } };
    const odd = { ...good, key: key("odd"), content: { ...good.content, data: '{"$":"nonsense"}' } };
    await host.store.reminders.write([good, bad, odd]);
    const seen = await host.writer.list(ACTOR);
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
    assert.deepEqual(await host.writer.get(key("bad")), seen[0]);
  });

  it("the writer notifies the processor of changes: after its own writes and after writes of turns", async () => {
    const host = new TestHost();
    await host.set("tea", { due: "1h" });
    await host.writer.write({ kind: "cancel", key: key("tea") });
    host.writer.written([
      host.writer.set(key("late"), { due: "2h" }),
      host.writer.set(key("soon"), { due: "1s" }),
      { kind: "cancel", key: key("gone") },
    ]);
    assert.deepEqual(
      host.changed.map(({ name }) => name),
      ["tea", "tea", "late", "soon", "gone"],
    );
    assert.deepEqual(host.expected, [host.clock.now() + 3_600_000, host.clock.now() + 1_000]);
    host.writer.written([{ kind: "cancel", key: key("gone") }]);
    assert.equal(host.expected.length, 2);
  });

  it("the writer rejects invalid options before anything is written", () => {
    const { writer } = new TestHost();
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
        () => writer.set(key("tea"), options),
        (error) => isLimpetError(error, "REMINDER_INVALID") && what.test(error.message),
      );
    }
  });

  it("the writer rejects too large data, counted in bytes", () => {
    const { writer } = new TestHost();
    const fits = "x".repeat(LIMITS.reminderBytes - 2);
    writer.set(key("tea"), { due: 0, data: fits });
    for (const data of [`${fits}x`, "é".repeat(LIMITS.reminderBytes / 2)]) {
      assert.throws(
        () => writer.set(key("tea"), { due: 0, data }),
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
