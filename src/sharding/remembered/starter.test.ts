// Starts of the remembered actors of one type, with a store, a catalog and a clock under the control of the
// test.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ActorType } from "../../actors/actor-type.ts";
import type { Catalog } from "../../actors/catalog.ts";
import type { ShardActivation } from "../../ports/cluster/host-feature.ts";
import { silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import type { ShardKey, Shards } from "../../ports/store/shards.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { rememberedInstruments } from "./metrics.ts";
import { RememberedStarter } from "./starter.ts";

const RESTART_MS = 10_000;
const LONGEST_MS = 60_000;

class Setting {
  readonly clock = new VirtualClock();
  /** Remembered ids of shard 0, by code point; ids of shard 1 begin with "1". */
  ids: string[] = [];
  readonly reads: { readonly shard: number; readonly after: string | undefined; readonly at: number }[] = [];
  readonly started: { readonly id: string; readonly isKnown: boolean; readonly at: number }[] = [];
  readonly activations = new Map<string, object>();
  readonly fails = new Set<string>();
  place: ShardActivation | ((shard: number) => ShardActivation) = "here";
  shardOf = (id: string): number => (id.startsWith("1") ? 1 : 0);
  hasRoom = true;
  isStoreDown = false;
  /** Runs before a page is returned. */
  onRead = async (): Promise<void> => {};
  /** Time that a start takes. */
  startMs = 0;
  most = 0;
  #starting = 0;
  readonly starter: RememberedStarter;

  constructor(startsPerSecond = 1_000) {
    const type = {
      name: "T",
      activations: this.activations,
      options: { sharded: { shardOf: (id: string) => this.shardOf(id) } },
    };
    const catalog = {
      namespace: "n",
      mayBegin: () => true,
      start: (_: unknown, id: string, isKnown: boolean) => this.#start(id, isKnown),
    };
    Object.defineProperty(catalog, "hasRoom", { get: () => this.hasRoom });
    this.starter = new RememberedStarter(
      type as unknown as ActorType,
      { startsPerSecond, restartAfterMs: RESTART_MS, restartAtMostMs: LONGEST_MS },
      {
        clock: this.clock,
        log: silentLog,
        catalog: catalog as unknown as Catalog,
        instruments: rememberedInstruments(silentMeter, "n", "T"),
        shards: { remembered: (...args: [ShardKey, string | undefined, number]) => this.#read(...args) } as Shards,
        activation: (_, shard) => (typeof this.place === "string" ? this.place : this.place(shard)),
      },
    );
  }

  async #read({ shard }: ShardKey, after: string | undefined, limit: number): Promise<string[]> {
    this.reads.push({ shard, after, at: this.clock.monotonic() });
    assert.ok(limit <= 1_000);
    if (this.isStoreDown) throw new Error("down");
    const from = after === undefined ? 0 : this.ids.indexOf(after) + 1;
    const page = this.ids.slice(from, from + limit).filter((id) => id.startsWith("1") === (shard === 1));
    await this.onRead();
    return page;
  }

  async #start(id: string, isKnown: boolean): Promise<void> {
    this.started.push({ id, isKnown, at: this.clock.monotonic() });
    this.most = Math.max(this.most, ++this.#starting);
    if (this.startMs > 0) await new Promise<void>((resolve) => this.clock.after(this.startMs, resolve));
    this.#starting--;
    if (this.fails.has(id)) throw new Error("no");
    this.activations.set(id, {});
  }

  get startedIds(): string[] {
    return this.started.map(({ id }) => id);
  }
}

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `a${String(i).padStart(7, "0")}`);

