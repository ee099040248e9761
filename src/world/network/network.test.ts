import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Prng } from "../../kernel/prng.ts";
import { Timeline } from "../timeline.ts";
import { Dummy } from "../world-kit.test.ts";
import { addressOf, type End, type Ending, Network, type Patience, type Receiver } from "./network.ts";

const PATIENCE: Patience = { connectMs: 2_000, tickMs: 1_000, silentTicks: 5, queue: 1_000 };
const PORT = 7_401;

/** Records messages and the end of a connection. */
class Ear implements Receiver {
  readonly heard: unknown[] = [];
  readonly endings: Ending[] = [];
  endedAt = 0;
  readonly #timeline: Timeline;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  message(message: unknown): void {
    assert.deepEqual(this.endings, [], "nothing comes after the end");
    this.heard.push(message);
  }

  ended(how: Ending): void {
    this.endings.push(how);
    this.endedAt = this.#timeline.now;
  }
}

/** Two processes at two places, and a listener at the second. */
class Two {
  readonly timeline = new Timeline();
  readonly network: Network;
  readonly a = new Dummy(1);
  readonly b = new Dummy(2);
  readonly address = addressOf(2, PORT);
  /** Accepted connections. */
  readonly accepted: { readonly end: End; readonly ear: Ear }[] = [];
  readonly listening: { close(): void };

  constructor(seed = 1) {
    this.network = new Network(this.timeline, new Prng(seed));
    this.listening = this.listen(this.b);
  }

  listen(station: Dummy): { close(): void } {
    return this.network.listen(this.address, station, (end) => {
      const ear = new Ear(this.timeline);
      this.accepted.push({ end, ear });
      return ear;
    });
  }

  connect(patience: Partial<Patience> = {}): { readonly end: End; readonly ear: Ear } {
    const ear = new Ear(this.timeline);
    const end = this.network.connect(this.a, this.address, { ...PATIENCE, ...patience }, ear);
    return { end, ear };
  }

  /** Connects, and waits until both ends know it. */
  async connected(patience: Partial<Patience> = {}) {
    const near = this.connect(patience);
    await this.pass(100);
    const far = this.accepted.at(-1)!;
    assert.ok(near.end.isOpen && !near.end.isConnecting && far.end.isOpen);
    return { near, far };
  }

  pass(ms: number): Promise<void> {
    return this.timeline.run(this.timeline.now + ms);
  }

  cut(from: number, to: number): void {
    this.network.change(from, to, { isOpen: false });
  }

  mend(from: number, to: number): void {
    this.network.change(from, to, { isOpen: true });
  }
}

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
    assert.deepEqual([far!.ear.heard, near.ear.heard], [numbers(100), numbers(100)]);
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
        assert.deepEqual([far.ear.heard, near.ear.heard], [numbers(sent), numbers(sent)]);
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
    assert.deepEqual([first.far.ear.heard, second.far.ear.heard], [[], ["quick"]]);
  });

  test("a connection takes some time for every message, and longer on a slow or lossy line", async () => {
    const arrival = async (line: { delayMs?: number; loss?: number }): Promise<number> => {
      const two = new Two();
      const { near, far } = await two.connected();
      two.network.change(1, 2, line);
      const sentAt = two.timeline.now;
      near.end.send("it");
      await two.timeline.run(1e6, () => far.ear.heard.length > 0);
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
    assert.deepEqual([far.ear.heard, far.ear.endings, near.ear.endings], [["last words"], ["closed"], []]);
    assert.equal(two.network.open, 0);
  });

  test("a closed connection delivers nothing more", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    far.end.send("crosses the end");
    near.end.close();
    await two.pass(100);
    assert.deepEqual([near.ear.heard, near.ear.endings, far.ear.endings], [[], [], ["closed"]]);
  });

  test("a reset connection ends at once here, and at the other side when the reset arrives", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    near.end.reset("full");
    assert.deepEqual([near.ear.endings, far.ear.endings], [["full"], []]);
    near.end.reset("full");
    await two.pass(100);
    assert.deepEqual([near.ear.endings, far.ear.endings], [["full"], ["reset"]]);
    assert.equal(two.network.open, 0);
  });

  test("a connection with too many messages in flight is given up", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ queue: 10, silentTicks: 1_000 });
    two.cut(1, 2);
    for (const number of numbers(10)) near.end.send(number);
    assert.deepEqual(near.ear.endings, []);
    near.end.send("one too many");
    assert.deepEqual(near.ear.endings, ["full"]);
    two.mend(1, 2);
    await two.pass(100);
    assert.deepEqual(far.ear.endings, ["reset"]);
  });

  test("a connection accepts messages again when those in flight have arrived", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ queue: 10 });
    for (let round = 0; round < 5; round++) {
      for (const number of numbers(10, round * 10)) near.end.send(number);
      await two.pass(100);
    }
    assert.deepEqual([far.ear.heard, near.ear.endings], [numbers(50), []]);
  });
});

