// Reminders from outside: in the words of the admin port, on a store in memory and under a virtual clock.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { eventually, TestApps } from "../host/cluster-kit.test.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { NewReminder } from "../ports/reminder-admin.ts";
import { testLimpet } from "../testing.ts";

type Fired = [name: string, data: unknown, number: number, attempt: number];

class Cart extends Actor<{ fired: Fired[]; failures: number }> {
  initial() {
    return { fired: [] as Fired[], failures: 0 };
  }

  fail(times: number) {
    this.state.failures = times;
  }

  fired() {
    return this.state.fired;
  }

  override onReminder(name: string, data: unknown, { number, attempt }: { number: number; attempt: number }) {
    if (attempt <= this.state.failures) throw new RangeError(`no tea at ${attempt}`);
    this.state.fired.push([name, data, number, attempt]);
  }
}

const NAMES = { type: "Cart", id: "alice", name: "pay" };
const request = (more: Partial<NewReminder>): NewReminder => ({
  data: undefined,
  onFailure: undefined,
  isNew: false,
  ...more,
});
const iso = (moment: number) => new Date(moment).toISOString();
// Reminders that are due soon are claimed at once, and later ones are not.
const open = () => testLimpet({ actors: [Cart], reminders: { fetchAhead: "5s", lease: "30s" } });

