// What travels with a tick: as links carry it best, and the same when it arrives.
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

describe("the call by which a tick reaches its actor", () => {
  for (const settlement of [DONE, NEXT]) {
    test(`brings its tick and what is to be stored when it was handled, ${settlement.kind}`, () => {
      const args = remindArguments("tea", '{"cups":2}', TICK, settlement);
      assert.equal(args[0], "tea");
      assert.deepEqual(tickOf(args), { due: 60, number: 3, attempt: 2 });
      assert.deepEqual(settlementOf(args), settlement);
      assert.deepEqual(dataOf(args), { cups: 2 });
    });

    test(`has no argument that would have to be written as text, ${settlement.kind}`, () => {
      for (const data of [undefined, "1", '{"cups":2}']) {
        const kinds = remindArguments("tea", data, TICK, settlement).map((one) => (one === null ? "null" : typeof one));
        assert.deepEqual(
          kinds.filter((kind) => !["string", "number", "null"].includes(kind)),
          [],
        );
      }
    });
  }

  test("has no data when none is stored, and null when that is", () => {
    assert.equal(dataOf(remindArguments("tea", undefined, TICK, DONE)), undefined);
    assert.equal(dataOf(remindArguments("tea", "null", TICK, DONE)), null);
  });

  test("says so when its data cannot be read, and does not take that for a failure of its handler", () => {
    const args: RemindArguments = remindArguments("tea", "{", TICK, DONE);
    assert.throws(
      () => dataOf(args),
      (error) => (ownError(error) as LimpetError).code === "REMINDER_DAMAGED",
    );
    const own = ownError(new LimpetError("REMINDER_DAMAGED", "of another one"));
    assert.equal((own as LimpetError).code, "ACTOR_FAILED");
  });
});
