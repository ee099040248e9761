import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Dummy } from "../world-kit.test.ts";
import { Two } from "./network-kit.test.ts";

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

describe("a line that is cut", () => {
  test("a cut line holds all messages, and delivers them in order after it is mended", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ silentTicks: 1_000 });
    two.cut(1, 2);
    two.cut(2, 1);
    for (const number of numbers(20)) {
      near.end.send(number);
      far.end.send(number);
      await two.pass(100);
    }
    assert.deepEqual([near.receiver.received, far.receiver.received], [[], []]);
    two.mend(1, 2);
    await two.pass(100);
    assert.deepEqual([near.receiver.received, far.receiver.received], [[], numbers(20)]);
    two.mend(2, 1);
    near.end.send(20);
    await two.pass(100);
    assert.deepEqual([near.receiver.received, far.receiver.received], [numbers(20), numbers(21)]);
  });

  test("a cut in one direction leaves the other open", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ silentTicks: 1_000 });
    two.cut(1, 2);
    near.end.send("not received");
    far.end.send("received");
    await two.pass(1_000);
    assert.deepEqual([near.receiver.received, far.receiver.received], [["received"], []]);
  });

  test("a cut line does not affect other places", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.cut(1, 3);
    two.cut(3, 2);
    near.end.send("passes");
    await two.pass(20_000);
    assert.deepEqual([far.receiver.received, near.receiver.endings, far.receiver.endings], [["passes"], [], []]);
  });

  test("a cut is detected by the silent end after its number of checks; the other end is notified from there", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const two = new Two(seed);
      const { near, far } = await two.connected();
      const cutAt = two.timeline.now;
      two.cut(1, 2);
      await two.pass(10_000);
      assert.deepEqual([far.receiver.endings, near.receiver.endings], [["silent"], ["reset"]]);
      const after = far.receiver.endedAt - cutAt;
      // Five checks, the first of them within one tick.
      assert.ok(after >= 4_000 && after <= 5_000, `after ${after} ms`);
      assert.ok(near.receiver.endedAt > far.receiver.endedAt && near.receiver.endedAt < far.receiver.endedAt + 50);
      assert.equal(two.network.open, 0);
    }
  });

  test("a cut in both directions is detected by both ends independently", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.cut(1, 2);
    two.cut(2, 1);
    await two.pass(10_000);
    assert.deepEqual([far.receiver.endings, near.receiver.endings], [["silent"], ["silent"]]);
    two.network.heal();
    await two.pass(10_000);
    assert.deepEqual([far.receiver.endings, near.receiver.endings], [["silent"], ["silent"]]);
  });

  test("a short cut is not detected, however often it occurs", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    for (let round = 0; round < 10; round++) {
      two.cut(1, 2);
      await two.pass(3_900);
      two.mend(1, 2);
      await two.pass(2_000);
    }
    near.end.send("still here");
    await two.pass(100);
    assert.deepEqual([far.receiver.received, far.receiver.endings, near.receiver.endings], [["still here"], [], []]);
  });

  test("a cut is detected by checks and not by the clock: a process that slept meanwhile gives up no connection", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.b.isAsleep = true;
    two.cut(1, 2);
    await two.pass(60_000);
    two.mend(1, 2);
    two.b.wake(two.timeline);
    await two.pass(100);
    assert.deepEqual([far.receiver.endings, near.receiver.endings], [[], []]);
  });

  test("a healed line is as usual again", async () => {
    const two = new Two();
    two.cut(1, 2);
    two.network.change(2, 1, { delayMs: 500, loss: 0.5 });
    two.network.heal();
    for (const [from, to] of [
      [1, 2],
      [2, 1],
    ] as const) {
      assert.deepEqual(two.network.line(from, to), { isOpen: true, delayMs: 0, loss: 0 });
    }
    await two.connected();
  });
});