describe("reminders set as texts", () => {
  it("a reminder fires at its due time with its data", async () => {
    await using app = await open();
    const { reminders } = app.host;
    const data = { cups: [2], at: new Date(5) };
    assert.equal(await reminders.set(NAMES, request({ dueTime: "PT10S", data })), true);
    await reminders.set({ ...NAMES, name: "now" }, request({ dueTime: "0s" }));
    await app.advance(9_999);
    assert.deepEqual(await app.actor(Cart, "alice").fired(), [["now", undefined, 1, 1]]);
    await app.advance(1);
    assert.deepEqual((await app.actor(Cart, "alice").fired())[1], ["pay", data, 1, 1]);
    assert.equal(await reminders.get(NAMES), undefined);
  });

  it("a reminder repeats on its grid until its ttl", async () => {
    await using app = await open();
    const { reminders } = app.host;
    await reminders.set(NAMES, request({ dueTime: "10s", period: "1m", ttl: "2m30s" }));
    await app.advance("1h");
    const numbers = (await app.actor(Cart, "alice").fired()).map(([, , number]) => number);
    assert.deepEqual(numbers, [1, 2, 3]);
  });

  it("a reminder is shown in the same formats, without missing fields", async () => {
    await using app = await open();
    const { reminders } = app.host;
    const now = app.clock.now();
    await reminders.set(NAMES, request({ dueTime: "10s" }));
    assert.deepEqual(await reminders.get(NAMES), { dueTime: iso(now + 10_000), data: undefined });
    await reminders.set(NAMES, request({ period: "90s", ttl: "1h", data: [1, null] }));
    const [period, ttl] = ["@every 1m30s", iso(now + 90_000 + 3_600_000)];
    assert.deepEqual(await reminders.get(NAMES), { dueTime: iso(now + 90_000), period, ttl, data: [1, null] });
    await app.advance("90s");
    assert.equal((await reminders.get(NAMES))?.dueTime, iso(now + 180_000));
    await app.reminders.set(Cart, "alice", "pay", { cron: "0 9 * * 1", timezone: "Europe/Paris" });
    assert.equal((await reminders.get(NAMES))?.period, "0 9 * * 1");
  });

  it("a reminder is shown with its remaining ticks", async () => {
    await using app = await open();
    const { reminders } = app.host;
    await reminders.set(NAMES, request({ period: "R3/PT10S" }));
    assert.equal((await reminders.get(NAMES))?.period, "R3/PT10S");
    await app.advance("10s");
    assert.equal((await reminders.get(NAMES))?.period, "R2/PT10S");
    await app.reminders.set(Cart, "alice", "pay", { every: "P1M", times: 2 });
    assert.equal((await reminders.get(NAMES))?.period, "R2/P1M");
    await app.reminders.set(Cart, "alice", "pay", { cron: "0 9 * * 1", times: 4 });
    const { period, times } = (await reminders.get(NAMES)) ?? {};
    assert.deepEqual([period, times], ["0 9 * * 1", 4]);
  });

  it("a reminder replaces the previous one, unless it must be new", async () => {
    await using app = await open();
    const { reminders } = app.host;
    assert.equal(await reminders.set(NAMES, request({ dueTime: "1h", data: "first", isNew: true })), true);
    assert.equal(await reminders.set(NAMES, request({ dueTime: "1h", data: "second", isNew: true })), false);
    assert.equal((await reminders.get(NAMES))?.data, "first");
    assert.equal(await reminders.set(NAMES, request({ dueTime: "1h", data: "third" })), true);
    assert.equal((await reminders.get(NAMES))?.data, "third");
    await reminders.cancel(NAMES);
    await reminders.cancel(NAMES);
    assert.equal(await reminders.get(NAMES), undefined);
    assert.equal(await reminders.set(NAMES, request({ dueTime: "1h", isNew: true })), true);
  });

  it("an invalid reminder is rejected, and nothing is stored", async () => {
    await using app = await open();
    const { reminders } = app.host;
    for (const texts of [
      {},
      { dueTime: "soon" },
      { dueTime: "-1s" },
      { dueTime: "p1d" },
      { period: "R0/PT1S" },
      { dueTime: "1s", ttl: "1h" },
      { dueTime: "2040-01-01T00:00:00Z", period: "1s", ttl: "2030-01-01T00:00:00Z" },
      { dueTime: 5 as unknown as string },
      { dueTime: "1s", data: "x".repeat(LIMITS.reminderBytes) },
      { dueTime: "1s", data: () => 1 },
    ]) {
      await assert.rejects(reminders.set(NAMES, request(texts)), { code: "REMINDER_INVALID" });
    }
    for (const names of [{ type: "a/b" }, { id: "" }, { name: ".." }, { name: "n".repeat(513) }]) {
      const set = reminders.set({ ...NAMES, ...names }, request({ dueTime: "1s" }));
      await assert.rejects(set, { code: "NAME_INVALID" });
    }
    assert.deepEqual(await reminders.count(), { all: 0, overdue: 0, dead: 0 });
  });

  it("a reminder needs a type that some host may have, which without a cluster is a local type", async () => {
    await using app = await open();
    const { reminders } = app.host;
    const strange = { ...NAMES, type: "Kart" };
    await assert.rejects(reminders.set(strange, request({ dueTime: "1s" })), { code: "REMINDER_NOT_HOSTED" });
    // A reminder that another program left behind can be found and cancelled all the same.
    await app.reminders.set("Kart", "alice", "pay", { due: "1s" });
    assert.notEqual(await reminders.get(strange), undefined);
    await reminders.cancel(strange);
    assert.equal(await reminders.get(strange), undefined);
  });

  it("a reminder in a cluster waits for a host of its type", async () => {
    await using apps = new TestApps();
    const client = await apps.open([], { reminders: { pollInterval: "50ms" } });
    await client.host.reminders.set(NAMES, request({ dueTime: "0s", data: "tea" }));
    const host = await apps.open([Cart], { reminders: { pollInterval: "50ms" } });
    await eventually(async () => {
      const fired = await host.actor(Cart, "alice").fired();
      return fired.length === 1;
    }, "it was delivered by the host that came");
  });

  it("a request cannot set a job, and can cancel a job that was left behind", async () => {
    await using app = await open();
    const { reminders } = app.host;
    await app.jobs.set("report", { every: "1h" }, () => {});
    const job = { type: "$report", id: "job", name: "run" };
    await assert.rejects(reminders.set(job, request({ dueTime: "0s" })), { code: "NAME_INVALID" });
    await assert.rejects(app.reminders.set("$report", "job", "run", { due: 0 }), { code: "NAME_INVALID" });
    assert.equal((await reminders.get(job))?.period, "@every 1h0m0s");
    assert.equal((await app.jobs.get("report"))?.name, "report");
    await reminders.cancel(job);
    assert.equal(await app.jobs.get("report"), undefined);
  });

  it("a timer of a workflow is out of reach of every verb, and still shown in listings", async () => {
    await using app = await open();
    const { reminders } = app.host;
    const key = { type: "$$timer", id: "run", name: "1" };
    const isRefused = { code: "NAME_INVALID", message: /internal/ };
    for (const verb of ["get", "cancel", "retry", "drop"] as const) {
      await assert.rejects(async () => reminders[verb](key), isRefused, verb);
    }
    await assert.rejects(reminders.set(key, request({ dueTime: "0s" })), isRefused);
    await assert.rejects(app.reminders.set("$$timer", "run", "1", { due: 0 }), isRefused);
    await assert.rejects(app.reminders.get("$$timer", "run", "1"), isRefused);
    await assert.rejects(app.reminders.list("$$timer", "run"), isRefused);
    await assert.rejects(app.reminders.cancel("$$timer", "run", "1"), isRefused);
    assert.throws(() => app.actor("$$timer", "run"), { code: "ACTOR_TYPE_UNKNOWN" });
    await assert.rejects(app.host.call("$$timer", "run", "fire", []), isRefused);
    assert.deepEqual((await reminders.list({ type: "$$timer", limit: 10 } as never)).reminders, []);
  });
});

