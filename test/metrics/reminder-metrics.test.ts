// Metrics of reminders: each counts the events of its description, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../../src/index.ts";
import { openWorld, type TestWorld } from "../../src/testing.ts";
import { metricValue } from "./metric-values.ts";

let failures = 0;

class Bell extends Actor<{ rung: number }> {
  initial() {
    return { rung: 0 };
  }
  rung(): number {
    return this.state.rung;
  }
  override async onReminder(name: string): Promise<void> {
    if (name === "hangs") await new Promise(() => {});
    if (name === "fails" && failures-- > 0) throw new TypeError("not yet");
    this.state.rung += 1;
  }
}

const open = (settings = {}): Promise<TestWorld> => openWorld({ actors: [Bell], hosts: 1, ...settings });
const read = (world: TestWorld, name: string): number | undefined =>
  metricValue(world.hosts[0].app.metrics(), `limpet_${name}`);

describe("the metrics of reminders", () => {
  it("a tick that is delivered in time is observed by limpet_reminder_lateness_seconds", async () => {
    await using world = await open();
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "once", { due: "5s" }));
    await world.advance("20s");
    assert.equal(read(world, "reminder_lateness_seconds_count"), 1);
    assert.ok(read(world, "reminder_lateness_seconds_sum")! < 1);
  });

  it("a tick that was missed is observed with all its lateness", async () => {
    await using world = await open();
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "once", { due: "1h" }));
    await world.stopHost(0);
    await world.advance("3h");
    await world.restart(0);
    await world.advance("1m");
    assert.ok(read(world, "reminder_lateness_seconds_sum")! >= 7_200);
  });

  it("limpet_reminders_held counts claimed reminders that are not done", async () => {
    await using world = await open();
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "soon", { due: "2s" }));
    assert.equal(read(world, "reminders_held"), 1);
    await world.advance("20s");
    assert.equal(read(world, "reminders_held"), 0);
  });

  it("limpet_reminders_running counts deliveries in progress", async () => {
    await using world = await open();
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "hangs", { due: "1s" }));
    await world.advance("5s");
    assert.equal(read(world, "reminders_running"), 1);
  });

  it("limpet_reminders_retried_total counts ticks that have to be tried again", async () => {
    await using world = await open();
    failures = 2;
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "fails", { due: "1s" }));
    await world.advance("5m");
    assert.equal(read(world, "reminders_retried_total"), 2);
    assert.equal(read(world, "reminders_failed_total"), 0);
  });

  it("limpet_reminders_failed_total counts ticks that were given up, and limpet_reminders_dead those that are kept", async () => {
    await using world = await open();
    failures = 100;
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "fails", { due: "1s", onFailure: { attempts: 2 } }));
    await world.advance("5m");
    assert.equal(read(world, "reminders_failed_total"), 1);
    // The first look asks the store; a later one shows the answer.
    await world.advance("15s");
    assert.equal(read(world, "reminders_dead"), 1);
  });

  it("limpet_reminders_overdue counts due reminders that no process has claimed", async () => {
    await using world = await open({ hosts: [{ actors: [] }, { actors: [Bell] }] });
    await world.hosts[1]!.run((app) => app.reminders.set(Bell, "a", "once", { due: "1m" }));
    await world.stopHost(1);
    await world.advance("2m");
    read(world, "reminders_overdue");
    await world.advance("15s");
    assert.equal(read(world, "reminders_overdue"), 1);
  });

  it("limpet_reminders_lease_lost_total counts reminders whose lease ran out in this process", async () => {
    await using world = await open({ hosts: 2, callTimeout: "10m", reminders: { lease: "15s" } });
    // The actor lives on the other host: its turn goes on while the process that delivers sleeps.
    const ids = Array.from({ length: 50 }, (_, i) => `bell-${i}`);
    const homes = await Promise.all(ids.map((id) => world.where(Bell, id)));
    const id = ids[homes.indexOf(world.hosts[1])]!;
    await world.hosts[0].run((app) => app.reminders.set(Bell, id, "hangs", { due: "1s" }));
    await world.advance("3s");
    // While this process sleeps, its lease runs out and the other host claims the reminder.
    world.pause(0, "1m");
    await world.advance("2m");
    assert.equal(read(world, "reminders_lease_lost_total"), 1);
  });

  it("limpet_reminders_claimed_total counts reminders that this process has claimed", async () => {
    await using world = await open();
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "later", { due: "1h" }));
    await world.advance("2h");
    assert.equal(read(world, "reminders_claimed_total"), 1);
  });

  it("limpet_reminders_replaced_total counts ticks whose reminder was set anew while they were delivered", async () => {
    await using world = await open();
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "hangs", { due: "1s" }));
    await world.advance("2s");
    await world.hosts[0].run((app) => app.reminders.set(Bell, "a", "hangs", { due: "1h" }));
    await world.advance("1m");
    assert.equal(read(world, "reminders_replaced_total"), 1);
  });
});
