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
  openTestServer,
  Pair,
  portOf,
  RawServer,
  Service,
  until,
  Wire,
} from "./link-kit.test.ts";
import { openLinks } from "./links.ts";
import { FRAME_KIND } from "./messages.ts";

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

/** An address without a listener. */
async function nowhere(): Promise<string> {
  await using server = await RawServer.open(() => {});
  return server.address;
}

test("a call to an absent host fails as unreachable, and a call during the pause fails at once", async () => {
  const log = new Lines();
  await using links = linksWith({ pauseMs: 60_000, longestPauseMs: 60_000 }, log);
  const address = await nowhere();
  for (const outcome of await Promise.all([ask(links, address), ask(links, address)])) {
    assertUnreachable(outcome, /ECONNREFUSED/);
  }
  assertUnreachable(await ask(links, address), /failed just now/);
  assert.equal(log.of("link.unreachable").length, 1);
});

test("a link retries after the pause, and a host that came back is called normally", async () => {
  await using links = linksWith({ pauseMs: 1, longestPauseMs: 4 });
  const address = await nowhere();
  for (let i = 0; i < 10; i++) assertUnreachable(await ask(links, address));
  await using _server = await openTestServer(echo(), { port: portOf(address) });
  await until("it answers", async () => (await ask(links, address, ["back"]))[0] === "value");
  await links.close();
});

test("a text that is not an address is unreachable", async () => {
  await using links = linksWith();
  for (const address of ["", "nonsense", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:0", "127.0.0.1:99999", "h:1e3"]) {
    assertUnreachable(await ask(links, address), /not an address/);
  }
});

test("a peer of another namespace is rejected on both sides before a call is sent", async () => {
  const [serverLog, log] = [new Lines(), new Lines()];
  const service = echo();
  await using testServer = await openTestServer(service, { namespace: "other" }, { log: serverLog });
  await using links = linksWith({}, log);
  assertUnreachable(await ask(links, testServer.address), /namespace "other"; this host belongs to "default"/);
  await until("the door refused it as well", () => serverLog.of("link.refused").length === 1);
  assert.equal(log.of("link.refused").length, 1);
  assert.equal(service.served.length, 0);
});

test("a peer of another protocol is rejected with its number", async () => {
  await using server = await RawServer.open((socket) => socket.write(frame([FRAME_KIND.hello, 99, "anything"])));
  await using links = linksWith();
  assertUnreachable(await ask(links, server.address), /link protocol 99/);
});

test("a peer that never sends a hello is given up", async () => {
  await using server = await RawServer.open(() => {});
  await using links = linksWith({ helloMs: 20 });
  assertUnreachable(await ask(links, server.address), /did not send a hello in time/);
});

test("a connection attempt that never completes is given up", async () => {
  // The server accepts the connection and never answers the handshake.
  await using server = await RawServer.open(() => {});
  const settings = { address: "", namespace: NAMESPACE, security: { keys: ["a".repeat(32)] }, log: new Lines() };
  const links = openLinks({ ...settings, connectTimeoutMs: 20 });
  assertUnreachable(await ask(links, server.address), /no answer within 20 ms/);
  await links.close();
});

test("sent calls without an answer are lost with the connection, and unsent calls are reported as unsent", async () => {
  const service = new Service();
  await using pair = await Pair.open(service);
  await using wire = await Wire.before(pair.testServer.address);
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

test("a call that a full connection did not take is reported as unsent when it breaks", async () => {
  // The server sends a hello, reads the first bytes, and then stops reading.
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

test("a lost connection is replaced by a new one", async () => {
  await using pair = await Pair.open(echo());
  await using wire = await Wire.before(pair.testServer.address);
  for (let round = 0; round < 5; round++) {
    assert.deepEqual(await ask(pair.links, wire.address, [round]), ["value", round]);
    wire.cut();
    await until("it was noticed", () => pair.linksLog.of("link.lost").length === round + 1);
  }
});

test("each call gets one outcome wherever the connection is cut, and the host serves none twice", async () => {
  const service = echo();
  await using pair = await Pair.open(service, { limits: { pauseMs: 0, batchBytes: 300 } });
  await using wire = await Wire.before(pair.testServer.address);
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
  // The first example is cut during the hello exchange.
  await fc.assert(property, { numRuns: 60, examples: [[[10], 5]] });
  await pair.testServer.close();
  const served = service.served.map(({ call }) => call.args[0]);
  assert.equal(new Set(served).size, served.length, "a call was served twice");
  const counts = { value: 0, unsent: 0, lost: 0, error: 0, notOwner: 0 };
  for (const { name, caller } of callers) {
    assert.equal(caller.outcomes.length, 1);
    const [how, what] = caller.outcomes[0]!;
    counts[how]++;
    if (how === "value") assert.equal(what, name);
    if (how === "unsent") assert.ok(!served.includes(name), "an unsent call was served");
  }
  assert.deepEqual([counts.error, counts.notOwner], [0, 0]);
  assert.ok(counts.value > 0 && counts.unsent > 0 && counts.lost > 0, JSON.stringify(counts));
});

test("a peer that falls silent without closing is dropped only when it owes an answer", async () => {
  const limits = { checkMs: 20, silentChecks: 3, idleChecks: 1_000_000 };
  const service = new Service();
  await using pair = await Pair.open(service, { limits });
  await using wire = await Wire.before(pair.testServer.address);
  const lost = ask(pair.links, wire.address);
  await until("it has arrived", () => service.served.length === 1);
  wire.isFrozen = true;
  const [how, what] = await lost;
  assert.equal(how, "lost");
  assert.match((what as Error).message, /silent for too long/);
  await until("the host has given up as well", () => service.served[0]!.cancels === 1);
});

test("a long call is not lost while both sides show signs of life", async () => {
  const limits = { checkMs: 10, silentChecks: 2 };
  const service = new Service();
  await using pair = await Pair.open(service, { limits });
  await using wire = await Wire.before(pair.testServer.address);
  const asked = ask(pair.links, wire.address);
  await until("signs of life have passed", () => wire.pieces > 20);
  service.served[0]!.answer.value("at last");
  assert.deepEqual(await asked, ["value", "at last"]);
});

test("an idle connection that is dead is detected", async () => {
  const limits = { checkMs: 10, silentChecks: 2, idleChecks: 2 };
  await using pair = await Pair.open(echo(), { limits });
  await using wire = await Wire.before(pair.testServer.address);
  await ask(pair.links, wire.address);
  wire.isFrozen = true;
  await until("it was noticed", () => pair.linksLog.of("link.lost").length === 1);
});

test("closing the links waits for no answer: sent calls are lost, unsent and later calls are reported as unsent", async () => {
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

test("a link to a host that is no longer needed is released after its last answer", async () => {
  const service = echo();
  await using pair = await Pair.open(service);
  await using idle = await Wire.before(pair.testServer.address);
  await using busy = await Wire.before(pair.testServer.address);
  await using kept = await Wire.before(pair.testServer.address);
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

test("a link that is released while it connects still sends its waiting calls", async () => {
  await using pair = await Pair.open(echo());
  const asked = pair.ask(["waited"]);
  const caller = new Caller();
  const cancel = pair.links.call(pair.testServer.address, callOf(["cancelled"]), caller);
  pair.links.retain(new Set());
  cancel();
  assert.deepEqual(await asked, ["value", "waited"]);
  assert.deepEqual(caller.outcomes, []);
});
