// Actors that come and go all the time while several hosts call them, shards move and hosts are lost.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import type { App } from "../host/app.ts";
import { TestApps } from "../host/cluster-kit.test.ts";
import { openWorld, type TestWorld } from "../testing.ts";

/** Each caller counts its calls to each actor, so that a lost, repeated or overtaken call is noticed. */
class Ledger extends Actor<{ last: Record<string, number> }> {
  static options: { placement: ReturnType<typeof sharded> } = {
    placement: sharded({ shards: 20, rebalance: "200ms", relativeLimit: 1, maxActive: 5 }),
  };
  initial() {
    return { last: {} };
  }
  note(caller: string, number: number, isLast: boolean) {
    assert.equal(number, (this.state.last[caller] ?? 0) + 1, `${caller} at ${this.id}`);
    this.state.last[caller] = number;
    if (isLast) this.passivate();
    return number;
  }
}

class RememberedLedger extends Ledger {
  static override options = {
    placement: sharded({ shards: 20, rebalance: "200ms", relativeLimit: 1, remember: true, restartAfter: "100ms" }),
  };
}

for (const type of [Ledger, RememberedLedger]) {
  describe(`calls to actors of ${type.name} that passivate again and again`, () => {
    it("all calls arrive once and in the order of their caller, also while shards move", async () => {
      await using apps = new TestApps();
      const [one, two] = [await apps.open([type]), await apps.open([type])];
      const ids = Array.from({ length: 15 }, (_, i) => `id-${i}`);
      let isOver = false;
      const call = async (app: App, caller: string): Promise<number> => {
        let round = 0;
        while (!isOver) {
          // Several calls to the same actor are in flight at once, and some of them make it passivate.
          const calls = ids.flatMap((id) =>
            [1, 2, 3].map((n) => app.actor(type, id).note(caller, 3 * round + n, (round + n) % 4 === 0)),
          );
          await Promise.all(calls);
          round++;
        }
        return round;
      };
      const callers = [call(one, "one"), call(two, "two")];
      const three = await apps.open([type]);
      callers.push(call(three, "three"));
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      isOver = true;
      for (const rounds of await Promise.all(callers)) assert.ok(rounds > 0);
    });
  });
}

class Guard extends Actor<{ n: number }> {
  static options = { placement: sharded({ shards: 8, remember: true, restartAfter: "3s" }) };
  initial() {
    return { n: 0 };
  }
  inc() {
    return ++this.state.n;
  }
  leave() {
    this.deactivate();
  }
  done() {
    this.passivate();
  }
}

const IDS = Array.from({ length: 12 }, (_, i) => `id-${i}`);

async function running(world: TestWorld): Promise<string[]> {
  const lists = await Promise.all(
    world.hosts.map((host) => host.run((app) => app.host.list({ type: "Guard", active: true, limit: 1_000 }))),
  );
  return lists
    .flatMap(({ actors }) => actors.map(({ id }) => id))
    .filter((id) => IDS.includes(id))
    .sort();
}

/** The expected state of each actor, as far as its callers can know. */
async function misuse(world: TestWorld): Promise<Map<string, "runs" | "rests" | "unknown">> {
  const outcome = new Map<string, "runs" | "rests" | "unknown">(IDS.map((id) => [id, "rests"]));
  for (let step = 0; step < 60; step++) {
    const trouble = world.random();
    if (trouble < 0.08) {
      const host = world.someHost();
      if (host.isUp) world.crash(host);
    } else if (trouble < 0.2) {
      for (const host of world.hosts) if (!host.isUp) await world.restart(host);
    }
    const id = world.pick(IDS);
    const method = world.pick(["inc", "inc", "leave", "done"] as const);
    try {
      await world.someHost().actor(Guard, id, { timeout: "2s" })[method]();
      outcome.set(id, method === "done" ? "rests" : "runs");
    } catch {
      // The call may have been applied all the same, now or in a moment.
      outcome.set(id, "unknown");
    }
    if (world.random() < 0.3) await world.advance(Math.ceil(world.random() * 5_000));
  }
  return outcome;
}

describe("remembered actors on hosts that crash at any time", () => {
  it("remembered actors run in the end, each of them once, and actors that are done stay inactive", async () => {
    for (let seed = 1; seed <= 8; seed++) {
      await using world = await openWorld({ actors: [Guard], hosts: 3, seed });
      const outcome = await misuse(world);
      for (const host of world.hosts) if (!host.isUp) await world.restart(host);
      await world.settled();
      await world.advance("2m");
      const found = await running(world);
      assert.deepEqual(found, [...new Set(found)], `seed ${seed}: some run twice`);
      for (const [id, expected] of outcome) {
        if (expected === "unknown") continue;
        assert.equal(found.includes(id), expected === "runs", `seed ${seed}: ${id} should be one that ${expected}`);
      }
      assert.ok([...outcome.values()].some((one) => one !== "unknown"));
    }
  });
});
