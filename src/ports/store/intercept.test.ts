import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { interceptMethods, interceptStore, replaceMethods } from "./intercept.ts";

const KEY = { namespace: "n", type: "Cart", id: "a" };

test("a decorator of a store gets every request to the store and to its parts, and may answer it", async () => {
  const store = new MemoryStore(() => 1_000);
  const seen: string[] = [];
  const view = interceptStore(store, (part, method, args, next) => {
    seen.push(`${part}.${method}/${args.length}`);
    return method === "rememberedShards" ? Promise.resolve([7]) : next();
  });
  const [taken] = await view.take([{ ...KEY, owner: "me" }]);
  assert.equal(taken?.epoch, (await store.find(KEY))?.epoch);
  assert.deepEqual(await view.reminders.count("n", 1), { all: 0, overdue: 0, dead: 0 });
  assert.deepEqual(await view.workflows.renew([{ ref: 1, token: "t" }], 1), [1]);
  assert.deepEqual(await view.coordination.members(), []);
  assert.deepEqual(await view.shards.rememberedShards("n", "Cart"), [7]);
  const asked = ["actors.take/1", "reminders.count/2", "workflows.renew/2", "coordination.members/0"];
  assert.deepEqual(seen, [...asked, "shards.rememberedShards/2"]);
  assert.deepEqual([view.location, view.lanes, view.eager], ["memory", 1, 512]);
});

test("a decorator calls the method that the decorated object has at the time of the call", async () => {
  const { reminders } = new MemoryStore();
  const view = interceptMethods(reminders, (_, __, next) => next());
  reminders.forget = async () => true;
  assert.equal(await view.forget({ ...KEY, name: "pay" }), true);
});

test("a replaced method answers instead of the original one, and the other methods stay", async () => {
  const { coordination } = new MemoryStore();
  const view = replaceMethods(coordination, { secret: async () => "replaced" });
  assert.equal(await view.secret("offer"), "replaced");
  assert.equal(await coordination.secret("offer"), "offer");
  assert.deepEqual(await view.members(), []);
});
