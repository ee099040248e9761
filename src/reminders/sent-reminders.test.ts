import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import { Prng } from "../kernel/prng.ts";
import type { SentReminders } from "../ports/reminder-writer.ts";
import type { ReminderWrite } from "../ports/store/reminders.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { key } from "./processor-kit.test.ts";
import { StoreClock } from "./store-clock.ts";
import { BatchedReminderWriter } from "./writer.ts";

const LEASE = { token: "mine", leaseMs: 30_000 };
const UNKNOWN = new LimpetError("COMMIT_UNKNOWN", "no answer");

/** A writer with leases for reminders due within five seconds, and its notifications of the processor. */
class Desk {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly told: string[] = [];
  readonly book = new BatchedReminderWriter({
    clock: this.clock,
    random: new Prng("book"),
    store: this.store.reminders,
    storeClock: new StoreClock(this.clock),
    patienceMs: 1_000,
    ownLease: (_, at) => (at <= this.clock.now() + 5_000 ? LEASE : undefined),
    answered: (type) => void this.told.push(`answered ${type}`),
    holds: ({ generation, key: { name } }, { token }, askedAt) =>
      void this.told.push(`holds ${name} ${generation} ${token} ${askedAt}`),
    wrote: (at) => void this.told.push(`wrote ${at - this.clock.now()}`),
    changed: ({ name }) => void this.told.push(`changed ${name}`),
  });

  send(): SentReminders {
    const writes: ReminderWrite[] = [
      this.book.set(key("tea"), { due: "1s" }),
      this.book.set(key("late"), { due: "1h" }),
      { kind: "cancel", key: key("gone") },
    ];
    return this.book.send(writes);
  }
}

describe("reminders written with a commit", () => {
  it("a reminder of a commit has a lease if it is due soon", () => {
    const leases = new Desk().send().writes.map((write) => (write.kind === "set" ? write.lease : "none"));
    assert.deepEqual(leases, [LEASE, undefined, "none"]);
  });

  it("a reminder is handed over when the commit succeeds, with a lease from before it was sent", async () => {
    const desk = new Desk();
    const sent = desk.send();
    await desk.clock.advance(500);
    sent.committed([7, undefined, undefined]);
    assert.deepEqual(desk.told, [
      ...["changed tea", "answered Bell", "holds tea 7 mine 0"],
      ...["changed late", "wrote 3599500", "changed gone"],
    ]);
  });

  it("a reminder is dropped when the commit fails", () => {
    const desk = new Desk();
    desk.send().failed();
    desk.send().failed(new LimpetError("STORE_UNAVAILABLE", "it is away"));
    assert.deepEqual(desk.told, ["answered Bell", "answered Bell"]);
  });

  for (const [what, ends] of [
    ["had happened before", (sent: SentReminders) => sent.committed(undefined)],
    ["may have happened", (sent: SentReminders) => sent.failed(UNKNOWN)],
  ] as const) {
    it(`a reminder is read back when the commit ${what}, and verified before its delivery`, async () => {
      const desk = new Desk();
      const sent = desk.send();
      await desk.store.reminders.write(sent.writes);
      ends(sent);
      await desk.clock.advance(100);
      assert.deepEqual(desk.told.slice(-3), ["answered Bell", "holds tea 1 mine 0", "changed tea"]);
    });

    it(`a reminder is left to the next claim when the commit ${what} and its row is free or missing`, async () => {
      for (const isThere of [true, false]) {
        const desk = new Desk();
        const sent = desk.send();
        if (isThere) await desk.store.reminders.write([desk.book.set(key("tea"), { due: "1s" })]);
        ends(sent);
        await desk.clock.advance(100);
        assert.deepEqual(desk.told.slice(-2), ["answered Bell", "wrote 1000"]);
        assert.ok(!desk.told.some((text) => text.startsWith("holds")));
      }
    });
  }

  it("a reminder is read again while the store does not answer, within its patience", async () => {
    for (const [failures, isFound] of [
      [3, true],
      [1_000, false],
    ] as const) {
      const desk = new Desk();
      const sent = desk.send();
      await desk.store.reminders.write(sent.writes);
      const get = desk.store.reminders.get.bind(desk.store.reminders);
      let asked = 0;
      desk.store.reminders.get = async (wanted) => {
        if (++asked <= failures) throw new LimpetError("STORE_UNAVAILABLE", "it is away");
        return get(wanted);
      };
      sent.failed(UNKNOWN);
      assert.equal(desk.told.length, 0);
      await desk.clock.advance(10_000);
      assert.equal(desk.told.filter((text) => text === "answered Bell").length, 1);
      assert.equal(desk.told.includes("holds tea 1 mine 0"), isFound);
    }
  });
});