describe("remembered actors of a shard that was gained", () => {
  it("all remembered actors of a gained shard are started, once, page after page", async () => {
    const it = new Setting(100_000);
    it.ids = many(2_500);
    it.activations.set(it.ids[7]!, {});
    it.starter.gained(0);
    assert.deepEqual(it.starter.waiting, { shards: 1, restarts: 0 });
    await it.clock.advance("5s");
    assert.deepEqual(
      it.startedIds,
      it.ids.filter((_, i) => i !== 7),
    );
    assert.ok(it.started.every(({ isKnown }) => isKnown));
    assert.deepEqual(
      it.reads.map(({ after }) => after),
      [undefined, it.ids[999], it.ids[1_999]],
    );
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 0 });
  });

  it("actors that run already are skipped, also when a whole page of them does", async () => {
    const it = new Setting(100_000);
    it.ids = many(2_500);
    for (const id of it.ids.slice(0, 2_400)) it.activations.set(id, {});
    it.starter.gained(0);
    await it.clock.advance("5s");
    assert.deepEqual(it.startedIds, it.ids.slice(2_400));
    assert.equal(it.reads.length, 3);
  });

  it("actors that belong to another shard by now are not started here", async () => {
    const it = new Setting();
    it.ids = ["a", "b", "d"];
    it.shardOf = (id) => (id === "b" ? 7 : 0);
    it.starter.gained(0);
    await it.clock.advance("1m");
    assert.deepEqual(it.startedIds, ["a", "d"]);
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 0 });
  });

  it("actors whose shard the application cannot compute are started as soon as it can, and delay no others", async () => {
    const it = new Setting();
    it.ids = ["a", "c", "d"];
    const rule = it.shardOf;
    it.shardOf = (id) => {
      if (id === "c") throw new RangeError("not today");
      return 0;
    };
    it.starter.gained(0);
    await it.clock.advance("1m");
    assert.deepEqual(it.startedIds, ["a", "d"]);
    for (const id of ["c", "e"]) it.starter.restartLater(id);
    await it.clock.advance("1m");
    assert.deepEqual(it.startedIds, ["a", "d", "e"]);
    it.shardOf = rule;
    await it.clock.advance(RESTART_MS);
    assert.deepEqual(it.startedIds, ["a", "d", "e", "c"]);
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 0 });
  });

  it("actors whose shard the application cannot compute are given up when their shard is lost, or they are forgotten", async () => {
    const it = new Setting();
    it.ids = ["c", "d"];
    it.shardOf = () => {
      throw new RangeError("not today");
    };
    it.starter.gained(0);
    await it.clock.advance("15s");
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 2 });
    it.starter.beginForget("d")();
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 1 });
    it.place = "elsewhere";
    await it.clock.advance("1m");
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 0 });
    assert.deepEqual(it.started, []);
  });

  it("actors are started at the configured rate, regardless of their number, and no more are read than started", async () => {
    const it = new Setting(500);
    it.ids = many(1_000_000);
    it.starter.gained(0);
    await it.clock.advance("10s");
    const { length } = it.started;
    assert.ok(length > 4_500 && length <= 5_020, `${length} in 10 s`);
    assert.ok(it.reads.length <= 6, `${it.reads.length} pages were read`);
    for (let second = 0; second < 10; second++) {
      const from = second * 1_000;
      const within = it.started.filter(({ at }) => at >= from && at < from + 1_000).length;
      assert.ok(within <= 520, `${within} in second ${second}`);
    }
    it.starter.stop();
    await it.clock.advance("1m");
    assert.equal(it.started.length, length, "one that is stopped starts nobody");
  });

  it("only a limited number of actors that take long are started at the same time", async () => {
    const it = new Setting(100_000);
    it.ids = many(1_500);
    it.startMs = 3_000;
    it.starter.gained(0);
    await it.clock.advance("2m");
    assert.equal(it.started.length, 1_500);
    assert.equal(it.most, 200);
  });

  it("actors wait for their start while the host has no room, and continue when it has", async () => {
    const it = new Setting();
    it.ids = many(10);
    it.hasRoom = false;
    it.starter.gained(0);
    await it.clock.advance("1m");
    assert.deepEqual(it.started, []);
    it.hasRoom = true;
    await it.clock.advance("5s");
    assert.equal(it.started.length, 10);
  });

  it("no actors are started when the shard is lost meanwhile, and the rest are when it comes back", async () => {
    const it = new Setting(10);
    it.ids = many(20);
    it.starter.gained(0);
    await it.clock.advance("1s");
    const before = it.started.length;
    assert.ok(before > 5 && before < 15);
    it.place = "elsewhere";
    await it.clock.advance("1m");
    assert.equal(it.started.length, before);
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 0 });
    assert.equal(it.starter.knows(0), false, "it has not been gone through");
    it.place = "here";
    it.starter.gained(0);
    await it.clock.advance("1m");
    assert.deepEqual(it.startedIds, it.ids);
  });

  it("actors of a shard that is about to move wait for their start, without delaying other shards", async () => {
    const it = new Setting();
    it.ids = ["1a", "1b", ...many(5)];
    it.place = (shard) => (shard === 0 ? "wait" : "here");
    it.starter.gained(0);
    it.starter.gained(1);
    await it.clock.advance("2s");
    assert.deepEqual(it.startedIds, ["1a", "1b"]);
    it.place = "here";
    await it.clock.advance("2s");
    assert.deepEqual(it.startedIds, it.ids);
  });

  it("a read that failed is repeated from the same place when the store responds", async () => {
    const it = new Setting(100_000);
    it.ids = many(1_200);
    it.onRead = async () => {
      it.isStoreDown = true;
    };
    it.starter.gained(0);
    await it.clock.advance("5s");
    assert.equal(it.started.length, 1_000);
    assert.ok(it.reads.length > 5, "it is tried again");
    it.isStoreDown = false;
    it.onRead = async () => {};
    await it.clock.advance("5s");
    assert.deepEqual(it.startedIds, it.ids);
  });

  it("actors that are forgotten after they were read are not started", async () => {
    const it = new Setting(10);
    it.ids = many(20);
    // One is being forgotten before anything is read, one while it is read, one after that.
    const [before, during, after] = [it.ids[5]!, it.ids[6]!, it.ids[15]!];
    const isOver = it.starter.beginForget(before);
    it.onRead = async () => {
      it.starter.beginForget(during)();
      isOver();
    };
    it.starter.gained(0);
    await it.clock.advance("1s");
    it.starter.beginForget(after)();
    await it.clock.advance("1m");
    assert.deepEqual(
      it.startedIds,
      it.ids.filter((id) => ![before, during, after].includes(id)),
    );
  });
});

