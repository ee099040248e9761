// Links under faults in the virtual world, where all times are known.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { LimpetError } from "../../kernel/errors.ts";
import { Prng } from "../../kernel/prng.ts";
import type { RemoteCall } from "../../ports/links.ts";
import { LINK_LIMITS } from "../../wire/link/limits.ts";
import { Caller, callOf, Service } from "../../wire/link/link-kit.test.ts";
import { LocalClock } from "../local-clock.ts";
import { Timeline } from "../timeline.ts";
import { Dummy } from "../world-kit.test.ts";
import { addressOf, Network } from "./network.ts";
import { VirtualLinkServer } from "./virtual-link-server.ts";
import { VirtualLinks } from "./virtual-links.ts";

/** A caller and a host on virtual time. */
class World {
  readonly timeline = new Timeline();
  readonly network: Network;
  readonly caller = new Dummy(1);
  readonly links: VirtualLinks;
  readonly service: Service;
  readonly address = addressOf(2, 7_401);
  host = new Dummy(2);
  testServer!: VirtualLinkServer;

  constructor(service = new Service((call, answer) => answer.value(call.args[0])), seed = 1) {
    this.network = new Network(this.timeline, new Prng(seed));
    this.service = service;
    this.links = new VirtualLinks(this.network, this.caller, new LocalClock(this.timeline, this.caller));
    this.start();
  }

  start(): void {
    this.network.placeBack(2);
    this.host = new Dummy(2, this.host.number + 1);
    const clock = new LocalClock(this.timeline, this.host);
    this.testServer = new VirtualLinkServer(this.address, this.service, this.network, this.host, clock);
  }

  crash(resets = true): void {
    this.host.hasEnded = true;
    this.network.stationGone(this.host, resets);
  }

  pass(ms: number): Promise<void> {
    return this.timeline.run(this.timeline.now + ms);
  }

  call(args: readonly unknown[] = [], more: Partial<RemoteCall> = {}): Caller {
    const caller = new Caller();
    this.links.call(this.address, callOf(args, more), caller);
    return caller;
  }
}

const outcomes = (...callers: readonly Caller[]): string[] =>
  callers.map(({ outcomes }) =>
    outcomes.map(([how, what]) => (what instanceof LimpetError ? what.code : how)).join(" "),
  );

