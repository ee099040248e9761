import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../../host/system.ts";
import { invariant } from "../../kernel/errors.ts";
import { Metrics } from "../../observe/metrics.ts";
import type { LeaderFeature, NamespaceFeature } from "../../ports/cluster/leader-feature.ts";
import type { Hello } from "../../ports/control-messages.ts";
import { silentLog } from "../../ports/log.ts";
import type { Coordination } from "../../ports/store/coordination.ts";
import { replaceMethods } from "../../ports/store/intercept.ts";
import { LeaderShards } from "../../sharding/leader/leader-shards.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { Scheduler } from "./scheduler.ts";

const SETTINGS = {
  dedicated: false,
  leaseMs: 10_000,
  leaderLeaseMs: 3_000,
  roundTimeoutMs: 8_000,
  coalesceMs: 0,
  replicationFactor: 10,
  failover: "lease",
} as const;

function world(clock: VirtualClock, coordination: Coordination): ConstructorParameters<typeof Scheduler>[1] {
  return {
    clock,
    coordination,
    shards: new LeaderShards({ clock, log: silentLog, meter: new Metrics(), shards: new MemoryStore().shards }),
    random: systemRandom,
    log: silentLog,
    meter: new Metrics(),
    identity: { machine: "here", pid: 1 },
    hasEnded: () => false,
    openServer: async () => assert.fail("nobody else is there"),
    connect: () => assert.fail("nobody else is there"),
  };
}

test("a scheduler that stopped leading by its own clock leads again in a new term only, although the store knew nothing of it", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(() => clock.now());
  let delayMs = 0;
  const slow = replaceMethods<Coordination>(store.coordination, {
    campaign: async (candidate, dead) => {
      const result = await store.coordination.campaign(candidate, dead);
      if (delayMs > 0) await new Promise<void>((resolve) => clock.after(delayMs, resolve));
      return result;
    },
  });
  const scheduler = new Scheduler(SETTINGS, world(clock, slow));
  await scheduler.start();
  const first = scheduler.leader!.term;
  // The store renews the lease in time, but its answers come after the end that they would move.
  delayMs = 2_700;
  await clock.advance("3400ms");
  assert.equal(scheduler.leads, false);
  delayMs = 0;
  await clock.advance("3s");
  assert.equal(scheduler.leads, true);
  assert.ok(scheduler.leader!.term > first);
  await scheduler.stop();
  assert.deepEqual((await store.coordination.campaign({ ...NOBODY, incarnation: "z" })).schedulers.length, 1);
});

const NOBODY = { machine: "", pid: 0, address: "", dedicated: false, leaseMs: 1_000, hostLeaseMs: 1_000 };

test("a watcher of the schedulers gets the list at once and then only when it has changed", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(() => clock.now());
  const opened = {
    ...world(clock, store.coordination),
    openServer: async () => ({ address: "a:1", close: async () => {} }),
  };
  const scheduler = new Scheduler({ ...SETTINGS, dedicated: true }, opened);
  await scheduler.start();
  const lists: string[] = [];
  const stop = scheduler.watch(({ term, hosts }) => lists.push(`${term} ${hosts.map(({ address }) => address)}`));
  await clock.advance("30s");
  assert.deepEqual(lists, [`${scheduler.leader!.term} a:1`]);
  await store.coordination.campaign({ ...NOBODY, incarnation: "z", address: "z:1", leaseMs: 60_000 });
  await clock.advance("30s");
  assert.equal(lists.length, 2);
  assert.match(lists[1]!, /z:1/);
  stop();
  await scheduler.stop();
});

test("a leader begins a new term above a newer one that a host has seen", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(() => clock.now());
  const scheduler = new Scheduler(SETTINGS, world(clock, store.coordination));
  await scheduler.start();
  const newer = scheduler.leader!.term + 1_000_000;
  scheduler.sawTerm(newer);
  assert.equal(scheduler.leads, false);
  await clock.advance("10s");
  assert.equal(scheduler.leads, true);
  assert.ok(scheduler.leader!.term > newer);
  await scheduler.stop();
});

