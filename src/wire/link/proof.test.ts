import assert from "node:assert/strict";
import { test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import type { ClusterSecurity } from "../cluster-security.ts";
import { ask, hello, Lines, NAMESPACE, Pair, RawPeer, Service, until, Wire } from "./link-kit.test.ts";
import { openLinks } from "./links.ts";

const SECRET: ClusterSecurity = { keys: [], secret: "the secret of this store" };

const echo = () => new Service((call, answer) => answer.value(call.args[0]));

async function refusal(address: string, security: ClusterSecurity): Promise<Error> {
  const links = openLinks({ address: "", namespace: NAMESPACE, security, log: new Lines() });
  const [how, what] = await ask(links, address, ["not for you"]);
  await links.close();
  assert.equal(how, "unsent");
  assert.ok(isLimpetError(what, "UNREACHABLE"), String(what));
  return what;
}

test("two processes that know the secret of the store call each other", async () => {
  await using pair = await Pair.open(echo(), { security: SECRET });
  const values = [1, "x".repeat(1_000_000), { deep: [1, { a: null }] }];
  for (const value of values) assert.deepEqual(await pair.ask([value]), ["value", value]);
  const many = await Promise.all(Array.from({ length: 2_000 }, (_, i) => pair.ask([i])));
  for (const [i, outcome] of many.entries()) assert.deepEqual(outcome, ["value", i]);
});

test("a process without the secret, with another one, or with a key calls no actor, and the door logs it", async () => {
  await using pair = await Pair.open(echo(), { security: SECRET });
  const strangers: ClusterSecurity[] = [
    { keys: [] },
    { keys: [], secret: "the secret of another store" },
    { keys: ["a key of a cluster in a test"] },
  ];
  for (const security of strangers) await refusal(pair.testServer.address, security);
  assert.equal(pair.service.served.length, 0);
  assert.ok(pair.serverLog.of("link.refused").length > 0);
  assert.deepEqual(await pair.ask(["still"]), ["value", "still"]);
});

test("a caller with the secret sends no call to a process that cannot prove it", async () => {
  const others: (ClusterSecurity | undefined)[] = [
    { keys: [] },
    { keys: [], secret: "the secret of another store" },
    { keys: ["a key of a cluster in a test"] },
  ];
  for (const security of others) {
    await using pair = await Pair.open(echo(), security === undefined ? {} : { security });
    const { message } = await refusal(pair.testServer.address, SECRET);
    assert.match(message, /secret of this process's store.*same store, the same release and the same cluster keys/);
    assert.equal(pair.service.served.length, 0);
  }
});

test("a process that relays the proof between two others convinces neither", async () => {
  await using pair = await Pair.open(echo(), { security: SECRET });
  await using wire = await Wire.before(pair.testServer.address);
  const [how, what] = await ask(pair.links, wire.address, ["overheard"]);
  assert.equal(how, "unsent");
  assert.match((what as Error).message, /does not know the secret/);
  assert.equal(pair.service.served.length, 0);
});

test("a peer that sends the hello of an earlier release, or nothing, is disconnected", async () => {
  await using pair = await Pair.open(echo(), { security: SECRET, limits: { helloMs: 50 } });
  using old = await RawPeer.connect(pair.testServer.address);
  using silent = await RawPeer.connect(pair.testServer.address);
  old.socket.write(hello());
  await until("both are cut off", () => old.socket.closed && silent.socket.closed);
  assert.equal(pair.service.served.length, 0);
});
