import assert from "node:assert/strict";
import { test } from "node:test";
import { compareInTurn } from "./in-turn.ts";

test("both are measured equally often, and neither always begins", async () => {
  const order: string[] = [];
  const rate = (name: string) => async () => {
    order.push(name);
    return 1;
  };
  await compareInTurn(0, rate("a"), rate("b"));
  assert.deepEqual(order.join(""), "abbaabbaab");
});

test("a machine that becomes slower and slower changes the rates, but not their ratio", async () => {
  let measured = 0;
  // Both of a turn run at the same speed; the next turn at half of it.
  const rate = (factor: number) => async () => factor * 2 ** -(measured++ >> 1);
  const { one, other, ratio } = await compareInTurn(0, rate(50), rate(100));
  assert.equal(ratio, 0.5);
  assert.deepEqual([one, other], [12.5, 25]);
});

test("a single turn that was disturbed does not change the result", async () => {
  let turn = 0;
  const { one, other, ratio } = await compareInTurn(
    0,
    async () => (turn++ === 2 ? 1 : 100),
    async () => 100,
  );
  assert.deepEqual({ one, other, ratio }, { one: 100, other: 100, ratio: 1 });
});
