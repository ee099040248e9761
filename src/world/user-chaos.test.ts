// Random faults, and tests under many seeds.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../index.ts";
import { CHAOS_FAULTS, type ChaosFault, everySeed, openWorld, SeedFailed, type TestWorld } from "../testing.ts";

class Counter extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }
  add() {
    return ++this.state.n;
  }
}

const OPTIONS = { actors: [Counter], hosts: 3 };

/** Counts during the chaos; returns the number of acknowledged calls. */
async function countDuring(world: TestWorld, chaos: Promise<void>): Promise<number> {
  let isOver = false;
  const over = chaos.finally(() => {
    isOver = true;
  });
  let sure = 0;
  while (!isOver) {
    await world
      .someHost()
      .actor(Counter, "a")
      .add()
      .then(
        () => sure++,
        () => {},
      );
    await world.advance("1s");
  }
  await over;
  return sure;
}

/** Sets the environment during a run. */
async function withEnvironment(name: string, value: string, run: () => Promise<void>): Promise<void> {
  const before = process.env[name];
  process.env[name] = value;
  try {
    await run();
  } finally {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  }
}

describe("chaos", () => {
  it("chaos is equal under the same seed, and ends at its end", async () => {
    const run = async () => {
      await using world = await openWorld({ ...OPTIONS, seed: 5 });
      const sure = await countDuring(world, world.chaos("1m"));
      assert.ok(world.hosts.every(({ isUp, isAsleep }) => isUp && !isAsleep));
      const counted = await world.hosts[0].actor(Counter, "a").add();
      assert.ok(counted > sure, `${sure} were counted for sure, and there are only ${counted}`);
      return { sure, counted, trace: world.trace, story: world.story };
    };
    const first = await run();
    assert.ok(first.sure > 0);
    assert.deepEqual(await run(), first);
  });

  for (const fault of CHAOS_FAULTS) {
    it(`chaos can be ${fault} alone, loses nothing, and settles`, async () => {
      await using world = await openWorld(OPTIONS);
      const before = world.story.length;
      const sure = await countDuring(world, world.chaos("20s", { faults: [fault], every: "2s" }));
      assert.ok(world.story.length > before, "nothing was told");
      assert.ok((await world.someHost().actor(Counter, "a").add()) > sure);
    });
  }

  it("chaos rejects unknown names of faults", async () => {
    await using world = await openWorld({ ...OPTIONS, hosts: 1 });
    const unknown = { code: "OPTION_INVALID", message: /no fault called earthquake; there are crash, power-loss,/ };
    await assert.rejects(world.chaos("1s", { faults: ["earthquake" as ChaosFault] }), unknown);
    await assert.rejects(world.chaos("1s", { faults: [] }), { code: "OPTION_INVALID" });
  });

  it("chaos leaves alone hosts that it did not bring down, and ends with the world", async () => {
    await using world = await openWorld(OPTIONS);
    world.crash(2);
    await world.chaos("10s", { faults: ["pause"] });
    assert.deepEqual(
      world.hosts.map(({ isUp }) => isUp),
      [true, true, false],
    );
    const ended = assert.rejects(world.chaos("1h"), { code: "STOPPING" });
    await world.advance("10s");
    await world.stop();
    await ended;
  });
});

describe("every seed", () => {
  it("every seed runs once, each in its own world", async () => {
    const seeds: number[] = [];
    await everySeed(3, (world) => void seeds.push(world.seed), { ...OPTIONS, first: 10 });
    assert.deepEqual(seeds, [10, 11, 12]);
  });

  it("a failing seed is reported with its cause, its story and the command to run only that one", async () => {
    const worlds: TestWorld[] = [];
    const failing = everySeed(
      9,
      async (world) => {
        worlds.push(world);
        world.crash(0);
        await world.advance("1s");
        if (world.seed === 4) assert.fail("the sum is wrong");
      },
      OPTIONS,
    );
    const error: unknown = await failing.catch((error: unknown) => error);
    assert.ok(error instanceof SeedFailed);
    assert.equal(error.seed, 4);
    assert.match(
      error.message,
      /^seed 4 fails; LIMPET_SEED=4 runs only this one\.\nAssertionError: the sum is wrong\n/,
    );
    assert.match(error.message, /host-1 +crashes/);
    assert.equal((error.cause as Error).message, "the sum is wrong");
    assert.ok(error.story.some((line) => line.includes("crashes")));
    assert.equal(worlds.length, 4);
    assert.ok(worlds.every(({ isStopped }) => isStopped));
  });

  it("the environment can select one seed, or more seeds", async () => {
    const seeds: number[] = [];
    const run = () => everySeed(2, (world) => void seeds.push(world.seed), { ...OPTIONS, hosts: 1 });
    await withEnvironment("LIMPET_SEED", "17", run);
    await withEnvironment("LIMPET_SEEDS", "3", run);
    assert.deepEqual(seeds, [17, 1, 2, 3]);
    await withEnvironment("LIMPET_SEED", "x", () => assert.rejects(run(), { code: "OPTION_INVALID" }));
    await assert.rejects(
      everySeed(0, () => {}, OPTIONS),
      { code: "OPTION_INVALID" },
    );
    const turnedRound = everySeed as unknown as (count: number, options: object) => Promise<void>;
    await assert.rejects(turnedRound(1, OPTIONS), { code: "ARGUMENT_INVALID", message: /a count, a test and options/ });
  });
});
