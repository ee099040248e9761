// The operator's view: the metrics of actors, and the explanation of one actor.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../index.ts";
import { MemoryStore, testLimpet } from "../testing.ts";

class Counter extends Actor<{ n: number }> {
  static options = { idleTimeout: "1m" };
  initial() {
    return { n: 0 };
  }
  inc() {
    return ++this.state.n;
  }
  fail() {
    throw new Error("no");
  }
  async wait(on: string) {
    await this.actor(Gate, on).pass();
    return ++this.state.n;
  }
  tick() {
    this.timers.set("beat", { every: "1h" }, () => {});
  }
}

let held = Promise.withResolvers<void>();

class Gate extends Actor {
  async pass() {
    await held.promise;
  }
}

/** The value of a metric by name and labels, as Prometheus would read it. */
function read(text: string, series: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  assert.ok(line !== undefined, `${series} is not there`);
  return Number(line.slice(series.length + 1));
}

describe("metrics", () => {
  it("metrics count activations, turns, waits, commits, fenced commits and departures by reason", async () => {
    const store = new MemoryStore();
    await using app = await testLimpet({ actors: [Counter, Gate], stateStore: store });
    await using other = await testLimpet({ actors: [Counter, Gate], stateStore: store });
    await Promise.all([1, 2, 3].map(() => app.actor(Counter, "a").inc()));
    await app.actor(Counter, "b").inc();
    await assert.rejects(app.actor(Counter, "b").fail());
    await other.actor(Counter, "a").inc();
    await assert.rejects(app.actor(Counter, "a").inc(), { code: "FENCED" });
    assert.equal(read(app.metrics(), 'limpet_actors_active{namespace="default",type="Counter"}'), 2);
    await app.advance("2m");
    const text = app.metrics();
    const expected = {
      'limpet_actor_activations_total{namespace="default",type="Counter"}': 2,
      'limpet_actor_deactivations_total{namespace="default",reason="fenced",type="Counter"}': 1,
      'limpet_actor_deactivations_total{namespace="default",reason="idle",type="Counter"}': 1,
      'limpet_actors_active{namespace="default",type="Counter"}': 0,
      'limpet_turns_total{namespace="default",outcome="success",type="Counter"}': 4,
      'limpet_turns_total{namespace="default",outcome="error",type="Counter"}': 2,
      'limpet_commits_fenced_total{namespace="default",type="Counter"}': 1,
      'limpet_mailbox_wait_seconds_count{namespace="default",type="Counter"}': 6,
      limpet_commit_batch_size_sum: 5,
      limpet_commit_seconds_count: read(text, "limpet_commit_batch_size_count"),
      limpet_take_batch_size_sum: 2,
      limpet_store_retries_total: 0,
    };
    for (const [series, value] of Object.entries(expected)) assert.equal(read(text, series), value, series);
    assert.equal(
      read(text, 'limpet_turn_seconds_count{namespace="default",type="Counter"}'),
      5,
      "all turns that were not fenced",
    );
  });
});

describe("explain", () => {
  it("an explanation shows the phase of an actor, its duration, and the call it waits for", async () => {
    held = Promise.withResolvers();
    await using app = await testLimpet({ actors: [Counter, Gate] });
    const unknown = await app.host.explain("Counter", "a");
    assert.equal(unknown.phase, "not active");
    assert.match(unknown.summary, /never been stored/);

    await app.actor(Counter, "a").tick();
    const since = app.clock.now();
    const waiting = app.actor(Counter, "a").wait("g");
    const behind = app.actor(Counter, "a").inc();
    await app.advance("2s");
    const running = await app.host.explain("Counter", "a");
    assert.equal(running.phase, "running");
    assert.equal(running.activeSince, since);
    assert.deepEqual(running.running, [{ method: "wait", forMs: 2_000, waitsFor: "Gate/g.pass" }]);
    assert.deepEqual(running.queued, [{ method: "inc", forMs: 2_000 }]);
    assert.deepEqual(running.timers, ["beat"]);
    assert.equal(
      running.summary,
      "Counter/a has been running wait for 2s, waiting for Gate/g.pass; 1 more wait behind it",
    );

    held.resolve();
    await Promise.all([waiting, behind]);
    await app.advance("30s");
    const idle = await app.host.explain("Counter", "a");
    assert.equal(idle.phase, "idle");
    assert.equal(idle.summary, "Counter/a is in memory and idle since 30s");
    assert.equal(idle.stored?.version, 2);
    await app.advance("1m");
    assert.match((await app.host.explain("Counter", "a")).summary, /the next call brings it back/);
    await assert.rejects(app.host.explain("Nobody", "a"), { code: "ACTOR_TYPE_UNKNOWN" });
  });

  it("an explanation shows that another process has taken the actor", async () => {
    const store = new MemoryStore();
    await using app = await testLimpet({ actors: [Counter, Gate], stateStore: store });
    await using other = await testLimpet({ actors: [Counter, Gate], stateStore: store });
    await app.actor(Counter, "a").inc();
    await other.actor(Counter, "a").inc();
    await assert.rejects(app.actor(Counter, "a").inc(), { code: "FENCED" });
    assert.match((await app.host.explain("Counter", "a")).summary, /^another process has taken Counter\/a/);
  });
});
