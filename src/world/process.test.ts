import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Prng } from "../kernel/prng.ts";
import { Database } from "./database/database.ts";
import { Network } from "./network/network.ts";
import { Process } from "./process.ts";
import { KIND, Timeline } from "./timeline.ts";

const FOREVER = Number.POSITIVE_INFINITY;

let timeline: Timeline;
let network: Network;
let database: Database;
let seen: string[];

function newProcess(number = 1, seed = 1): Process {
  const chance = new Prng(seed);
  const deps = { timeline, network, database, chance, clock: {}, hasEnded: () => false };
  return new Process(number, number, `machine-${number}`, deps);
}

const note = (name: string) => (): void => void seen.push(`${name}@${timeline.now}`);

beforeEach(() => {
  timeline = new Timeline();
  network = new Network(timeline, new Prng("network"));
  database = new Database(timeline, new Prng("database"));
  seen = [];
});

describe("a process that is paused", () => {
  test("a paused process does nothing, and then runs all missed events at once, in the order of time", async () => {
    // Timers may come first at random; their own order is still that of time.
    for (let seed = 0; seed < 20; seed++) {
      seen = [];
      const process = newProcess(1, seed);
      const began = timeline.now;
      const at = (ms: number): number => began + ms;
      timeline.plan(at(10), KIND.message, process, note("message 1"));
      process.clock.after(20, note("timer 1"));
      timeline.plan(at(30), KIND.message, process, note("message 2"));
      process.clock.after(40, note("timer 2"));
      process.clock.after(2_000, note("timer 3"));
      process.sleep(1_000, "pause");
      assert.deepEqual([process.isAsleep, process.isAwake, process.hasEnded], [true, false, false]);
      await timeline.run(at(999));
      assert.deepEqual(seen, []);
      await timeline.run(at(1_000));
      const missed = ["message 1", "timer 1", "message 2", "timer 2"].map((name) => `${name}@${at(1_000)}`);
      const timersFirst = [missed[1], missed[3], missed[0], missed[2]];
      assert.deepEqual(seen, seen[0] === missed[0] ? missed : timersFirst);
      await timeline.run(at(3_000));
      assert.equal(seen.at(-1), `timer 3@${at(2_000)}`);
    }
  });

  test("a resumed process may run its timers first, or not", async () => {
    const firsts = new Set<string>();
    for (let seed = 0; seed < 30; seed++) {
      const process = newProcess(1, seed);
      const order: string[] = [];
      timeline.plan(timeline.now + 1, KIND.message, process, () => order.push("message"));
      process.clock.after(5, () => order.push("timer"));
      process.sleep(100, "pause");
      await timeline.run(timeline.now + 200);
      firsts.add(order[0]!);
    }
    assert.deepEqual(firsts, new Set(["message", "timer"]));
  });

  test("a paused process has clocks that advanced meanwhile", async () => {
    const process = newProcess();
    const [monotonic, wall] = [process.clock.monotonic(), process.clock.now()];
    process.sleep(1_000, "pause");
    await timeline.run(5_000);
    assert.equal(process.clock.monotonic() - monotonic, 5_000);
    assert.equal(process.clock.now() - wall, 5_000);
  });

  test("a process that is paused again sleeps until the later of the two ends", async () => {
    const process = newProcess();
    timeline.plan(1, KIND.message, process, note("message"));
    process.sleep(1_000, "pause");
    process.sleep(100, "pause");
    await timeline.run(500);
    process.sleep(1_500, "pause");
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["message@2000"]);
  });

  test("a process can be resumed before its time, and does not resume twice", async () => {
    const process = newProcess();
    timeline.plan(1, KIND.message, process, note("message"));
    process.sleep(1_000, "pause");
    await timeline.run(300);
    process.wake();
    process.wake();
    await timeline.run(500);
    assert.deepEqual(seen, ["message@300"]);
    timeline.plan(501, KIND.message, process, note("next"));
    process.sleep(1_000, "pause");
    await timeline.run(1_200);
    assert.deepEqual(seen, ["message@300"], "the first end does not end the second sleep");
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["message@300", "next@1500"]);
  });

  test("a paused process does not delay others", async () => {
    const [one, other] = [newProcess(1), newProcess(2)];
    one.sleep(1_000, "pause");
    timeline.plan(5, KIND.message, other, note("other"));
    timeline.plan(5, KIND.message, one, note("one"));
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["other@5", "one@1000"]);
  });

  test("a resumed process continues where it was: pending responses arrive then", async () => {
    const process = newProcess();
    const asked = process.store.ping().then(note("answer"));
    timeline.step(FOREVER);
    process.sleep(1_000, "pause");
    await timeline.run(FOREVER);
    await asked;
    assert.deepEqual(seen, ["answer@1000"]);
  });
});