describe("lists of reminders", () => {
  it("the list shows the next tick, the attempts and the lease of each reminder", async () => {
    await using app = await open();
    const now = app.clock.now();
    await app.reminders.set(Cart, "alice", "late", { every: "1h", data: "four" });
    await app.reminders.set(Cart, "alice", "soon", { due: "2s" });
    await app.reminders.set("Kart", "bob", "lost", { due: "1s" });
    await app.advance(1_500);
    const { reminders, ...page } = await app.host.reminders.list({ limit: 10 });
    assert.deepEqual(page, { now: now + 1_500, next: undefined });
    const [late, soon, lost] = reminders;
    const first = { number: 1, attempt: 0 };
    assert.deepEqual(late, {
      type: "Cart",
      id: "alice",
      name: "late",
      next: now + 3_600_000,
      due: now + 3_600_000,
      ...first,
      leasedUntil: undefined,
      overdue: false,
      schedule: "every 1h",
      bytes: 6,
    });
    // The process has claimed it already.
    assert.ok(soon!.leasedUntil! > now + 1_500);
    assert.deepEqual([soon!.name, soon!.overdue, soon!.schedule, soon!.bytes], ["soon", false, "once", 0]);
    assert.deepEqual([lost!.type, lost!.overdue, lost!.leasedUntil], ["Kart", true, undefined]);
    assert.deepEqual(await app.host.reminders.count(), { all: 3, overdue: 1, dead: 0 });
  });

  it("the list has pages, of a type or of an id", async () => {
    await using app = await open();
    const { reminders } = app.host;
    for (const id of ["a", "b"]) for (const name of ["1", "2"]) await app.reminders.set(Cart, id, name, { due: "1h" });
    const words = async (query: object) => {
      const page = await reminders.list({ limit: 3, ...query });
      return [page.reminders.map(({ id, name }) => id + name).join(" "), page.next];
    };
    assert.deepEqual(await words({}), ["a1 a2 b1", { type: "Cart", id: "b", name: "1" }]);
    assert.deepEqual(await words({ after: { type: "Cart", id: "b", name: "1" } }), ["b2", undefined]);
    assert.deepEqual(await words({ type: "Cart", id: "b" }), ["b1 b2", undefined]);
    assert.deepEqual(await words({ type: "Kart" }), ["", undefined]);
  });

  it("an unreadable row does not hide the others", async () => {
    await using app = await open();
    const key = { namespace: "default", ...NAMES };
    const tick = { at: app.clock.now() + 3_600_000, due: 0, number: 1, attempt: 0 };
    const content = { schedule: "{", data: undefined };
    await app.store.reminders.write([{ kind: "set", key, tick, content, lease: undefined, isNew: false }]);
    await app.reminders.set(Cart, "bob", "pay", { due: "1h" });
    const { reminders } = await app.host.reminders.list({ limit: 10 });
    assert.deepEqual(
      reminders.map(({ schedule }) => schedule),
      ["cannot be read", "once"],
    );
    await assert.rejects(app.host.reminders.get(NAMES), { code: "REMINDER_DAMAGED" });
    assert.equal((await app.reminders.list(Cart, NAMES.id))[0]?.schedule, "cannot be read");
    // Once it is due it becomes a dead letter, and dead letters are listed as well.
    await app.advance("2h");
    const dead = (await app.host.reminders.listDead({ limit: 10 })).reminders;
    assert.deepEqual(
      dead.map(({ name, schedule }) => [name, schedule]),
      [[NAMES.name, "cannot be read"]],
    );
  });
});

