// Strategies of shards on several hosts in one process: strategies of the application, working and failing,
// and external assignments.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventually, TestApps } from "../../host/cluster-kit.test.ts";
import type { ShardHostInfo, ShardStrategy } from "../../kernel/shard-strategy.ts";
import { type Counting, callAll, counting, homesOf, ids, named, SHARDS, viewOf } from "../shard-kit.test.ts";

const faultsIn = (text: string): string[] =>
  [...text.matchAll(/limpet_scheduler_shard_strategy_faults_total\{.*why="([^"]+)".*\} ([1-9]\d*)/g)].map(
    ([, why]) => why!,
  );

describe("a strategy of the application", () => {
  it("a strategy of the application decides where shards live", async () => {
    await using apps = new TestApps();
    const asked: [number, string | undefined][] = [];
    const Odd = counting({
      strategy: {
        async home(shard, hosts, asker) {
          asked.push([shard, asker?.name]);
          await new Promise((resolve) => setTimeout(resolve, 1));
          return hosts.find(({ name }) => name === (shard % 3 === 0 ? "a" : "b"))!;
        },
      },
    });
    const one = await apps.open([Odd], named("a"));
    await apps.open([Odd], named("b"));
    await callAll(one);
    const seen = await viewOf(one);
    assert.equal(seen.strategy, "custom");
    assert.deepEqual(homesOf(seen), { a: 4, b: 8 });
    assert.deepEqual(seen.hosts.find(({ name }) => name === "a")?.shards, [0, 3, 6, 9]);
    assert.equal(seen.faults, 0);
    assert.deepEqual(new Set(asked.map(([, asker]) => asker)), new Set(["a"]));
    assert.equal(asked.length, SHARDS);
  });

  it("a strategy of the application moves shards", async () => {
    await using apps = new TestApps();
    let target = "a";
    const strategy: ShardStrategy = {
      home: () => target,
      moves: async (hosts, moving) => {
        assert.equal(moving.size, 0);
        const to = hosts.find(({ name }) => name === target);
        return hosts.filter((host) => host !== to).flatMap(({ shards }) => shards.map((shard) => ({ shard, to })));
      },
    };
    const Moving = counting({ strategy });
    const one = await apps.open([Moving], named("a"));
    await apps.open([Moving], named("b"));
    await callAll(one);
    assert.deepEqual(homesOf(await viewOf(one)), { a: SHARDS, b: 0 });
    target = "b";
    await eventually(async () => homesOf(await viewOf(one)).b === SHARDS, "all of them live with b");
    await callAll(one);
  });

  it("a strategy runs on a host also when the leading scheduler does not have its code", async () => {
    await using apps = new TestApps();
    const scheduler = await apps.open([], named("scheduler"), { dedicated: true });
    const asked: string[] = [];
    const classOn = (name: string) =>
      counting({
        strategy: {
          home(shard) {
            asked.push(name);
            return shard < 5 ? "a" : "b";
          },
        },
      });
    const one = await apps.open([classOn("a")], named("a"));
    const two = await apps.open([classOn("b")], named("b"));
    await callAll(one);
    await callAll(two);
    assert.equal(scheduler.host.status().scheduler?.leads, true);
    assert.deepEqual(homesOf(await viewOf(scheduler)), { a: 5, b: SHARDS - 5 });
    assert.equal(asked.length, SHARDS);
  });

  const troubles: [what: string, strategy: ShardStrategy, fault: string][] = [
    [
      "throws",
      {
        home() {
          throw new RangeError("no idea");
        },
      },
      "threw",
    ],
    ["rejects", { home: () => Promise.reject(new RangeError("no idea")) }, "threw"],
    ["names a host that is not there", { home: () => "nobody" }, "no such host"],
    ["gives nonsense", { home: () => 42 as never, moves: () => "all of them" as never }, "no such host"],
  ];
  for (const [what, strategy, fault] of troubles) {
    it(`a strategy that ${what} does no harm: shards go to the host with the fewest, and the fault is counted`, async () => {
      await using apps = new TestApps();
      const Troubled = counting({ strategy });
      const one = await apps.open([Troubled], named("a"));
      const two = await apps.open([Troubled], named("b"));
      await callAll(two);
      const seen = await viewOf(one);
      assert.deepEqual(homesOf(seen), { a: SHARDS / 2, b: SHARDS / 2 });
      assert.ok(seen.faults > 0);
      assert.ok(faultsIn(one.metrics()).includes(fault), one.metrics());
    });
  }

  it("a strategy that returns invalid moves causes none, and the fault is counted", async () => {
    await using apps = new TestApps();
    const moves = () => "all of them" as never;
    const Muddled = counting({ strategy: { home: (_, hosts) => hosts[0]!, moves } });
    const one = await apps.open([Muddled], named("a"));
    await apps.open([Muddled], named("b"));
    await callAll(one);
    await eventually(async () => (await viewOf(one)).faults > 0, "it is counted");
    assert.deepEqual(faultsIn(one.metrics()), ["threw"]);
    assert.equal((await viewOf(one)).moved.length, 0);
  });

  it("a strategy that never answers delays one request, and is then not asked for a while", async () => {
    await using apps = new TestApps();
    let asked = 0;
    const never = (): Promise<ShardHostInfo> => {
      asked++;
      return new Promise(() => {});
    };
    const Silent = counting({ strategy: { home: never } });
    const one = await apps.open([Silent], named("a"));
    await apps.open([Silent], named("b"));
    const { add } = { add: (id: string) => one.actor<Counting>("Counting", id, { timeout: "20s" }).add() };
    assert.equal(await add(ids[0]!), 1);
    await Promise.all(ids.map(add));
    assert.equal(asked, 1);
    assert.deepEqual(homesOf(await viewOf(one)), { a: SHARDS / 2, b: SHARDS / 2 });
    assert.ok(faultsIn(one.metrics()).includes("late"));
  });

  it("a strategy that wants to move everything at once is followed a few at a time, and calls are answered meanwhile", async () => {
    await using apps = new TestApps();
    let most = 0;
    const restless: ShardStrategy = {
      home: (_, hosts) => hosts[0]!,
      moves: (hosts) =>
        hosts.flatMap(({ shards, incarnation }) => {
          const to = hosts.find((host) => host.incarnation !== incarnation);
          return shards.map((shard) => ({ shard, to }));
        }),
    };
    const Restless = counting({ strategy: restless, movesAtOnce: 2 });
    const one = await apps.open([Restless], named("a"));
    await apps.open([Restless], named("b"));
    await callAll(one);
    await eventually(async () => {
      const { moving, moved } = await viewOf(one);
      most = Math.max(most, moving.length);
      await callAll(one);
      return moved.length > 20;
    }, "shards move");
    assert.ok(most <= 2, `${most} moved at once`);
  });

  it("a request goes on with another host when the host that computes the answer is gone", async () => {
    await using apps = new TestApps();
    const thinking: (() => void)[] = [];
    let isBlocked = true;
    const Slow = counting({
      strategy: {
        home: async (_, hosts) => {
          if (isBlocked) await new Promise<void>((resolve) => thinking.push(resolve));
          return hosts[0]!;
        },
      },
    });
    // Of the newest build, so that it is asked first.
    const one = await apps.open([Slow], named("a"));
    const two = await apps.open([Slow], { ...named("b"), worker: { build: "2" } });
    const call = one.actor<Counting>("Counting", "x", { timeout: "20s" }).add();
    await eventually(async () => thinking.length === 1, "it is asked");
    isBlocked = false;
    await two.stop();
    assert.equal(await call, 1);
    for (const go of thinking) go();
  });
});

