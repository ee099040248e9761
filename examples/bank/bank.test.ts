// The same money under many seeds: hosts crash, hang and lose their connections while it is sent around.
import assert from "node:assert/strict";
import { it } from "node:test";
import { isLimpetError } from "limpet";
import { everySeed, SeedFailed, type TestHost, type TestWorld } from "limpet/testing";
import { Account, Transfer } from "./account.ts";
import { NaiveAccount } from "./naive-account.ts";

const OWNERS = ["alice", "bob", "carol"];
const FAULTS = ["crash", "pause", "partition", "restart"] as const;

/** Twenty transfers between random accounts, during faults. */
async function sendAround(
  world: TestWorld,
  send: (name: string, from: string, to: string, amount: number) => Promise<void>,
): Promise<void> {
  const transfers = async () => {
    for (let i = 0; i < 20; i++) {
      const from = world.pick(OWNERS);
      const to = world.pick(OWNERS.filter((owner) => owner !== from));
      await send(`transfer-${i}`, from, to, 1 + Math.floor(world.random() * 20));
      await world.advance("1s");
    }
  };
  await Promise.all([world.chaos("30s", { faults: FAULTS, every: "2s" }), transfers()]);
}

/** Retries until there is an answer. */
async function insist<T>(world: TestWorld, ask: (host: TestHost) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask(world.someHost());
    } catch (error) {
      if (!isLimpetError(error)) throw error;
      await world.advance("1s");
    }
  }
}

async function moneyIn(
  world: TestWorld,
  balanceOf: (host: TestHost, owner: string) => Promise<number>,
): Promise<number> {
  let sum = 0;
  for (const owner of OWNERS) sum += await insist(world, (host) => balanceOf(host, owner));
  return sum;
}

it("the naive account creates money out of nothing, and a seed shows how", async (test) => {
  const seeds = everySeed(
    100,
    async (world) => {
      await sendAround(world, async (_, from, to, amount) => {
        // A caller that gets an error assumes that nothing has happened.
        await world
          .someHost()
          .actor(NaiveAccount, from)
          .send(to, amount)
          .catch(() => {});
      });
      assert.equal(await moneyIn(world, (host, owner) => host.actor(NaiveAccount, owner).balance()), 300);
    },
    { actors: [NaiveAccount], hosts: 3 },
  );
  await assert.rejects(seeds, (error) => {
    assert.ok(error instanceof SeedFailed);
    test.diagnostic(`seed ${error.seed}: ${(error.cause as Error).message}`);
    return (error.cause as Error).name === "AssertionError";
  });
});

it("the account with transfer ids keeps the sum of money under every seed", async () => {
  await everySeed(
    30,
    async (world) => {
      const expected = new Map(OWNERS.map((owner) => [owner, 100]));
      await sendAround(world, async (name, from, to, amount) => {
        try {
          await insist(world, (host) => host.actor(Transfer, name).run(from, to, amount));
        } catch (error) {
          assert.equal((error as Error).name, "RangeError");
          return;
        }
        expected.set(from, expected.get(from)! - amount);
        expected.set(to, expected.get(to)! + amount);
      });
      assert.equal(await moneyIn(world, (host, owner) => host.actor(Account, owner).balance()), 300);
      for (const [owner, balance] of expected) {
        assert.equal(await world.hosts[0].actor(Account, owner).balance(), balance, owner);
      }
    },
    { actors: [Account, Transfer], hosts: 3 },
  );
});