describe("dead reminders", () => {
  /** Fails until it is given up. */
  const die = async (app: Awaited<ReturnType<typeof open>>) => {
    await app.actor(Cart, "alice").fail(3);
    await app.reminders.set(Cart, "alice", "pay", { every: "1h", data: "tea", onFailure: { attempts: 3 } });
    await app.advance("1h1m");
  };

  it("a dead reminder is shown with its error, and can be retried from now", async () => {
    await using app = await open();
    const { reminders } = app.host;
    await die(app);
    const { reminders: dead } = await reminders.listDead({ limit: 10 });
    const [{ diedAt, ...one }] = dead as [(typeof dead)[number]];
    assert.ok(diedAt < app.clock.now());
    assert.deepEqual(one, {
      ...NAMES,
      due: one.due,
      number: 1,
      attempt: 3,
      error: "RangeError: no tea at 3",
      schedule: "every 1h",
      bytes: 5,
    });
    assert.deepEqual(await reminders.count(), { all: 0, overdue: 0, dead: 1 });
    await app.actor(Cart, "alice").fail(0);
    assert.equal(await reminders.retry(NAMES), true);
    assert.equal(await reminders.retry(NAMES), false);
    await app.advance("1s");
    assert.deepEqual(await app.actor(Cart, "alice").fired(), [["pay", "tea", 1, 1]]);
    assert.deepEqual(await reminders.count(), { all: 1, overdue: 0, dead: 0 });
  });

  it("a dead reminder can be dropped", async () => {
    await using app = await open();
    const { reminders } = app.host;
    await die(app);
    assert.equal(await reminders.drop(NAMES), true);
    assert.equal(await reminders.drop(NAMES), false);
    assert.equal(await reminders.retry(NAMES), false);
    assert.deepEqual((await reminders.listDead({ limit: 10 })).reminders, []);
  });

  it("a policy that drops failed ticks makes no dead reminder, and the next tick comes as planned", async () => {
    await using app = await open();
    await app.actor(Cart, "alice").fail(1);
    const onFailure = { attempts: 1, giveUp: "drop" } as const;
    await app.host.reminders.set(NAMES, request({ period: "1h", onFailure }));
    await app.advance("1h1m");
    await app.actor(Cart, "alice").fail(0);
    await app.advance("1h");
    assert.deepEqual(await app.actor(Cart, "alice").fired(), [["pay", undefined, 2, 1]]);
    assert.deepEqual(await app.host.reminders.count(), { all: 1, overdue: 0, dead: 0 });
  });
});

it("a reminder is set, shown, delivered and removed over HTTP", async () => {
  await using app = await testLimpet({ actors: [Cart], http: { port: 0 } });
  const path = `${app.url}/v1.0/actors/Cart/alice/reminders/pay`;
  const body = JSON.stringify({ dueTime: "10s", data: { cups: 2 } });
  const dueTime = iso(app.clock.now() + 10_000);
  assert.equal((await fetch(path, { method: "POST", body })).status, 204);
  const shown = { actorType: "Cart", actorID: "alice", name: "pay", dueTime, data: { cups: 2 } };
  assert.deepEqual(await (await fetch(path)).json(), shown);
  await app.advance("10s");
  assert.equal((await fetch(path)).status, 404);
  assert.deepEqual(await app.actor(Cart, "alice").fired(), [["pay", { cups: 2 }, 1, 1]]);
  const strange = await fetch(path.replace("Cart", "Kart"), { method: "PUT", body });
  assert.deepEqual(
    [strange.status, ((await strange.json()) as { errorCode: string }).errorCode],
    [403, "REMINDER_NOT_HOSTED"],
  );
});
