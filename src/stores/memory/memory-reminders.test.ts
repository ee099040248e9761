import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR, Place } from "../contract/reminders-shared.contract.ts";
import { remindersContract } from "../reminders.contract.ts";
import { MemoryStore } from "./memory-store.ts";

remindersContract("memory", async () => {
  let passed = 0;
  const store = new MemoryStore(() => Date.now() + passed);
  return {
    store,
    advance: async (ms) => {
      passed += ms;
    },
    dispose: () => store.close(),
  };
});

test("a reminder can be claimed in the very moment it is due, and again in the very moment its lease ends, and not before", async () => {
  let now = 1_000_000;
  const it = new Place(new MemoryStore(() => now));
  await it.set(it.key("tea"), { at: now + HOUR });
  now += HOUR - 1;
  assert.equal((await it.claim()).next, now + 1);
  now += 1;
  assert.deepEqual(await it.names({ leaseMs: HOUR }), ["tea"]);
  now += HOUR - 1;
  assert.equal((await it.claim()).next, now + 1);
  now += 1;
  assert.deepEqual(await it.names(), ["tea"]);
});