describe("external assignments of shards", () => {
  it("external assignments hold under every leader, and when the host comes later", async () => {
    await using apps = new TestApps();
    const External = counting({ strategy: "external" });
    const one = await apps.open([External], named("a"));
    const two = await apps.open([External], named("b"));
    await two.shards(External).allocate({ 0: "b", 1: "b", 2: "c" });
    await callAll(one);
    assert.deepEqual(homesOf(await viewOf(one)), { a: SHARDS - 2, b: 2 });
    // The leader goes; its assignments stay.
    await one.stop();
    await callAll(two);
    assert.deepEqual(
      (await viewOf(two)).told.map(({ shard, host }) => [shard, host]),
      [
        [0, "b"],
        [1, "b"],
        [2, "c"],
      ],
    );
    const three = await apps.open([External], named("c"));
    await eventually(async () => homesOf(await viewOf(two)).c === 1, "shard 2 lives with c");
    assert.deepEqual((await viewOf(three)).hosts.find(({ name }) => name === "c")?.shards, [2]);
    await three.shards(External).allocate(
      new Map([
        [2, undefined],
        [3, "c"],
        [0, "c"],
      ]),
    );
    await eventually(async () => homesOf(await viewOf(two)).c === 3, "the assigned shards live with c");
    assert.deepEqual(
      (await viewOf(three)).told.map(({ shard }) => shard),
      [0, 1, 3],
    );
    await callAll(three);
  });

  it("shards without an assignment are spread after other hosts have left", async () => {
    await using apps = new TestApps();
    const External = counting({ strategy: "external" });
    const [one, two] = [await apps.open([External], named("a")), await apps.open([External], named("b"))];
    await apps.open([External], named("c"));
    await callAll(one);
    assert.deepEqual(homesOf(await viewOf(two)), { a: SHARDS, b: 0, c: 0 });
    await one.stop();
    // The next leader knows the names of the other hosts when they have connected to it.
    const isShared = (homes: Record<string, number>) => homes.b === SHARDS / 2 && homes.c === SHARDS / 2;
    await eventually(async () => isShared(homesOf(await viewOf(two))), "both have as many");
  });

  it("external assignments are rejected for types with another strategy, and for shards that do not exist", async () => {
    await using apps = new TestApps();
    const [External, Least] = [counting({ strategy: "external" }), counting({}, "Least")];
    const one = await apps.open([External, Least], named("a"));
    await assert.rejects(one.shards(Least).allocate({ 0: "a" }), { code: "ARGUMENT_INVALID", message: /"least"/ });
    await assert.rejects(one.shards(External).allocate({ [SHARDS]: "a" }), { code: "ARGUMENT_INVALID" });
    await assert.rejects(one.shards("Nobody").allocate({ 0: "a" }), { code: "NOT_SHARDED" });
    await assert.rejects(one.shards("Nobody").view(), { code: "NOT_SHARDED" });
  });
});

