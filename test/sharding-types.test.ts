// TypeScript inference for shards: valid options, messages of a region, and operations on shards. The
// assertions are types: `npm run check` compiles this file. The test at the end runs the calls that must
// compile.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Actor, type ActorOptions, type App, type Region, type ShardStrategy, sharded } from "../src/index.ts";
import { testLimpet } from "../src/testing.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <_Holds extends true>(): void => {};

class Counter extends Actor<{ count: number }> {
  static options = { placement: sharded({ shards: 10, messageId: (m) => m.counter }) } satisfies ActorOptions;
  initial() {
    return { count: 0 };
  }
  add(message: { counter: string; by: number }, times = 1) {
    this.state.count += message.by * times;
    return this.state.count;
  }
  read() {
    return this.state.count;
  }
}

const first: ShardStrategy = { home: async (_shard, hosts) => hosts[0]! };
const placements: readonly ActorOptions[] = [
  { placement: sharded() },
  { placement: sharded({ shardOf: (id) => id.length, version: "1", role: "backend" }) },
  { placement: sharded({ strategy: first, remember: true, restartAfter: "1s" }) },
  // @ts-expect-error: a value that only sharded() makes.
  { placement: { shards: 10 } },
];
const misplaced = [
  // @ts-expect-error: a number as text.
  () => sharded({ shards: "10" }),
  // @ts-expect-error: an option that is not there.
  () => sharded({ shard: 10 }),
  // @ts-expect-error: which shard an id is in cannot be waited for.
  () => sharded({ shardOf: async (id) => id, version: "1" }),
  // @ts-expect-error: nor is it a shard of something else than an id.
  () => sharded({ shardOf: (id: number) => id, version: "1" }),
  // @ts-expect-error: a strategy that there is not.
  () => sharded({ strategy: "leest" }),
  // @ts-expect-error: a strategy without a function that returns a home.
  () => sharded({ strategy: { moves: () => [] } }),
  // @ts-expect-error: a function that may return nothing.
  () => sharded({ strategy: { home: (_shard, hosts) => hosts[0] } }),
  // @ts-expect-error: a number is no id.
  () => sharded({ messageId: () => 5 }),
  // @ts-expect-error: a word for yes.
  () => sharded({ remember: "yes" }),
];

const unsound = (app: App, region: Region<Counter>) => [
  // @ts-expect-error: a message with something missing.
  () => region.add({ counter: "a" }),
  // @ts-expect-error: the same in an envelope.
  () => region.add({ id: "a", message: { counter: "a" } }),
  // @ts-expect-error: an id that is no text.
  () => region.add({ id: 5, message: { counter: "a", by: 1 } }),
  // @ts-expect-error: a wrong argument behind the message.
  () => region.add({ counter: "a", by: 1 }, "twice"),
  // @ts-expect-error: the id is missing.
  () => region.read(),
  // @ts-expect-error: a method that is not there.
  () => region.remove({ id: "a" }),
  // @ts-expect-error: the state.
  () => region.state,
  // @ts-expect-error: a shard as text.
  () => app.shards(Counter).move("1", "beta"),
  // @ts-expect-error: nowhere to go.
  () => app.shards(Counter).move(1),
  // @ts-expect-error: a host that is no text.
  () => app.shards(Counter).allocate({ 1: 5 }),
];

it("messages to a region are typed by inference, in envelopes and without", async () => {
  await using app = await testLimpet({ actors: [Counter] });
  assert.deepEqual([placements.length, misplaced.length, unsound.length], [4, 9, 2]);
  const region = app.region(Counter);
  const count = await region.add({ counter: "a", by: 2 }, 2);
  expectType<Equal<typeof count, number>>();
  assert.equal(count, 4);
  assert.equal(await region.add({ id: "a", message: { counter: "b", by: 1 } }), 5);
  assert.equal(await region.read({ id: "a" }), 5);
});
