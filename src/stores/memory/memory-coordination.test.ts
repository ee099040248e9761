import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR, manyNew, newCandidate, newMember, save } from "../contract/coordination-shared.contract.ts";
import { coordinationContract } from "../coordination.contract.ts";
import { MemoryStore } from "./memory-store.ts";

coordinationContract("memory", async () => {
  let passed = 0;
  const store = new MemoryStore(() => Date.now() + passed);
  return {
    store,
    advance: async (ms) => {
      passed += ms;
    },
    addMany: async (count) => {
      const { term } = await store.coordination.campaign(newCandidate());
      for (const changes of manyNew(count)) await store.coordination.persist(term, changes);
    },
    dispose: () => store.close(),
  };
});

test("leadership ends in the very moment its lease ends, and not before", async () => {
  let now = 1_000_000;
  const { coordination } = new MemoryStore(() => now);
  const [first, second] = [newCandidate({ leaseMs: HOUR }), newCandidate()];
  await coordination.campaign(first);
  now += HOUR - 1;
  assert.equal((await coordination.campaign(second)).leading, false);
  now += 1;
  const { term, leading, schedulers } = await coordination.campaign(second);
  assert.deepEqual([term, leading, schedulers.length], [2, true, 1]);
});

test("later changes of a caller's objects change nothing in the store", async () => {
  const { coordination } = new MemoryStore();
  const types = ["Cart"];
  const { term } = await coordination.campaign(newCandidate());
  await coordination.persist(term, [save(newMember({ types }))]);
  types.push("Order");
  assert.deepEqual((await coordination.members())[0]?.types, ["Cart"]);
});
