import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { RemoteCall, RemoteCause } from "../../ports/links.ts";
import { ask, Caller, callOf, Pair, Service, until, Wire } from "./link-kit.test.ts";

const echo = () => new Service((call, answer) => answer.value(call.args));

test("a call arrives unchanged, and its result returns to the caller", async () => {
  await using pair = await Pair.open(echo());
  assert.deepEqual(await pair.ask([1, "two", { three: new Map([[4n, new Date(5)]]) }]), [
    "value",
    [1, "two", { three: new Map([[4n, new Date(5)]]) }],
  ]);
  const causes: RemoteCause[] = [
    { host: "127.0.0.1:9", turn: 2 ** 40, type: "Shop", id: "ä", method: "buy" },
    { host: "127.0.0.1:8", turn: 7, type: "Cart", id: "bo", method: "add" },
  ];
  const made = callOf([undefined], { id: "Grüße 👋", hops: 3, passOn: true, causes, timeoutMs: 1_234 });
  await pair.ask(made.args, made);
  assert.deepEqual(pair.service.served[1]!.call, made);
  for (const more of [{ hops: 1 }, { passOn: true }, { causes }] satisfies Partial<RemoteCall>[]) {
    await pair.ask([], more);
    assert.deepEqual(pair.service.served.at(-1)!.call, callOf([], more));
  }
});

test("values of every kind are transported exactly", async () => {
  await using pair = await Pair.open(new Service((call, answer) => answer.value(call.args[0])));
  const value = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withUnicodeString: true,
    maxDepth: 3,
  });
  const property = fc.asyncProperty(fc.array(value, { maxLength: 10 }), async (values) => {
    const outcomes = await Promise.all(values.map((one) => pair.ask([one, "and another"])));
    assert.deepEqual(
      outcomes,
      values.map((one) => ["value", one]),
    );
  });
  await fc.assert(property, { numRuns: 100 });
  const bytes = new Uint8Array([0, 255]);
  for (const one of [undefined, null, -0, Number.NaN, "\ud800", "", "\u0000", bytes, Buffer.from([1]), 2 ** 53]) {
    assert.deepEqual(await pair.ask([one]), ["value", one]);
  }
});

test("errors keep name, message, code and causes, and LimpetErrors stay LimpetErrors", async () => {
  const thrown: unknown[] = [
    Object.assign(new RangeError("too far", { cause: new TypeError("inside") }), { code: "E_FAR" }),
    new LimpetError("MAILBOX_FULL", "full", { cause: new Error("busy") }),
    "only words",
  ];
  await using pair = await Pair.open(new Service((call, answer) => answer.error(thrown[call.args[0] as number])));
  const [, first] = (await pair.ask([0])) as ["error", Error & { code: string; cause: Error }];
  assert.deepEqual([first.name, first.message, first.code], ["RangeError", "too far", "E_FAR"]);
  assert.deepEqual([first.cause.name, first.cause.message], ["TypeError", "inside"]);
  const [how, second] = await pair.ask([1]);
  assert.equal(how, "error");
  assert.ok(isLimpetError(second, "MAILBOX_FULL"));
  assert.deepEqual([second.message, (second.cause as Error).message], ["full", "busy"]);
  const [, third] = (await pair.ask([2])) as ["error", Error];
  assert.equal(third.message, "only words");
});

test("a host that does not own the actor names the owner, if it knows one", async () => {
  const beliefs = [
    { term: 3, version: 2 ** 45, owner: "10.0.0.1:7000" },
    { term: 0, version: 0, owner: undefined },
  ];
  await using pair = await Pair.open(new Service((call, answer) => answer.notOwner(beliefs[call.args[0] as number]!)));
  assert.deepEqual(await pair.ask([0]), ["notOwner", beliefs[0]]);
  assert.deepEqual(await pair.ask([1]), ["notOwner", beliefs[1]]);
});

test("the first answer counts, and one that cannot be encoded becomes an error", async () => {
  await using pair = await Pair.open(
    new Service((_, answer) => {
      answer.value({ fn() {} });
      answer.value("too late");
      answer.error(new Error("too late"));
    }),
  );
  const [how, what] = await pair.ask();
  assert.equal(how, "error");
  assert.ok(isLimpetError(what, "RESULT_INVALID"));
  assert.match(what.message, /the result\.fn \(a function\)/);
});

test("a service that throws answers with an error, and the connection stays open", async () => {
  await using pair = await Pair.open(
    new Service((call) => {
      throw new Error(`no ${call.args[0]}`);
    }),
  );
  const [how, what] = await pair.ask(["secret"]);
  assert.equal(how, "error");
  assert.ok(isLimpetError(what, "INVARIANT"));
  assert.equal(pair.serverLog.of("link.failed").length, 1);
  pair.service.respond = (_, answer) => answer.value("fine");
  assert.deepEqual(await pair.ask(), ["value", "fine"]);
});

test("a connection does not belong to the call that opened it", async () => {
  await using pair = await Pair.open(echo());
  const context = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const caller = Object.assign(new Caller(), { value: () => seen.push(context.getStore()) });
  context.run("the first call", () => pair.links.call(pair.testServer.address, callOf(), caller));
  await until("it is answered", () => seen.length === 1);
  assert.deepEqual(seen, [undefined]);
});

