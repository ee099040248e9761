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
class TestHost {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly calls: string[] = [];
  readonly writer = new BatchedReminderWriter({
    clock: this.clock,
    random: new Prng("book"),
    store: this.store.reminders,
    storeClock: new StoreClock(this.clock),
    patienceMs: 1_000,
    ownLease: (_, at) => (at <= this.clock.now() + 5_000 ? LEASE : undefined),
    unreserve: (type) => void this.calls.push(`unreserve ${type}`),
    adopt: ({ generation, key: { name } }, { token }, askedAt) =>
      void this.calls.push(`adopt ${name} ${generation} ${token} ${askedAt}`),
    expect: (at) => void this.calls.push(`expect ${at - this.clock.now()}`),
    invalidate: ({ name }) => void this.calls.push(`invalidate ${name}`),
  });

  send(): SentReminders {
    const writes: ReminderWrite[] = [
      this.writer.set(key("tea"), { due: "1s" }),
      this.writer.set(key("late"), { due: "1h" }),
      { kind: "cancel", key: key("gone") },
    ];
    return this.writer.send(writes);
  }
}

describe("reminders written with a commit", () => {
  it("a reminder of a commit has a lease if it is due soon", () => {
    const leases = new TestHost().send().writes.map((write) => (write.kind === "set" ? write.lease : "none"));
    assert.deepEqual(leases, [LEASE, undefined, "none"]);
  });

  it("a reminder is handed over when the commit succeeds, with a lease from before it was sent", async () => {
    const host = new TestHost();
    const sent = host.send();
    await host.clock.advance(500);
    sent.committed([7, undefined, undefined]);
    assert.deepEqual(host.calls, [
      ...["invalidate tea", "unreserve Bell", "adopt tea 7 mine 0"],
      ...["invalidate late", "expect 3599500", "invalidate gone"],
    ]);
  });

  it("a reminder is dropped when the commit fails", () => {
    const host = new TestHost();
    host.send().failed();
    host.send().failed(new LimpetError("STORE_UNAVAILABLE", "it is away"));
    assert.deepEqual(host.calls, ["unreserve Bell", "unreserve Bell"]);
  });

  for (const [what, ends] of [
    ["had happened before", (sent: SentReminders) => sent.committed(undefined)],
    ["may have happened", (sent: SentReminders) => sent.failed(UNKNOWN)],
  ] as const) {
    it(`a reminder is read back when the commit ${what}, and verified before its delivery`, async () => {
      const host = new TestHost();
      const sent = host.send();
      await host.store.reminders.write(sent.writes);
      ends(sent);
      await host.clock.advance(100);
      assert.deepEqual(host.calls.slice(-3), ["unreserve Bell", "adopt tea 1 mine 0", "invalidate tea"]);
    });

    it(`a reminder is left to the next claim when the commit ${what} and its row is free or missing`, async () => {
      for (const isThere of [true, false]) {
        const host = new TestHost();
        const sent = host.send();
        if (isThere) await host.store.reminders.write([host.writer.set(key("tea"), { due: "1s" })]);
        ends(sent);
        await host.clock.advance(100);
        assert.deepEqual(host.calls.slice(-2), ["unreserve Bell", "expect 1000"]);
        assert.ok(!host.calls.some((text) => text.startsWith("adopt")));
      }
    });
  }

  it("a reminder is read again while the store does not answer, within its patience", async () => {
    for (const [failures, isFound] of [
      [3, true],
      [1_000, false],
    ] as const) {
      const host = new TestHost();
      const sent = host.send();
      await host.store.reminders.write(sent.writes);
      const get = host.store.reminders.get.bind(host.store.reminders);
      let asked = 0;
      host.store.reminders.get = async (wanted) => {
        if (++asked <= failures) throw new LimpetError("STORE_UNAVAILABLE", "it is away");
        return get(wanted);
      };
      sent.failed(UNKNOWN);
      assert.equal(host.calls.length, 0);
      await host.clock.advance(10_000);
      assert.equal(host.calls.filter((text) => text === "unreserve Bell").length, 1);
      assert.equal(host.calls.includes("adopt tea 1 mine 0"), isFound);
    }
  });
});
