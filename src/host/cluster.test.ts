// Several apps in one process that share a store in memory: a whole cluster with real sockets and a real
// clock.
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import type { ActorClass } from "../actors/routing/remote.ts";
import type { LimpetSettings } from "../config/settings.ts";
import { resolveSettings } from "../config/settings.ts";
import { silentLog } from "../ports/log.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type App, openApp } from "./app.ts";
import { eventually, LEASES, SHORT_LEASES, settled } from "./cluster-kit.test.ts";

class Tally extends Actor<{ count: number }> {
  initial() {
    return { count: 0 };
  }

  add() {
    return ++this.state.count;
  }

  async slow(ms: number) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ++this.state.count;
  }

  fail(): never {
    throw Object.assign(new RangeError("too much", { cause: new TypeError("inside") }), { code: "E_MUCH" });
  }

  async until() {
    begun.add(this.id);
    await new Promise((resolve) => this.signal.addEventListener("abort", resolve));
    aborted.add(this.id);
  }
}

class Other extends Actor {
  ping() {
    return "pong";
  }
}

/** Calls another actor, which calls back. */
class Ring extends Actor<{ entered: number }> {
  initial() {
    return { entered: 0 };
  }

  async round(next: string, back: string): Promise<number> {
    this.state.entered++;
    return this.actor(Ring, next).back(back);
  }

  async back(to: string): Promise<number> {
    return this.actor(Ring, to).enter();
  }

  enter() {
    return ++this.state.entered;
  }

  /** Waits for another actor while it runs. */
  async pass(to: string): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return this.actor(Ring, to).enter();
  }
}

class Open extends Ring {
  static options = { name: "Open", reentrant: true };

  override async round(next: string, back: string): Promise<number> {
    this.state.entered++;
    return this.actor(Open, next).back(back);
  }

  override async back(to: string): Promise<number> {
    return this.actor(Open, to).enter();
  }
}

/** Actors in which the turn of `until` has begun, and actors that lost it. */
const begun = new Set<string>();
const aborted = new Set<string>();

