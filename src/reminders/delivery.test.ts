// Ticks that fail, are damaged or were missed, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import { BEGINNING } from "../world/local-clock.ts";
import { assertPunctual, Bench, key, moments, numbers } from "./processor-kit.test.ts";

describe("failed deliveries", () => {
  it("a failed tick is retried at growing pauses with the same number and due time, and becomes a dead letter", async () => {
    const bench = new Bench();
    const host = bench.open();
    const seen: [number, number, number][] = [];
    host.handler = ({ tick }) => {
      seen.push([tick.due, tick.number, tick.attempt]);
      throw new TypeError("no tea");
    };
    await bench.during(host.set("tea", { every: 60_000, due: 0, data: "x", onFailure: { attempts: 5, pause: "1s" } }));
    const { tick } = (await bench.stored("tea"))!;
    await bench.advance(50_000);
    assert.deepEqual(
      seen,
      [1, 2, 3, 4, 5].map((attempt) => [tick.due, 1, attempt]),
    );
    const at = moments(host.delivered);
    const pauses = at.slice(1).map((moment, i) => moment - at[i]!);
    for (const [i, pause] of pauses.entries()) assert.ok(pause >= 750 * 2 ** i && pause <= 1_260 * 2 ** i, `${pauses}`);
    const [dead] = await bench.truth.listDead({ namespace: "default", limit: 10 });
    assert.deepEqual([dead?.error, dead?.tick.due, dead?.key.name], ["TypeError: no tea", tick.due, "tea"]);
    assert.ok(host.late.length === 1 && host.late[0]! < 1, `only the first attempt measures punctuality: ${host.late}`);
    assert.equal(await bench.stored("tea"), undefined);
  });

  it("a failed tick is dropped if its policy says so, and the next tick comes as planned", async () => {
    const bench = new Bench();
    const host = bench.open();
    host.handler = ({ tick }) => {
      if (tick.number < 3) throw new Error("no tea");
    };
    const onFailure = { attempts: 2, pause: "100ms", giveUp: "drop" } as const;
    await bench.during(host.set("tea", { every: 10_000, onFailure }));
    await bench.advance(35_000);
    assert.deepEqual(numbers(host.delivered), [1, 1, 2, 2, 3]);
    assert.equal((await bench.truth.count("default", 10)).dead, 0);
  });

  it("a failed tick keeps its attempts when another process continues it", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    const attempts: number[] = [];
    for (const host of [one, two]) {
      host.handler = ({ tick }) => {
        attempts.push(tick.attempt);
        if (attempts.length === 2) host.process.end(false);
        if (tick.attempt < 4) throw new Error("no tea");
      };
    }
    await bench.during(one.set("tea", { due: 0, onFailure: { pause: "500ms" } }));
    await bench.advance(60_000);
    // The outcome of the second attempt was lost, so it was made again.
    assert.deepEqual(attempts, [1, 2, 2, 3, 4]);
  });

  it("a reminder continues on its grid after failures, and runs missed ticks by its policy", async () => {
    const bench = new Bench();
    const host = bench.open();
    host.handler = ({ tick }) => {
      if (tick.number === 2 && tick.attempt < 4) throw new Error("no tea");
    };
    await bench.during(host.set("tea", { every: 1_000, onFailure: { pause: "1s" } }));
    const { tick } = (await bench.stored("tea"))!;
    await bench.advance(20_000);
    const seen = numbers(host.delivered);
    assert.deepEqual(seen.slice(0, 5), [1, 2, 2, 2, 2]);
    // After it the latest tick comes once, and then every one.
    const rest = seen.slice(5);
    assert.ok(rest.length > 8 && rest[0]! > 3, `${seen}`);
    assert.deepEqual(
      rest,
      rest.map((_, i) => rest[0]! + i),
    );
    assertPunctual(
      moments(host.delivered).slice(7),
      rest.slice(2).map((number) => tick.due - BEGINNING + (number - 1) * 1_000),
    );
  });

  it("a tick that did not reach its actor is no attempt, and another process may deliver it", async () => {
    const bench = new Bench();
    const [one, two] = [bench.open(), bench.open()];
    one.handler = () => {
      throw new LimpetError("NO_HOST", "no host has it");
    };
    const attempts: number[] = [];
    two.handler = ({ tick }) => void attempts.push(tick.attempt);
    await bench.during(one.set("tea", { due: 0, onFailure: { attempts: 1, pause: "1h" } }));
    await bench.advance(60_000);
    assert.deepEqual(attempts, [1]);
    assert.ok(one.delivered.length >= 1);
    assert.deepEqual(await bench.truth.count("default", 10), { all: 0, overdue: 0, dead: 0 });
  });

  it("a thrown value that is no error is recorded as well as possible", async () => {
    const bench = new Bench();
    const host = bench.open();
    const thrown = [undefined, "tea", Object.create(null), Symbol("tea"), new Error("x".repeat(10_000))];
    host.handler = ({ reminder }) => {
      throw thrown[Number(reminder.key.name)];
    };
    for (const [i] of thrown.entries()) await bench.during(host.set(`${i}`, { due: 0, onFailure: { attempts: 1 } }));
    await bench.advance(10_000);
    const dead = await bench.truth.listDead({ namespace: "default", limit: 10 });
    assert.deepEqual(
      dead.map(({ error }) => error.slice(0, 26)),
      [
        "a value of type undefined",
        '"tea"',
        "a value of type object",
        "a value of type symbol",
        `Error: ${"x".repeat(19)}`,
      ],
    );
    assert.ok(dead.every(({ error }) => error.length <= 2_000));
  });
});