describe("a remembered actor that stopped", () => {
  it("an actor that stopped is restarted after a pause, and is then remembered anew", async () => {
    const it = new Setting();
    it.starter.restartLater("a");
    await it.clock.advance(RESTART_MS - 100);
    assert.deepEqual(it.started, []);
    await it.clock.advance(200);
    assert.deepEqual(
      it.started.map(({ id, isKnown }) => [id, isKnown]),
      [["a", false]],
    );
    await it.clock.advance("5m");
    assert.equal(it.started.length, 1);
  });

  it("an actor is not restarted when it was forgotten, a call has activated it, or its shard lives elsewhere", async () => {
    const it = new Setting();
    it.place = (shard) => (shard === 1 ? "elsewhere" : "here");
    for (const id of ["forgotten", "called", "1moved"]) it.starter.restartLater(id);
    assert.equal(it.starter.restartsInMs("called"), RESTART_MS);
    assert.equal(it.starter.restartsInMs("1moved"), undefined, "not here");
    it.starter.beginForget("forgotten")();
    it.activations.set("called", {});
    await it.clock.advance("1m");
    assert.deepEqual(it.started, []);
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 0 });
  });

  it("a remembered actor that cannot be started is retried, each time after twice as long", async () => {
    const it = new Setting();
    it.ids = ["bad", "good"];
    it.fails.add("bad");
    it.starter.gained(0);
    await it.clock.advance("4m");
    const times = it.started.filter(({ id }) => id === "bad").map(({ at }) => at);
    const waits = times.slice(1).map((at, i) => Math.round((at - times[i]!) / 1_000));
    assert.deepEqual(waits, [10, 20, 40, 60, 60], "up to the longest wait");
    it.fails.clear();
    await it.clock.advance("2m");
    const { length } = it.startedIds;
    await it.clock.advance("10m");
    assert.equal(it.startedIds.length, length, "it runs");
    it.activations.clear();
    it.starter.restartLater("bad", true);
    assert.equal(
      it.starter.restartsInMs("bad"),
      RESTART_MS,
      "it ran well for long, so the next failure is a first one",
    );
  });

  it("a remembered actor that takes long to fail waits longer each time as well", async () => {
    const it = new Setting();
    it.ids = ["bad"];
    it.fails.add("bad");
    it.startMs = 30_000;
    it.starter.gained(0);
    await it.clock.advance("3m");
    const times = it.started.map(({ at }) => at);
    assert.deepEqual(
      times.slice(1).map((at, i) => Math.round((at - times[i]!) / 1_000)),
      [40, 50, 70],
    );
  });

  it("a remembered actor that stopped waits for its time before it is started", () => {
    const it = new Setting();
    it.starter.restartLater("a");
    it.starter.restartLater("b", true);
    assert.deepEqual([it.starter.restartsInMs("a"), it.starter.restartsInMs("b")], [RESTART_MS, RESTART_MS]);
    assert.deepEqual(it.starter.waiting, { shards: 0, restarts: 2 });
    assert.deepEqual(it.started, []);
    it.starter.stop();
  });

  it("a remembered actor that stops without having failed waits no longer each time", async () => {
    const it = new Setting();
    for (let i = 0; i < 5; i++) {
      it.starter.restartLater("a");
      assert.equal(it.starter.restartsInMs("a"), RESTART_MS);
      await it.clock.advance(RESTART_MS + 100);
      assert.equal(it.started.length, i + 1);
      it.activations.clear();
    }
  });

  it("a remembered actor that waits longer does not delay actors whose time comes sooner", async () => {
    const it = new Setting();
    for (let i = 0; i < 3; i++) it.starter.restartLater("bad", true);
    it.starter.restartLater("other");
    await it.clock.advance(RESTART_MS + 100);
    assert.deepEqual(it.startedIds, ["other"]);
    await it.clock.advance("40s");
    assert.deepEqual(it.startedIds, ["other", "bad"]);
  });

  it("many actors that stopped at once are restarted at the configured rate", async () => {
    const it = new Setting(100);
    for (const id of many(1_000)) it.starter.restartLater(id);
    await it.clock.advance(RESTART_MS + 1_000);
    assert.ok(it.started.length <= 110, `${it.started.length} in a second`);
    await it.clock.advance("10s");
    assert.equal(it.started.length, 1_000);
  });

  it("an actor beyond the number of waiting restarts is found by a scan of its shard", async () => {
    const it = new Setting(1_000_000);
    for (let i = 0; i < 100_000; i++) it.starter.restartLater(`x${i}`);
    it.ids = ["one too many"];
    it.starter.restartLater("one too many");
    assert.equal(it.starter.waiting.restarts, 100_000);
    await it.clock.advance("1s");
    assert.deepEqual(it.startedIds, ["one too many"]);
    it.starter.stop();
  });
});
