import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLog } from "../../ports/log.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import type { Leader } from "../discovery/leader-source.ts";
import { HostLease } from "../model/host-lease.ts";
import { SleptLease } from "./slept-lease.ts";

const LEASE_MS = 10_000;

/** A host with a fresh lease from this leader, and the outcome of its sleep. */
function host(leader: Partial<Leader>) {
  const clock = new VirtualClock();
  let offset = 0;
  const wall = { ...clockOf(clock), now: () => clock.now() + offset };
  const lease = new HostLease();
  const outcomes: string[] = [];
  const slept = new SleptLease({
    clock: wall,
    log: silentLog,
    lease,
    kept: () => outcomes.push("kept"),
    lost: () => {
      outcomes.push("lost");
      slept.clear();
    },
  });
  lease.length(LEASE_MS);
  lease.renewed(lease.renewing(clock.monotonic(), clock.now()));
  slept.grantedBy(leader as Leader);
  const suspend = (ms: number): void => {
    offset += ms;
  };
  return { clock, lease, slept, outcomes, suspend };
}

const clockOf = (clock: VirtualClock) => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (ms: number, fn: () => void) => clock.after(ms, fn),
  soon: (fn: () => void) => clock.soon(fn),
});

describe("the lease of a host that slept", () => {
  it("a host keeps the lease if its leader is in the same process and the store knows no later term", async () => {
    const { clock, lease, slept, outcomes } = host({ endTerm: async () => true });
    await clock.advance("1m");
    assert.equal(slept.ask(), true);
    assert.equal(slept.ask(), true);
    const settled: boolean[] = [];
    slept.wait((isKept) => settled.push(isKept));
    assert.deepEqual(settled, []);
    await clock.settled();
    assert.deepEqual([outcomes, settled], [["kept"], [true]]);
    assert.equal(lease.lasts(clock.monotonic() + 8_400, clock.now() + 8_400), true);
    assert.equal(lease.lasts(clock.monotonic() + 8_600, clock.now() + 8_600), false);
  });

  for (const [title, endTerm] of [
    ["the store knows a later term", async () => false],
    ["the store is unavailable", async () => assert.fail("unavailable")],
  ] as const) {
    it(`a host drops everything if ${title}`, async () => {
      const { clock, slept, outcomes } = host({ endTerm });
      await clock.advance("1m");
      assert.equal(slept.ask(), true);
      const settled: boolean[] = [];
      slept.wait((isKept) => settled.push(isKept));
      await clock.settled();
      assert.deepEqual([outcomes, settled], [["lost"], [false]]);
    });
  }

  it("a host does not ask if its leader is in another process", async () => {
    const { clock, slept } = host({});
    await clock.advance("1m");
    assert.equal(slept.ask(), false);
  });

  it("a host does not ask if the stream to its leader closed before the lease was over", async () => {
    const { clock, slept } = host({ endTerm: async () => true });
    slept.closed(true);
    await clock.advance("1m");
    assert.equal(slept.ask(), false);
  });

  it("a host does not ask if only the wall clock shows the sleep", async () => {
    const { slept, suspend } = host({ endTerm: async () => true });
    suspend(60_000);
    assert.equal(slept.ask(), false);
  });

  it("a host waits for the store for a fifth of a lease", async () => {
    const { clock, slept, outcomes } = host({ endTerm: () => new Promise(() => {}) });
    await clock.advance("1m");
    assert.equal(slept.ask(), true);
    await clock.advance(LEASE_MS / 5 - 1);
    assert.deepEqual(outcomes, []);
    await clock.advance(1);
    assert.deepEqual(outcomes, ["lost"]);
  });

  it("a host drops everything if it slept again while the store answered", async () => {
    const answer = Promise.withResolvers<boolean>();
    const { clock, slept, outcomes, suspend } = host({ endTerm: () => answer.promise });
    await clock.advance("1m");
    assert.equal(slept.ask(), true);
    suspend(60_000);
    answer.resolve(true);
    await clock.settled();
    assert.deepEqual(outcomes, ["lost"]);
  });

  it("a host expects its leader to close the stream because the term is over, and for no other reason", async () => {
    for (const [isTermOver, outcome] of [
      [true, "kept"],
      [false, "lost"],
    ] as const) {
      const answer = Promise.withResolvers<boolean>();
      const { clock, slept, outcomes } = host({ endTerm: () => answer.promise });
      await clock.advance("1m");
      assert.equal(slept.ask(), true);
      slept.closed(isTermOver);
      answer.resolve(true);
      await clock.settled();
      assert.deepEqual(outcomes, [outcome]);
    }
  });
});