describe("a virtual link under faults", () => {
  test("the end of the other process loses sent calls, and leaves others unsent", async () => {
    const world = new World(new Service());
    const sent = [world.call(), world.call()];
    await world.pass(100);
    world.crash();
    await world.pass(100);
    const refused = world.call();
    await world.pass(100);
    assert.deepEqual(outcomes(...sent, refused), ["ANSWER_LOST", "ANSWER_LOST", "UNREACHABLE"]);
    assert.deepEqual(
      [...sent, refused].map(({ outcomes }) => outcomes[0]![0]),
      ["lost", "lost", "unsent"],
    );
    assert.equal(world.service.served.length, 2);
  });

  test("served calls are cancelled when the calling process ends", async () => {
    const world = new World(new Service());
    world.call();
    await world.pass(100);
    world.caller.hasEnded = true;
    world.network.stationGone(world.caller, true);
    await world.pass(100);
    assert.equal(world.service.served[0]!.cancels, 1);
  });

  test("the pause of a link grows with every failed attempt, up to a limit, and is reset by a success", async () => {
    const world = new World();
    world.crash();
    /** Milliseconds between attempts; calls in between are rejected without one. */
    const pauses: number[] = [];
    let last: number | undefined;
    for (let i = 0; i < 12_000; i++) {
      const caller = world.call();
      await world.pass(1);
      if (/refused/.test((caller.outcomes[0]?.[1] as Error | undefined)?.message ?? "")) {
        if (last !== undefined) pauses.push(world.timeline.now - last);
        last = world.timeline.now;
      }
    }
    const { pauseMs, longestPauseMs } = LINK_LIMITS;
    for (const [i, pause] of pauses.entries()) {
      const expected = Math.min(pauseMs * 2 ** i, longestPauseMs);
      assert.ok(pause >= expected - 5 && pause < expected + 10, `pause ${i} was ${pause}`);
    }
    assert.ok(pauses.length >= 8);
    world.start();
    await world.pass(longestPauseMs);
    const back = world.call(["back"]);
    await world.pass(100);
    assert.deepEqual(outcomes(back), ["value"]);
    world.crash();
    await world.pass(100);
    // The connection had been established: the next attempt is made at once, and the first pause is short
    // again.
    const first = world.call();
    await world.pass(10);
    assert.match((first.outcomes[0]![1] as Error).message, /refused/);
    await world.pass(pauseMs);
    const second = world.call();
    await world.pass(10);
    assert.match((second.outcomes[0]![1] as Error).message, /refused/);
  });

  test("a connection attempt behind a cut line times out, and a call's own timeout is reported if it comes first", async () => {
    const world = new World();
    world.network.change(1, 2, { isOpen: false });
    const [patient, hasty] = [world.call(), world.call([], { timeoutMs: 500 })];
    await world.pass(LINK_LIMITS.connectMs + 1);
    assert.deepEqual(outcomes(patient, hasty), ["UNREACHABLE", "CALL_TIMEOUT"]);
    assert.ok([patient, hasty].every(({ outcomes }) => outcomes[0]![0] === "unsent"));
    world.network.heal();
    await world.pass(1_000);
    assert.equal(world.service.served.length, 0);
  });

  test("calls behind a cut line are lost by silence, and the host cancels them as well", async () => {
    const world = new World(new Service());
    const caller = world.call();
    await world.pass(100);
    world.network.change(1, 2, { isOpen: false });
    world.network.change(2, 1, { isOpen: false });
    await world.pass(60_000);
    assert.deepEqual(outcomes(caller), ["ANSWER_LOST"]);
    assert.equal(world.service.served[0]!.cancels, 1);
    world.service.served[0]!.answer.value("to nobody");
    world.network.heal();
    await world.pass(1_000);
    assert.deepEqual(outcomes(caller), ["ANSWER_LOST"]);
  });

  test("a link keeps a long call while both sides are present", async () => {
    const world = new World(new Service());
    const caller = world.call();
    await world.pass(3_600_000);
    world.service.served[0]!.answer.value("at last");
    await world.pass(100);
    assert.deepEqual(caller.outcomes, [["value", "at last"]]);
  });

  test("a server that closes asks callers to leave, and lets running calls finish", async () => {
    const world = new World(new Service());
    const callers = Array.from({ length: 10 }, (_, i) => world.call([i]));
    await world.pass(100);
    let isShut = false;
    void world.testServer.close().then(() => {
      isShut = true;
    });
    world.service.respond = (_, answer) => answer.value("crossed the bye");
    const crossing = world.call();
    await world.pass(100);
    const refused = world.call();
    await world.pass(100);
    assert.deepEqual([outcomes(crossing, refused), isShut], [["value", "UNREACHABLE"], false]);
    for (const { call, answer } of world.service.served.slice(0, 10)) answer.value(call.args[0]);
    await world.pass(100);
    assert.equal(isShut, true);
    assert.deepEqual(
      callers.map(({ outcomes }) => outcomes),
      callers.map((_, i) => [["value", i]]),
    );
    assert.ok(world.service.served.every(({ cancels }) => cancels === 0));
    assert.equal(world.network.open, 0);
  });

  test("a server that closes does not wait for ever for calls that do not end", async () => {
    const world = new World(new Service());
    const caller = world.call();
    await world.pass(100);
    let shutAt = 0;
    const began = world.timeline.now;
    void world.testServer.close().then(() => {
      shutAt = world.timeline.now;
    });
    await world.pass(60_000);
    assert.ok(Math.abs(shutAt - began - LINK_LIMITS.closeMs) < 1);
    assert.deepEqual([outcomes(caller), world.service.served[0]!.cancels], [["ANSWER_LOST"], 1]);
  });

  test("under all faults each call gets one outcome, none is served twice, and an unsent one never arrived", async () => {
    const counts = { value: 0, unsent: 0, lost: 0, error: 0, notOwner: 0 };
    const trouble = fc.record({
      what: fc.constantFrom("cut", "cut back", "mend", "crash", "power", "hang", "retain", "leave", "nothing"),
      ms: fc.constantFrom(0, 0.5, 1, 5, 300, 3_000),
      calls: fc.integer({ min: 0, max: 5 }),
      cancels: fc.boolean(),
    });
    const property = fc.asyncProperty(fc.integer(), fc.array(trouble, { maxLength: 20 }), async (seed, troubles) => {
      const world = new World(undefined, seed);
      const callers: Caller[] = [];
      const cancelled = new Set<Caller>();
      const ends: Promise<void>[] = [];
      let name = 0;
      for (const { what, ms, calls, cancels } of troubles) {
        for (let i = 0; i < calls; i++) {
          const caller = new Caller();
          const cancel = world.links.call(world.address, callOf([name++]), caller);
          callers.push(caller);
          if (!cancels || i % 2 === 0) continue;
          cancel();
          cancelled.add(caller);
        }
        await world.pass(ms);
        const { network, host } = world;
        if (what === "cut") network.change(1, 2, { isOpen: false });
        if (what === "cut back") network.change(2, 1, { isOpen: false });
        if (what === "mend") network.heal();
        if (what === "retain") world.links.retain(new Set());
        if (what === "hang" && host.isAwake) {
          host.isAsleep = true;
          network.silenced(host);
        } else if (what === "hang") host.wake(world.timeline);
        if (what === "crash" || what === "power") world.crash(what === "crash");
        if (what === "leave") ends.push(world.testServer.close());
        if (what === "crash" || what === "power" || what === "leave") world.start();
        await world.pass(ms);
      }
      world.network.heal();
      world.host.wake(world.timeline);
      await world.pass(60_000);
      const served = world.service.served.map(({ call }) => call.args[0]);
      assert.equal(new Set(served).size, served.length, "a call was served twice");
      for (const [i, caller] of callers.entries()) {
        assert.equal(caller.outcomes.length, cancelled.has(caller) ? 0 : 1, `call ${i}`);
        for (const [how, what] of caller.outcomes) {
          counts[how]++;
          if (how === "value") assert.equal(what, i);
          if (how === "unsent") assert.ok(!served.includes(i), "an unsent call was served");
        }
      }
    });
    await fc.assert(property, { numRuns: 300 });
    assert.deepEqual([counts.error, counts.notOwner], [0, 0]);
    assert.ok(counts.value > 0 && counts.unsent > 0 && counts.lost > 0, JSON.stringify(counts));
  });
});

