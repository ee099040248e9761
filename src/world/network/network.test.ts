import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Dummy } from "../world-kit.test.ts";
import { addressOf } from "./network.ts";
import { PORT, RecordingReceiver, Two } from "./network-kit.test.ts";

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

describe("a connection", () => {
  test("a connection delivers all messages in order in both directions, also those sent while it connects", async () => {
    const two = new Two();
    const near = two.connect();
    for (const number of numbers(50)) near.end.send(number);
    await two.pass(20);
    const [far] = two.accepted;
    for (const number of numbers(50, 50)) near.end.send(number);
    for (const number of numbers(100)) far!.end.send(number);
    await two.pass(100);
    assert.deepEqual([far!.receiver.received, near.receiver.received], [numbers(100), numbers(100)]);
  });

  test("a connection keeps its order under all faults of its line, and delivers each message once", async () => {
    const trouble = fc.record({
      ms: fc.integer({ min: 0, max: 400 }),
      forth: fc.boolean(),
      isOpen: fc.boolean(),
      delayMs: fc.constantFrom(0, 50),
      loss: fc.constantFrom(0, 0.4),
    });
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(trouble, { maxLength: 20 }), async (seed, troubles) => {
        const two = new Two(seed);
        const { near, far } = await two.connected({ silentTicks: 1_000 });
        let sent = 0;
        for (const { ms, forth, ...line } of troubles) {
          for (let i = 0; i < 3; i++) {
            near.end.send(sent);
            far.end.send(sent++);
          }
          two.network.change(forth ? 1 : 2, forth ? 2 : 1, line);
          await two.pass(ms);
        }
        two.network.heal();
        await two.pass(60_000);
        assert.deepEqual([far.receiver.received, near.receiver.received], [numbers(sent), numbers(sent)]);
        assert.equal(two.network.open, 2);
      }),
      { numRuns: 60 },
    );
  });

  test("a connection does not delay another one: each has its own order", async () => {
    const two = new Two();
    const [first, second] = [await two.connected(), await two.connected()];
    two.network.change(1, 2, { delayMs: 10_000 });
    first.near.end.send("slow");
    two.network.change(1, 2, { delayMs: 0 });
    second.near.end.send("quick");
    await two.pass(50);
    assert.deepEqual([first.far.receiver.received, second.far.receiver.received], [[], ["quick"]]);
  });

  test("a connection takes some time for every message, and longer on a slow or lossy line", async () => {
    const arrival = async (line: { delayMs?: number; loss?: number }): Promise<number> => {
      const two = new Two();
      const { near, far } = await two.connected();
      two.network.change(1, 2, line);
      const sentAt = two.timeline.now;
      near.end.send("it");
      await two.timeline.run(1e6, () => far.receiver.received.length > 0);
      return two.timeline.now - sentAt;
    };
    const usual = await arrival({});
    assert.ok(usual >= 0.2 && usual < 10, `${usual} ms`);
    assert.ok((await arrival({ delayMs: 1_000 })) > 10);
    const lossy = await arrival({ loss: 1 });
    // Sent again after 200, 400, 800 … ms.
    assert.ok(lossy > 200 * 63 && lossy < 200 * 64, `${lossy} ms`);
  });

  test("a closed connection ends for the other side after all earlier messages", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    near.end.send("last words");
    near.end.close();
    near.end.send("too late");
    near.end.close();
    await two.pass(100);
    assert.deepEqual(
      [far.receiver.received, far.receiver.endings, near.receiver.endings],
      [["last words"], ["closed"], []],
    );
    assert.equal(two.network.open, 0);
  });

  test("a closed connection delivers nothing more", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    far.end.send("crosses the end");
    near.end.close();
    await two.pass(100);
    assert.deepEqual([near.receiver.received, near.receiver.endings, far.receiver.endings], [[], [], ["closed"]]);
  });

  test("a reset connection ends at once here, and at the other side when the reset arrives", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    near.end.reset("full");
    assert.deepEqual([near.receiver.endings, far.receiver.endings], [["full"], []]);
    near.end.reset("full");
    await two.pass(100);
    assert.deepEqual([near.receiver.endings, far.receiver.endings], [["full"], ["reset"]]);
    assert.equal(two.network.open, 0);
  });

  test("a connection with too many messages in flight is given up", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ queue: 10, silentTicks: 1_000 });
    two.cut(1, 2);
    for (const number of numbers(10)) near.end.send(number);
    assert.deepEqual(near.receiver.endings, []);
    near.end.send("one too many");
    assert.deepEqual(near.receiver.endings, ["full"]);
    two.mend(1, 2);
    await two.pass(100);
    assert.deepEqual(far.receiver.endings, ["reset"]);
  });

  test("a connection accepts messages again when those in flight have arrived", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ queue: 10 });
    for (let round = 0; round < 5; round++) {
      for (const number of numbers(10, round * 10)) near.end.send(number);
      await two.pass(100);
    }
    assert.deepEqual([far.receiver.received, near.receiver.endings], [numbers(50), []]);
  });
});