test("a caller that throws disturbs no other caller", async () => {
  await using pair = await Pair.open(echo());
  const angry = Object.assign(new Caller(), {
    value() {
      throw new Error("I throw");
    },
  });
  pair.links.call(pair.testServer.address, callOf(), angry);
  assert.deepEqual(await pair.ask([1]), ["value", [1]]);
  assert.equal(pair.linksLog.of("link.failed").length, 1);
});

test("an invalid actor id is rejected by the host, for that call alone", async () => {
  await using pair = await Pair.open(echo());
  const [[how, what], other] = await Promise.all([pair.ask([], { id: "a/b" }), pair.ask([1])]);
  assert.equal(how, "error");
  assert.ok(isLimpetError(what, "NAME_INVALID"));
  assert.deepEqual(other, ["value", [1]]);
});

test("calls arrive in the order in which they were made, including calls that waited for the connection", async () => {
  await using pair = await Pair.open(echo());
  const asked: Promise<unknown>[] = [];
  for (let i = 0; i < 3_000; i++) {
    asked.push(pair.ask([i, i % 7 === 0 ? { large: "x".repeat(i) } : null]));
    if (i % 500 === 499) await asked[i - 100];
  }
  await Promise.all(asked);
  assert.deepEqual(
    pair.service.served.map(({ call }) => call.args[0]),
    Array.from({ length: 3_000 }, (_, i) => i),
  );
});

test("ten thousand calls in flight each get their own answer", async () => {
  const service = new Service();
  await using pair = await Pair.open(service);
  const asked = Array.from({ length: 10_000 }, (_, i) => pair.ask([i]));
  await until("all have arrived", () => service.served.length === 10_000);
  for (const { call, answer } of service.served.toReversed()) answer.value(call.args[0]);
  const outcomes = await Promise.all(asked);
  for (const [i, outcome] of outcomes.entries()) assert.deepEqual(outcome, ["value", i]);
});

test("messages of one tick travel in one frame", async () => {
  await using pair = await Pair.open(echo());
  await using wire = await Wire.before(pair.testServer.address);
  await ask(pair.links, wire.address);
  const before = wire.pieces;
  await Promise.all(Array.from({ length: 100 }, (_, i) => ask(pair.links, wire.address, [i])));
  assert.equal(wire.pieces - before, 2);
});

test("a batch that is larger than a frame travels in several frames", async () => {
  await using pair = await Pair.open(echo(), { limits: { frameBytes: 4_096, batchBytes: 1_024 } });
  const texts = Array.from({ length: 50 }, (_, i) => `${i}`.repeat(100));
  const outcomes = await Promise.all(texts.map((text) => pair.ask([text])));
  assert.deepEqual(
    outcomes,
    texts.map((text) => ["value", [text]]),
  );
});

test("only a call or an answer that is larger than a frame is rejected", async () => {
  const limits = { frameBytes: 20_000, batchBytes: 1_024 };
  await using pair = await Pair.open(new Service((call, answer) => answer.value(call.args[0])), { limits });
  const [[how, what], other] = await Promise.all([pair.ask(["x".repeat(20_000)]), pair.ask(["small"])]);
  assert.equal(how, "error");
  assert.ok(isLimpetError(what, "ARGUMENT_INVALID"));
  assert.deepEqual(other, ["value", "small"]);
  assert.equal(pair.service.served.length, 1);
  for (const large of ["x".repeat(20_000), ["y".repeat(20_000)], new Error("z".repeat(20_000))]) {
    pair.service.respond = (_, answer) => (large instanceof Error ? answer.error(large) : answer.value(large));
    const [how, what] = await pair.ask();
    assert.equal(how, "error");
    assert.ok(isLimpetError(what, "RESULT_INVALID"), String(what));
  }
});

test("large values pass while small calls are in progress", async () => {
  await using pair = await Pair.open(new Service((call, answer) => answer.value(call.args[0])));
  const large = { text: "ü".repeat(3_000_000) };
  const values = [1, large, 2, large.text, 3];
  const outcomes = await Promise.all(values.map((value) => pair.ask([value])));
  assert.deepEqual(
    outcomes,
    values.map((value) => ["value", value]),
  );
});

test("an argument that cannot be encoded is an error that the caller gets after the call", async () => {
  await using pair = await Pair.open(echo());
  const caller = new Caller();
  pair.links.call(pair.testServer.address, callOf([() => {}]), caller);
  assert.deepEqual(caller.outcomes, []);
  const [how, what] = await caller.outcome;
  assert.equal(how, "error");
  assert.ok(isLimpetError(what, "ARGUMENT_INVALID"));
  const trap = {
    get boom(): never {
      throw new Error("trapped");
    },
  };
  const [, second] = await pair.ask([trap]);
  assert.ok(isLimpetError(second, "ARGUMENT_INVALID"));
});

