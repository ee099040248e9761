import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LimpetError } from "../../../kernel/errors.ts";
import type { ReminderWrite, Settlement, Tick } from "../../../ports/store/reminders.ts";
import type { Commit } from "../../../ports/store/store.ts";
import { mayRepeat, type Verbs } from "../thread/verbs.ts";
import {
  type ClaimedRow,
  packAttachedReminders,
  packClaimed,
  packSettlements,
  packWrites,
  unpackAttachedReminders,
  unpackClaimed,
  unpackReminderOutcomes,
  unpackSettlements,
  unpackWrites,
} from "./messages.ts";

/** Plain objects, as callers create them. */
const record = <T>(of: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(of, { noNullPrototype: true });
const text = fc.string({ unit: "grapheme", maxLength: 5 });
const count = fc.nat();
const tick: fc.Arbitrary<Tick> = record({ at: count, due: count, number: count, attempt: count });
const key = record({ namespace: text, type: text, id: text, name: text });
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
const write: fc.Arbitrary<ReminderWrite> = fc.oneof(
  record({ kind: fc.constant("cancel" as const), key }),
  record({
    kind: fc.constant("set" as const),
    key,
    tick,
    isNew: fc.boolean(),
    content: record({ schedule: text, data: maybe(text) }),
    lease: maybe(record({ token: text, leaseMs: count })),
  }),
);
const held = { generation: count, token: fc.constantFrom("a", "b", "c") };
const settlement: fc.Arbitrary<Settlement> = fc.oneof(
  record({ kind: fc.constantFrom("done" as const, "release" as const), ...held }),
  record({ kind: fc.constant("next" as const), tick, leaseMs: maybe(count), ...held }),
  record({ kind: fc.constant("dead" as const), tick, error: text, ...held }),
);

test("encoded writes and settlements are decoded unchanged", () => {
  fc.assert(
    fc.property(fc.array(write), fc.array(settlement), (writes, settlements) => {
      assert.deepEqual(unpackWrites(packWrites(writes)), writes);
      assert.deepEqual(unpackSettlements(packSettlements(settlements)), settlements);
    }),
  );
});

test("claimed reminders are decoded as they were encoded", () => {
  const row: fc.Arbitrary<ClaimedRow> = record({
    generation: count,
    typePlace: fc.nat(2),
    id: text,
    name: text,
    tick,
    schedule: text,
    data: fc.option(text),
  });
  fc.assert(
    fc.property(fc.array(row), count, maybe(count), (rows, now, next) => {
      const request = { namespace: "n", types: ["A", "B", "C"], limit: 9, aheadMs: 0, leaseMs: 1, token: "t" };
      assert.deepEqual(unpackClaimed(packClaimed(rows, now, next), request), {
        now,
        next,
        reminders: rows.map(({ generation, typePlace, id, name, tick, schedule, data }) => ({
          generation,
          key: { namespace: "n", type: request.types[typePlace], id, name },
          tick,
          schedule,
          data: data ?? undefined,
        })),
      });
    }),
  );
});

test("attached reminders are decoded with the commit that they belong to", () => {
  const commit = record({
    settle: maybe(fc.array(settlement)),
    reminders: maybe(fc.array(write)),
  });
  fc.assert(
    fc.property(fc.array(commit), (batch) => {
      const attachedReminders = packAttachedReminders(
        batch.map((one): Commit => ({ ref: 1, epoch: 1, version: 1, id: "", write: { kind: "keep" }, ...one })),
      );
      const all = batch.map(({ settle = [], reminders = [] }, place) => ({
        place,
        settlements: settle,
        writes: reminders,
      }));
      const expected = all.filter(({ settlements, writes }) => settlements.length + writes.length > 0);
      assert.deepEqual(attachedReminders ? unpackAttachedReminders(attachedReminders) : [], expected);
    }),
  );
});

test("a commit without attached reminders encodes none", () => {
  assert.equal(packAttachedReminders([{ ref: 1, epoch: 1, version: 1, id: "", write: { kind: "keep" } }]), undefined);
});

test("outcomes describe the result of each write", () => {
  const cancel: ReminderWrite = { kind: "cancel", key: { namespace: "n", type: "T", id: "i", name: "x" } };
  const content = { schedule: "", data: undefined };
  const at = { at: 1, due: 1, number: 1, attempt: 0 };
  const set: ReminderWrite = { kind: "set", key: cancel.key, tick: at, content, lease: undefined, isNew: true };
  assert.deepEqual(unpackReminderOutcomes([1, 0, 7, 0, 1], [cancel, cancel, set, set, set]), [
    { kind: "cancelled", existed: true },
    { kind: "cancelled", existed: false },
    { kind: "set", generation: 7 },
    { kind: "exists" },
    { kind: "set", generation: 1 },
  ]);
});

test("a reminder is not written twice after a COMMIT that may have counted; a commit is, by its id", () => {
  const unknown = new LimpetError("COMMIT_UNKNOWN", "COMMIT failed");
  const refused = new LimpetError("INVARIANT", "another request was invalid");
  const again = (name: keyof Verbs["reminders"], error: LimpetError) =>
    mayRepeat({ feature: "reminders", name, args: [] }, error);
  assert.equal(again("write", refused), true);
  assert.equal(again("write", unknown), false);
  assert.equal(again("settle", unknown), false);
  assert.equal(again("renew", unknown), true);
  assert.equal(mayRepeat({ feature: "store", name: "commit", args: [] }, unknown), true);
});