describe("the strategy by hash", () => {
  it("shards of the same number live on the same host, for all types", async () => {
    await using apps = new TestApps();
    const Types = ["Counting", "Second"].map((name) => counting({ strategy: "hashed" }, name));
    const one = await apps.open(Types, named("a"));
    await apps.open(Types, named("b"));
    const all = async (): Promise<void> => {
      await callAll(one);
      await Promise.all(ids.map((id) => one.actor<Counting>("Second", id).add()));
    };
    const placed = async (type: string): Promise<unknown> =>
      (await viewOf(one, type)).hosts.map(({ name, shards }) => [name, shards]);
    await all();
    assert.deepEqual(await placed("Counting"), await placed("Second"));
    await apps.open(Types, named("c"));
    await eventually(async () => homesOf(await viewOf(one)).c! > 0, "the new host has some");
    await eventually(async () => {
      return JSON.stringify(await placed("Counting")) === JSON.stringify(await placed("Second"));
    }, "they are together again");
  });
});

describe("a rolling update", () => {
  it("a rolling update gives shards to the newest build alone, and moves none for balance until it is over", async () => {
    await using apps = new TestApps();
    const Plain = counting({ relativeLimit: 1 });
    const old = await apps.open([Plain], { ...named("old"), worker: { build: "1.9" } });
    const next = await apps.open([Plain], { ...named("next"), worker: { build: "1.10" } });
    await callAll(old);
    assert.deepEqual(homesOf(await viewOf(old)), { old: 0, next: SHARDS });
    const last = await apps.open([Plain], { ...named("last"), worker: { build: "1.10" } });
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert.deepEqual(homesOf(await viewOf(next)), { old: 0, next: SHARDS, last: 0 });
    await old.stop();
    await eventually(async () => homesOf(await viewOf(last)).last === SHARDS / 2, "the last one has its share");
  });
});
