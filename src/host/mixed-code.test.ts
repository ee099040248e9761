// Hosts with different code, as during the rollout of a new version, and names that no host has.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, isLimpetError, type LimpetError } from "../index.ts";
import { openWorld, type TestHost, type TestWorld } from "../testing.ts";

class OldAuction extends Actor<{ bids: number }> {
  static options = { name: "Auction" };
  initial() {
    return { bids: 0 };
  }
  bid() {
    return ++this.state.bids;
  }
  async relay(other: string) {
    return this.actor<NewAuction>("Auction", other).close();
  }
}
class NewAuction extends OldAuction {
  close() {
    return `closed after ${this.state.bids}`;
  }
}

async function livingOn(world: TestWorld, host: TestHost): Promise<string> {
  for (let i = 0; i < 1_000; i++) if ((await world.where("Auction", `a-${i}`)) === host) return `a-${i}`;
  assert.fail(`nothing lives on ${host}`);
}

const open = (): Promise<TestWorld> =>
  openWorld({
    actors: [],
    hosts: [
      { name: "old", actors: [OldAuction] },
      { name: "new", actors: [NewAuction] },
      { name: "door", actors: [] },
    ],
  });

async function refusal(call: Promise<unknown>): Promise<LimpetError> {
  const error = await call.then(
    () => assert.fail("it was answered"),
    (thrown: unknown) => thrown,
  );
  assert.ok(isLimpetError(error), String(error));
  return error;
}

describe("a method that only the code of another host has", () => {
  it("a call to a method that only another host has may be retried, from every host", async () => {
    await using world = await open();
    const id = await livingOn(world, world.host("old"));
    for (const host of world.hosts) {
      const error = await refusal(host.actor<NewAuction>("Auction", id).close());
      assert.deepEqual([error.code, error.retry], ["METHOD_ELSEWHERE", "later"], `called by ${host.name}`);
      assert.match(
        error.message,
        /the host of .* has no method "close", but .* has it; try again when all hosts run the same/,
      );
    }
    assert.equal(await world.host("old").actor(OldAuction, id).bid(), 1);
  });

  it("a call to a new method works once the actor lives on a host that has it", async () => {
    await using world = await open();
    const id = await livingOn(world, world.host("old"));
    await world.host("old").actor(OldAuction, id).bid();
    await world.restart(world.host("old"), { actors: [NewAuction] });
    assert.equal(await world.host("door").actor<NewAuction>("Auction", id).close(), "closed after 1");
  });

  it("a method that no host has is unknown for good", async () => {
    await using world = await open();
    for (const host of [world.host("old"), world.host("new")]) {
      const id = await livingOn(world, host);
      const actor = world.host("door").actor<OldAuction & { clsoe(): void }>("Auction", id);
      const error = await refusal(actor.clsoe());
      assert.deepEqual([error.code, error.retry], ["METHOD_UNKNOWN", "never"]);
    }
  });

  it("a method is unknown for good when the host that may have it is unreachable", async () => {
    await using world = await open();
    const id = await livingOn(world, world.host("old"));
    world.partition(world.host("old"), world.host("new"));
    const error = await refusal(world.host("door").actor<NewAuction>("Auction", id).close());
    assert.equal(error.code, "METHOD_UNKNOWN");
  });

  it("a caller cannot call the internal question for methods", async () => {
    await using world = await open();
    const actor = world.host("door").actor<OldAuction & { $has(method: string): void }>("Auction", "a");
    assert.equal((await refusal(actor.$has("bid"))).code, "METHOD_UNKNOWN");
  });
});

describe("a type that no host has", () => {
  it("a call to an unknown type names the type that was probably meant", async () => {
    await using world = await open();
    const error = await refusal(world.host("door").actor<OldAuction>("Auctoin", "a").bid());
    assert.equal(error.code, "NO_HOST");
    assert.match(error.message, /runs actors of type Auctoin; did you mean "Auction"\?$/);
  });
});
