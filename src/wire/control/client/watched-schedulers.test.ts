// Discovery of the leader through named schedulers, and the number of connections.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLog } from "../../../ports/log.ts";
import { VirtualClock } from "../../../world/virtual-clock.ts";
import type { WatchListener } from "./client.ts";
import { type SchedulerClient, WatchedSchedulers } from "./watched-schedulers.ts";

/** Schedulers `a`, `b` and `c`, of which one leads. Counts open connections. */
class Setting {
  readonly clock = new VirtualClock();
  readonly open = new Map<SchedulerClient, Set<WatchListener>>();
  readonly down = new Set<string>();
  leader = "b:1";
  term = 1;
  changes = 0;
  readonly source: WatchedSchedulers;

  constructor(named: readonly string[] = ["a:1", "b:1", "c:1"]) {
    const random = { number: () => 0, id: () => "", bytes: () => new Uint8Array() };
    this.source = new WatchedSchedulers(named, {
      clock: this.clock,
      random: random as never,
      log: silentLog,
      connect: (address) => this.#connect(address),
    });
    this.source.onChange = () => void this.changes++;
    this.source.start();
  }

  get connections(): string[] {
    return [...this.open.keys()].map(({ address }) => address).sort();
  }

  /** Streams of lists, by scheduler. */
  get watches(): string[] {
    return [...this.open].flatMap(([{ address }, watches]) => [...watches].map(() => address));
  }

  #connect(address: string): SchedulerClient {
    const watches = new Set<WatchListener>();
    const client = {
      address,
      watch: (listener: WatchListener) => {
        watches.add(listener);
        this.clock.after(1, () => this.#answer(address, watches, listener));
        return () => void watches.delete(listener);
      },
      close: () => void this.open.delete(client),
    } as unknown as SchedulerClient;
    this.open.set(client, watches);
    return client;
  }

  #answer(address: string, watches: Set<WatchListener>, listener: WatchListener): void {
    if (!watches.has(listener)) return;
    if (this.down.has(address)) {
      watches.delete(listener);
      listener.closed(undefined);
    } else {
      listener.list(this.#list());
    }
  }

  #list() {
    const hosts = ["a:1", "b:1", "c:1"].map((address) => {
      return { address, leader: address === this.leader, dedicated: true, incarnation: address };
    });
    return { term: this.term, hosts };
  }

  /** Elects another leader; reachable schedulers announce it. */
  elect(leader: string): void {
    this.leader = leader;
    this.term++;
    for (const [{ address }, watches] of this.open) {
      if (!this.down.has(address)) for (const { list } of [...watches]) list(this.#list());
    }
  }

  /** Cuts every connection to the address. */
  cut(address: string): void {
    this.down.add(address);
    for (const [client, watches] of [...this.open]) {
      if (client.address !== address) continue;
      for (const watch of [...watches]) {
        watches.delete(watch);
        watch.closed(undefined);
      }
    }
  }
}

describe("discovery of the leader through named schedulers", () => {
  it("a host watches the leader on the connection that carries its reports, and has no other", async () => {
    const it = new Setting();
    await it.clock.advance("1s");
    assert.equal(it.source.leader?.address, "b:1");
    assert.deepEqual([it.connections, it.watches, it.changes], [["b:1"], ["b:1"], 1]);
  });

  it("a host that asks the leader first opens no second connection", async () => {
    const it = new Setting(["b:1"]);
    await it.clock.advance("1s");
    assert.deepEqual([it.source.leader?.term, it.connections, it.watches], [1, ["b:1"], ["b:1"]]);
    it.elect("b:1");
    assert.deepEqual([it.source.leader?.term, it.connections, it.changes], [2, ["b:1"], 2]);
  });

  it("a host follows the next leader to its connection and closes the one before", async () => {
    const it = new Setting();
    await it.clock.advance("1s");
    it.elect("c:1");
    await it.clock.advance("1s");
    assert.equal(it.source.leader?.address, "c:1");
    assert.deepEqual([it.connections, it.watches], [["c:1"], ["c:1"]]);
  });

  it("a host that cannot reach the leader watches another scheduler, which names the next leader", async () => {
    const it = new Setting();
    await it.clock.advance("1s");
    it.cut("b:1");
    await it.clock.advance("20s");
    assert.ok(it.watches.every((address) => address !== "b:1"));
    it.elect("c:1");
    assert.equal(it.source.leader?.address, "c:1");
    await it.clock.advance("5s");
    assert.deepEqual([it.connections, it.watches], [["c:1"], ["c:1"]]);
  });

  it("a host whose leader is reachable again returns to one connection", async () => {
    const it = new Setting();
    await it.clock.advance("1s");
    it.cut("b:1");
    await it.clock.advance("10s");
    it.down.clear();
    await it.clock.advance("10s");
    assert.deepEqual([it.connections, it.watches, it.changes], [["b:1"], ["b:1"], 1]);
    it.source.stop();
    assert.deepEqual(it.connections, []);
  });
});
