import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SentCalls, ServedCalls } from "./call-numbers.ts";

test("a number stands for one call until its final answer, and is then reused", () => {
  const operations = fc.array(fc.oneof(fc.constant("add" as const), fc.nat(50)), { maxLength: 200 });
  fc.assert(
    fc.property(operations, (given) => {
      const calls = new SentCalls<{ name: string }>();
      const model = new Map<number, { name: string }>();
      let most = 0;
      for (const operation of given) {
        if (operation === "add") {
          const call = { name: `call ${model.size}` };
          const number = calls.add(call);
          assert.ok(!model.has(number));
          model.set(number, call);
          most = Math.max(most, model.size);
          assert.ok(number < most);
        } else {
          calls.remove(operation);
          model.delete(operation);
        }
        assert.equal(calls.size, model.size);
        for (const [number, call] of model) assert.equal(calls.get(number), call);
      }
      assert.deepEqual(new Set(calls.takeAll()), new Set(model.values()));
      assert.equal(calls.size, 0);
    }),
  );
});

test("a number that was never assigned stands for no call", () => {
  const calls = new SentCalls<string>();
  calls.add("one");
  assert.equal(calls.get(1), undefined);
  assert.equal(calls.get(2 ** 32 - 1), undefined);
  calls.remove(2 ** 32 - 1);
  assert.equal(calls.size, 1);
});

test("the serving side accepts a number once at a time, and only below the limit", () => {
  const calls = new ServedCalls<string>(100);
  assert.ok(calls.put(99, "last"));
  assert.ok(!calls.put(99, "again"));
  assert.ok(!calls.put(100, "beyond"));
  assert.ok(!calls.put(2 ** 32 - 1, "far beyond"));
  assert.ok(calls.put(0, "first"));
  assert.equal(calls.size, 2);
  calls.remove(99);
  calls.remove(99);
  assert.equal(calls.size, 1);
  assert.ok(calls.put(99, "next"));
  assert.deepEqual(calls.takeAll(), ["first", "next"]);
  assert.equal(calls.size, 0);
});
