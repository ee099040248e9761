// Sticky actors in a whole cluster, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import type { ActorOptions } from "../actors/options/actor-options.ts";
import { sticky } from "../actors/options/sticky-options.ts";
import { isLimpetError } from "../kernel/errors.ts";
import type { TestHost } from "./test-host.ts";
import { openWorld, type TestWorld } from "./test-world.ts";

class Cart extends Actor<{ items: string[] }> {
  static options: ActorOptions = { placement: "sticky", idleTimeout: "10s" };
  #calls = 0;
  initial() {
    return { items: [] as string[] };
  }
  add(item: string) {
    this.state.items.push(item);
    return this.state.items.length;
  }
  /** Number of calls since its activation. */
  calls() {
    return ++this.#calls;
  }
  leave() {
    this.deactivate();
  }
}

class Patient extends Cart {
  static override options: ActorOptions = { placement: sticky({ lost: { after: "30s" } }) };
}
class Faithful extends Cart {
  static override options: ActorOptions = { placement: sticky({ lost: "never" }) };
}
class Few extends Cart {
  static override options: ActorOptions = { placement: sticky({ limit: 2 }) };
}
class Refusing extends Cart {
  static override options: ActorOptions = { placement: sticky({ limit: 2, full: "refuse" }) };
}
class Broken extends Cart {
  override onActivate() {
    throw new TypeError("no such thing");
  }
}
class Rolling extends Cart {
  static override options: ActorOptions = { name: "Cart", placement: "hash" };
}

const IDS = Array.from({ length: 30 }, (_, i) => `cart-${i}`);
const actors = [Cart, Patient, Faithful, Few, Refusing];

/** Calls every actor once, and returns its host. */
async function fill(world: TestWorld, type: typeof Cart = Cart, ids = IDS): Promise<Map<string, string>> {
  const up = world.hosts.filter(({ isUp }) => isUp);
  for (const [i, id] of ids.entries()) await up[i % up.length]!.actor(type, id).add("tea");
  return homesOf(world, type, ids);
}

async function homesOf(world: TestWorld, type: typeof Cart = Cart, ids = IDS): Promise<Map<string, string>> {
  const homes = new Map<string, string>();
  for (const id of ids) homes.set(id, (await world.where(type, id))?.name ?? "nowhere");
  return homes;
}

const at = (homes: Map<string, string>, host: string): string[] =>
  [...homes.keys()].filter((id) => homes.get(id) === host);

