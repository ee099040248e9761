import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { Metrics } from "../../observe/metrics.ts";
import {
  ask,
  frame,
  hello,
  Lines,
  type Outcome,
  openTestServer,
  Pair,
  portOf,
  RawPeer,
  Service,
  until,
} from "./link-kit.test.ts";

const echo = () => new Service((call, answer) => answer.value(call.args[0]));

test("a link server reports the address it listens on, or why it cannot listen", async () => {
  const log = new Lines();
  await using testServer = await openTestServer(echo(), {}, { log });
  assert.match(testServer.address, /^127\.0\.0\.1:\d+$/);
  assert.deepEqual(log.of("link.listening"), [{ address: testServer.address }]);
  const again = openTestServer(echo(), { port: portOf(testServer.address) });
  await assert.rejects(again, (error) => isLimpetError(error, "ADDRESS_IN_USE"));
  await testServer.close();
  await testServer.close();
});

test("a closing link server lets calls in progress finish, and its callers disconnect", async () => {
  const service = new Service();
  await using pair = await Pair.open(service);
  const asked = Array.from({ length: 10 }, (_, i) => pair.ask([i]));
  await until("they have arrived", () => service.served.length === 10);
  let isClosed = false;
  const closed = pair.testServer.close().then(() => {
    isClosed = true;
  });
  service.respond = (_, answer) => answer.value("crossed the bye");
  let outcome: Outcome = ["value", ""];
  await until("new calls are free to go elsewhere", async () => {
    outcome = await pair.ask();
    return outcome[0] === "unsent";
  });
  assert.ok(isLimpetError(outcome[1], "UNREACHABLE") || isLimpetError(outcome[1], "STOPPING"));
  assert.equal(isClosed, false);
  for (const { call, answer } of service.served.slice(0, 10)) answer.value(call.args[0]);
  assert.deepEqual(
    await Promise.all(asked),
    Array.from({ length: 10 }, (_, i) => ["value", i]),
  );
  await closed;
  assert.ok(service.served.every(({ cancels }) => cancels === 0));
});

test("a call that crosses the bye of the server is served", async () => {
  const service = echo();
  await using testServer = await openTestServer(service);
  using peer = await RawPeer.connect(testServer.address, hello());
  await until("it said hello", () => peer.received.length > 0);
  peer.socket.write(frame([1, 0, "Cart", "ada", "add", 1_000, ["before"]]));
  await until("the call is answered", () => peer.text.includes("before"));
  const closed = testServer.close();
  await until("it said bye", () => peer.received.length > 2);
  peer.socket.write(frame([1, 0, "Cart", "ada", "add", 1_000, ["after"]]));
  await until("the call is answered", () => peer.text.includes("after"));
  peer.socket.end();
  await closed;
});

test("a closing link server limits its wait for callers that stay and calls that do not end", async () => {
  const limits = { lingerMs: 20, closeMs: 100 };
  await using idle = await openTestServer(echo(), { limits });
  using stays = await RawPeer.connect(idle.address, hello());
  await until("it said hello", () => stays.received.length > 0);
  await idle.close();
  await stays.closed();

  const service = new Service();
  await using pair = await Pair.open(service, { limits });
  const asked = pair.ask();
  await until("it has arrived", () => service.served.length === 1);
  await pair.testServer.close();
  assert.equal((await asked)[0], "lost");
  assert.equal(service.served[0]!.cancels, 1);
});

test("a link server without callers, or with callers that never sent a hello, closes at once", async () => {
  await using testServer = await openTestServer(echo(), { limits: { lingerMs: 1e9, closeMs: 1e9, helloMs: 1e9 } });
  using silent = await RawPeer.connect(testServer.address);
  await testServer.close();
  await silent.closed();
});

test("a caller that connects while the server closes is answered, or learns that its call was not sent", async () => {
  for (let ticks = 0; ticks < 40; ticks++) {
    await using pair = await Pair.open(echo());
    const answer = pair.ask([ticks]);
    for (let i = 0; i < ticks / 4; i++) await new Promise((resolve) => setImmediate(resolve));
    const closed = pair.testServer.close();
    assert.match((await answer)[0], /^(?:value|unsent)$/);
    await pair.links.close();
    await closed;
  }
});

test("a new link server at the same address is called like the old one", async () => {
  await using pair = await Pair.open(echo(), { limits: { pauseMs: 1, longestPauseMs: 1 } });
  const { address } = pair.testServer;
  assert.deepEqual(await pair.ask([1]), ["value", 1]);
  await pair.testServer.close();
  assert.equal((await pair.ask([2]))[0], "unsent");
  await using _again = await openTestServer(echo(), { port: portOf(address) });
  await until("it answers", async () => (await ask(pair.links, address, [3]))[0] === "value");
  await pair.links.close();
});

test("a host that does not read its answers is not read from until it does", async () => {
  const service = new Service((call, answer) => answer.value(call.args[0]));
  await using testServer = await openTestServer(service, { limits: { unsentBytes: 100_000 } });
  using peer = await RawPeer.connect(testServer.address, hello());
  await until("it said hello", () => peer.received.length > 0);
  peer.socket.pause();
  const calls = 600;
  const large = "x".repeat(50_000);
  for (let i = 0; i < calls; i++) peer.socket.write(frame([1, i, "Cart", "ada", "add", 1_000, [large]]));
  // Thirty megabytes each way do not fit into the buffers between the two sides.
  let before = -1;
  await until("nothing moves any more", () => {
    const isStill = service.served.length > 0 && service.served.length === before && peer.socket.writableLength > 0;
    before = service.served.length;
    return isStill;
  });
  assert.ok(service.served.length < calls, `${service.served.length} were served`);
  peer.socket.resume();
  await until("all are served", () => service.served.length === calls);
});

test("calls and connections are counted in metrics", async () => {
  const metrics = new Metrics();
  await using testServer = await openTestServer(echo(), {}, { log: new Lines(), meter: metrics });
  await using pair = await Pair.open(echo());
  for (let i = 0; i < 3; i++) await ask(pair.links, testServer.address);
  assert.match(metrics.render(), /limpet_link_calls_total 3/);
  assert.match(metrics.render(), /limpet_link_connections 1/);
  await testServer.close();
  assert.match(metrics.render(), /limpet_link_connections 0/);
});

test("an idle link does not keep the process alive, and an awaited answer does", async () => {
  const service = new Service((call, answer) => setTimeout(() => answer.value(call.args[0]), 100));
  await using pair = await Pair.open(service);
  const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const program = `
    const { openLinks } = await import(${url("./links.ts")});
    const { silentLog } = await import(${url("../../ports/log.ts")});
    const links = openLinks({ address: "", namespace: "default", security: { keys: [] }, log: silentLog });
    const names = { namespace: "default", type: "Cart", id: "ada", method: "add" };
    const call = { ...names, args: ["answered"], timeoutMs: 1000, hops: 0, passOn: false, causes: [] };
    const say = (how) => (what) => console.log(how, what);
    const caller = { value: say("value"), error: say("error"), unsent: say("unsent"), lost: say("lost") };
    links.call(process.argv[1], call, caller);
    // This call is rejected locally, and leaves an unused connection.
    links.call(process.argv[2], { ...call, args: [() => {}] }, { error: () => {} });
  `;
  const addresses = [pair.testServer.address, `localhost:${portOf(pair.testServer.address)}`];
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, ...addresses], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let received = "";
  child.stdout.on("data", (piece) => {
    received += piece;
  });
  const [code] = await once(child, "close");
  assert.deepEqual([code, received], [0, "value answered\n"]);
});