describe("connecting", () => {
  test("a connection to a place without a listener is refused at once", async () => {
    const two = new Two();
    two.listening.close();
    const near = two.connect();
    near.end.send("to nobody");
    await two.pass(100);
    assert.deepEqual(near.receiver.endings, ["refused"]);
    assert.ok(near.end.isConnecting);
    await two.pass(10_000);
    assert.deepEqual([near.receiver.endings, two.network.open], [["refused"], 0]);
  });

  for (const [what, from, to] of [
    ["what is said does not get there", 1, 2],
    ["what is answered does not come back", 2, 1],
  ] as const) {
    test(`a connection attempt times out because ${what}, and has no effect when the line is mended`, async () => {
      const two = new Two();
      two.cut(from, to);
      const near = two.connect();
      near.end.send("waits");
      await two.pass(1_999);
      assert.deepEqual(near.receiver.endings, []);
      await two.pass(2);
      assert.deepEqual([near.receiver.endings, near.end.isConnecting], [["unreachable"], true]);
      two.mend(from, to);
      await two.pass(1_000);
      assert.deepEqual(near.receiver.endings, ["unreachable"]);
      for (const { receiver } of two.accepted) assert.deepEqual(receiver.received, []);
    });
  }

  test("a connection attempt succeeds when the line is mended in time", async () => {
    const two = new Two();
    two.cut(1, 2);
    const near = two.connect();
    near.end.send("waited");
    await two.pass(1_000);
    two.mend(1, 2);
    await two.pass(5_000);
    assert.deepEqual([two.accepted[0]?.receiver.received, near.receiver.endings], [["waited"], []]);
  });

  test("a connection to a hanging process succeeds, and its messages arrive when the process resumes", async () => {
    const two = new Two();
    two.b.isAsleep = true;
    const near = two.connect();
    for (const number of numbers(3)) near.end.send(number);
    await two.pass(1_000);
    assert.ok(!near.end.isConnecting);
    assert.equal(two.accepted.length, 0);
    two.b.wake(two.timeline);
    await two.pass(100);
    assert.deepEqual(two.accepted[0]!.receiver.received, numbers(3));
    await two.pass(20_000);
    assert.deepEqual(near.receiver.endings, []);
  });

  test("a connection to a process that hangs for too long ends in silence, and leaves nothing behind", async () => {
    const two = new Two();
    two.b.isAsleep = true;
    const near = two.connect();
    near.end.send("hello?");
    await two.pass(6_000);
    assert.deepEqual(near.receiver.endings, ["silent"]);
    two.b.wake(two.timeline);
    await two.pass(100);
    assert.equal(two.network.open, 0);
  });

  test("a connection reaches the present listener", async () => {
    const two = new Two();
    const { near } = await two.connected();
    const next = new Dummy(2, 3);
    two.listen(next);
    // The old listener closes after the new one has opened.
    two.listening.close();
    const second = await two.connected();
    assert.equal(second.far.end.station, next);
    assert.ok(near.end.isOpen);
    assert.ok(two.network.isTaken(two.address));
    assert.ok(!two.network.isTaken(addressOf(1, PORT)));
  });
});

test("observers get every sent message with its sender and its destination", async () => {
  const two = new Two();
  const seen: unknown[] = [];
  two.network.watchers.push({ sent: (from, to, message) => seen.push([from.place, to, message]) });
  const { near, far } = await two.connected();
  near.end.send("forth");
  far.end.send("back");
  near.end.close();
  assert.deepEqual(seen, [
    [1, 2, "forth"],
    [2, 1, "back"],
  ]);
});

test("every place has its own address", () => {
  assert.equal(addressOf(1, 7_400), "10.0.0.1:7400");
  assert.equal(addressOf(700, 1), "10.0.2.188:1");
});

describe("a connection that came to nothing", () => {
  test("a connection that is closed while it connects leaves nothing behind", async () => {
    const two = new Two();
    const near = two.connect();
    near.end.close();
    await two.pass(10_000);
    assert.deepEqual([near.receiver.endings, two.network.open], [[], 0]);
  });

  for (const resets of [true, false]) {
    for (const ms of [0, 0.3, 0.5, 0.8]) {
      test(`a connection whose process ${resets ? "ended" : "lost its power"} ${ms} ms after it began leaves nothing behind`, async () => {
        const two = new Two();
        two.connect().end.send("never sent");
        await two.pass(ms);
        two.a.hasEnded = true;
        two.network.stationGone(two.a, resets);
        await two.pass(20_000);
        assert.equal(two.network.open, 0);
      });
    }
  }

  for (const [from, to] of [
    [1, 2],
    [2, 1],
  ] as const) {
    test(`a connection over a line from ${from} to ${to} that was cut leaves nothing behind when it is mended`, async () => {
      const two = new Two();
      two.cut(from, to);
      for (let i = 0; i < 10; i++) two.connect();
      await two.pass(3_000);
      two.mend(from, to);
      await two.pass(20_000);
      assert.equal(two.network.open, 0);
    });
  }
});

describe("a listener", () => {
  test("a listener detects the silence of a peer whose line was cut while it connected", async () => {
    const two = new Two();
    two.connect();
    two.cut(1, 2);
    await two.pass(20_000);
    assert.equal(two.network.open, 0);
  });

  test("messages that a listener sends first arrive after the connection is established", async () => {
    for (let seed = 0; seed < 50; seed++) {
      const two = new Two(seed);
      two.listening.close();
      two.network.listen(two.address, two.b, (end) => {
        end.send("welcome");
        return new RecordingReceiver(two.timeline);
      });
      const near = two.connect();
      await two.timeline.run(1_000, () => near.receiver.received.length > 0);
      assert.equal(near.end.isConnecting, false, `seed ${seed}`);
    }
  });
});