test("a call that is cancelled before it is sent never arrives", async () => {
  await using pair = await Pair.open(echo());
  const caller = new Caller();
  // First while the link connects, then in the tick in which the call was made.
  for (let round = 0; round < 2; round++) {
    const cancel = pair.links.call(pair.testServer.address, callOf(["cancelled"]), caller);
    cancel();
    cancel();
    await pair.ask(["sent"]);
  }
  assert.deepEqual(
    pair.service.served.map(({ call }) => call.args[0]),
    ["sent", "sent"],
  );
  assert.deepEqual(caller.outcomes, []);
});

test("a call that is cancelled later is cancelled once at the other host, and its caller gets no outcome", async () => {
  const service = new Service();
  await using pair = await Pair.open(service);
  const caller = new Caller();
  const cancel = pair.links.call(pair.testServer.address, callOf(), caller);
  await until("it has arrived", () => service.served.length === 1);
  cancel();
  await until("it is cancelled", () => service.served[0]!.cancels > 0);
  service.served[0]!.answer.value("too late");
  cancel();
  service.respond = (_, answer) => answer.value("next");
  assert.deepEqual(await pair.ask(), ["value", "next"]);
  assert.deepEqual(caller.outcomes, []);
  assert.equal(service.served[0]!.cancels, 1);
});

test("an answer that crosses a cancellation is dropped and never reaches another call", async () => {
  await using pair = await Pair.open(new Service((call, answer) => answer.value(call.args[0])));
  await pair.ask();
  const cancelled: Caller[] = [];
  for (let round = 0; round < 200; round++) {
    const caller = new Caller();
    cancelled.push(caller);
    const cancel = pair.links.call(pair.testServer.address, callOf([`cancelled ${round}`]), caller);
    // The call is in the socket, and its answer is in flight when it is cancelled.
    await new Promise((resolve) => setImmediate(resolve));
    if (caller.outcomes.length > 0) continue;
    cancel();
    const outcomes = await Promise.all([pair.ask([round]), pair.ask([`${round}`])]);
    assert.deepEqual(outcomes, [
      ["value", round],
      ["value", `${round}`],
    ]);
  }
  for (const { outcomes } of cancelled) assert.ok(outcomes.length <= 1);
});

test("calls above the waiting limit are rejected, and waiting calls are not harmed", async () => {
  const service = new Service();
  await using pair = await Pair.open(service, { limits: { calls: 100 } });
  const asked = Array.from({ length: 101 }, (_, i) => pair.ask([i]));
  const [how, what] = await asked[100]!;
  assert.equal(how, "unsent");
  assert.ok(isLimpetError(what, "LINK_FULL"));
  await until("the others have arrived", () => service.served.length === 100);
  for (const { call, answer } of service.served) answer.value(call.args[0]);
  assert.deepEqual(
    await Promise.all(asked.slice(0, 100)),
    Array.from({ length: 100 }, (_, i) => ["value", i]),
  );
  service.respond = (_, answer) => answer.value("room again");
  assert.deepEqual(await pair.ask(), ["value", "room again"]);
});

test("large waiting calls are limited by their size as well", async () => {
  await using pair = await Pair.open(echo(), { limits: { waitingBytes: 100_000 } });
  const asked = Array.from({ length: 20 }, () => pair.ask(["x".repeat(10_000)]));
  const outcomes = (await Promise.all(asked)).map(([how]) => how);
  assert.deepEqual([...new Set(outcomes)], ["value", "unsent"]);
  assert.equal(outcomes.filter((how) => how === "value").length, pair.service.served.length);
});

test("a call that was cancelled while it waited frees its capacity", async () => {
  await using pair = await Pair.open(echo(), { limits: { calls: 10, waitingBytes: 100_000 } });
  for (let i = 0; i < 50; i++) pair.links.call(pair.testServer.address, callOf(["x".repeat(10_000)]), new Caller())();
  assert.deepEqual(await pair.ask(["room"]), ["value", ["room"]]);
  assert.equal(pair.service.served.length, 1);
});

test("a call of another namespace does not leave the host", async () => {
  await using pair = await Pair.open(echo());
  const [how, what] = await pair.ask([], { namespace: "other" });
  assert.equal(how, "unsent");
  assert.ok(isLimpetError(what, "PROTOCOL"));
});

test("a call that waited for a connection arrives with less time left, and an expired one is not sent", async () => {
  await using pair = await Pair.open(echo());
  // Both calls wait for the connection, which takes longer than a thousandth of a millisecond.
  const [[how, what]] = await Promise.all([
    pair.ask([], { timeoutMs: 0.001 }),
    pair.ask(["in time"], { timeoutMs: 5_000 }),
  ]);
  assert.equal(how, "unsent");
  assert.ok(isLimpetError(what, "CALL_TIMEOUT"));
  assert.deepEqual(
    pair.service.served.map(({ call }) => call.args),
    [["in time"]],
  );
  assert.ok(pair.service.served[0]!.call.timeoutMs <= 5_000);
  await pair.ask([], { timeoutMs: Number.POSITIVE_INFINITY });
  assert.equal(pair.service.served[1]!.call.timeoutMs, Number.POSITIVE_INFINITY);
});
