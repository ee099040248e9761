import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClaimedReminder } from "../ports/store/reminders.ts";
import { ClaimPlan } from "./claim-plan.ts";
import { FairCapacity } from "./fair-capacity.ts";

const SETTINGS = { namespace: "default", pollMs: 2_500, aheadMs: 5_000, batchSize: 10, leaseMs: 30_000 };

function planning(places = 100) {
  const capacity = new FairCapacity(places);
  return { capacity, plan: new ClaimPlan(SETTINGS, capacity) };
}

const rows = (count: number, type: string): ClaimedReminder[] =>
  Array.from({ length: count }, () => ({ key: { type } }) as ClaimedReminder);

describe("the claim plan", () => {
  it("a full claim is followed by a claim of the other types, then of all types", () => {
    const { plan } = planning();
    const first = plan.next(["A", "B"])!;
    assert.deepEqual(first, { types: ["A", "B"], limit: 10, aheadMs: 5_000 });
    assert.equal(plan.claimed(first, rows(10, "A")), true);
    const second = plan.next(["A", "B"])!;
    assert.deepEqual(second.types, ["B"]);
    assert.equal(plan.claimed(second, rows(3, "B")), true);
    const third = plan.next(["A", "B"])!;
    assert.deepEqual(third.types, ["A", "B"]);
    assert.equal(plan.claimed(third, rows(9, "A")), false);
  });

  it("a claim is limited to near reminders when half of the capacity is in use", () => {
    const { plan, capacity } = planning();
    for (let i = 0; i < 45; i++) capacity.take("A");
    assert.deepEqual(plan.next(["A"]), { types: ["A"], limit: 5, aheadMs: 5_000 });
    for (let i = 0; i < 5; i++) capacity.take("A");
    assert.deepEqual(plan.next(["A"]), { types: ["A"], limit: 10, aheadMs: 250 });
    assert.equal(plan.horizonMs, 250);
  });

  it("a type without free capacity is left out until enough of its reminders are done", () => {
    const { plan, capacity } = planning(16);
    for (let i = 0; i < 16; i++) capacity.take("A");
    assert.equal(plan.next(["A"]), undefined);
    assert.equal(plan.pauseMs(60_000), SETTINGS.pollMs);
    const isWorth: boolean[] = [];
    for (let i = 0; i < 5; i++) {
      capacity.free("A");
      isWorth.push(plan.capacityFreed());
    }
    assert.deepEqual(isWorth, [false, false, false, true, false]);
  });

  it("a reminder beyond the next poll needs no claim of its own", () => {
    const { plan } = planning();
    assert.equal(plan.pauseUntilDue(-1_000), 1);
    assert.equal(plan.pauseUntilDue(6_000), 1_000);
    assert.equal(plan.pauseUntilDue(7_501), undefined);
    plan.notified();
    assert.equal(plan.pauseUntilDue(7_501), 2_501);
  });
});