describe("a virtual link, as the real one", () => {
  test("a call that crosses the goodbye is served as usual, also by an idle server", async () => {
    const world = new World();
    const first = world.call(["first"]);
    await world.pass(100);
    void world.testServer.close();
    const crossing = world.call(["crosses"]);
    await world.pass(10_000);
    assert.deepEqual([first.outcomes, crossing.outcomes], [[["value", "first"]], [["value", "crosses"]]]);
    assert.equal(world.network.open, 0);
  });

  test("a closed link ends released connections as well", async () => {
    const world = new World(new Service());
    const caller = world.call();
    await world.pass(100);
    world.links.retain(new Set());
    void world.links.close();
    await world.pass(100);
    assert.deepEqual([outcomes(caller), world.service.served[0]!.cancels], [["ANSWER_LOST"], 1]);
    assert.equal(world.network.open, 0);
  });

  test("a call that was cancelled before there was a connection is not delivered", async () => {
    const world = new World();
    world.links.call(world.address, callOf(["cancelled"]), new Caller())();
    world.call(["sent"]);
    await world.pass(100);
    assert.deepEqual(
      world.service.served.map(({ call }) => call.args[0]),
      ["sent"],
    );
  });

  test("the wait of a call for its connection counts against its timeout", async () => {
    const world = new World();
    world.network.change(1, 2, { isOpen: false });
    const late = world.call(["late"], { timeoutMs: 500 });
    world.call(["in time"], { timeoutMs: 5_000 });
    await world.pass(1_000);
    world.network.heal();
    await world.pass(100);
    assert.deepEqual(outcomes(late), ["CALL_TIMEOUT"]);
    assert.deepEqual(
      world.service.served.map(({ call }) => call.args[0]),
      ["in time"],
    );
    assert.ok(world.service.served[0]!.call.timeoutMs <= 4_000);
  });

  test("a call above the limit is rejected, and affects no other", async () => {
    const world = new World(new Service());
    const callers = Array.from({ length: LINK_LIMITS.calls + 1 }, (_, i) => world.call([i]));
    await world.pass(1_000);
    assert.deepEqual(outcomes(callers.at(-1)!), ["LINK_FULL"]);
    for (const { call, answer } of world.service.served.slice()) answer.value(call.args[0]);
    await world.pass(1_000);
    assert.ok(callers.slice(0, -1).every(({ outcomes }) => outcomes[0]?.[0] === "value"));
  });

  test("a virtual link counts checks of silence as the real one does", async () => {
    const { checkMs, silentChecks } = LINK_LIMITS;
    for (let seed = 0; seed < 10; seed++) {
      const world = new World(new Service(), seed);
      const caller = world.call();
      await world.pass(100);
      world.network.change(1, 2, { isOpen: false });
      world.network.change(2, 1, { isOpen: false });
      await world.pass(checkMs * silentChecks);
      assert.deepEqual(outcomes(caller), [""]);
      await world.pass(checkMs * 2);
      assert.deepEqual(outcomes(caller), ["ANSWER_LOST"]);
    }
  });
});
