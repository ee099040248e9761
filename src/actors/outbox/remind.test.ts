// The arguments of a tick: in a form that links carry without conversion, and equal on arrival.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import type { Settlement } from "../../ports/store/reminders.ts";
import { dataOf, ownError, type RemindArguments, remindArguments, settlementOf, tickOf } from "./remind.ts";

const TICK = { at: 70, due: 60, number: 3, attempt: 2 };
const DONE: Settlement = { kind: "done", generation: 9, token: "t" };
const NEXT: Settlement = {
  kind: "next",
  generation: 9,
  token: "t",
  leaseMs: undefined,
  tick: { at: 80, due: 75, number: 4, attempt: 0 },
};

describe("the call that delivers a tick", () => {
  for (const settlement of [DONE, NEXT]) {
    test(`the call carries its tick and its settlement, ${settlement.kind}`, () => {
      const args = remindArguments("tea", '{"cups":2}', TICK, settlement);
      assert.equal(args[0], "tea");
      assert.deepEqual(tickOf(args), { due: 60, number: 3, attempt: 2 });
      assert.deepEqual(settlementOf(args), settlement);
      assert.deepEqual(dataOf(args), { cups: 2 });
    });

    test(`the call has no argument that needs to be serialized as text, ${settlement.kind}`, () => {
      for (const data of [undefined, "1", '{"cups":2}']) {
        const kinds = remindArguments("tea", data, TICK, settlement).map((one) => (one === null ? "null" : typeof one));
        assert.deepEqual(
          kinds.filter((kind) => !["string", "number", "null"].includes(kind)),
          [],
        );
      }
    });
  }

  test("the call has no data when none is stored, and null when null is stored", () => {
    assert.equal(dataOf(remindArguments("tea", undefined, TICK, DONE)), undefined);
    assert.equal(dataOf(remindArguments("tea", "null", TICK, DONE)), null);
  });

  test("a call with unreadable data fails, but not as a failure of the handler", () => {
    const args: RemindArguments = remindArguments("tea", "{", TICK, DONE);
    assert.throws(
      () => dataOf(args),
      (error) => (ownError(error) as LimpetError).code === "REMINDER_DAMAGED",
    );
    const own = ownError(new LimpetError("REMINDER_DAMAGED", "of another one"));
    assert.equal((own as LimpetError).code, "ACTOR_FAILED");
  });
});
