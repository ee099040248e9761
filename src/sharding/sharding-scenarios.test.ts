// Routing of a call to its shard, step by step: at the host that becomes its home, through another host, and
// without a leader.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { App } from "../host/app.ts";
import { eventually, TestApps } from "../host/cluster-kit.test.ts";
import { shardOf } from "../kernel/shards.ts";
import { type Counting, counting, named, SHARDS, viewOf } from "./shard-kit.test.ts";

/** Shards below this live on "a", the others on "b". */
const FIRST_OF_B = SHARDS / 2;
const Split = counting({ strategy: { home: (shard) => (shard < FIRST_OF_B ? "a" : "b") } });

/** An id in the shard. */
function idIn(shard: number): string {
  for (let i = 0; ; i++) if (shardOf(`id-${i}`, SHARDS) === shard) return `id-${i}`;
}

/** Number of requests for homes that the leader has received. */
function asked(leader: App): number {
  const line = /^limpet_scheduler_shard_home_requests_total\{.*\} (\d+)$/m.exec(leader.metrics());
  return Number(line?.[1] ?? 0);
}

const active = (app: App): number => app.host.types().find(({ type }) => type === "Counting")?.active ?? 0;
const add = (app: App, id: string) => app.actor<Counting>("Counting", id).add();

async function twoHosts(apps: TestApps) {
  const leader = await apps.open([], named("leader"), { dedicated: true });
  const one = await apps.open([Split], named("a"));
  const two = await apps.open([Split], named("b"));
  return { leader, one, two };
}

describe("a call to a shard", () => {
  it("a call to an unknown shard is served at the host that becomes its home", async () => {
    await using apps = new TestApps();
    const { leader, one, two } = await twoHosts(apps);
    const id = idIn(0);
    // The first call makes the host request the home of the shard; later ones wait with it, in their order.
    assert.deepEqual(await Promise.all([add(one, id), add(one, id), add(one, id)]), [1, 2, 3]);
    assert.equal(asked(leader), 1);
    // The answer was the host itself, and the actor was activated there.
    assert.deepEqual([active(one), active(two)], [1, 0]);
    // From now on there are no requests, also for actors that do not run yet.
    const neighbour = [...Array(1_000).keys()].map((i) => `other-${i}`).find((other) => shardOf(other, SHARDS) === 0)!;
    assert.deepEqual([await add(one, id), await add(one, neighbour)], [4, 1]);
    assert.deepEqual([asked(leader), active(one), active(two)], [1, 2, 0]);
  });

  it("a call to an unknown shard is routed through a host that does not become its home", async () => {
    await using apps = new TestApps();
    const { leader, one, two } = await twoHosts(apps);
    const id = idIn(FIRST_OF_B);
    // The host sends a request, gets the other host as the answer, and forwards the waiting calls there.
    assert.deepEqual(await Promise.all([add(one, id), add(one, id), add(one, id)]), [1, 2, 3]);
    assert.deepEqual([active(one), active(two)], [0, 1]);
    const questions = asked(leader);
    // From now on it forwards calls there without a request.
    assert.equal(await add(one, id), 4);
    // The other host was notified that it is the home, and serves its own callers without a request.
    assert.equal(await add(two, id), 5);
    assert.deepEqual([asked(leader), active(one), active(two)], [questions, 0, 1]);
  });

  it("a call is served while leaders change if its home is known, and otherwise waits for a leader", async () => {
    await using apps = new TestApps();
    const { leader, one, two } = await twoHosts(apps);
    const [known, unknown] = [idIn(FIRST_OF_B), idIn(FIRST_OF_B + 1)];
    assert.equal(await add(one, known), 1);
    // While it stops, and until another process leads, there is no leader to ask.
    const stopped = leader.stop();
    assert.equal(await add(one, known), 2);
    let isServed = false;
    const waiting = one
      .actor<Counting>("Counting", unknown, { timeout: "30s" })
      .add()
      .finally(() => {
        isServed = true;
      });
    assert.equal(await add(one, known), 3);
    await stopped;
    assert.equal(await add(two, known), 4);
    await eventually(async () => isServed, "the next leader says where the other one lives");
    assert.equal(await waiting, 1);
    const { hosts } = await viewOf(one);
    assert.deepEqual(hosts.flatMap(({ name, shards }) => shards.map((shard) => `${shard} on ${name}`)).sort(), [
      `${FIRST_OF_B} on b`,
      `${FIRST_OF_B + 1} on b`,
    ]);
  });
});