describe("a process whose machine sleeps", () => {
  test("a sleeping machine has a monotonic clock that stood still, and a wall clock that did not", async () => {
    const process = newProcess();
    await timeline.run(100);
    const [monotonic, wall] = [process.clock.monotonic(), process.clock.now()];
    process.sleep(60_000, "suspend");
    await timeline.run(60_100);
    assert.equal(process.clock.monotonic(), monotonic);
    assert.equal(process.clock.now() - wall, 60_000);
    await timeline.run(61_100);
    assert.equal(process.clock.monotonic() - monotonic, 1_000);
  });

  test("timers of a sleeping machine fire later by as long as it slept", async () => {
    const process = newProcess();
    process.clock.after(1_000, note("timer"));
    await timeline.run(400);
    process.sleep(5_000, "suspend");
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["timer@6000"]);
  });

  test("messages for a sleeping machine arrive when it resumes", async () => {
    const process = newProcess();
    timeline.plan(10, KIND.message, process, note("message"));
    process.sleep(5_000, "suspend");
    await timeline.run(FOREVER);
    assert.deepEqual(seen, ["message@5000"]);
  });
});

describe("a process that ends", () => {
  test("an ended process does nothing any more, and notifies once of its end", async () => {
    for (const quietly of [false, true]) {
      seen = [];
      const process = newProcess();
      process.onEnd.add(note("ended"));
      process.clock.after(10, note("timer"));
      timeline.plan(timeline.now + 10, KIND.message, process, note("message"));
      process.store.ping().then(note("answer"), note("answer"));
      process.clock.soon(note("soon"));
      process.end(quietly);
      process.end(quietly);
      process.sleep(10, "pause");
      process.wake();
      const endedAt = timeline.now;
      await timeline.run(timeline.now + 60_000);
      assert.deepEqual(seen, [`ended@${endedAt}`]);
      assert.deepEqual([process.hasEnded, process.isAwake, process.isAsleep], [true, false, false]);
    }
  });

  test("a process that ends while it sleeps does not resume", async () => {
    const process = newProcess();
    timeline.plan(10, KIND.message, process, note("message"));
    process.sleep(1_000, "pause");
    await timeline.run(500);
    process.end(false);
    await timeline.run(FOREVER);
    assert.deepEqual(seen, []);
    assert.ok(!process.isAwake);
  });

  test("an ended process leaves no listener open", async () => {
    const process = newProcess();
    const testServer = await process.wire.openLinkServer({ serve: () => () => {} });
    assert.ok(network.isTaken(testServer.address));
    process.end(true);
    assert.ok(!network.isTaken(testServer.address));
  });
});

test("every process has its own identity, at an address of its place", async () => {
  const [one, other] = [newProcess(1), newProcess(2)];
  assert.notDeepEqual(one.identity, other.identity);
  assert.deepEqual(one.identity, { machine: "machine-1", pid: 1 });
  const service = { serve: () => () => {} };
  assert.equal((await one.wire.openLinkServer(service)).address, "10.0.0.1:7401");
  assert.equal((await other.wire.openLinkServer(service)).address, "10.0.0.2:7401");
});
