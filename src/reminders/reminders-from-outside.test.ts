// Reminders that are set by a process without actors of their type: their claims and deliveries.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../index.ts";
import { openWorld, type TestHost, type TestWorld } from "../testing.ts";

const CLIENT = { name: "client", actors: [] };

let poured: string[] = [];

class Kettle extends Actor {
  override onReminder(name: string) {
    poured.push(name);
  }
}

function open(more = {}): Promise<TestWorld> {
  poured = [];
  return openWorld({ actors: [Kettle], hosts: [{ ...CLIENT, ...more }, "kitchen"] });
}

/** The numbers of claimed and delivered reminders of a host. */
function figuresOf({ app }: TestHost): { taken: number; fired: number } {
  const read = (name: string) =>
    Number(new RegExp(`^limpet_reminders_${name}_total\\{.*\\} (\\d+)$`, "m").exec(app.metrics())?.[1] ?? 0);
  return { taken: read("claimed"), fired: read("fired") };
}

describe("reminders set in a process without their type", () => {
  it("a reminder that is due now is sent to its actor by the process that set it", async () => {
    await using world = await open();
    const [client, kitchen] = [world.host("client"), world.host("kitchen")];
    await client.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    await world.advance("1s");
    assert.deepEqual(poured, ["tea"]);
    assert.deepEqual(figuresOf(client), { taken: 1, fired: 1 });
    assert.deepEqual(figuresOf(kitchen), { taken: 0, fired: 0 });
  });

  it("a reminder that is due later is left to the hosts of its type", async () => {
    await using world = await open();
    const [client, kitchen] = [world.host("client"), world.host("kitchen")];
    await client.run((app) => app.reminders.set("Kettle", "k", "tea", { due: "1s" }));
    await world.advance("10s");
    assert.deepEqual(poured, ["tea"]);
    assert.deepEqual(figuresOf(client), { taken: 0, fired: 0 });
    assert.deepEqual(figuresOf(kitchen), { taken: 1, fired: 1 });
  });

  it("a reminder is left to the hosts of its type when the process that set it may not deliver", async () => {
    await using world = await open({ reminders: { direct: false } });
    const client = world.host("client");
    await client.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    await world.advance("10s");
    assert.deepEqual(poured, ["tea"]);
    assert.deepEqual(figuresOf(client), { taken: 0, fired: 0 });
  });

  it("a reminder waits for a host of its type when there is none", async () => {
    poured = [];
    await using world = await openWorld({ actors: [], hosts: ["client", "kitchen"] });
    const [client, kitchen] = [world.host("client"), world.host("kitchen")];
    await client.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    await world.advance("1m");
    assert.deepEqual(poured, []);
    assert.deepEqual(figuresOf(client), { taken: 0, fired: 0 });
    await world.restart(kitchen, { actors: [Kettle] });
    await world.advance("10s");
    assert.deepEqual(poured, ["tea"]);
  });

  it("a reminder is claimed by others when the process that set it ends before the delivery", async () => {
    await using world = await open();
    const [client, kitchen] = [world.host("client"), world.host("kitchen")];
    world.partition(client, kitchen);
    await client.run((app) => app.reminders.set("Kettle", "k", "tea", { due: 0 }));
    world.crash(client);
    await world.advance("2m");
    assert.deepEqual(poured, ["tea"]);
    assert.equal(figuresOf(kitchen).fired, 1);
  });
});
