// Invalid requests and reports of sticky actors, and the responses of the leader. The scheduler is a real
// process; the hosts are streams on which this test sends any message.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { StickyActor } from "../../src/ports/host-admin.ts";
import { type Place, tempPlace } from "../support/two-stores.ts";
import { until } from "./callers.ts";
import { HandHost, HandScheduler } from "./hand-host.ts";

describe("a scheduler and invalid messages of hosts about sticky actors", { timeout: 600_000 }, () => {
  let place: Place;
  let scheduler: HandScheduler;
  before(async () => {
    place = await tempPlace();
    scheduler = await HandScheduler.start(place);
  });
  after(async () => {
    await scheduler?.[Symbol.asyncDispose]();
    await place?.[Symbol.asyncDispose]();
  });

  /** Each test has its own namespace, so that their hosts do not meet. */
  let namespaces = 0;
  const newNamespace = (): string => `space-${++namespaces}`;
  const holderOf = async (namespace: string, id: string): Promise<StickyActor | undefined> =>
    (await scheduler.client.admin({ kind: "sticky", namespace, query: { type: "Cart", id, limit: 1 } })).actors[0];

  test("a scheduler ignores a host before its hello, and serves the others", async () => {
    const namespace = newNamespace();
    const good = await scheduler.host({ name: "good", namespace });
    const rude = new HandHost(scheduler.client, undefined);
    rude.send({ kind: "acquire", requests: [{ correlation: 1, type: "Cart", id: "a", since: 0 }] });
    const error = await rude.over();
    assert.equal(error?.code, "PROTOCOL");
    assert.match(error.message, /the first message of a host must be a hello/);
    for (const message of [
      { kind: "claimed" },
      { kind: "claims", part: 1, type: "Cart", ids: ["a"], since: [0] },
    ] as const) {
      const other = new HandHost(scheduler.client, undefined);
      other.send(message);
      assert.equal((await other.over())?.code, "PROTOCOL");
    }
    assert.equal(await holderOf(namespace, "a"), undefined);
    assert.equal(await good.outcome("Cart", "a"), "granted");
  });

  test("a scheduler rejects types that are not sticky, and types the host does not have, with a reason", async () => {
    const namespace = newNamespace();
    const one = await scheduler.host({ name: "one", namespace });
    const stock = await scheduler.host({ name: "stock", namespace, types: ["Stock"], sticky: new Map([["Stock", 0]]) });
    const [plain] = await one.acquire("Plain", "a");
    assert.deepEqual(plain, { correlation: 1, kind: "refused", code: "OPTION_INVALID", why: "Plain is not sticky" });
    for (const type of ["Stock", "NeverHeardOf"]) {
      const [answer] = await one.acquire(type, "a");
      assert.ok(answer?.kind === "refused" && answer.code === "NOT_READY");
      assert.match(answer.why, new RegExp(`does not run actors of type ${type}`));
    }
    assert.equal(await stock.outcome("Stock", "a"), "granted");
    assert.equal(await one.outcome("Cart", "a"), "granted");
  });

  test("a scheduler keeps namespaces apart", async () => {
    const [here, there] = [newNamespace(), newNamespace()];
    const ours = await scheduler.host({ name: "ours", namespace: here });
    const theirs = await scheduler.host({ name: "theirs", namespace: there });
    assert.equal(await ours.outcome("Cart", "a"), "granted");
    assert.equal(await theirs.outcome("Cart", "a"), "granted");
    assert.equal(await ours.outcome("Cart", "only ours"), "granted");
    assert.equal((await holderOf(here, "a"))?.name, "ours");
    assert.equal((await holderOf(there, "a"))?.name, "theirs");
    assert.equal(await holderOf(there, "only ours"), undefined);
    await assert.rejects(scheduler.client.admin({ kind: "release", namespace: there, type: "Cart", id: "only ours" }), {
      code: "NOT_STICKY",
    });
    // A release of an actor of another namespace has no effect there.
    theirs.send({ kind: "released", type: "Cart", ids: ["only ours"] });
    assert.equal(await theirs.outcome("Cart", "only ours"), "granted");
    assert.equal((await holderOf(here, "only ours"))?.name, "ours");
    assert.deepEqual(ours.toRelease, []);
  });

  test("a scheduler grants an actor to its first requester, independent of the ring, and names it to the others", async () => {
    const namespace = newNamespace();
    const one = await scheduler.host({ name: "one", namespace });
    const two = await scheduler.host({ name: "two", namespace });
    const ids = Array.from({ length: 100 }, (_, i) => `cart-${i}`);
    // The ring assigns about half of these to the other.
    const granted = await one.acquire("Cart", ...ids);
    assert.deepEqual(new Set(granted.map(({ kind }) => kind)), new Set(["granted"]));
    const answers = await two.acquire("Cart", ...ids);
    const { address, incarnation, name } = one.hello;
    for (const answer of answers) {
      assert.ok(answer.kind === "owner");
      assert.deepEqual({ ...answer.host }, { address, incarnation, name });
    }
    // A repeated request of its owner: it is still its own.
    assert.equal(await one.outcome("Cart", "cart-7"), "granted");
    // Another host cannot release it.
    two.send({ kind: "released", type: "Cart", ids: ["cart-7"] });
    assert.equal(await two.outcome("Cart", "cart-7"), "one");
    one.send({ kind: "released", type: "Cart", ids: ["cart-7", "cart-7", "never-had"] });
    assert.equal(await one.outcome("Cart", "cart-8"), "granted");
    assert.equal(await two.outcome("Cart", "cart-7"), "granted");
    assert.equal(await one.outcome("Cart", "cart-7"), "two");
    const { tables } = await scheduler.client.admin({ kind: "cluster" });
    const table = tables.find((each) => each.namespace === namespace && each.type === "Cart");
    assert.deepEqual(
      table?.sticky?.holders.map((holder) => [holder.name, holder.actors]),
      [
        ["one", 99],
        ["two", 1],
      ],
    );
  });

  test("a scheduler answers an early request of a host after the host's report", async () => {
    const namespace = newNamespace();
    const hasty = new HandHost(scheduler.client, { name: "hasty", namespace });
    await hasty.joined();
    const answers = hasty.ask("Cart", ["a", "b"]);
    hasty.claim("Cart", ["b", "c"]);
    await hasty.everythingPersisted();
    assert.deepEqual(answers(), [undefined, undefined]);
    // Others do not wait for it: this leader granted it nothing that it could have lost.
    const other = await scheduler.host({ name: "other", namespace });
    assert.equal(await other.outcome("Cart", "a"), "granted");
    assert.equal(await other.outcome("Cart", "c"), "hasty");
    hasty.send({ kind: "claimed" });
    await until(() => !answers().includes(undefined), "it is answered");
    const [a, b] = answers();
    assert.ok(a?.kind === "owner" && a.host.name === "other");
    assert.equal(b?.kind, "granted");
  });

  test("a scheduler accepts the first claim of a free actor, and orders the second claimant to release it", async () => {
    const namespace = newNamespace();
    const one = new HandHost(scheduler.client, { name: "one", namespace });
    await one.joined();
    // Twice in one part, and again in the next.
    one.claim("Cart", ["a", "a", "b"]);
    one.claim("Cart", ["b", "c"]);
    await one.everythingPersisted();
    one.send({ kind: "claimed" });
    const two = new HandHost(scheduler.client, { name: "two", namespace });
    await two.joined();
    two.claim("Cart", ["c", "d"]);
    await two.everythingPersisted();
    assert.deepEqual(two.toRelease, ["c"]);
    two.send({ kind: "claimed" });
    assert.deepEqual(one.toRelease, []);
    const { actors } = await scheduler.client.admin({ kind: "sticky", namespace, query: { type: "Cart", limit: 10 } });
    assert.deepEqual(
      actors.map(({ id, name }) => [id, name]),
      [
        ["a", "one"],
        ["b", "one"],
        ["c", "one"],
        ["d", "two"],
      ],
    );
    assert.equal(await two.outcome("Cart", "c"), "one");
    assert.equal(await one.outcome("Cart", "d"), "two");
    // A host that has completed its report has nothing more to claim.
    two.claim("Cart", ["e"]);
    await two.everythingPersisted();
    assert.deepEqual(two.toRelease, ["c", "e"]);
    assert.equal(await holderOf(namespace, "e"), undefined);
  });

  test("a scheduler orders the release of claims of a type that is not sticky or not there", async () => {
    const namespace = newNamespace();
    const one = new HandHost(scheduler.client, { name: "one", namespace });
    await one.joined();
    one.claim("Plain", ["a"]);
    one.claim("NeverHeardOf", ["b"]);
    one.claim("Cart", ["c"]);
    await one.everythingPersisted();
    one.send({ kind: "claimed" });
    assert.deepEqual(one.toRelease, ["a", "b"]);
    assert.equal(await one.outcome("Cart", "c"), "granted");
    assert.equal(await one.outcome("Plain", "a"), "OPTION_INVALID");
  });

  test("a scheduler takes the report on a new stream as the whole set of a host", async () => {
    const namespace = newNamespace();
    const other = await scheduler.host({ name: "other", namespace });
    const before = await scheduler.host({ name: "before", namespace });
    for (const id of ["a", "b", "c"]) assert.equal(await before.outcome("Cart", id), "granted");
    const again = new HandHost(scheduler.client, { ...before.hello });
    assert.equal((await before.over())?.code, "PROTOCOL");
    again.claim("Cart", ["b", "new"]);
    await again.everythingPersisted();
    // During the report, its earlier actors are still its own.
    assert.equal(await other.outcome("Cart", "c"), "before");
    again.send({ kind: "claimed" });
    assert.equal(await again.outcome("Cart", "b"), "granted");
    assert.equal(await other.outcome("Cart", "new"), "before");
    assert.equal(await other.outcome("Cart", "b"), "before");
    assert.equal(await other.outcome("Cart", "a"), "granted");
    assert.equal(await other.outcome("Cart", "c"), "granted");
  });
});
