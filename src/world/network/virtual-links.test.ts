// The links of a virtual world keep the contract of ports/links.ts like the real ones: the tests run against
// both.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { Prng } from "../../kernel/prng.ts";
import type { Links, RemoteCall, RemoteCause } from "../../ports/links.ts";
import { ask, Caller, callOf, openTestServer, Pair, portOf, Service, until } from "../../wire/link/link-kit.test.ts";
import { LocalClock } from "../local-clock.ts";
import { Dummy, SelfRunning } from "../world-kit.test.ts";
import { addressOf, Network } from "./network.ts";
import { VirtualLinkServer } from "./virtual-link-server.ts";
import { VirtualLinks } from "./virtual-links.ts";

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
  const { address } = pair.testServer;
  return {
    service,
    links: pair.links,
    address,
    shut: () => pair.testServer.close(),
    reopen: (next) => openTestServer(next, { port: portOf(address) }),
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
  const testServer = new VirtualLinkServer(address, service, network, host, hostsClock);
  return {
    service,
    links,
    address,
    shut: () => testServer.close(),
    reopen: async (next) => {
      const again = new VirtualLinkServer(address, next, network, host, hostsClock);
      return { [Symbol.asyncDispose]: () => again.close() };
    },
    pass: (ms) => new Promise((resolve) => callersClock.after(ms, resolve)),
    [Symbol.asyncDispose]: async () => {
      await links.close();
      await testServer.close();
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
      assert.deepEqual(caller.outcomes, []);
      const [how, what] = await caller.outcome;
      assert.equal(how, "error");
      assert.ok(isLimpetError(what, "ARGUMENT_INVALID"));
      assert.deepEqual([cancelled.outcomes, it.service.served.length], [[], 0]);
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
      assert.deepEqual([caller.outcomes, it.service.served[0]!.cancels], [[], 1]);
    });

    test("a link does not cancel an answered call", async () => {
      await using it = await echo();
      const caller = new Caller();
      const cancel = it.links.call(it.address, callOf([1]), caller);
      await caller.outcome;
      cancel();
      await askOf(it);
      assert.deepEqual([caller.outcomes.length, it.service.served[0]!.cancels], [1, 0]);
    });

    test("a caller that gave up while the link connected gets no notification", async () => {
      await using it = await echo();
      const caller = new Caller();
      const cancel = it.links.call(it.address, callOf(["cancelled"]), caller);
      cancel();
      cancel();
      await askOf(it);
      assert.deepEqual(caller.outcomes, []);
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
      await using _server = await it.reopen(next);
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
