// Messages to sharded actors: their target actor and their route, on several hosts in one process.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import type { App } from "../host/app.ts";
import { eventually, LEASES, TestApps } from "../host/cluster-kit.test.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { testLimpet } from "../testing.ts";

const PLACEMENT = { shards: 8, rebalance: "200ms", relativeLimit: 1 } as const;
const ids = Array.from({ length: 40 }, (_, i) => `id-${i}`);
const activeOn = (app: App, type: string): number => app.host.types().find((one) => one.type === type)?.active ?? 0;

abstract class Counting extends Actor<{ count: number }> {
  initial() {
    return { count: 0 };
  }
  add(by = 1) {
    this.state.count += by;
    return this.state.count;
  }
}

describe("a message that carries the id", () => {
  class Embedded extends Counting {
    static options = {
      placement: sharded({ ...PLACEMENT, messageId: (message: { counter: string }) => message.counter }),
    };
    more(message: { counter: string; by: number }) {
      return [this.id, this.add(message.by)];
    }
  }
  class Wrapped extends Counting {
    static options = { placement: sharded(PLACEMENT) };
  }

  it("a message reaches its actor unchanged, by the extractor of the type", async () => {
    await using apps = new TestApps();
    const [one, two] = [await apps.open([Embedded]), await apps.open([Embedded])];
    for (const app of [one, two]) {
      for (const counter of ids) {
        const [id, count] = await app.region(Embedded).more({ counter, by: 2 });
        assert.deepEqual([id, count], [counter, app === one ? 2 : 4]);
      }
    }
    assert.equal(activeOn(one, "Embedded") + activeOn(two, "Embedded"), ids.length);
  });

  it("an actor receives the contents of an envelope, also from a host without the class", async () => {
    await using apps = new TestApps();
    const one = await apps.open([Wrapped]);
    const proxy = await apps.open([]);
    assert.equal(await one.region(Wrapped).add({ id: "a", message: 3 }), 3);
    assert.equal(await proxy.region(Wrapped).add({ id: "a", message: 4 }), 7);
    assert.equal(await proxy.region<Wrapped>("Wrapped").add({ id: "a" }), 8);
    assert.equal(activeOn(proxy, "Wrapped"), 0);
  });

  it("a message without a target is rejected, and has no effect", async () => {
    await using apps = new TestApps();
    const app = await apps.open([Embedded, Wrapped]);
    await assert.rejects(app.region(Embedded).more({} as never), { code: "ARGUMENT_INVALID" });
    await assert.rejects(app.region(Wrapped).add(7 as never), { code: "ARGUMENT_INVALID" });
    assert.equal(
      app.host.types().reduce((sum, { active }) => sum + active, 0),
      0,
    );
  });
});

describe("the application's own rule for shards", () => {
  class Town extends Counting {
    static options = { placement: sharded({ ...PLACEMENT, shardOf: (id) => id.split("-")[0]!, version: "1" }) };
  }

  it("actors with the same key of the application's rule live in one place", async () => {
    await using apps = new TestApps();
    const hosts = [await apps.open([Town]), await apps.open([Town])];
    await Promise.all(ids.map((id) => hosts[0]!.actor(Town, `berlin-${id}`).add()));
    assert.deepEqual(
      hosts.map((host) => activeOn(host, "Town")).sort((a, b) => a - b),
      [0, ids.length],
    );
    assert.equal((await apps.store.shards.homes()).length, 1);
  });

  it("a host that only calls need not know the rule: it asks, caches, and asks again after a move", async () => {
    await using apps = new TestApps();
    const one = await apps.open([Town]);
    const two = await apps.open([Town]);
    const proxy = await apps.open([]);
    const towns = ids.map((id) => `${id.slice(3)}-town`);
    const all = () => Promise.all(towns.map((id) => proxy.actor<Town>("Town", id).add()));
    assert.deepEqual(new Set(await all()), new Set([1]));
    assert.deepEqual(new Set(await all()), new Set([2]));
    assert.ok(activeOn(one, "Town") > 0 && activeOn(two, "Town") > 0);
    const homes = (await apps.store.shards.homes()).length;
    await two.stop();
    assert.deepEqual(new Set(await all()), new Set([3]));
    assert.equal((await apps.store.shards.homes()).length, homes, "it asked for no shard that there is not");
    assert.equal(activeOn(proxy, "Town"), 0);
  });

  it("an error of the rule is reported to the caller, and other actors are served", async () => {
    class Picky extends Counting {
      static options = {
        placement: sharded({
          ...PLACEMENT,
          version: "1",
          shardOf(id) {
            if (id === "bad") throw new TypeError("not this one");
            return id === "odd" ? (undefined as never) : id;
          },
        }),
      };
    }
    await using apps = new TestApps();
    const [one, two] = [await apps.open([Picky]), await apps.open([Picky])];
    for (const id of ["bad", "odd"]) {
      for (const app of [one, two]) {
        await assert.rejects(app.actor(Picky, id).add(), (error) => isLimpetError(error, "SHARD_INVALID"));
      }
    }
    assert.equal(await one.actor(Picky, "good").add(), 1);
    assert.equal(await two.actor(Picky, "good").add(), 2);
    // A lookup reports the same error; only a host without the class routes it elsewhere.
    const proxy = await apps.open([]);
    assert.match((await one.host.where("Picky", "bad")).why, /shardOf failed for bad: not this one/);
    assert.match((await proxy.host.where("Picky", "bad")).why, /only hosts of Picky can compute its shard/);
  });

  it("a rule that changes its answers may cost calls, but no acknowledged change is lost", async () => {
    let salt = "";
    class Fickle extends Counting {
      static options = { placement: sharded({ ...PLACEMENT, version: "1", shardOf: (id) => `${salt}${id}` }) };
    }
    await using apps = new TestApps();
    const one = await apps.open([Fickle]);
    const few = ids.slice(0, 10).map((id) => ({ id, done: 1, unknown: 0, last: 1 }));
    for (const { id } of few) assert.equal(await one.actor(Fickle, id).add(), 1);
    salt = "changed";
    // A host that has not asked the rule before gets its new answer.
    const two = await apps.open([Fickle]);
    for (const app of [one, two, one, two]) {
      for (const each of few) {
        try {
          const count = await app.actor(Fickle, each.id, { timeout: "300ms" }).add();
          assert.ok(count > each.last, `${each.id} counts on`);
          Object.assign(each, { done: each.done + 1, last: count });
        } catch (error) {
          assert.ok(isLimpetError(error) && error.retry !== "never", String(error));
          if (error.retry === "unknown") each.unknown++;
        }
      }
    }
    for (const { done, unknown, last } of few) assert.ok(last >= done && last <= done + unknown);
    assert.ok(few.some(({ done }) => done > 1));
  });
});

