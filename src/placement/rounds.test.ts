// Plays rounds of hosts, a leader and its successors against each other, while messages are late, streams
// break, and processes sleep and die (test/support/rounds). Everything follows from a seed: a failure reports
// the seed and the last events.
//
// After every step, no actor is held by two hosts, except by one that sleeps through the end of its lease. No
// host holds an actor that the newest table it has acknowledged gives to another. In the end the faults stop:
// then every type settles, all hosts have the same tables, and no round waits.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Host } from "../../test/support/rounds/host.ts";
import { IDS, MARGIN_MS, seen, TYPES, World } from "../../test/support/rounds/world.ts";
import { sameVersion, showVersion } from "../kernel/versions.ts";
import { NOWHERE } from "../ports/control-messages.ts";
import { HERE, NOBODY } from "../ports/placement.ts";

const RUNS = 500;
const STORM_MS = 30_000;
const CALM_MS = 55_000;

const TROUBLES: readonly ((world: World, host: Host) => void)[] = [
  (world) => world.loseLeader(),
  (_, host) => host.link?.cut(),
  (world, host) => host.isolate(world.between(500, 15_000)),
  (world, host) => host.sleep(world.between(10, MARGIN_MS)),
  (world, host) => host.sleep(world.between(5_000, 25_000)),
  (world, host) => {
    const before = host.reported;
    host.report(world.some(TYPES));
    // A change back to the previous types is the hardest case.
    if (world.chance() < 0.6) world.after(world.between(20, 800), () => host.report(before));
  },
  (_, host) => host.reconnect(),
  (world, host) => host.process.setWallClock(world.between(-20_000, 20_000)),
  (world, host) => {
    host.die();
    world.after(world.between(0, 5_000), () => host.start());
  },
  (world, host) => {
    host.stop();
    world.after(world.between(0, 5_000), () => host.start());
  },
];

/** Every world has its own mixture of faults, often only one: they hide each other. */
function storm(world: World): void {
  const one = world.oneOf(TROUBLES);
  const kinds = world.chance() < 0.4 ? [one] : [one, ...world.some(TROUBLES)];
  const trouble = (): void => world.oneOf(kinds)(world, world.oneOf(world.hosts));
  const pause = world.between(200, 2_500);
  for (let at = world.between(0, 3_000); at < STORM_MS; at += world.between(10, pause)) world.at(at, trouble);
}

function checkPeace(world: World): void {
  const { hosts, types } = world.leader!.room.view();
  const fail = (what: string): never => world.fail(`in the end ${what}`);
  for (const { type, phase, waitsFor } of types) {
    if (phase !== "settled") fail(`${type} is ${phase} and waits for ${[...waitsFor]}`);
  }
  for (const { incarnation, state } of hosts) if (state !== "member") fail(`${incarnation} is ${state}`);
  for (const type of TYPES) {
    const wanted = world.hosts.filter(({ reported }) => reported.includes(type)).map(({ incarnation }) => incarnation);
    const table = types.find((controller) => controller.type === type)?.finished;
    for (const { incarnation, tables } of world.hosts) {
      const named = tables.hosts(type).map((host) => host.incarnation);
      if (`${named}` !== `${wanted}`) fail(`${incarnation} knows ${type} on ${named}, but it is on ${wanted}`);
      if (table !== undefined && !sameVersion(tables.version(type), table.version)) {
        fail(`${incarnation} has ${type} ${showVersion(tables.version(type))}, not ${showVersion(table.version)}`);
      }
      if (tables.view(type).locked) fail(`${type} is locked on ${incarnation}`);
    }
    for (const id of IDS) {
      const routes = world.hosts.map(({ tables, address }) => {
        const route = tables.route(type, id);
        return route === HERE ? address : route;
      });
      const owner = wanted.length === 0 ? NOBODY : world.hosts[0]!.tables.owner(type, id);
      if (routes.some((route) => route !== owner)) fail(`${type} ${id} is routed to ${routes.map(String)}`);
    }
  }
  const noted = [...world.members.values()].map(({ incarnation, types }) => `${incarnation}: ${types}`).sort();
  const expected = world.hosts.filter(({ reported }) => reported.length > 0);
  const notes = expected.map(({ incarnation, reported }) => `${incarnation}: ${reported}`).sort();
  if (`${noted}` !== `${notes}`) fail(`the notes say ${noted}, not ${notes}`);
}

function play(seed: number): void {
  const world = new World(seed);
  const names = [..."abcdef"].slice(0, Math.floor(world.between(3, 7)));
  for (const name of names) world.hosts.push(new Host(world, name));
  for (const name of ["y", "z"]) world.hosts.push(new Host(world, name, NOWHERE));
  world.elect();
  for (const host of world.hosts) world.after(world.between(0, 2_000), () => host.start());
  storm(world);
  world.runUntil(STORM_MS);
  world.calm = true;
  world.record("world", "is calm");
  world.runUntil(STORM_MS + 30_000);
  for (const host of world.hosts) host.start();
  world.runUntil(STORM_MS + CALM_MS);
  checkPeace(world);
}

/** Events that must have occurred, or the faults are too weak. */
const OUGHT = [
  "a base of an earlier leader",
  "a host is evicted",
  "a host is removed",
  "a host is returned",
  "a host is suspect",
  "a host is told to start over",
  "a host sleeps through the end of its lease",
  "a lease is over",
  "a leader still waits for hosts when it dies",
  "a round without a base",
  "actors move",
  "an actor comes before UNLOCK, on the word of its owner before",
  "an actor that stays comes to life while its type is locked",
];

describe("rounds", () => {
  it("two hosts never hold one actor, and all rounds settle once the faults stop", () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      try {
        play(seed);
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    assert.deepEqual(
      OUGHT.filter((what) => !seen.has(what)),
      [],
    );
  });
});
