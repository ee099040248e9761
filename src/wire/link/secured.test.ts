import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { NO_SECURITY } from "../cluster-security.ts";
import { ask, Lines, NAMESPACE, type Outcome, Pair, RawPeer, Service, until, Wire } from "./link-kit.test.ts";
import { openLinks } from "./links.ts";

const KEY = "the key of this cluster, long enough";
const OTHER = "the key of another cluster, as long!";
const secured = { security: { keys: [KEY] } };

const echo = () => new Service((call, answer) => answer.value(call.args[0]));

function assertUnreachable([how, what]: Outcome): void {
  assert.equal(how, "unsent");
  assert.ok(isLimpetError(what, "UNREACHABLE"), String(what));
}

test("calls with a cluster key work as without, and are unreadable on the wire", async () => {
  await using pair = await Pair.open(echo(), secured);
  await using wire = await Wire.before(pair.testServer.address);
  const seen: Buffer[] = [];
  wire.onPiece = (piece) => seen.push(piece);
  const values = ["top secret", { deep: ["secret"] }, "x".repeat(1_000_000), 5];
  const outcomes = await Promise.all(values.map((value) => ask(pair.links, wire.address, [value])));
  assert.deepEqual(
    outcomes,
    values.map((value) => ["value", value]),
  );
  const bytes = Buffer.concat(seen);
  assert.ok(bytes.length > 2_000_000);
  // Long enough not to occur in two million bytes by chance.
  for (const word of ["secret", NAMESPACE]) assert.ok(!bytes.includes(word), word);
});

test("many calls in flight with a cluster key each get their answer", async () => {
  await using pair = await Pair.open(echo(), secured);
  const outcomes = await Promise.all(Array.from({ length: 10_000 }, (_, i) => pair.ask([i])));
  for (const [i, outcome] of outcomes.entries()) assert.deepEqual(outcome, ["value", i]);
});

test("a peer with a different or missing cluster key is rejected before any call is sent", async () => {
  await using pair = await Pair.open(echo(), secured);
  await using open = await Pair.open(echo());
  const cases = [
    { keys: [OTHER], address: pair.testServer.address, matches: /another cluster key/ },
    { keys: [], address: pair.testServer.address, matches: /cannot be reached|closed the connection/ },
    { keys: [KEY], address: open.testServer.address, matches: /without TLS|cannot be reached|another cluster key/ },
  ];
  for (const { keys, address, matches } of cases) {
    const links = openLinks({ address: "", namespace: NAMESPACE, security: { keys }, log: new Lines() });
    const outcome = await ask(links, address);
    assertUnreachable(outcome);
    assert.match((outcome[1] as Error).message, matches);
    await links.close();
  }
  assert.equal(pair.service.served.length + open.service.served.length, 0);
  assert.deepEqual(await pair.ask(["still"]), ["value", "still"]);
});

test("a second key is accepted, so that keys can be changed one host at a time", async () => {
  await using pair = await Pair.open(echo(), { security: { keys: [OTHER, KEY] } });
  const links = openLinks({ address: "", namespace: NAMESPACE, ...secured, log: new Lines() });
  assert.deepEqual(await ask(links, pair.testServer.address, [1]), ["value", 1]);
  await links.close();
});

test("a secured connection that breaks loses its sent calls, and the next call connects again", async () => {
  const service = new Service();
  await using pair = await Pair.open(service, secured);
  await using wire = await Wire.before(pair.testServer.address);
  const lost = ask(pair.links, wire.address);
  await until("it has arrived", () => service.served.length === 1);
  wire.cut();
  assert.equal((await lost)[0], "lost");
  await until("it is cancelled there", () => service.served[0]!.cancels === 1);
  service.respond = (_, answer) => answer.value("anew");
  await until("it answers", async () => (await ask(pair.links, wire.address))[1] === "anew");
});

test("a secured link server closes despite connections that never finish their handshake", async () => {
  await using pair = await Pair.open(echo(), secured);
  assert.deepEqual(await pair.ask([1]), ["value", 1]);
  using silent = await RawPeer.connect(pair.testServer.address);
  using garbage = await RawPeer.connect(pair.testServer.address, Buffer.from("GET / HTTP/1.1\r\n\r\n"));
  await garbage.closed();
  await pair.testServer.close();
  await silent.closed();
});

test("a link without a cluster key uses no TLS", async () => {
  await using pair = await Pair.open(echo(), { security: NO_SECURITY });
  await using wire = await Wire.before(pair.testServer.address);
  const seen: Buffer[] = [];
  wire.onPiece = (piece) => seen.push(piece);
  await ask(pair.links, wire.address, ["plain words"]);
  assert.ok(Buffer.concat(seen).includes("plain words"));
});
