// Every way in which a host becomes the home of a shard, or is it still: whoever is remembered in it runs, and nobody else. With a leader that a
// test plays, and a store that does as it is told.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import {
  ANOTHER,
  atHome,
  Guard,
  ID,
  joined,
  LEASE_MS,
  neverSays,
  OTHER,
  RESTART_MS,
  Setting,
  SHARD,
} from "./remembered-homes-kit.test.ts";

describe("a host that becomes the home of a shard", () => {
  it("brings remembered actors to life, once, also when it is told twice", async () => {
    const it = await atHome();
    assert.deepEqual(it.reads, [SHARD]);
    await it.lives(it.me);
    await it.clock.advance("5m");
    assert.deepEqual(it.running, [ID]);
    assert.deepEqual(it.reads, [SHARD], "what has been gone through is not read again and again");
  });

  it("before it has its lease does so as soon as it has one", async () => {
    const it = new Setting();
    it.onLook = neverSays;
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

  it("in its next life, before it has its lease again, does so as soon as it has one", async () => {
    const it = await atHome();
    it.onLook = neverSays;
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

  it("goes on under the next leader, without beginning anew", async () => {
    const it = await atHome();
    await it.cut();
    it.welcome(2);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
    assert.deepEqual(it.reads, [SHARD]);
  });

  it("does so under the next leader when it had not been told by the one before", async () => {
    const it = await joined();
    await it.remember(ID);
    await it.cut();
    it.welcome(2);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("asks who is home of a shard that has remembered actors, and of which nobody told it", async () => {
    const it = await joined();
    await it.remember(ID);
    await it.clock.advance("35s");
    assert.ok(it.said.some((message) => message.kind === "getShardHomes" && message.shards.includes(SHARD)));
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("asks as soon as it has a lease, if it had none when it looked", async () => {
    const it = new Setting();
    await it.remember(ID);
    it.isRenewing = false;
    it.welcome();
    it.table(it.me, OTHER);
    await it.clock.advance(1_000);
    const asked = () => it.said.some((message) => message.kind === "getShardHomes" && message.shards.includes(SHARD));
    assert.equal(asked(), false);
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS / 2);
    assert.equal(asked(), true);
  });

  it("and does not have the class yet brings them to life when it has", async () => {
    const it = await joined([]);
    await it.remember(ID);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    it.catalog.add(Guard);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("brings them to life when the class was given up and taken up again", async () => {
    const it = await atHome();
    const type = it.catalog.types.get("Guard")!;
    it.catalog.remove(type);
    await it.catalog.moveAway(type, () => false, 1_000);
    it.catalog.add(Guard);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("tries again when the store cannot say who they are", async () => {
    const it = await joined();
    await it.remember(ID);
    it.onRead = neverSays;
    await it.lives(it.me);
    await it.clock.advance("1m");
    assert.deepEqual(it.running, []);
    it.onRead = async () => {};
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("tries again soon when the store cannot say which shards have any", async () => {
    const it = new Setting();
    await it.remember(ID);
    it.onLook = neverSays;
    it.welcome();
    it.table(it.me, OTHER);
    await it.clock.advance("1m");
    it.onLook = async () => {};
    await it.clock.advance("3s");
    assert.ok(it.said.some((message) => message.kind === "getShardHomes" && message.shards.includes(SHARD)));
  });

  it("looks once more when hosts have changed while it looked", async () => {
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
  it("is gone through again, and what the store said before does not count", async () => {
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
    // The answer to what was asked before the shard moved comes now.
    gate.resolve();
    await it.clock.advance("1m");
    assert.deepEqual(it.running, [ID], "it was forgotten where the shard lived meanwhile");
  });

  it("is gone through again when the store says nothing but that it was asked in a life before", async () => {
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

  it("has nobody started again who stopped here before, and was forgotten there", async () => {
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

  it("has those started who stopped here before, and are remembered", async () => {
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
  it("brings back whom it had let go as if it hosted the class no more", async () => {
    const it = await atHome();
    it.table(OTHER);
    await it.clock.advance(100);
    assert.deepEqual(it.running, []);
    it.table(it.me, OTHER);
    await it.clock.advance("35s");
    assert.deepEqual(it.running, [ID]);
  });

  it("goes on with those that stopped when the move is called off", async () => {
    const it = await atHome();
    await it.call(ID, "leave");
    it.say({ kind: "beginHandOff", type: "Guard", shard: SHARD, move: 1 });
    await it.clock.advance(RESTART_MS + 1_000);
    assert.deepEqual(it.running, []);
    await it.lives(it.me);
    await it.clock.advance(RESTART_MS + 1_000);
    assert.deepEqual(it.running, [ID]);
  });
});
