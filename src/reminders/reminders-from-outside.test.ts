// Reminders that are set by a process which has no actors of their type: who takes them on, and that they arrive.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../index.ts";
import { openWorld, type TestHost, type TestWorld } from "../testing.ts";

const DOOR = { name: "door", actors: [] };

let poured: string[] = [];

class Kettle extends Actor {
  override onReminder(name: string) {
    poured.push(name);
  }
}

function open(more = {}): Promise<TestWorld> {
  poured = [];
  return openWorld({ actors: [Kettle], hosts: [{ ...DOOR, ...more }, "kitchen"] });
}

/** How many reminders a host has taken on, and how many it has delivered. */
function figuresOf({ app }: TestHost): { taken: number; fired: number } {
  const read = (name: string) =>
    Number(new RegExp(`^limpet_reminders_${name}_total\\{.*\\} (\\d+)$`, "m").exec(app.metrics())?.[1] ?? 0);
  return { taken: read("claimed"), fired: read("fired") };
}

describe("a reminder that is set where nobody has its type", () => {
  it("is sent to its actor by who set it, when it is due now", async () => {
    await using world = await open();
    const [door, kitchen] = [world.host("door"), world.host("kitchen")];
    await door.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    await world.advance("1s");
    assert.deepEqual(poured, ["tea"]);
    assert.deepEqual(figuresOf(door), { taken: 1, fired: 1 });
    assert.deepEqual(figuresOf(kitchen), { taken: 0, fired: 0 });
  });

  it("is for those who have its type, when there is time", async () => {
    await using world = await open();
    const [door, kitchen] = [world.host("door"), world.host("kitchen")];
    await door.run((app) => app.reminders.set("Kettle", "k", "tea", { due: "1s" }));
    await world.advance("10s");
    assert.deepEqual(poured, ["tea"]);
    assert.deepEqual(figuresOf(door), { taken: 0, fired: 0 });
    assert.deepEqual(figuresOf(kitchen), { taken: 1, fired: 1 });
  });

  it("is for those who have its type, when who set it is not to deliver it itself", async () => {
    await using world = await open({ reminders: { direct: false } });
    const door = world.host("door");
    await door.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    await world.advance("10s");
    assert.deepEqual(poured, ["tea"]);
    assert.deepEqual(figuresOf(door), { taken: 0, fired: 0 });
  });

  it("waits for somebody who has its type, when nobody does", async () => {
    poured = [];
    await using world = await openWorld({ actors: [], hosts: ["door", "kitchen"] });
    const [door, kitchen] = [world.host("door"), world.host("kitchen")];
    await door.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    await world.advance("1m");
    assert.deepEqual(poured, []);
    assert.deepEqual(figuresOf(door), { taken: 0, fired: 0 });
    await world.restart(kitchen, { actors: [Kettle] });
    await world.advance("10s");
    assert.deepEqual(poured, ["tea"]);
  });

  it("is taken on by others when who set it is gone before it got there", async () => {
    await using world = await open();
    const [door, kitchen] = [world.host("door"), world.host("kitchen")];
    world.partition(door, kitchen);
    await door.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    world.crash(door);
    await world.advance("2m");
    assert.deepEqual(poured, ["tea"]);
    assert.equal(figuresOf(kitchen).fired, 1);
  });
});