test("a scheduler that a restored store has as the leader of an old term leads in a new term only", async () => {
  const clock = new VirtualClock();
  let store = new MemoryStore(() => clock.now());
  const terms = new Set<number>();
  const coordination = new Proxy({} as Coordination, {
    get: (_, name: keyof Coordination) => (store.coordination[name] as () => unknown).bind(store.coordination),
  });
  const scheduler = new Scheduler(SETTINGS, world(clock, coordination));
  await scheduler.start();
  scheduler.sawTerm(scheduler.leader!.term + 1_000);
  await clock.advance("10s");
  const newest = scheduler.leader!.term;
  const backup = new MemoryStore(() => clock.now());
  await backup.coordination.campaign({ ...NOBODY, incarnation: scheduler.incarnation, leaseMs: 3_000 });
  store = backup;
  scheduler.onChange = () => terms.add(scheduler.leader?.term ?? Number.POSITIVE_INFINITY);
  await clock.advance("10s");
  assert.equal(scheduler.leads, true);
  assert.ok(scheduler.leader!.term > newest);
  assert.ok([...terms].every((term) => term > newest));
  await scheduler.stop();
});

test("a dedicated scheduler also waits for leases that an embedded leader granted before it knew the end of its term", async () => {
  for (const dedicated of [true, false]) {
    const clock = new VirtualClock();
    const store = new MemoryStore(() => clock.now());
    const { term } = await store.coordination.campaign({ ...NOBODY, incarnation: "embedded", leaseMs: 3_000 });
    const types = ["Cart"];
    const member = { namespace: "n", incarnation: "h", address: "h:1", machine: "m", pid: 1, types };
    await store.coordination.persist(term, [{ kind: "save", member, isKnown: false }]);
    await store.coordination.resign("embedded");
    const opened = {
      ...world(clock, store.coordination),
      openServer: async () => ({ address: "a:1", close: async () => {} }),
    };
    const scheduler = new Scheduler({ ...SETTINGS, dedicated }, opened);
    await scheduler.start();
    assert.equal(scheduler.leads, true);
    const members = async () => (await store.coordination.members()).map(({ incarnation }) => incarnation);
    await clock.advance("11s");
    assert.deepEqual(await members(), dedicated ? ["h"] : []);
    await clock.advance("3s");
    assert.deepEqual(await members(), []);
    await scheduler.stop();
  }
});
test("a scheduler whose term fails goes on without it, and lets another scheduler lead first", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(() => clock.now());
  const logged: string[] = [];
  const usual = world(clock, store.coordination);
  const failing: LeaderFeature = {
    load: async () => {
      const begin = await usual.shards.load();
      return (term, over) => {
        const feature = begin(term, over);
        return {
          namespace: (of) => ({ ...feature.namespace(of), coordinator: BROKEN }),
          end: () => feature.end(),
        };
      };
    },
  };
  const scheduler = new Scheduler(SETTINGS, {
    ...usual,
    shards: failing,
    log: { ...silentLog, error: (event) => void logged.push(event) },
  });
  await scheduler.start();
  const first = scheduler.leader!.term;
  const stream = scheduler.leader!.report({ message() {}, closed() {} });
  stream.send({ ...HELLO, types: ["Cart"] });
  await clock.advance("100ms");
  assert.deepEqual([scheduler.leads, logged], [false, ["leader.invariant-broken"]]);
  // The store has no leader any more, and this scheduler does not campaign for a lease.
  await clock.advance("2500ms");
  assert.equal(scheduler.leads, false);
  const other = await store.coordination.campaign({ ...NOBODY, incarnation: "z", address: "", seenTerm: 0 });
  assert.equal(other.leading, true);
  await clock.advance("10s");
  assert.ok(scheduler.leader!.term > first);
  await scheduler.stop();
});

const BROKEN = new Proxy({} as NamespaceFeature, {
  get: (_, name) => (name === "deadline" ? Number.POSITIVE_INFINITY : () => invariant(false, "a shard has one home")),
});

const HELLO: Hello = {
  kind: "hello",
  namespace: "n",
  incarnation: "i",
  replaces: undefined,
  address: "a:1",
  name: "a",
  types: [],
  unlocked: new Map(),
  machine: "m",
  pid: 1,
};