/** The sum of a counter or gauge over its labels that match. */
function figure(host: TestHost, name: string, labels = ""): number {
  const lines = host.app.metrics().split("\n");
  const found = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
  return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

const sumOf = (world: TestWorld, name: string, labels = ""): number =>
  world.hosts.filter(({ isUp }) => isUp).reduce((sum, host) => sum + figure(host, name, labels), 0);

async function leaderOf(world: TestWorld): Promise<string> {
  const leads = world.hosts.find(({ isUp, app }) => isUp && app.host.status().scheduler?.leads);
  assert.ok(leads);
  return leads.name;
}

describe("sticky actors", () => {
  it("sticky actors stay on their hosts when a host joins and when it leaves again", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    await world.stopHost("c");
    const homes = await fill(world);
    assert.deepEqual(new Set(homes.values()), new Set(["a", "b"]));
    await world.restart("c");
    await world.settled();
    for (const host of world.hosts) for (const id of IDS) await host.actor(Cart, id).calls();
    assert.deepEqual(await homesOf(world), homes);
    // New actors may go to the new host.
    const others = IDS.map((id) => `other-${id}`);
    assert.ok(at(await fill(world, Cart, others), "c").length > 0);
    await world.stopHost("c");
    await world.settled();
    assert.deepEqual(await homesOf(world), homes);
    // No actor has left memory meanwhile.
    for (const id of IDS) assert.equal(await world.host("a").actor(Cart, id).calls(), 4);
    assert.equal(sumOf(world, "limpet_host_drained_actors_total", 'type="Cart"'), 0);
  });

  it("sticky actors are found again without a second request to the leader", async () => {
    await using world = await openWorld({ actors, hosts: 3 });
    await fill(world);
    for (const host of world.hosts) for (const id of IDS) await host.actor(Cart, id).calls();
    const asked = sumOf(world, "limpet_scheduler_sticky_acquires_total");
    assert.equal(sumOf(world, "limpet_scheduler_sticky_acquires_total", 'outcome="granted"'), IDS.length);
    const misses = sumOf(world, "limpet_host_sticky_cache_total", 'result="miss"');
    for (const host of world.hosts) for (const id of IDS) await host.actor(Cart, id).calls();
    assert.equal(sumOf(world, "limpet_scheduler_sticky_acquires_total"), asked);
    assert.equal(sumOf(world, "limpet_host_sticky_cache_total", 'result="miss"'), misses);
  });

  it("a sticky actor is requested once, however many calls arrive at the same time", async () => {
    await using world = await openWorld({ actors, hosts: 3 });
    const calls = world.hosts.flatMap((host) => Array.from({ length: 20 }, () => host.actor(Cart, "one").calls()));
    const answers = await Promise.all(calls);
    assert.deepEqual(
      answers.toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, i) => i + 1),
    );
    assert.equal(sumOf(world, "limpet_scheduler_sticky_acquires_total"), 1);
  });

  it("idle sticky actors stay in memory, which is counted once", async () => {
    await using world = await openWorld({ actors, hosts: 2 });
    await fill(world);
    for (const id of IDS) await world.hosts[0].actor(Cart, id).calls();
    await world.advance("5m");
    for (const id of IDS) assert.equal(await world.hosts[0].actor(Cart, id).calls(), 2);
    assert.equal(sumOf(world, "limpet_idle_deactivations_skipped_total", 'type="Cart"'), IDS.length);
  });

  it("sticky actors are placed anew after they have deactivated themselves", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    await world.stopHost("c");
    await fill(world);
    await world.restart("c");
    await world.settled();
    assert.equal(at(await homesOf(world), "c").length, 0);
    for (const id of IDS) await world.host("a").actor(Cart, id).leave();
    await world.advance("1s");
    assert.equal(sumOf(world, "limpet_scheduler_sticky_actors"), 0);
    assert.ok(at(await fill(world), "c").length > 0);
    // All hosts find them, also hosts with the old location in their cache.
    for (const host of world.hosts) for (const id of IDS) await host.actor(Cart, id).calls();
  });

  it("sticky actors move when their host is drained, and their state moves with them", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    const homes = await fill(world);
    await world.host("a").run(({ host }) => host.drain("b"));
    await world.settled();
    const now = await fill(world);
    assert.deepEqual(at(now, "b"), []);
    for (const [id, home] of homes) if (home !== "b") assert.equal(now.get(id), home);
    for (const id of IDS) assert.equal(await world.host("b").actor(Cart, id).add("x"), 3);
  });

  it("sticky actors stay available through the loss of the leader, and new ones wait for the reports of all hosts", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c", "d"] });
    const homes = await fill(world);
    const leader = await leaderOf(world);
    const caller = world.hosts.find(({ name }) => name !== leader)!;
    for (const id of IDS) await caller.actor(Cart, id).calls();
    world.crash(leader);
    // At once, before the loss is detected.
    for (const [id, home] of homes) if (home !== leader) assert.equal(await caller.actor(Cart, id).calls(), 2);
    assert.equal(await caller.actor(Cart, "new").calls(), 1);
    await world.settled();
    for (const [id, home] of homes) {
      if (home === leader) assert.equal(await caller.actor(Cart, id).add("x"), 2);
      else assert.equal(await caller.actor(Cart, id).calls(), 3);
    }
    for (const [id, home] of await homesOf(world)) if (homes.get(id) !== leader) assert.equal(home, homes.get(id));
  });

  it("sticky actors are placed elsewhere after their host is lost, with everything they committed", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    const homes = await fill(world);
    const lost = world.hosts.find(({ app }) => !app.host.status().scheduler?.leads)!.name;
    assert.ok(at(homes, lost).length > 0);
    world.crash(lost);
    await world.settled();
    const left = world.hosts.find(({ isUp }) => isUp)!;
    for (const id of IDS) assert.equal(await left.actor(Cart, id).add("x"), 2);
    for (const [id, home] of await homesOf(world)) {
      if (homes.get(id) !== lost) assert.equal(home, homes.get(id));
      else assert.notEqual(home, lost);
    }
    assert.equal(sumOf(world, "limpet_scheduler_sticky_clears_total", 'type="Cart"'), at(homes, lost).length);
  });

  it("sticky actors are dropped by a host that is cut off before another host may have them", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    const homes = await fill(world);
    const lost = world.hosts.find(({ app }) => !app.host.status().scheduler?.leads)!;
    const mine = at(homes, lost.name);
    world.isolate(lost);
    await world.advance("9s");
    assert.equal(figure(lost, "limpet_actors_active", 'type="Cart"'), 0);
    const other = world.hosts.find((host) => host !== lost)!;
    await world.advance("15s");
    for (const id of mine) assert.equal(await other.actor(Cart, id).add("x"), 2);
    world.heal();
    await world.settled();
    for (const id of IDS) assert.equal(await lost.actor(Cart, id).calls(), 1);
  });

  it("sticky actors are kept for a lost host for the time of their type, and are then placed elsewhere", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    const homes = await fill(world, Patient);
    const lost = world.hosts.find(({ app }) => !app.host.status().scheduler?.leads)!.name;
    const [id] = at(homes, lost);
    world.crash(lost);
    await world.settled();
    const other = world.hosts.find(({ isUp }) => isUp)!;
    await assert.rejects(other.actor(Patient, id!).calls(), (error) => isLimpetError(error, "OWNER_AWAY"));
    const where = await other.run(({ host }) => host.where("Patient", id!));
    assert.deepEqual([where.sticky?.away, where.ownerName], [true, lost]);
    await world.advance("31s");
    assert.equal(await other.actor(Patient, id!).add("x"), 2);
  });

  it("sticky actors are kept for ever for a host that must return, and run there when it does", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    const homes = await fill(world, Faithful);
    const lost = world.hosts.find(({ app }) => !app.host.status().scheduler?.leads)!.name;
    const [first, second, third] = at(homes, lost);
    world.crash(lost);
    await world.settled();
    const other = world.hosts.find(({ isUp }) => isUp)!;
    await world.advance("1h");
    await assert.rejects(other.actor(Faithful, first!).calls(), (error) => isLimpetError(error, "OWNER_AWAY"));
    // The operator releases the actor before its reservation ends.
    await other.run(({ host }) => host.release("Faithful", third!));
    assert.equal(await other.actor(Faithful, third!).add("x"), 2);
    await world.restart(lost);
    await world.settled();
    assert.equal(await other.actor(Faithful, first!).add("x"), 2);
    assert.equal(await world.host(lost).actor(Faithful, second!).add("x"), 2);
    const now = await homesOf(world, Faithful, [first!, second!]);
    assert.deepEqual([...now.values()], [lost, lost]);
  });

  it("sticky actors at the limit of their type are evicted, the least recently used first", async () => {
    await using world = await openWorld({ actors, hosts: ["a"] });
    const a = world.host("a");
    for (const id of ["1", "2", "1", "3"]) await a.actor(Few, id).calls();
    await world.advance("1s");
    const { actors: held } = await a.run(({ host }) => host.sticky({ type: "Few", limit: 10 }));
    assert.deepEqual(
      held.map(({ id }) => id),
      ["1", "3"],
    );
    assert.equal(await a.actor(Few, "1").calls(), 3);
  });

  it("a sticky actor above the limit of its type is rejected", async () => {
    await using world = await openWorld({ actors, hosts: ["a"] });
    const a = world.host("a");
    for (const id of ["1", "2"]) await a.actor(Refusing, id).calls();
    await assert.rejects(a.actor(Refusing, "3").calls(), (error) => isLimpetError(error, "HOST_FULL"));
    await a.actor(Refusing, "1").leave();
    await world.advance("1s");
    assert.equal(await a.actor(Refusing, "3").calls(), 1);
  });

  it("sticky actors leave a drained host for good, also when the store fails meanwhile", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"], storeTimeout: "1s" });
    const homes = await fill(world);
    const b = world.host("b");
    const mine = at(homes, "b");
    const busy = mine.map((id) =>
      b
        .actor(Cart, id)
        .add("x")
        .catch(() => 0),
    );
    world.database.goDown();
    await world.host("a").run(({ host }) => host.drain("b"));
    await world.advance("2s");
    world.database.comeBack();
    await Promise.all(busy);
    await world.settled();
    const { actors: held } = await b.run(({ host }) => host.sticky({ here: true, limit: 100 }));
    assert.deepEqual(held, []);
    for (const id of mine) assert.ok((await b.actor(Cart, id).add("y")) >= 2);
    assert.deepEqual(at(await homesOf(world), "b"), []);
  });

  it("sticky actors are found through a full host, which neither rejects the call nor loses an actor of its own", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b"] });
    await world.stopHost("b");
    const a = world.host("a");
    for (const id of ["1", "2"]) await a.actor(Refusing, id).calls();
    await world.restart("b");
    await world.settled();
    const b = world.host("b");
    // Some of these are placed on b, until it is full.
    for (const id of IDS)
      await b
        .actor(Refusing, id)
        .calls()
        .catch(() => 0);
    const before = await b.run(({ host }) => host.sticky({ here: true, limit: 100 }));
    assert.equal(before.actors.length, 2);
    for (const id of ["1", "2"]) assert.equal(await b.actor(Refusing, id).calls(), 2);
    assert.deepEqual(await b.run(({ host }) => host.sticky({ here: true, limit: 100 })), before);
  });

  it("sticky actors that fail to activate do not keep their place", async () => {
    await using world = await openWorld({ actors: [Broken], hosts: ["a"] });
    const a = world.host("a");
    await assert.rejects(a.actor(Broken, "x").add("tea"), /no such thing/);
    await world.advance("1s");
    assert.equal(figure(a, "limpet_scheduler_sticky_actors", 'type="Broken"'), 0);
  });

  it("an operator can release a sticky actor, and sees since when and against which ring it is there", async () => {
    await using world = await openWorld({ actors, hosts: ["a", "b", "c"] });
    await world.stopHost("c");
    const homes = await fill(world);
    await world.restart("c");
    await world.settled();
    const a = world.host("a");
    const whereabouts = await Promise.all(IDS.map((id) => a.run(({ host }) => host.where("Cart", id))));
    const elsewhere = whereabouts.find(({ owner, sticky }) => sticky !== undefined && sticky.ring !== owner);
    assert.ok(elsewhere?.sticky);
    assert.equal(elsewhere.ownerName, homes.get(elsewhere.id));
    assert.equal(elsewhere.sticky.ringName, "c");
    await a.run(({ host }) => host.release("Cart", elsewhere.id));
    await world.advance("1s");
    assert.equal(await a.actor(Cart, elsewhere.id).add("x"), 2);
    assert.equal((await world.where(Cart, elsewhere.id))?.name, "c");
    await assert.rejects(
      a.run(({ host }) => host.release("Cart", "nobody")),
      (error) => isLimpetError(error, "NOT_STICKY"),
    );
  });

  it("all hosts must agree on the sticky options of a type: other options are rejected until those hosts are gone", async () => {
    await using world = await openWorld({ actors: [Cart], hosts: ["a", "b"] });
    await world.stopHost("b");
    await assert.rejects(
      world.restart("b", { actors: [Rolling] }),
      /Cart is sticky on the other hosts and not sticky here/,
    );
    await world.restart("b", { actors: [Few] });
    await world.settled();
    const b = world.host("b");
    assert.equal(await b.actor(Few, "x").calls(), 1);
    // This also holds for a type that a running host adds; the host continues with its other types.
    await assert.rejects(
      b.run((app) => app.add(Rolling)),
      (error) => isLimpetError(error, "OPTION_INVALID") && /not sticky here/.test(error.message),
    );
    await b.run((app) => app.add(Cart));
    assert.equal(await b.actor(Cart, "x").calls(), 1);
    assert.equal(await b.actor(Few, "x").calls(), 2);
  });
});
