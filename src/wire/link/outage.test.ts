import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLimpetError } from "../../kernel/errors.ts";
import { NO_SECURITY } from "../cluster-security.ts";
import { LINK_LIMITS } from "./limits.ts";
import {
  ask,
  Caller,
  callOf,
  frame,
  hello,
  Lines,
  NAMESPACE,
  type Outcome,
  openDoor,
  Pair,
  portOf,
  RawServer,
  Service,
  until,
  Wire,
} from "./link-kit.test.ts";
import { openLinks } from "./links.ts";
import { KIND } from "./messages.ts";

const echo = () => new Service((call, answer) => answer.value(call.args[0]));

function linksWith(limits: Partial<typeof LINK_LIMITS> = {}, log = new Lines()) {
  const settings = { address: "", namespace: NAMESPACE, security: NO_SECURITY, log };
  const links = openLinks(settings, { ...LINK_LIMITS, ...limits });
  return Object.assign(links, { [Symbol.asyncDispose]: () => links.close() });
}

function assertUnreachable([how, what]: Outcome, pattern: RegExp = /cannot be reached/): void {
  assert.equal(how, "unsent");
  assert.ok(isLimpetError(what, "UNREACHABLE"), String(what));
  assert.match(what.message, pattern);
}

/** An address at which nobody listens. */
async function nowhere(): Promise<string> {
  await using server = await RawServer.open(() => {});
  return server.address;
}

test("calls to a host that is not there are told so, and the next ones at once while it is left in peace", async () => {
  const log = new Lines();
  await using links = linksWith({ pauseMs: 60_000, longestPauseMs: 60_000 }, log);
  const address = await nowhere();
  for (const outcome of await Promise.all([ask(links, address), ask(links, address)])) {
    assertUnreachable(outcome, /ECONNREFUSED/);
  }
  assertUnreachable(await ask(links, address), /failed just now/);
  assert.equal(log.of("link.unreachable").length, 1);
});

test("after the pause it is tried anew, and a host that came back is called as if nothing had been", async () => {
  await using links = linksWith({ pauseMs: 1, longestPauseMs: 4 });
  const address = await nowhere();
  for (let i = 0; i < 10; i++) assertUnreachable(await ask(links, address));
  await using _door = await openDoor(echo(), { port: portOf(address) });
  await until("it answers", async () => (await ask(links, address, ["back"]))[0] === "value");
  await links.close();
});

