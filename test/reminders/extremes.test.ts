// Extreme reminders, over HTTP, on stores that are files and servers: each is rejected with a reason, or
// stored, shown and delivered exactly. No timer overflows, and no other reminder is delayed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Actor, type App, limpet, type ReminderTick } from "../../src/index.ts";
import { LIMITS } from "../../src/kernel/limits.ts";
import { GROUNDS, type Grounds } from "../support/cluster-places.ts";

interface Delivered {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly number: number;
}

let delivered: Delivered[] = [];
/** Most concurrent handlers of floods. */
let [inside, most] = [0, 0];
const record = ({ type, id }: Actor, name: string, data: unknown, { number }: ReminderTick): void => {
  delivered.push({ type, id, name, data, number });
};

class Note extends Actor {
  override onReminder(name: string, data: unknown, tick: ReminderTick) {
    record(this, name, data, tick);
  }
}

class Flood extends Actor {
  override async onReminder(name: string, data: unknown, tick: ReminderTick) {
    most = Math.max(most, ++inside);
    await pause(20);
    inside--;
    record(this, name, data, tick);
  }
}

class Endless extends Actor {
  override onReminder(name: string, data: unknown, tick: ReminderTick) {
    record(this, name, data, tick);
    return new Promise<void>(() => {});
  }
}

const AWKWARD = [
  `it's "quoted"`,
  "'; DROP TABLE limpet.reminders; --",
  "🐚 emoji 👩‍👩‍👧‍👦",
  "percent %2F & = + ;",
  "..a.. ~ ^ | < >, [x]",
  "ümläut e\u0301 é",
  "$1 {{y}} %s",
  "…".repeat(170),
];

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let attempt = 0; attempt < 30_000; attempt++) {
    if (condition()) return;
    await pause(10);
  }
  assert.fail(`never happened: ${what}`);
}

const from = (type: string): Delivered[] => delivered.filter((one) => one.type === type);