describe("apps that share a store", () => {
  let store = new MemoryStore();
  let apps: App[] = [];

  afterEach(async () => {
    await Promise.all(apps.map((app) => app.stop()));
    apps = [];
    store = new MemoryStore();
  });

  async function open(actors: readonly ActorClass[] = [Tally], code: LimpetSettings = {}): Promise<App> {
    const settings = resolveSettings({ code: { cluster: { ...LEASES }, ...code }, file: false, env: {} });
    const app = await openApp({ actors }, settings, { store, clustered: true, log: silentLog });
    apps.push(app);
    return app;
  }

  /** Ids of actors on another host than `app`, `count` of them. */
  async function idsElsewhere(app: App, type: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; ids.length < count && i < 1_000; i++) {
      if (!(await app.host.where(type, `id-${i}`)).here) ids.push(`id-${i}`);
    }
    assert.equal(ids.length, count);
    return ids;
  }

  it("hosts agree on one leader and on the owner of every actor", async () => {
    const all = [await open(), await open(), await open()];
    await settled(all[0]!, 3);
    const view = await all[1]!.host.cluster();
    assert.equal(view.schedulers.filter(({ leader }) => leader).length, 1);
    assert.deepEqual(new Set(view.hosts.map(({ state }) => state)), new Set(["member"]));
    const owners = new Set<string | undefined>();
    for (let i = 0; i < 100; i++) {
      const found = await Promise.all(all.map((app) => app.host.where("Tally", `id-${i}`)));
      assert.equal(new Set(found.map(({ owner }) => owner)).size, 1);
      assert.equal(found.filter(({ here }) => here).length, 1);
      owners.add(found[0]!.owner);
    }
    assert.equal(owners.size, 3);
  });

  it("every host accepts calls to every actor", async () => {
    const [one, two] = [await open(), await open()];
    await settled(one, 2);
    const [id] = await idsElsewhere(one, "Tally", 1);
    assert.equal(await one.actor(Tally, id!).add(), 1);
    assert.equal(await two.actor(Tally, id!).add(), 2);
    assert.equal(await one.actor(Tally, id!).add(), 3);
    assert.equal((await two.host.where("Tally", id!)).activeHere, true);
    assert.equal((await one.host.where("Tally", id!)).activeHere, false);
  });

  it("errors cross hosts with name, message, code and cause", async () => {
    const [one] = [await open(), await open()];
    await settled(one, 2);
    const [id] = await idsElsewhere(one, "Tally", 1);
    await assert.rejects(one.actor(Tally, id!).fail(), (error: Error & { code?: string }) => {
      assert.equal(error.name, "RangeError");
      assert.equal(error.message, "too much");
      assert.equal(error.code, "E_MUCH");
      assert.equal((error.cause as Error).name, "TypeError");
      return true;
    });
  });

  it("cancellation and deadlines cross hosts", async () => {
    const [one] = [await open(), await open()];
    await settled(one, 2);
    const [late, given] = await idsElsewhere(one, "Tally", 2);
    // Only a call that arrives before its deadline can carry the deadline over.
    await eventually(async () => {
      await assert.rejects(one.actor(Tally, late!, { timeout: "80ms" }).until(), { code: "CALL_TIMEOUT" });
      return begun.has(late!);
    }, "a call arrives before its deadline");
    const giveUp = new AbortController();
    const call = one.actor(Tally, given!, { signal: giveUp.signal }).until();
    call.catch(() => {});
    await eventually(async () => begun.has(given!), "the call arrives");
    giveUp.abort();
    await assert.rejects(call, { code: "CALL_CANCELLED" });
    await eventually(async () => aborted.has(late!) && aborted.has(given!), "the actors hear of it");
  });

  it("a call that comes back to its actor across hosts is recognised", async () => {
    const [one, two] = [await open([Ring, Open]), await open([Ring, Open])];
    await settled(one, 2);
    const [there] = await idsElsewhere(one, "Ring", 1);
    const [here] = await idsElsewhere(two, "Ring", 1);
    await assert.rejects(one.actor(Ring, here!).round(there!, here!), (error: Error & { code?: string }) => {
      assert.equal(error.code, "CALL_CYCLE");
      assert.match(error.message, new RegExp(`Ring/${here}.round → Ring/${there}.back → Ring/${here}.enter`));
      return true;
    });
    assert.equal(await one.actor(Open, here!).round(there!, here!), 2);
    assert.equal(await two.actor(Open, there!).round(here!, there!), 2);
  });

  it("actors move to a host that joins, between two turns and without a failed call", async () => {
    const one = await open();
    const ids = Array.from({ length: 60 }, (_, i) => `id-${i}`);
    const slow = one.actor(Tally, "id-0").slow(100);
    const counts = new Map<string, number>();
    let over = false;
    const load = ids.map(async (id) => {
      for (let last = 0; !over; ) {
        const count = await one.actor(Tally, id).add();
        assert.ok(count > last);
        last = count;
        counts.set(id, last);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    });
    await open();
    await settled(one, 2);
    await slow;
    const moved = await idsElsewhere(one, "Tally", 5);
    over = true;
    await Promise.all(load);
    // One of them was also raised by the slow turn.
    for (const id of moved.filter((each) => counts.has(each))) {
      assert.ok((await one.actor(Tally, id).add()) > counts.get(id)!, id);
    }
  });

  it("actors that call each other and move at the same moment do not block each other", async () => {
    const one = await open([Ring]);
    const ids = Array.from({ length: 30 }, (_, i) => `id-${i}`);
    let over = false;
    const load = ids.map(async (id, i) => {
      while (!over) await one.actor(Ring, id).pass(`next-${(i * 7) % 30}`);
    });
    const two = await open([Ring]);
    await settled(one, 2);
    await two.stop();
    apps = [one];
    over = true;
    await Promise.all(load);
  });

  it("other hosts take over from a host that leaves, without a failed call", async () => {
    const [one, two] = [await open(), await open()];
    await settled(one, 2);
    const ids = await idsElsewhere(one, "Tally", 20);
    let over = false;
    const last = new Map<string, number>();
    const load = ids.map(async (id) => {
      while (!over) last.set(id, await one.actor(Tally, id).add());
    });
    await two.stop();
    apps = [one];
    await settled(one, 1);
    for (const id of ids) assert.equal((await one.host.where("Tally", id)).here, true);
    over = true;
    await Promise.all(load);
    for (const id of ids) assert.equal(await one.actor(Tally, id).add(), last.get(id)! + 1);
  });

  it("hosts continue when the leader leaves", async () => {
    const [one, two, three] = [await open(), await open(), await open()];
    await settled(two, 3);
    assert.equal(await two.actor(Tally, "a").add(), 1);
    await one.stop();
    apps = [two, three];
    assert.equal(await three.actor(Tally, "a").add(), 2);
    await eventually(async () => (await two.host.cluster().catch(() => undefined)) !== undefined, "another one leads");
    await settled(two, 2);
    assert.ok((await two.host.cluster()).term >= 2);
  });

  it("hosts may host different types, and a call to a type without a host names the problem", async () => {
    const [one, two] = [await open([Tally]), await open([Other])];
    assert.equal(await one.actor(Other, "x").ping(), "pong");
    assert.equal(await two.actor(Tally, "x").add(), 1);
    await assert.rejects(one.actor<Tally>("Nothing", "x").add(), { code: "NO_HOST" });
  });

  it("a host may add a type at run time, and remove it", async () => {
    const [one, two] = [await open([Tally]), await open([Tally])];
    await assert.rejects(one.actor(Other, "x").ping(), { code: "NO_HOST" });
    await two.add(Other);
    assert.equal(await one.actor(Other, "x").ping(), "pong");
    const ids = await idsElsewhere(one, "Tally", 5);
    for (const id of ids) assert.equal(await one.actor(Tally, id).add(), 1);
    await two.remove(Tally);
    for (const id of ids) assert.equal(await two.actor(Tally, id).add(), 2);
    for (const id of ids) assert.equal((await one.host.where("Tally", id)).here, true);
    await two.remove(Other);
    await assert.rejects(one.actor(Other, "x").ping(), { code: "NO_HOST" });
  });

  it("a host hands over its actors when an operator drains it", async () => {
    const [one, two] = [await open(), await open([Tally], { cluster: { ...LEASES, name: "two" } })];
    await settled(one, 2);
    const ids = await idsElsewhere(one, "Tally", 5);
    for (const id of ids) assert.equal(await one.actor(Tally, id).add(), 1);
    await one.host.drain("two");
    await settled(one, 1);
    for (const id of ids) assert.equal(await two.actor(Tally, id).add(), 2);
    assert.equal(two.host.types()[0]!.active, 0);
    await assert.rejects(one.host.drain("three"), { code: "HOST_UNKNOWN" });
  });

  it("hosts with the cluster key trust each other over TLS, and reject processes without it", async () => {
    const keys = ["a-long-and-secret-text", "another-long-and-secret-text"];
    const withKeys = (own: readonly string[]) => ({ cluster: { ...LEASES, keys: own } });
    const [one, two] = [await open([Tally], withKeys(keys)), await open([Tally], withKeys([keys[1]!]))];
    await settled(one, 2);
    const [id] = await idsElsewhere(two, "Tally", 1);
    assert.equal(await two.actor(Tally, id!).add(), 1);
    const stranger = { cluster: { ...SHORT_LEASES, keys: ["some-other-long-secret-text"] } };
    await assert.rejects(open([Tally], stranger), { code: "NOT_READY" });
  });

  it("hosts of different namespaces do not see each other", async () => {
    const [one, two] = [await open(), await open([Tally, Other], { namespace: "blue" })];
    await assert.rejects(one.actor(Other, "x").ping(), { code: "NO_HOST" });
    assert.equal(await one.actor(Tally, "x").add(), 1);
    assert.equal(await two.actor(Tally, "x").add(), 1);
    assert.deepEqual(
      [one, two].map((app) => app.host.types()[0]!.active),
      [1, 1],
    );
    assert.deepEqual(
      (await one.host.cluster()).hosts.map(({ namespace }) => namespace),
      ["default"],
    );
  });

  it("the metrics of the leader and of hosts count joins and leaves", async () => {
    const one = await open();
    const ids = Array.from({ length: 40 }, (_, i) => `id-${i}`);
    for (const id of ids) await one.actor(Tally, id).add();
    const two = await open();
    await settled(one, 2);
    for (const id of ids) await one.actor(Tally, id).add();
    const value = (app: App, name: string, labels = ""): number => {
      const line = app
        .metrics()
        .split("\n")
        .find((each) => each.startsWith(`${name}{`) && each.includes('type="Tally"') && each.includes(labels));
      return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(" ")));
    };
    const moved = value(one, "limpet_host_drained_actors_total", 'reason="moved"');
    assert.ok(moved > 0 && moved < ids.length);
    const expected: [App, string, string, number][] = [
      [one, "limpet_scheduler_ring_version", "", 2],
      [one, "limpet_scheduler_ring_rebuilds_total", 'reason="join"', 2],
      [one, "limpet_scheduler_ring_rebuild_seconds_count", "", 2],
      [one, "limpet_scheduler_orders_total", 'operation="lock"', 2],
      // One for each host is part of its snapshot.
      [one, "limpet_scheduler_orders_total", 'operation="update"', 4],
      [one, "limpet_scheduler_orders_total", 'operation="unlock"', 2],
      [one, "limpet_scheduler_round_seconds_count", "", 2],
      [one, "limpet_scheduler_rounds_in_progress", "", 0],
      [one, "limpet_host_ring_version", "", 2],
      [two, "limpet_host_ring_version", "", 2],
      [one, "limpet_host_update_seconds_count", "", 2],
      [one, "limpet_host_lock_seconds_count", "", 1],
      [one, "limpet_host_halts_total", "", 1],
      [one, "limpet_host_halted_actors_sum", "", moved],
      [one, "limpet_host_orders_total", 'operation="unlock"', 1],
      [one, "limpet_host_updates_acked_total", "", 2],
      [one, "limpet_actor_activations_total", "", ids.length],
      [two, "limpet_actor_activations_total", "", moved],
      [one, "limpet_activation_seconds_count", "", ids.length],
      [one, "limpet_actor_deactivations_total", 'reason="moved"', moved],
      [one, "limpet_actors_active", "", ids.length - moved],
      [one, "limpet_calls_routed_total", 'route="remote"', moved],
      [one, "limpet_calls_routed_total", 'route="local"', 2 * ids.length - moved],
    ];
    for (const [app, name, labels, count] of expected) {
      assert.equal(value(app, name, labels), count, `${name} ${labels} of ${app === one ? "one" : "two"}`);
    }
  });
});
