import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMITS } from "../kernel/limits.ts";
import { newCandidate } from "./contract/coordination-shared.contract.ts";
import { campaigned, type ListedMember, NOBODY_YET, type Roll, standingOf } from "./leadership.ts";

const listed = (number: number, as: Partial<ListedMember> = {}): ListedMember => ({
  incarnation: `${number}`,
  address: `${number}`,
  machine: "",
  pid: number,
  dedicated: false,
  leaseMs: 1_000,
  until: 1_000,
  ...as,
});

test("there is no term before a scheduler has led", () => {
  const roll: Roll = { leadership: NOBODY_YET, listed: [listed(1, { dedicated: true })] };
  const me = newCandidate();
  const after = campaigned(roll, me, [], 500);
  assert.equal(after.leadership, NOBODY_YET);
  const { term, leading, leader, hostLeaseMs } = standingOf(after, me.incarnation);
  assert.deepEqual([term, leading, leader, hostLeaseMs], [0, false, undefined, 0]);
});

test("one scheduler too many is rejected, unless it is listed already or others have left", () => {
  const full: Roll = {
    leadership: NOBODY_YET,
    listed: Array.from({ length: LIMITS.schedulers }, (_, i) => listed(i)),
  };
  const refusal = { code: "STORE_UNAVAILABLE", message: /more than 10000 schedulers in the store/ };
  assert.throws(() => campaigned(full, newCandidate(), [], 500), refusal);
  assert.equal(campaigned(full, newCandidate({ incarnation: "7" }), [], 500).listed.length, LIMITS.schedulers);
  assert.equal(campaigned(full, newCandidate(), ["7"], 500).listed.length, LIMITS.schedulers);
  assert.equal(campaigned(full, newCandidate(), [], 1_000).listed.length, 1);
});

test("a part of the roll that a campaign does not change is the same object, so that it need not be written", () => {
  const [leader, other] = [listed(1), listed(2)];
  const roll: Roll = { leadership: { ...NOBODY_YET, term: 3, holder: leader }, listed: [leader, other] };
  const after = campaigned(roll, newCandidate(), [], 500);
  assert.equal(after.leadership, roll.leadership);
  assert.deepEqual([after.listed[0] === leader, after.listed[1] === other], [true, true]);
});
