// All cases in which a host becomes or stays the home of a shard: the actors remembered in it run, and no
// others. With a leader that a test plays, and a store under the control of the test.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import {
  ANOTHER,
  atHome,
  Guard,
  ID,
  joined,
  LEASE_MS,
  neverAnswers,
  OTHER,
  RESTART_MS,
  Setting,
  SHARD,
} from "../host/played-leader-kit.test.ts";

describe("a host that becomes the home of a shard", () => {
  it("a new home activates remembered actors once, also when it is notified twice", async () => {
    const it = await atHome();
    assert.deepEqual(it.reads, [SHARD]);
    await it.lives(it.me);
    await it.clock.advance("5m");
    assert.deepEqual(it.running, [ID]);
    assert.deepEqual(it.reads, [SHARD], "what has been gone through is not read again and again");
  });

  it("a home without a lease activates remembered actors as soon as it has one", async () => {
    const it = new Setting();
    it.onLook = neverAnswers;
    await it.remember(ID);
    it.isRenewing = false;
    it.welcome();
    it.table(it.me, OTHER);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [], "nobody comes to life without a lease");
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS);
    assert.deepEqual(it.running, [ID]);
  });

  it("a home in its next incarnation activates remembered actors as soon as it has a lease again", async () => {
    const it = await atHome();
    it.onLook = neverAnswers;
    it.isRenewing = false;
    await it.clock.advance(LEASE_MS);
    assert.deepEqual(it.running, [], "the lease is over");
    it.welcome();
    it.table(it.me, OTHER);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, []);
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS);
    assert.deepEqual(it.running, [ID]);
  });

  it("a home continues under the next leader, without new activations", async () => {
    const it = await atHome();
    await it.cut();
    it.welcome(2);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
    assert.deepEqual(it.reads, [SHARD]);
  });

  it("a home activates remembered actors under the next leader when the previous one had not notified it", async () => {
    const it = await joined();
    await it.remember(ID);
    await it.cut();
    it.welcome(2);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("a host requests the home of a shard that has remembered actors and no known home", async () => {
    const it = await joined();
    await it.remember(ID);
    await it.clock.advance("35s");
    assert.ok(it.sent.some((message) => message.kind === "getShardHomes" && message.shards.includes(SHARD)));
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("a host requests homes as soon as it has a lease, if it had none before", async () => {
    const it = new Setting();
    await it.remember(ID);
    it.isRenewing = false;
    it.welcome();
    it.table(it.me, OTHER);
    await it.clock.advance(1_000);
    const asked = () => it.sent.some((message) => message.kind === "getShardHomes" && message.shards.includes(SHARD));
    assert.equal(asked(), false);
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS / 2);
    assert.equal(asked(), true);
  });

  it("a home without the class activates remembered actors when it has the class", async () => {
    const it = await joined([]);
    await it.remember(ID);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    it.catalog.add(Guard);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("a home activates remembered actors when the class was given up and registered again", async () => {
    const it = await atHome();
    const type = it.catalog.types.get("Guard")!;
    it.catalog.remove(type);
    await it.catalog.moveAway(type, () => false, 1_000);
    it.catalog.add(Guard);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("a home retries when the store cannot list the actors", async () => {
    const it = await joined();
    await it.remember(ID);
    it.onRead = neverAnswers;
    await it.lives(it.me);
    await it.clock.advance("1m");
    assert.deepEqual(it.running, []);
    it.onRead = async () => {};
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("a host retries soon when the store cannot list the shards", async () => {
    const it = new Setting();
    await it.remember(ID);
    it.onLook = neverAnswers;
    it.welcome();
    it.table(it.me, OTHER);
    await it.clock.advance("1m");
    it.onLook = async () => {};
    await it.clock.advance("3s");
    assert.ok(it.sent.some((message) => message.kind === "getShardHomes" && message.shards.includes(SHARD)));
  });

  it("a host reads the shards once more when hosts have changed during the read", async () => {
    const it = await joined();
    const gate = Promise.withResolvers<void>();
    let looks = 0;
    it.onLook = async () => {
      looks++;
      await gate.promise;
    };
    it.table(it.me);
    await it.clock.advance(1_000);
    assert.equal(looks, 1);
    it.table(it.me, OTHER);
    await it.clock.advance(1_000);
    assert.equal(looks, 1, "one look at a time");
    gate.resolve();
    await it.clock.advance(1_000);
    assert.equal(looks, 2);
  });
});

describe("a shard that was elsewhere meanwhile", () => {
  it("a shard that comes back is scanned again, and earlier answers of the store do not count", async () => {
    const it = await joined();
    for (const id of [ID, ANOTHER]) await it.remember(id);
    const gate = Promise.withResolvers<void>();
    it.onRead = () => gate.promise;
    await it.lives(it.me);
    await it.clock.advance(1_000);
    await it.movesAway(1);
    await it.remember(ANOTHER, false);
    it.onRead = async () => {};
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
    // The answer to the read from before the move comes now.
    gate.resolve();
    await it.clock.advance("1m");
    assert.deepEqual(it.running, [ID], "it was forgotten where the shard lived meanwhile");
  });

  it("a shard that comes back is scanned again when a read of the previous incarnation fails late", async () => {
    const it = await joined();
    await it.remember(ID);
    const gate = Promise.withResolvers<void>();
    it.onRead = () => gate.promise;
    await it.lives(it.me);
    await it.clock.advance(1_000);
    it.isRenewing = false;
    await it.clock.advance(LEASE_MS);
    it.isRenewing = true;
    it.onRead = async () => {};
    it.welcome();
    it.table(it.me, OTHER);
    await it.lives(it.me);
    gate.reject(new LimpetError("STORE_UNAVAILABLE", "too late"));
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("an actor that stopped here before, and was forgotten elsewhere, is not started again", async () => {
    const it = await atHome();
    await it.remember(ANOTHER);
    await it.call(ANOTHER, "leave");
    await it.clock.settled();
    await it.movesAway(1);
    await it.remember(ANOTHER, false);
    await it.lives(it.me);
    await it.clock.advance(RESTART_MS * 3);
    assert.deepEqual(it.running, [ID]);
  });

  it("an actor that stopped here before, and is remembered, is started again", async () => {
    const it = await atHome();
    await it.call(ID, "leave");
    await it.clock.settled();
    assert.deepEqual(it.running, []);
    await it.movesAway(1);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });
});

describe("a host that stays the home of a shard", () => {
  it("a home restarts actors that it had let go as if it hosted the class no more", async () => {
    const it = await atHome();
    it.table(OTHER);
    await it.clock.advance(100);
    assert.deepEqual(it.running, []);
    it.table(it.me, OTHER);
    await it.clock.advance("35s");
    assert.deepEqual(it.running, [ID]);
  });

  it("a home restarts stopped actors when the move is called off", async () => {
    const it = await atHome();
    await it.call(ID, "leave");
    it.send({ kind: "beginHandOff", type: "Guard", shard: SHARD, move: 1 });
    await it.clock.advance(RESTART_MS + 1_000);
    assert.deepEqual(it.running, []);
    await it.lives(it.me);
    await it.clock.advance(RESTART_MS + 1_000);
    assert.deepEqual(it.running, [ID]);
  });
});