describe("connecting", () => {
  test("a connection to a place without a listener is refused at once", async () => {
    const two = new Two();
    two.listening.close();
    const near = two.connect();
    near.end.send("to nobody");
    await two.pass(100);
    assert.deepEqual(near.ear.endings, ["refused"]);
    assert.ok(near.end.isConnecting);
    await two.pass(10_000);
    assert.deepEqual([near.ear.endings, two.network.open], [["refused"], 0]);
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
      assert.deepEqual(near.ear.endings, []);
      await two.pass(2);
      assert.deepEqual([near.ear.endings, near.end.isConnecting], [["unreachable"], true]);
      two.mend(from, to);
      await two.pass(1_000);
      assert.deepEqual(near.ear.endings, ["unreachable"]);
      for (const { ear } of two.accepted) assert.deepEqual(ear.heard, []);
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
    assert.deepEqual([two.accepted[0]?.ear.heard, near.ear.endings], [["waited"], []]);
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
    assert.deepEqual(two.accepted[0]!.ear.heard, numbers(3));
    await two.pass(20_000);
    assert.deepEqual(near.ear.endings, []);
  });

  test("a connection to a process that hangs for too long ends in silence, and leaves nothing behind", async () => {
    const two = new Two();
    two.b.isAsleep = true;
    const near = two.connect();
    near.end.send("hello?");
    await two.pass(6_000);
    assert.deepEqual(near.ear.endings, ["silent"]);
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
    assert.deepEqual([near.ear.heard, far.ear.heard], [[], []]);
    two.mend(1, 2);
    await two.pass(100);
    assert.deepEqual([near.ear.heard, far.ear.heard], [[], numbers(20)]);
    two.mend(2, 1);
    near.end.send(20);
    await two.pass(100);
    assert.deepEqual([near.ear.heard, far.ear.heard], [numbers(20), numbers(21)]);
  });

  test("a cut in one direction leaves the other open", async () => {
    const two = new Two();
    const { near, far } = await two.connected({ silentTicks: 1_000 });
    two.cut(1, 2);
    near.end.send("not heard");
    far.end.send("heard");
    await two.pass(1_000);
    assert.deepEqual([near.ear.heard, far.ear.heard], [["heard"], []]);
  });

  test("a cut line does not affect other places", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.cut(1, 3);
    two.cut(3, 2);
    near.end.send("passes");
    await two.pass(20_000);
    assert.deepEqual([far.ear.heard, near.ear.endings, far.ear.endings], [["passes"], [], []]);
  });

  test("a cut is detected by the silent end after its number of checks; the other end is notified from there", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const two = new Two(seed);
      const { near, far } = await two.connected();
      const cutAt = two.timeline.now;
      two.cut(1, 2);
      await two.pass(10_000);
      assert.deepEqual([far.ear.endings, near.ear.endings], [["silent"], ["reset"]]);
      const after = far.ear.endedAt - cutAt;
      // Five checks, the first of them within one tick.
      assert.ok(after >= 4_000 && after <= 5_000, `after ${after} ms`);
      assert.ok(near.ear.endedAt > far.ear.endedAt && near.ear.endedAt < far.ear.endedAt + 50);
      assert.equal(two.network.open, 0);
    }
  });

  test("a cut in both directions is detected by both ends independently", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.cut(1, 2);
    two.cut(2, 1);
    await two.pass(10_000);
    assert.deepEqual([far.ear.endings, near.ear.endings], [["silent"], ["silent"]]);
    two.network.heal();
    await two.pass(10_000);
    assert.deepEqual([far.ear.endings, near.ear.endings], [["silent"], ["silent"]]);
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
    assert.deepEqual([far.ear.heard, far.ear.endings, near.ear.endings], [["still here"], [], []]);
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
    assert.deepEqual([far.ear.endings, near.ear.endings], [[], []]);
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
    assert.deepEqual([near.ear.endings, far.ear.endings], [["silent"], []]);
    two.b.wake(two.timeline);
    await two.pass(100);
    assert.deepEqual([far.ear.heard, far.ear.endings], [["unheard"], ["reset"]]);
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
    assert.deepEqual([far.ear.heard, near.ear.endings, far.ear.endings], [numbers(5), [], []]);
  });
});

