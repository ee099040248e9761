// The links of a virtual world keep the contract of ports/links.ts like the real ones: the first part runs
// against both.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { Prng } from "../../kernel/prng.ts";
import type { Links, RemoteCall, RemoteCause } from "../../ports/links.ts";
import { LINK_LIMITS } from "../../wire/link/limits.ts";
import { ask, Caller, callOf, openDoor, Pair, portOf, Service, until } from "../../wire/link/link-kit.test.ts";
import { LocalClock } from "../local-clock.ts";
import { Timeline } from "../timeline.ts";
import { Dummy, SelfRunning } from "../world-kit.test.ts";
import { addressOf, Network } from "./network.ts";
import { VirtualLinkServer } from "./virtual-link-server.ts";
import { VirtualLinks } from "./virtual-links.ts";

/** A server with a service behind it, and links to call it. */
interface Both extends AsyncDisposable {
  readonly service: Service;
  readonly links: Links;
  readonly address: string;
  /** Closes the server. */
  shut(): Promise<void>;
  /** Opens another server at the same address. */
  reopen(service: Service): Promise<AsyncDisposable>;
  pass(ms: number): Promise<void>;
}

/** Short pauses after failed attempts to connect. */
const QUICK = { pauseMs: 1, longestPauseMs: 1 };