describe("damaged rows", () => {
  it("a damaged row becomes a dead letter, and delays no other", async () => {
    const bench = new Bench();
    const host = bench.open();
    const tick = { at: BEGINNING + 1_000, due: BEGINNING + 1_000, number: 1, attempt: 0 };
    const first = BEGINNING + 1_000;
    const odd = [
      "",
      "{",
      "null",
      '{"schedule":{"first":"x"}}',
      `{"schedule":{"first":${first},"every":{"months":"x"}}}`,
      `{"schedule":{"first":${first},"cron":"no cron","timezone":"UTC","missed":"once"}}`,
      `{"schedule":{"first":${first},"cron":"0 9 * * 1","timezone":"Moon/Sea","missed":"once"}}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":7}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":{"attempts":"many","pauseMs":1,"longestPauseMs":1,"giveUp":"keep"}}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":{"attempts":3,"pauseMs":null,"longestPauseMs":1,"giveUp":"keep"}}`,
      `{"schedule":{"first":${first},"missed":"once"},"policy":{"attempts":3,"pauseMs":1,"longestPauseMs":1,"giveUp":"maybe"}}`,
    ];
    await bench.truth.write(
      odd.map((schedule, i) => {
        const content = { schedule, data: undefined };
        return { kind: "set", key: key(`${i}`), tick, content, lease: undefined, isNew: false };
      }),
    );
    await bench.during(host.set("tea", { due: new Date(first) }));
    await bench.advance(10_000);
    assert.deepEqual(
      host.delivered.map((text) => text.split(" ")[0]),
      ["tea"],
    );
    assert.deepEqual(await bench.truth.count("default", 100), { all: 0, overdue: 0, dead: odd.length });
  });
});

describe("missed ticks", () => {
  const DOWN = 10_500;

  async function after(missed: "once" | "all" | "skip", down = DOWN) {
    const bench = new Bench();
    const before = bench.open();
    await bench.during(before.set("tea", { every: 1_000, times: 30, missed }));
    await bench.advance(2_500);
    await bench.during(before.processor.stop(1_000));
    await bench.advance(down);
    const host = bench.open();
    await bench.advance(5_000);
    return { before: numbers(before.delivered), after: numbers(host.delivered) };
  }

  it("missed ticks run once by default, the latest of them, late", async () => {
    const seen = await after("once");
    assert.deepEqual(seen.before, [1, 2]);
    assert.deepEqual(seen.after, [13, 14, 15, 16, 17, 18].slice(0, seen.after.length));
  });

  it("missed ticks run one after another with the policy all", async () => {
    const seen = await after("all");
    assert.deepEqual(seen.after.slice(0, 11), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  it("missed ticks with the policy all queue behind due reminders, and do not delay the others", async () => {
    const bench = new Bench();
    const host = bench.open({ concurrency: 1 });
    host.handler = () => host.sleep(150);
    for (const name of ["drum", "gong", "horn"]) {
      await bench.during(host.set(name, { due: 0, every: 200, missed: "all" }));
    }
    await bench.advance(5_000);
    await bench.during(bench.open({ isIdle: true }).set("tea", { due: 500 }));
    await bench.advance(3_000);
    assert.equal(host.delivered.filter((one) => one.startsWith("tea")).length, 1, `${host.delivered}`);
    const numbers = host.delivered
      .filter((one) => one.startsWith("drum"))
      .map((one) => Number(/ (\d+)@/.exec(one)![1]));
    assert.deepEqual(
      numbers,
      [...numbers.keys()].map((i) => i + 1),
    );
  });

  it("missed ticks do not run with the policy skip", async () => {
    const seen = await after("skip");
    // A tick that is late by no more than a second is not missed.
    assert.deepEqual(seen.after.slice(0, 3), [13, 14, 15]);
    const longer = await after("skip", 60_000);
    assert.deepEqual(longer.after, []);
  });
});