describe("a process that hangs", () => {
  test("a hanging process is detected by the silent ends, and finds its connections closed", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.b.isAsleep = true;
    two.network.silenced(two.b);
    near.end.send("unheard");
    await two.pass(10_000);
    assert.deepEqual([near.receiver.endings, far.receiver.endings], [["silent"], []]);
    two.b.wake(two.timeline);
    await two.pass(100);
    assert.deepEqual([far.receiver.received, far.receiver.endings], [["unheard"], ["reset"]]);
  });

  test("a process that hangs briefly is not detected, and loses nothing", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.b.isAsleep = true;
    two.network.silenced(two.b);
    for (const number of numbers(5)) near.end.send(number);
    await two.pass(3_900);
    two.b.wake(two.timeline);
    await two.pass(10_000);
    assert.deepEqual([far.receiver.received, near.receiver.endings, far.receiver.endings], [numbers(5), [], []]);
  });
});

describe("a process that ends", () => {
  test("an ended process is detected soon: its machine resets its connections, and refuses others", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(100);
    assert.deepEqual([near.receiver.endings, far.receiver.endings], [["reset"], []]);
    const next = two.connect();
    await two.pass(100);
    assert.deepEqual(next.receiver.endings, ["refused"]);
    assert.equal(two.network.open, 0);
  });

  test("an ended process gets nothing any more, neither messages in flight nor the end", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    near.end.send("too late");
    near.end.close();
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    far.end.send("from the grave");
    await two.pass(1_000);
    assert.deepEqual([far.receiver.received, far.receiver.endings, near.receiver.received], [[], [], []]);
  });

  test("the last messages of an ended process arrive before the end of its connections", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    far.end.send("last words");
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(100);
    assert.deepEqual([near.receiver.received, near.receiver.endings], [["last words"], ["reset"]]);
  });

  test("a power loss is detected by silence alone", async () => {
    const two = new Two();
    const { near } = await two.connected();
    near.end.send("half-open");
    two.b.hasEnded = true;
    two.network.stationGone(two.b, false);
    await two.pass(3_900);
    assert.deepEqual(near.receiver.endings, []);
    await two.pass(1_200);
    assert.deepEqual(near.receiver.endings, ["silent"]);
    assert.equal(two.network.open, 0);
  });

  test("a power loss is detected at once when the machine is back", async () => {
    const two = new Two();
    const { near } = await two.connected();
    two.b.hasEnded = true;
    two.network.stationGone(two.b, false);
    await two.pass(1_000);
    two.network.placeBack(2);
    await two.pass(100);
    assert.deepEqual(near.receiver.endings, ["reset"]);
    assert.equal(two.network.open, 0);
  });

  test("the end of a process behind a cut line is detected when the line is mended, or by silence", async () => {
    const two = new Two();
    const { near } = await two.connected();
    two.cut(2, 1);
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(3_900);
    assert.deepEqual(near.receiver.endings, []);
    two.mend(2, 1);
    await two.pass(100);
    assert.deepEqual(near.receiver.endings, ["reset"]);
  });

  test("the end of a process does not affect the connections of others", async () => {
    const two = new Two();
    const { near } = await two.connected();
    const other = new Dummy(2, 9);
    two.listen(other);
    const second = await two.connected();
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(20_000);
    assert.deepEqual(
      [near.receiver.endings, second.near.receiver.endings, second.far.receiver.endings],
      [["reset"], [], []],
    );
  });
});

test("an ended process cannot connect, and cannot be connected to", async () => {
  const two = new Two();
  two.a.hasEnded = true;
  two.network.stationGone(two.a, true);
  // Its last actions at the moment of its end.
  two.connect().end.send("from the grave");
  await two.pass(20_000);
  assert.deepEqual([two.accepted.flatMap(({ receiver }) => receiver.received), two.network.open], [[], 0]);
});

test("a lost packet is not delivered while the line is cut", async () => {
  const two = new Two();
  const { near, far } = await two.connected({ silentTicks: 1_000 });
  two.network.change(1, 2, { loss: 1 });
  near.end.send("lost at first");
  await two.pass(1_000);
  two.network.change(1, 2, { isOpen: false, loss: 0 });
  await two.pass(60_000);
  assert.deepEqual(far.receiver.received, []);
});