async function openReal(service: Service): Promise<Both> {
  const pair = await Pair.open(service, { limits: QUICK });
  const { address } = pair.door;
  return {
    service,
    links: pair.links,
    address,
    shut: () => pair.door.close(),
    reopen: (next) => openDoor(next, { port: portOf(address) }),
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}

async function openVirtual(service: Service): Promise<Both> {
  const timeline = new SelfRunning();
  const network = new Network(timeline, new Prng("links"));
  const [caller, host] = [new Dummy(1), new Dummy(2)];
  const [callersClock, hostsClock] = [new LocalClock(timeline, caller), new LocalClock(timeline, host)];
  const address = addressOf(host.place, 7_401);
  const links = new VirtualLinks(network, caller, callersClock);
  const door = new VirtualLinkServer(address, service, network, host, hostsClock);
  return {
    service,
    links,
    address,
    shut: () => door.close(),
    reopen: async (next) => {
      const again = new VirtualLinkServer(address, next, network, host, hostsClock);
      return { [Symbol.asyncDispose]: () => again.close() };
    },
    pass: (ms) => new Promise((resolve) => callersClock.after(ms, resolve)),
    [Symbol.asyncDispose]: async () => {
      await links.close();
      await door.close();
      assert.equal(timeline.failure, undefined);
    },
  };
}

for (const [name, open] of [
  ["real", openReal],
  ["virtual", openVirtual],
] as const) {
  const echo = () => open(new Service((call, answer) => answer.value(call.args[0])));
  const askOf = (it: Both, args: readonly unknown[] = [], more: Partial<RemoteCall> = {}) =>
    ask(it.links, it.address, args, more);

  describe(`a ${name} link`, () => {
    test("a link delivers a call unchanged, and returns its result", async () => {
      await using it = await open(new Service((call, answer) => answer.value(call.args)));
      const args = [1, "two", { three: new Map([[4n, new Date(5)]]) }];
      assert.deepEqual(await askOf(it, args), ["value", args]);
      const causes: RemoteCause[] = [
        { host: "127.0.0.1:9", turn: 2 ** 40, type: "Shop", id: "ä", method: "buy" },
        { host: "127.0.0.1:8", turn: 7, type: "Cart", id: "bo", method: "add" },
      ];
      await askOf(it);
      for (const more of [{ id: "Grüße 👋" }, { hops: 3 }, { passOn: true }, { causes }, { timeoutMs: 1_234 }]) {
        await askOf(it, [undefined], more);
        assert.deepEqual(it.service.served.at(-1)!.call, callOf([undefined], more));
      }
    });

    test("a link returns values of every kind exactly", async () => {
      await using it = await echo();
      const value = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, maxDepth: 3 });
      const property = fc.asyncProperty(fc.array(value, { maxLength: 10 }), async (values) => {
        const outcomes = await Promise.all(values.map((one) => askOf(it, [one, "and another"])));
        assert.deepEqual(
          outcomes,
          values.map((one) => ["value", one]),
        );
      });
      await fc.assert(property, { numRuns: 50 });
      for (const one of [undefined, null, -0, Number.NaN, "\ud800", "", new Uint8Array([0, 255]), 2 ** 53]) {
        assert.deepEqual(await askOf(it, [one]), ["value", one]);
      }
    });

    test("a link shares no objects: later changes on one side are not visible on the other", async () => {
      const kept: { list: number[] }[] = [];
      await using it = await open(
        new Service((call, answer) => {
          const [given] = call.args as [{ list: number[] }];
          given.list.push(2);
          kept.push(given);
          answer.value(given);
          given.list.push(3);
        }),
      );
      const given = { list: [1] };
      const asked = askOf(it, [given]);
      given.list.push(99);
      const [, result] = (await asked) as ["value", { list: number[] }];
      assert.deepEqual(
        [given.list, result.list, kept[0]!.list],
        [
          [1, 99],
          [1, 2],
          [1, 2, 3],
        ],
      );
    });

    test("a link returns errors with name, message, code and causes, and LimpetErrors as such", async () => {
      const thrown: unknown[] = [
        Object.assign(new RangeError("too far", { cause: new TypeError("inside") }), { code: "E_FAR" }),
        new LimpetError("MAILBOX_FULL", "full", { cause: new Error("busy") }),
        "only words",
      ];
      await using it = await open(new Service((call, answer) => answer.error(thrown[call.args[0] as number])));
      const [, first] = (await askOf(it, [0])) as ["error", Error & { code: string; cause: Error }];
      assert.deepEqual([first.name, first.message, first.code], ["RangeError", "too far", "E_FAR"]);
      assert.deepEqual([first.cause.name, first.cause.message], ["TypeError", "inside"]);
      assert.notEqual(first, thrown[0]);
      const [how, second] = await askOf(it, [1]);
      assert.equal(how, "error");
      assert.ok(isLimpetError(second, "MAILBOX_FULL"));
      assert.deepEqual([second.message, (second.cause as Error).message], ["full", "busy"]);
      const [, third] = (await askOf(it, [2])) as ["error", Error];
      assert.equal(third.message, "only words");
    });

    test("a link returns the owner of the actor, as far as the other host knows it", async () => {
      const beliefs = [
        { term: 3, version: 2 ** 45, owner: "10.0.0.1:7000" },
        { term: 0, version: 0, owner: undefined },
      ];
      await using it = await open(new Service((call, answer) => answer.notOwner(beliefs[call.args[0] as number]!)));
      assert.deepEqual(await askOf(it, [0]), ["notOwner", beliefs[0]]);
      assert.deepEqual(await askOf(it, [1]), ["notOwner", beliefs[1]]);
    });

    test("a link takes the first answer, and returns an error for one that cannot be encoded", async () => {
      await using it = await open(
        new Service((_, answer) => {
          answer.value({ fn() {} });
          answer.value("too late");
          answer.error(new Error("too late"));
        }),
      );
      const [how, what] = await askOf(it);
      assert.equal(how, "error");
      assert.ok(isLimpetError(what, "RESULT_INVALID"));
    });

    test("an argument that cannot be encoded is reported after the call was made, and not after its cancellation", async () => {
      await using it = await echo();
      const [caller, cancelled] = [new Caller(), new Caller()];
      it.links.call(it.address, callOf([() => {}]), caller);
      it.links.call(it.address, callOf([() => {}]), cancelled)();
      assert.deepEqual(caller.heard, []);
      const [how, what] = await caller.outcome;
      assert.equal(how, "error");
      assert.ok(isLimpetError(what, "ARGUMENT_INVALID"));
      assert.deepEqual([cancelled.heard, it.service.served.length], [[], 0]);
    });

    test("a link delivers calls in the order in which they were made, also those that waited for the connection", async () => {
      await using it = await echo();
      const asked: Promise<unknown>[] = [];
      for (let i = 0; i < 1_000; i++) {
        asked.push(askOf(it, [i]));
        if (i % 200 === 199) await asked[i - 100];
      }
      await Promise.all(asked);
      assert.deepEqual(
        it.service.served.map(({ call }) => call.args[0]),
        Array.from({ length: 1_000 }, (_, i) => i),
      );
    });

    test("a link returns to each of many calls in flight its own answer", async () => {
      await using it = await open(new Service());
      const asked = Array.from({ length: 2_000 }, (_, i) => askOf(it, [i]));
      await until("all have arrived", () => it.service.served.length === 2_000);
      for (const { call, answer } of it.service.served.toReversed()) answer.value(call.args[0]);
      const outcomes = await Promise.all(asked);
      for (const [i, outcome] of outcomes.entries()) assert.deepEqual(outcome, ["value", i]);
    });

    test("a link cancels a call at the other host, once, and its caller gets nothing more", async () => {
      await using it = await open(new Service());
      const caller = new Caller();
      const cancel = it.links.call(it.address, callOf(), caller);
      await until("it has arrived", () => it.service.served.length === 1);
      cancel();
      await until("it is cancelled", () => it.service.served[0]!.cancels > 0);
      it.service.served[0]!.answer.value("too late");
      cancel();
      it.service.respond = (_, answer) => answer.value("next");
      assert.deepEqual(await askOf(it), ["value", "next"]);
      assert.deepEqual([caller.heard, it.service.served[0]!.cancels], [[], 1]);
    });

    test("a link does not cancel an answered call", async () => {
      await using it = await echo();
      const caller = new Caller();
      const cancel = it.links.call(it.address, callOf([1]), caller);
      await caller.outcome;
      cancel();
      await askOf(it);
      assert.deepEqual([caller.heard.length, it.service.served[0]!.cancels], [1, 0]);
    });

    test("a caller that gave up while the link connected gets no notification", async () => {
      await using it = await echo();
      const caller = new Caller();
      const cancel = it.links.call(it.address, callOf(["cancelled"]), caller);
      cancel();
      cancel();
      await askOf(it);
      assert.deepEqual(caller.heard, []);
    });

    test("calls without a listener are unsent, the next ones at once, and there is another attempt after a pause", async () => {
      await using it = await echo();
      await it.shut();
      for (const [how, what] of await Promise.all([askOf(it), askOf(it)])) {
        assert.equal(how, "unsent");
        assert.ok(isLimpetError(what, "UNREACHABLE"), String(what));
      }
      const [how, what] = await askOf(it);
      assert.equal(how, "unsent");
      assert.match((what as Error).message, /failed just now/);
      const next = new Service((_, answer) => answer.value("back"));
      await using _door = await it.reopen(next);
      await until("it answers", async () => {
        await it.pass(10);
        return (await askOf(it))[0] === "value";
      });
      assert.equal(next.served.length, 1, "those that were unsent never arrived");
      await it.links.close();
    });

    test("a closed link loses sent calls, and sends nothing more", async () => {
      await using it = await open(new Service());
      const sent = askOf(it, ["sent"]);
      await until("it has arrived", () => it.service.served.length === 1);
      await it.links.close();
      const [how, what] = await sent;
      assert.equal(how, "lost");
      assert.ok(isLimpetError(what, "ANSWER_LOST"));
      const [later, why] = await askOf(it, ["later"]);
      assert.equal(later, "unsent");
      assert.ok(isLimpetError(why, "STOPPING"));
      await until("it is cancelled there", () => it.service.served[0]!.cancels === 1);
      assert.equal(it.service.served.length, 1);
    });

    test("a link that is closed while it connects has sent nothing", async () => {
      await using it = await open(new Service());
      const asked = askOf(it, ["waiting"]);
      await it.links.close();
      const [how, what] = await asked;
      assert.equal(how, "unsent");
      assert.ok(isLimpetError(what, "STOPPING"), String(what));
    });

    test("an unused link is released once its answers are in, and opened again when it is needed", async () => {
      await using it = await open(new Service());
      const pending = askOf(it, [1]);
      await until("it has arrived", () => it.service.served.length === 1);
      it.links.retain(new Set());
      it.service.respond = (_, answer) => answer.value("on another connection");
      assert.deepEqual(await askOf(it, [2]), ["value", "on another connection"]);
      it.service.served[0]!.answer.value("done");
      assert.deepEqual(await pending, ["value", "done"]);
      it.links.retain(new Set([it.address]));
      assert.equal((await askOf(it, [3]))[0], "value");
    });

    test("a link that is released while it connects still sends its waiting calls", async () => {
      await using it = await echo();
      const asked = askOf(it, ["waited"]);
      it.links.retain(new Set());
      assert.deepEqual(await asked, ["value", "waited"]);
    });
  });
}