describe("a process that ends", () => {
  test("an ended process is detected soon: its machine resets its connections, and refuses others", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(100);
    assert.deepEqual([near.ear.endings, far.ear.endings], [["reset"], []]);
    const next = two.connect();
    await two.pass(100);
    assert.deepEqual(next.ear.endings, ["refused"]);
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
    assert.deepEqual([far.ear.heard, far.ear.endings, near.ear.heard], [[], [], []]);
  });

  test("the last messages of an ended process arrive before the end of its connections", async () => {
    const two = new Two();
    const { near, far } = await two.connected();
    far.end.send("last words");
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(100);
    assert.deepEqual([near.ear.heard, near.ear.endings], [["last words"], ["reset"]]);
  });

  test("a power loss is detected by silence alone", async () => {
    const two = new Two();
    const { near } = await two.connected();
    near.end.send("half-open");
    two.b.hasEnded = true;
    two.network.stationGone(two.b, false);
    await two.pass(3_900);
    assert.deepEqual(near.ear.endings, []);
    await two.pass(1_200);
    assert.deepEqual(near.ear.endings, ["silent"]);
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
    assert.deepEqual(near.ear.endings, ["reset"]);
    assert.equal(two.network.open, 0);
  });

  test("the end of a process behind a cut line is detected when the line is mended, or by silence", async () => {
    const two = new Two();
    const { near } = await two.connected();
    two.cut(2, 1);
    two.b.hasEnded = true;
    two.network.stationGone(two.b, true);
    await two.pass(3_900);
    assert.deepEqual(near.ear.endings, []);
    two.mend(2, 1);
    await two.pass(100);
    assert.deepEqual(near.ear.endings, ["reset"]);
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
    assert.deepEqual([near.ear.endings, second.near.ear.endings, second.far.ear.endings], [["reset"], [], []]);
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
    assert.deepEqual([near.ear.endings, two.network.open], [[], 0]);
  });

  for (const tells of [true, false]) {
    for (const ms of [0, 0.3, 0.5, 0.8]) {
      test(`a connection whose process ${tells ? "ended" : "lost its power"} ${ms} ms after it began leaves nothing behind`, async () => {
        const two = new Two();
        two.connect().end.send("never sent");
        await two.pass(ms);
        two.a.hasEnded = true;
        two.network.stationGone(two.a, tells);
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
        return new Ear(two.timeline);
      });
      const near = two.connect();
      await two.timeline.run(1_000, () => near.ear.heard.length > 0);
      assert.equal(near.end.isConnecting, false, `seed ${seed}`);
    }
  });
});

test("an ended process cannot connect, and cannot be connected to", async () => {
  const two = new Two();
  two.a.hasEnded = true;
  two.network.stationGone(two.a, true);
  // Its last actions at the moment of its end.
  two.connect().end.send("from the grave");
  await two.pass(20_000);
  assert.deepEqual([two.accepted.flatMap(({ ear }) => ear.heard), two.network.open], [[], 0]);
});

test("a lost packet is not delivered while the line is cut", async () => {
  const two = new Two();
  const { near, far } = await two.connected({ silentTicks: 1_000 });
  two.network.change(1, 2, { loss: 1 });
  near.end.send("lost at first");
  await two.pass(1_000);
  two.network.change(1, 2, { isOpen: false, loss: 0 });
  await two.pass(60_000);
  assert.deepEqual(far.ear.heard, []);
});
