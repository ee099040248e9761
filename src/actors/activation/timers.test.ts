import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../../index.ts";
import type { LogFields } from "../../ports/log.ts";
import { silentLog } from "../../ports/log.ts";
import { testLimpet } from "../../testing.ts";

class Clockwork extends Actor<{ ticks: number[] }> {
  static options = { idleTimeout: "1d" };
  initial() {
    return { ticks: [] as number[] };
  }
  start(name: string, due?: string, every?: string) {
    const schedule = { ...(due && { due }), ...(every && { every }) };
    this.timers.set(name, schedule, () => this.state.ticks.push(app().clock.monotonic()));
    return this.timers.list();
  }
  stop(name: string) {
    return this.timers.cancel(name);
  }
  ticks() {
    return this.state.ticks;
  }
  faulty() {
    this.timers.set("faulty", { every: "1s" }, () => {
      this.state.ticks.push(-1);
      throw new Error("tick");
    });
  }
  slow() {
    this.timers.set("slow", { every: "1s" }, async () => {
      this.state.ticks.push(app().clock.monotonic());
      await new Promise<void>((resolve) => app().clock.after(2_500, resolve));
    });
  }
  leave() {
    this.deactivate();
  }
}

let current: Awaited<ReturnType<typeof testLimpet>>;
const app = () => current;
const open = async (log = silentLog) => {
  current = await testLimpet({ actors: [Clockwork], log });
  return current;
};

describe("a timer", () => {
  it("a timer ticks once when it is due, as a committed turn", async () => {
    await using app = await open();
    const actor = app.actor(Clockwork, "c");
    assert.deepEqual(await actor.start("once", "5s"), ["once"]);
    await app.advance("4999ms");
    assert.deepEqual(await actor.ticks(), []);
    await app.advance("1h");
    assert.deepEqual(await actor.ticks(), [5_000]);
    assert.equal(await actor.stop("once"), false);
    assert.equal((await app.store.find({ namespace: "default", type: "Clockwork", id: "c" }))?.version, 1);
  });

  it("a periodic timer ticks on its grid until it is cancelled", async () => {
    await using app = await open();
    const actor = app.actor(Clockwork, "c");
    await actor.start("beat", "500ms", "1s");
    await app.advance("3s");
    assert.deepEqual(await actor.ticks(), [500, 1_500, 2_500]);
    assert.equal(await actor.stop("beat"), true);
    await app.advance("3s");
    assert.equal((await actor.ticks()).length, 3);
  });

  it("a tick that takes longer than the period runs alone, and the timer stays on its grid", async () => {
    await using app = await open();
    const actor = app.actor(Clockwork, "c");
    await actor.slow();
    await app.advance("9500ms");
    assert.deepEqual(await actor.ticks(), [1_000, 4_000, 7_000]);
  });

  it("a timer set again under the same name replaces the old one", async () => {
    await using app = await open();
    const actor = app.actor(Clockwork, "c");
    await actor.start("t", "1s");
    await actor.start("t", "3s");
    await app.advance("10s");
    assert.deepEqual(await actor.ticks(), [3_000]);
  });

  it("a tick that throws is logged and rolled back, and the timer continues", async () => {
    const lines: [string, LogFields | undefined][] = [];
    await using app = await open({ ...silentLog, warn: (event, fields) => lines.push([event, fields]) });
    const actor = app.actor(Clockwork, "c");
    await actor.faulty();
    await app.advance("2500ms");
    assert.deepEqual(await actor.ticks(), []);
    assert.equal(lines.length, 2);
    assert.equal(lines[0]![0], "timer.failed");
  });

  it("a timer ends with its activation", async () => {
    await using app = await open();
    const actor = app.actor(Clockwork, "c");
    await actor.start("beat", "1s", "1s");
    await actor.leave();
    await app.advance("10s");
    assert.deepEqual(await actor.ticks(), []);
  });

  it("an invalid timer is rejected", async () => {
    await using app = await open();
    const actor = app.actor(Clockwork, "c");
    await assert.rejects(actor.start("t"), { code: "TIMER_INVALID" });
    await assert.rejects(actor.start("", "1s"), { code: "NAME_INVALID" });
    await assert.rejects(actor.start("t", "soon"), { code: "OPTION_INVALID" });
    await assert.rejects(actor.start("t", "1s", "0s"), { code: "TIMER_INVALID" });
    for (let i = 0; i < 100; i++) await actor.start(`t${i}`, "1h");
    await assert.rejects(actor.start("one too many", "1h"), { code: "TIMER_INVALID" });
  });
});