describe("roles", () => {
  class Backend extends Counting {
    static options = { placement: sharded({ ...PLACEMENT, role: "backend" }) };
  }

  it("a host that has the class without its role sends calls and never runs one", async () => {
    await using apps = new TestApps();
    const front = await apps.open([Backend]);
    await assert.rejects(front.actor(Backend, "a", { timeout: "200ms" }).add(), {
      code: "NO_HOST",
      message: /runs actors of type Backend: its class asks for hosts with the role backend/,
    });
    const back = await apps.open([Backend], {
      cluster: { ...LEASES, roles: ["other", "backend"] },
    });
    await eventually(async () => {
      const { tables } = await front.host.cluster();
      return tables.some(({ type, hosts }) => type === "Backend" && hosts.length === 1);
    }, "the type has a host");
    for (const id of ids) assert.equal(await front.actor(Backend, id).add(), 1);
    assert.equal(activeOn(back, "Backend"), ids.length);
    assert.equal(activeOn(front, "Backend"), 0);
    // It does not become a home when the only possible one is gone, either.
    await back.stop();
    await assert.rejects(front.actor(Backend, "a", { timeout: "200ms" }).add(), {
      code: "NO_HOST",
      message: /runs actors of type Backend: its class asks for hosts with the role backend/,
    });
    assert.equal(activeOn(front, "Backend"), 0);
  });

  it("the role of a class may change from one version to the next: each host follows its own version", async () => {
    const as = (role: string) =>
      class extends Counting {
        static options = { name: "Backend", placement: sharded({ ...PLACEMENT, role }) };
      };
    const [Before, After] = [as("old"), as("new")];
    await using apps = new TestApps();
    const one = await apps.open([Before], { cluster: { ...LEASES, roles: ["old"] } });
    const all = (app: App) => {
      return Promise.all(ids.map((id) => app.actor<Counting>("Backend", id, { timeout: "5m" }).add()));
    };
    await all(one);
    const two = await apps.open([After], { cluster: { ...LEASES, roles: ["new"] } });
    const three = await apps.open([After], { cluster: { ...LEASES, roles: ["old"] } });
    await eventually(async () => {
      const homes = await apps.store.shards.homes();
      return new Set(homes.map(({ incarnation }) => incarnation)).size === 2;
    }, "those of the next version get their share");
    assert.deepEqual(new Set(await all(one)), new Set([2]));
    assert.ok(activeOn(one, "Backend") > 0 && activeOn(two, "Backend") > 0);
    // The host stays, and gets the next version of the class, whose role it does not have.
    await one.remove(Before);
    await one.add(After);
    assert.deepEqual(new Set(await all(one)), new Set([3]));
    assert.deepEqual(
      [one, two, three].map((app) => activeOn(app, "Backend")),
      [0, ids.length, 0],
    );
  });

  it("roles do not count in a process that is alone", async () => {
    await using app = await testLimpet({ actors: [Backend] });
    assert.equal(await app.actor(Backend, "a").add(), 1);
  });
});