for (const { store, open } of GROUNDS) {
  describe(`extreme reminders on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    let place: Awaited<ReturnType<Grounds["place"]>>;
    let app: App;
    const warnings: string[] = [];
    const warned = ({ name }: Error): void => void warnings.push(name);

    before(async () => {
      delivered = [];
      process.on("warning", warned);
      grounds = await open();
      place = await grounds.place();
      app = await limpet({
        actors: [Note, Flood, Endless],
        store: place.store,
        cluster: false,
        http: { port: 0 },
        logLevel: "silent",
        // A stop does not wait for handlers that never end.
        drainTimeout: "200ms",
        reminders: { pollInterval: "100ms", fetchAhead: "300ms", lease: "2s", batchSize: 100, concurrency: 200 },
      });
    });
    after(async () => {
      process.off("warning", warned);
      await app?.stop();
      await place?.[Symbol.asyncDispose]();
      await grounds?.[Symbol.asyncDispose]();
    });

    const path = (name: string, id = "a", type = "Note"): string =>
      `${app.url}/v1.0/actors/${type}/${encodeURIComponent(id)}/reminders/${encodeURIComponent(name)}`;
    /** Status and body of the response. */
    async function answer(request: Promise<Response>): Promise<{ status: number; body: Record<string, unknown> }> {
      const response = await request;
      const text = await response.text();
      return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
    }
    const post = (body: unknown, ...names: [name: string, id?: string, type?: string]) =>
      answer(fetch(path(...names), { method: "POST", body: JSON.stringify(body) }));
    const show = (...names: [name: string, id?: string, type?: string]) => answer(fetch(path(...names)));

    for (const [what, body] of [
      ["the year 0", { dueTime: "0000-01-01T00:00:00Z" }],
      ["a year after 9999", { dueTime: "10000-01-01T00:00:00Z" }],
      ["a negative time", { dueTime: "-1s" }],
      ["a number", { dueTime: 5 }],
      ["NaN", { dueTime: "NaN" }],
      ["one nanosecond", { dueTime: "1ns" }],
      ["a period of one nanosecond", { period: "1ns" }],
      ["a negative period", { dueTime: "1s", period: "-1s" }],
      ["a period longer than there is time", { dueTime: "1s", period: "P9000Y" }],
      ["no repetition at all", { period: "R0/PT1S" }],
      ["a ttl before it is due", { dueTime: "2040-01-01T00:00:00Z", period: "1s", ttl: "2030-01-01T00:00:00Z" }],
      ["nothing", {}],
    ] as const) {
      test(`${what} is rejected, and nothing is stored`, async () => {
        const { status, body: answered } = await post(body, "refused");
        assert.deepEqual([status, answered.errorCode], [400, "REMINDER_INVALID"]);
        assert.match(`${answered.message}`, /; |^reminder: /);
        assert.equal((await show("refused")).status, 404);
      });
    }

    test("data above the limit is rejected, by the server and behind it", async () => {
      const data = "x".repeat(LIMITS.reminderBytes);
      assert.equal((await post({ dueTime: "1h", data }, "refused")).status, 400);
      const body = "x".repeat(LIMITS.httpBodyBytes);
      assert.equal((await post({ dueTime: "1h", data: body }, "refused")).status, 413);
      await assert.rejects(app.reminders.set(Note, "a", "refused", { due: "1h", data }), { code: "REMINDER_INVALID" });
      assert.equal(await app.reminders.get(Note, "a", "refused"), undefined);
    });

    test("an invalid time is rejected in code, and so is a day that never comes", async () => {
      for (const due of [Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, -1, new Date(Number.NaN)]) {
        await assert.rejects(app.reminders.set(Note, "a", "refused", { due }), { code: "REMINDER_INVALID" });
      }
      for (const never of [
        { cron: "0 0 30 2 *" },
        { every: 0 },
        { every: "R0/PT1S" },
        { every: "1s", times: 0 },
      ] as const) {
        await assert.rejects(app.reminders.set(Note, "a", "refused", never), { code: "REMINDER_INVALID" });
        await assert.rejects(
          app.jobs.set("refused", never, () => {}),
          { code: "REMINDER_INVALID" },
        );
      }
      assert.equal(await app.reminders.get(Note, "a", "refused"), undefined);
    });

    test("a reminder centuries ahead waits, and no timer overflows", async () => {
      assert.equal((await post({ dueTime: "9999-12-31T23:59:59Z" }, "last")).status, 204);
      for (const [name, period] of [
        ["years", "P100Y"],
        ["hours", "876000h"],
      ]) {
        assert.equal((await post({ dueTime: "0s", period }, name!)).status, 204);
        await until(() => delivered.some((one) => one.name === name), `${name} has ticked`);
        await until(() => from("Note").length > 0, "it is heard");
      }
      const years = async (name: string): Promise<number> => {
        const info = await app.reminders.get(Note, "a", name);
        return (info!.next - Date.now()) / (365.25 * 86_400_000);
      };
      // The tick arrives before the next one is stored.
      for (let attempt = 0; attempt < 500 && (await years("hours")) < 1; attempt++) await pause(10);
      assert.deepEqual([Math.round(await years("years")), Math.round(await years("hours"))], [100, 100]);
      assert.equal(Date.parse(`${(await show("last")).body.dueTime}`), Date.UTC(9999, 11, 31, 23, 59, 59));
      await app.jobs.set("far away", { due: new Date(Date.UTC(9999, 0)) }, () => assert.fail("it is not that late"));
      await app.reminders.set(Note, "a", "every millisecond", { due: 0, every: 1, times: 50 });
      await until(
        () => delivered.some(({ name, number }) => name === "every millisecond" && number === 50),
        "all are over",
      );
      assert.deepEqual(
        delivered.filter(({ name }) => name === "last"),
        [],
      );
      assert.deepEqual(warnings, [], "TimeoutOverflowWarning");
    });

    test("names and ids with quotes, emoji and anything else come back as they were, and are delivered so", async () => {
      for (const text of AWKWARD) {
        assert.equal((await post({ dueTime: "1h", data: text }, text, text)).status, 204, text);
        const { body } = await show(text, text);
        assert.deepEqual([body.actorID, body.name, body.data], [text, text, text]);
        assert.deepEqual(
          (await app.reminders.list(Note, text)).map(({ name }) => name),
          [text],
        );
        assert.equal((await post({ dueTime: "0s", data: text }, text, text)).status, 204);
      }
      await until(() => AWKWARD.every((text) => delivered.some(({ name }) => name === text)), "all of them are heard");
      for (const text of AWKWARD) {
        const [one, ...more] = delivered.filter(({ name }) => name === text);
        assert.deepEqual([one, more], [{ type: "Note", id: text, name: text, data: text, number: 1 }, []]);
      }
    });

    test("four mebibytes of data are shown and delivered whole", async () => {
      const data = "🐚x".repeat(Math.floor((LIMITS.reminderBytes - 100) / 5));
      assert.equal((await post({ dueTime: "1h", data }, "large")).status, 204);
      assert.ok((await show("large")).body.data === data);
      assert.equal((await post({ dueTime: "0s", data }, "large")).status, 204);
      const larger = `${data}${"x".repeat(90)}`;
      await app.reminders.set(Note, "a", "larger", { due: 0, data: larger });
      for (const [name, sent] of Object.entries({ large: data, larger })) {
        await until(() => delivered.some((one) => one.name === name), `${name} is heard`);
        assert.ok(delivered.find((one) => one.name === name)!.data === sent);
      }
    });

    test("thousands that are due in the same millisecond all fire, within bounds, and delay no other", async () => {
      const count = 3_000;
      const due = new Date();
      const claimed = (): number => Number(/limpet_reminders_claimed_total\S* (\d+)/.exec(app.metrics())?.[1] ?? 0);
      await using elsewhere = await limpet({
        actors: [Note],
        store: place.store,
        cluster: false,
        namespace: "elsewhere",
        logLevel: "silent",
        reminders: { pollInterval: "100ms", fetchAhead: "300ms", lease: "2s" },
      });
      const before = claimed();
      await Promise.all(
        Array.from({ length: count }, (_, i) => app.reminders.set(Flood, `${i % 500}`, `${i}`, { due })),
      );
      // Handlers that never end take their share of the capacity, and no more.
      for (let i = 0; i < 50; i++) await app.reminders.set(Endless, `${i}`, "endless", { due: 0 });
      await app.reminders.set(Note, "b", "between", { due: 0 });
      await elsewhere.reminders.set(Note, "b", "elsewhere", { due: 0 });
      await until(() => delivered.some(({ name }) => name === "between"), "another type is heard");
      await until(() => delivered.some(({ name }) => name === "elsewhere"), "another namespace is heard");
      const done = from("Flood").length;
      assert.ok(done < count, "the flood was over before it was looked");
      // At most four batches are claimed, and a claim may be in progress while others are set.
      assert.ok(claimed() - before - done <= 5 * 100, `${claimed() - before - done} are held at once`);
      await until(() => from("Flood").length >= count, "all of them are over");
      assert.equal(new Set(from("Flood").map(({ name }) => name)).size, count);
      assert.ok(most <= 200, `${most} at once`);
      assert.equal(from("Endless").length, 50, "each is delivered once while it runs");
    });
  });
}