test("what is no address is unreachable", async () => {
  await using links = linksWith();
  for (const address of ["", "nonsense", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:0", "127.0.0.1:99999", "h:1e3"]) {
    assertUnreachable(await ask(links, address), /no address/);
  }
});

test("a peer of another namespace is refused on both sides, before a call is sent", async () => {
  const [doorLog, log] = [new Lines(), new Lines()];
  const service = echo();
  await using door = await openDoor(service, { namespace: "other" }, { log: doorLog });
  await using links = linksWith({}, log);
  assertUnreachable(await ask(links, door.address), /namespace "other", and this host to "default"/);
  await until("the door refused it as well", () => doorLog.of("link.refused").length === 1);
  assert.equal(log.of("link.refused").length, 1);
  assert.equal(service.served.length, 0);
});

test("a peer of another protocol is refused with its number", async () => {
  await using server = await RawServer.open((socket) => socket.write(frame([KIND.hello, 99, "anything"])));
  await using links = linksWith();
  assertUnreachable(await ask(links, server.address), /link protocol 99/);
});

test("a peer that never says hello is given up", async () => {
  await using server = await RawServer.open(() => {});
  await using links = linksWith({ helloMs: 20 });
  assertUnreachable(await ask(links, server.address), /did not say hello in time/);
});

test("a connection that does not come to stand is given up", async () => {
  // It takes the connection and never answers the handshake.
  await using server = await RawServer.open(() => {});
  const settings = { address: "", namespace: NAMESPACE, security: { keys: ["a".repeat(32)] }, log: new Lines() };
  const links = openLinks({ ...settings, connectTimeoutMs: 20 });
  assertUnreachable(await ask(links, server.address), /no answer within 20 ms/);
  await links.close();
});

test("calls without their answer are lost with the connection, calls that were not sent are not", async () => {
  const service = new Service();
  await using pair = await Pair.open(service);
  await using wire = await Wire.before(pair.door.address);
  const sent = [ask(pair.links, wire.address, [1]), ask(pair.links, wire.address, [2])];
  await until("they have arrived", () => service.served.length === 2);
  wire.cut();
  for (const [how, what] of await Promise.all(sent)) {
    assert.equal(how, "lost");
    assert.ok(isLimpetError(what, "ANSWER_LOST"));
  }
  await until("they are cancelled there", () => service.served.every(({ cancels }) => cancels === 1));
  service.served[0]!.answer.value("to nobody");
});

test("what cannot be handed to a full connection is unsent when it breaks", async () => {
  // It says hello, reads the beginning of what comes, and nothing more.
  let reads = 0;
  await using server = await RawServer.open((socket) => {
    socket.write(hello());
    socket.on("data", (piece) => {
      reads += piece.length;
      if (reads > 1_000) socket.pause();
    });
  });
  await using links = linksWith();
  const large = "x".repeat(1_000_000);
  // Far more than the buffers of two sockets hold.
  const asked = Array.from({ length: 40 }, () => ask(links, server.address, [large]));
  await until("it has begun to read", () => reads > 1_000);
  server.destroyAll();
  const outcomes = (await Promise.all(asked)).map(([how]) => how);
  assert.ok(outcomes.includes("lost"), "some were handed to the socket");
  assert.ok(outcomes.includes("unsent"), "some were not");
  assert.deepEqual(outcomes, outcomes.toSorted(), "and those are the later ones");
});

test("a connection is made anew after it was lost", async () => {
  await using pair = await Pair.open(echo());
  await using wire = await Wire.before(pair.door.address);
  for (let round = 0; round < 5; round++) {
    assert.deepEqual(await ask(pair.links, wire.address, [round]), ["value", round]);
    wire.cut();
    await until("it was noticed", () => pair.linksLog.of("link.lost").length === round + 1);
  }
});

test("wherever the connection is cut, each call hears one thing, and the host serves none twice", async () => {
  const service = echo();
  await using pair = await Pair.open(service, { limits: { pauseMs: 0, batchBytes: 300 } });
  await using wire = await Wire.before(pair.door.address);
  const callers: { readonly name: number; readonly caller: Caller }[] = [];
  const cuts = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 4 });
  const property = fc.asyncProperty(cuts, fc.integer({ min: 1, max: 60 }), async (bytes, calls) => {
    for (const cutAfter of bytes) {
      wire.cutAfter = cutAfter;
      for (let i = 0; i < calls; i++) {
        const [name, caller] = [callers.length, new Caller()];
        callers.push({ name, caller });
        pair.links.call(wire.address, callOf([name, i % 5 === 0 ? ["x".repeat(i)] : 1]), caller);
        if (i % 10 === 9) await caller.outcome;
      }
      await Promise.all(callers.map(({ caller }) => caller.outcome));
    }
    wire.cutAfter = Number.POSITIVE_INFINITY;
    wire.cut();
  });
  // The first is cut while the two introduce themselves.
  await fc.assert(property, { numRuns: 60, examples: [[[10], 5]] });
  await pair.door.close();
  const served = service.served.map(({ call }) => call.args[0]);
  assert.equal(new Set(served).size, served.length, "a call was served twice");
  const counts = { value: 0, unsent: 0, lost: 0, error: 0, notOwner: 0 };
  for (const { name, caller } of callers) {
    assert.equal(caller.heard.length, 1);
    const [how, what] = caller.heard[0]!;
    counts[how]++;
    if (how === "value") assert.equal(what, name);
    if (how === "unsent") assert.ok(!served.includes(name), "an unsent call was served");
  }
  assert.deepEqual([counts.error, counts.notOwner], [0, 0]);
  assert.ok(counts.value > 0 && counts.unsent > 0 && counts.lost > 0, JSON.stringify(counts));
});