// ——— In the virtual world alone, where all times are known.

/** A caller and a host on virtual time. */
class World {
  readonly timeline = new Timeline();
  readonly network: Network;
  readonly caller = new Dummy(1);
  readonly links: VirtualLinks;
  readonly service: Service;
  readonly address = addressOf(2, 7_401);
  host = new Dummy(2);
  door!: VirtualLinkServer;

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
    this.door = new VirtualLinkServer(this.address, this.service, this.network, this.host, clock);
  }

  crash(tells = true): void {
    this.host.hasEnded = true;
    this.network.stationGone(this.host, tells);
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
  callers.map(({ heard }) => heard.map(([how, what]) => (what instanceof LimpetError ? what.code : how)).join(" "));

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
      [...sent, refused].map(({ heard }) => heard[0]![0]),
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
      if (/refused/.test((caller.heard[0]?.[1] as Error | undefined)?.message ?? "")) {
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
    assert.match((first.heard[0]![1] as Error).message, /refused/);
    await world.pass(pauseMs);
    const second = world.call();
    await world.pass(10);
    assert.match((second.heard[0]![1] as Error).message, /refused/);
  });

  test("a connection attempt behind a cut line times out, and a call's own timeout is reported if it comes first", async () => {
    const world = new World();
    world.network.change(1, 2, { isOpen: false });
    const [patient, hasty] = [world.call(), world.call([], { timeoutMs: 500 })];
    await world.pass(LINK_LIMITS.connectMs + 1);
    assert.deepEqual(outcomes(patient, hasty), ["UNREACHABLE", "CALL_TIMEOUT"]);
    assert.ok([patient, hasty].every(({ heard }) => heard[0]![0] === "unsent"));
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
    assert.deepEqual(caller.heard, [["value", "at last"]]);
  });

  test("a server that closes asks callers to leave, and lets running calls finish", async () => {
    const world = new World(new Service());
    const callers = Array.from({ length: 10 }, (_, i) => world.call([i]));
    await world.pass(100);
    let isShut = false;
    void world.door.close().then(() => {
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
      callers.map(({ heard }) => heard),
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
    void world.door.close().then(() => {
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
        if (what === "leave") ends.push(world.door.close());
        if (what === "crash" || what === "power" || what === "leave") world.start();
        await world.pass(ms);
      }
      world.network.heal();
      world.host.wake(world.timeline);
      await world.pass(60_000);
      const served = world.service.served.map(({ call }) => call.args[0]);
      assert.equal(new Set(served).size, served.length, "a call was served twice");
      for (const [i, caller] of callers.entries()) {
        assert.equal(caller.heard.length, cancelled.has(caller) ? 0 : 1, `call ${i}`);
        for (const [how, what] of caller.heard) {
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
    void world.door.close();
    const crossing = world.call(["crosses"]);
    await world.pass(10_000);
    assert.deepEqual([first.heard, crossing.heard], [[["value", "first"]], [["value", "crosses"]]]);
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
    assert.ok(callers.slice(0, -1).every(({ heard }) => heard[0]?.[0] === "value"));
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
