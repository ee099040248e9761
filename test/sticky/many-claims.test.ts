// Very many sticky actors claimed by one host, as after a change of leaders. All other hosts are served
// meanwhile; the memory of the leader stays within its limit here; and pending requests are limited.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import { LIMITS } from "../../src/kernel/limits.ts";
import { tempPlace } from "../support/two-stores.ts";
import { until } from "./callers.ts";
import { HandHost, HandScheduler } from "./hand-host.ts";

/** Parts in flight at a time, as many as real hosts send. */
const WINDOW = 4;

/** Of the scheduler. A million actors take about half of it. */
const HEAP = { NODE_OPTIONS: "--max-old-space-size=320" };

/** A scheduler with little memory, and a host that has already joined. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  const place = stack.use(await tempPlace());
  const scheduler = stack.use(await HandScheduler.start(place, [], HEAP));
  const neighbour = await scheduler.host({ name: "neighbour" });
  const all = stack.move();
  return { scheduler, neighbour, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Claims of one host on a new stream. */
async function claim(scheduler: HandScheduler, ids: Iterable<readonly string[]>): Promise<HandHost> {
  const host = new HandHost(scheduler.client, { name: "large", incarnation: "large", address: "127.0.0.1:999" });
  await host.joined();
  for (const some of ids) {
    const part = host.claim("Cart", some);
    while (!host.isOver && host.persisted < part - WINDOW) await soon();
    assert.ok(!host.isOver, `the leader hung up: ${host.error?.message}`);
  }
  await host.everythingPersisted();
  return host;
}

/** Renews its lease all the time. Returns the most parts of the other's claims between two answers. */
function renewing(host: HandHost, received: () => number): () => Promise<number> {
  let [most, before, isOver] = [0, 0, false];
  const renew = async (): Promise<number> => {
    while (!isOver) {
      await host.renew();
      most = Math.max(most, received() - before);
      before = received();
    }
    return most;
  };
  const done = renew();
  done.catch(() => {});
  return () => {
    isOver = true;
    return done;
  };
}

/** In parts that fit a message. */
function* named(prefix: string, count: number, counter = { parts: 0 }): Generator<string[]> {
  for (let i = 0; i < count; i += LIMITS.stickyChunk) {
    counter.parts++;
    yield idsOf(prefix, LIMITS.stickyChunk, i);
  }
}

const idsOf = (prefix: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}-${from + i}`);

async function heldBy(scheduler: HandScheduler, name: string): Promise<number | undefined> {
  const { tables } = await scheduler.client.admin({ kind: "cluster" });
  const { holders } = tables.find(({ type }) => type === "Cart")!.sticky!;
  return holders.find((holder) => holder.name === name)?.actors;
}

describe("a scheduler and a host with very many sticky actors", { timeout: 600_000 }, () => {
  test("a million claims are taken, twice, and renewals and requests of others are answered in between", async (t) => {
    await using scene = await setUp();
    const { scheduler, neighbour } = scene;
    assert.equal(await neighbour.outcome("Cart", "cart-17"), "granted");
    for (let round = 0; round < 2; round++) {
      const counter = { parts: 0 };
      const stop = renewing(neighbour, () => counter.parts);
      const host = await claim(scheduler, named("cart", 1_000_000, counter));
      const most = await stop();
      t.diagnostic(`at most ${most} parts between two renewals`);
      assert.ok(most <= 10 * WINDOW, `${most} parts were heard before a renewal was`);
      // This one belongs to another host.
      assert.deepEqual(host.toRelease, ["cart-17"]);
      host.send({ kind: "claimed" });
      assert.equal(await host.outcome("Cart", "cart-1"), "granted");
      assert.equal(await neighbour.outcome("Cart", "cart-999999"), "large");
      assert.equal(await heldBy(scheduler, "large"), 999_999);
      host.close();
    }
  });

  test("an actor that is not claimed again is free, and so are interrupted claims", async () => {
    await using scene = await setUp();
    const { scheduler, neighbour } = scene;
    for (let round = 0; round < 4; round++) {
      const host = await claim(scheduler, named(`cart-${round}`, 100_000));
      if (round % 2 === 0) {
        host.send({ kind: "claimed" });
        assert.equal(await neighbour.outcome("Cart", `cart-${round}-7`), "large");
        assert.equal(await heldBy(scheduler, "large"), 100_000);
      }
      host.close();
    }
    const last = await claim(scheduler, named("last", LIMITS.stickyChunk));
    last.send({ kind: "claimed" });
    assert.equal(await last.outcome("Cart", "last-7"), "granted");
    assert.equal(await heldBy(scheduler, "large"), LIMITS.stickyChunk);
    for (const id of ["cart-2-7", "cart-3-7"]) assert.equal(await neighbour.outcome("Cart", id), "granted");
  });

  test("pending requests are limited, and accepted ones are answered", async () => {
    await using scene = await setUp();
    const { scheduler, neighbour } = scene;
    const hasty = new HandHost(scheduler.client, { name: "hasty" });
    await hasty.joined();
    const answers = hasty.ask("Cart", idsOf("asked", LIMITS.stickyWaiting + LIMITS.stickyChunk));
    const count = (kind: string): number => answers().filter((answer) => answer?.kind === kind).length;
    await until(() => count("refused") === LIMITS.stickyChunk, "those that are too many are refused");
    const refused = answers().find((answer) => answer !== undefined);
    assert.ok(refused?.kind === "refused" && refused.code === "NOT_READY");
    assert.match(refused.why, new RegExp(`${LIMITS.stickyWaiting} requests .* already wait`));
    assert.equal(await neighbour.outcome("Cart", "a"), "granted");
    hasty.send({ kind: "claimed" });
    await until(() => count("granted") === LIMITS.stickyWaiting, "all others are granted");

    // Requests of a stream end with it.
    for (const name of ["one", "two"]) {
      const host = new HandHost(scheduler.client, { name });
      await host.joined();
      const answers = host.ask("Cart", idsOf(name, LIMITS.stickyWaiting));
      await host.renew();
      assert.ok(answers().every((answer) => answer === undefined));
      host.close();
    }
  });
});