test("a peer that falls silent without hanging up is dropped, and only when it owes something", async () => {
  const limits = { checkMs: 20, silentChecks: 3, idleChecks: 1_000_000 };
  const service = new Service();
  await using pair = await Pair.open(service, { limits });
  await using wire = await Wire.before(pair.door.address);
  const lost = ask(pair.links, wire.address);
  await until("it has arrived", () => service.served.length === 1);
  wire.isFrozen = true;
  const [how, what] = await lost;
  assert.equal(how, "lost");
  assert.match((what as Error).message, /silent for too long/);
  await until("the host has given up as well", () => service.served[0]!.cancels === 1);
});

test("a call that takes long is not lost as long as both sides show signs of life", async () => {
  const limits = { checkMs: 10, silentChecks: 2 };
  const service = new Service();
  await using pair = await Pair.open(service, { limits });
  await using wire = await Wire.before(pair.door.address);
  const asked = ask(pair.links, wire.address);
  await until("signs of life have passed", () => wire.pieces > 20);
  service.served[0]!.answer.value("at last");
  assert.deepEqual(await asked, ["value", "at last"]);
});

test("an idle connection that is dead is noticed", async () => {
  const limits = { checkMs: 10, silentChecks: 2, idleChecks: 2 };
  await using pair = await Pair.open(echo(), { limits });
  await using wire = await Wire.before(pair.door.address);
  await ask(pair.links, wire.address);
  wire.isFrozen = true;
  await until("it was noticed", () => pair.linksLog.of("link.lost").length === 1);
});

test("closing waits for nothing: what was sent is lost, what was not is unsent, and so is all that comes later", async () => {
  const service = new Service();
  await using pair = await Pair.open(service);
  const sent = pair.ask(["sent"]);
  await until("it has arrived", () => service.served.length === 1);
  const waiting = pair.ask(["waiting"]);
  await pair.links.close();
  assert.equal((await sent)[0], "lost");
  const later = pair.ask(["later"]);
  for (const [how, what] of [await waiting, await later]) {
    assert.equal(how, "unsent");
    assert.ok(isLimpetError(what, "STOPPING"));
  }
  await until("it is cancelled there", () => service.served[0]!.cancels === 1);
  assert.equal(service.served.length, 1);
});

test("links to hosts that nobody needs any more are let go, once their answers are in", async () => {
  const service = echo();
  await using pair = await Pair.open(service);
  await using idle = await Wire.before(pair.door.address);
  await using busy = await Wire.before(pair.door.address);
  await using kept = await Wire.before(pair.door.address);
  for (const { address } of [idle, busy, kept]) await ask(pair.links, address);
  service.respond = () => {};
  const pending = ask(pair.links, busy.address);
  await until("it has arrived", () => service.served.length === 4);
  pair.links.retain(new Set([kept.address]));
  await until("the idle one is closed", () => idle.open === 0);
  assert.deepEqual([busy.open, kept.open], [1, 1]);
  service.served[3]!.answer.value("done");
  assert.deepEqual(await pending, ["value", "done"]);
  await until("the busy one is closed", () => busy.open === 0);
  service.respond = (_, answer) => answer.value("again");
  assert.deepEqual(await ask(pair.links, idle.address), ["value", "again"]);
  assert.equal(kept.open, 1);
});

test("a link that is let go while it connects still sends what waits for it", async () => {
  await using pair = await Pair.open(echo());
  const asked = pair.ask(["waited"]);
  const caller = new Caller();
  const cancel = pair.links.call(pair.door.address, callOf(["cancelled"]), caller);
  pair.links.retain(new Set());
  cancel();
  assert.deepEqual(await asked, ["value", "waited"]);
  assert.deepEqual(caller.heard, []);
});
