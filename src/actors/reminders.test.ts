// Reminders in turns: they are set and cancelled together with the turn's changes, and handled in turns of
// their own.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  Actor,
  type ActorClass,
  isLimpetError,
  LimpetError,
  type ReminderOptions,
  type ReminderTick,
} from "../index.ts";
import { type Commit, type CommitOutcome, verdictOf } from "../ports/store/store.ts";
import { MemoryStore, type TestApp, testLimpet } from "../testing.ts";
import { BEGINNING } from "../world/local-clock.ts";

type Step =
  | { readonly set: string; readonly options?: ReminderOptions }
  | { readonly cancel: string }
  | { readonly write: string }
  | { readonly get: string }
  | { readonly inside: readonly Step[] }
  | "throw"
  | "list";

/** Runs the given steps, and records its reminders. */
class Clerk extends Actor<{ words: string[] }> {
  static options = { reentrant: true };
  /** Steps of `onReminder`, by the name of the reminder. */
  static script: Record<string, readonly Step[]> = {};
  static seen: string[] = [];
  initial() {
    return { words: [] as string[] };
  }
  async work(steps: readonly Step[]): Promise<string[]> {
    let listed: string[] = [];
    for (const step of steps) {
      if (step === "throw") throw new Error("as requested");
      if (step === "list") listed = await this.names();
      else if ("set" in step) await this.reminders.set(step.set, step.options ?? { due: "1h" });
      else if ("cancel" in step) await this.reminders.cancel(step.cancel);
      else if ("write" in step) this.state.words.push(step.write);
      else if ("get" in step) listed.push(`${(await this.reminders.get(step.get))?.schedule}`);
      else {
        await this.actor(Clerk, this.id)
          .work(step.inside)
          .catch(() => {});
      }
    }
    return listed;
  }
  async names() {
    return (await this.reminders.list()).map(({ name, next }) => `${name}@${next}`);
  }
  words() {
    return [...this.state.words];
  }
  async got(name: string) {
    return await this.reminders.get(name);
  }
  override async onReminder(name: string, data: unknown, { number, attempt }: ReminderTick) {
    Clerk.seen.push(`${name} ${number}.${attempt}${data === undefined ? "" : ` ${JSON.stringify(data)}`}`);
    await this.work(Clerk.script[name] ?? []);
  }
}

/** An actor without state, with reminders only. */
class Bell extends Actor {
  static seen: string[] = [];
  async set(name: string, options: ReminderOptions) {
    await this.reminders.set(name, options);
    await this.reminders.set(`${name} too`, options);
  }
  async setAndThrow(name: string) {
    await this.reminders.set(name, { due: "1h" });
    throw new Error("no");
  }
  async cancel(name: string) {
    await this.reminders.cancel(name);
  }
  async names() {
    return (await this.reminders.list()).map(({ name }) => name);
  }
  override async onReminder(name: string) {
    Bell.seen.push(name);
    if (name === "again") await this.reminders.set("after", { due: "10s" });
  }
}

/** Clock of the app that was opened last. */
let clock: TestApp["clock"] | undefined;

/** Records commits, and lets a test act between them and the store. It uses the clock of the app. */
class Watched extends MemoryStore {
  readonly commits: Commit[] = [];
  before: (() => Promise<void> | void) | undefined;
  after: (() => Promise<void> | void) | undefined;

  constructor() {
    super(() => clock?.now() ?? BEGINNING);
  }

  override async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    await this.before?.();
    const outcomes = await super.commit(batch);
    for (const [i, commit] of batch.entries()) if (verdictOf(outcomes[i]!) === "committed") this.commits.push(commit);
    await this.after?.();
    return outcomes;
  }
}

async function open(store?: MemoryStore): Promise<TestApp> {
  Clerk.script = {};
  Clerk.seen = [];
  Bell.seen = [];
  clock = undefined;
  const app = await testLimpet({ actors: [Clerk, Bell], ...(store === undefined ? {} : { stateStore: store }) });
  clock = app.clock;
  return app;
}

const query = (type = "Clerk") => ({ namespace: "default", type, id: "a", limit: 100 });

/** The names of the stored reminders, read without a call to the actor. */
async function stored({ store }: TestApp, type?: string): Promise<string[]> {
  return (await store.reminders.list(query(type))).map(({ key }) => key.name);
}

describe("a turn", () => {
  it("a turn sets and cancels reminders together with its changes, in one commit", async () => {
    const store = new Watched();
    await using app = await open(store);
    const clerk = app.actor(Clerk, "a");
    await clerk.work([{ set: "old" }]);
    store.commits.length = 0;
    await clerk.work([{ write: "x" }, { set: "new" }, { cancel: "old" }, { cancel: "never there" }]);
    assert.deepEqual(await stored(app), ["new"]);
    assert.equal(store.commits.length, 1);
    const [{ write, reminders } = {}] = store.commits;
    assert.equal(write?.kind, "whole");
    assert.deepEqual(
      reminders?.map(({ kind, key }) => `${kind} ${key.name}`),
      ["set new", "cancel old", "cancel never there"],
    );
  });

  it("a turn that only sets a reminder keeps the stored state", async () => {
    const store = new Watched();
    await using app = await open(store);
    await app.actor(Clerk, "a").work([{ write: "x" }]);
    await app.actor(Clerk, "a").work([{ set: "tea" }]);
    assert.deepEqual(
      store.commits.map(({ write }) => write.kind),
      ["whole", "keep"],
    );
    assert.deepEqual(await app.actor(Clerk, "a").words(), ["x"]);
  });

  it("a turn that throws rolls back its reminders", async () => {
    await using app = await open();
    const clerk = app.actor(Clerk, "a");
    await clerk.work([{ set: "kept" }]);
    await assert.rejects(clerk.work([{ write: "x" }, { set: "tea" }, { cancel: "kept" }, "throw"]), /as requested/);
    assert.deepEqual([await stored(app), await clerk.words()], [["kept"], []]);
    // The next turn does not write them either.
    await clerk.work([{ write: "y" }]);
    assert.deepEqual(await stored(app), ["kept"]);
  });

  it("a turn whose state cannot be stored sets no reminder", async () => {
    class Odd extends Actor<{ f?: unknown }> {
      initial() {
        return {};
      }
      async set() {
        await this.reminders.set("tea", { due: "1h" });
        this.state.f = () => {};
      }
      override onReminder() {}
    }
    await using app = await testLimpet({ actors: [Odd] });
    await assert.rejects(app.actor(Odd, "a").set(), (error) => isLimpetError(error, "STATE_INVALID"));
    assert.deepEqual(await stored(app, "Odd"), []);
  });

  it("the last write of a turn to each reminder counts", async () => {
    const store = new Watched();
    await using app = await open(store);
    const clerk = app.actor(Clerk, "a");
    await clerk.work([
      ...[{ set: "once" }, { cancel: "once" }],
      ...[{ cancel: "twice" }, { set: "twice", options: { due: "1h" } }, { set: "twice", options: { due: "2h" } }],
    ]);
    assert.deepEqual(await stored(app), ["twice"]);
    assert.equal((await clerk.got("twice"))?.next, app.clock.now() + 7_200_000);
    const keys = store.commits.at(-1)?.reminders?.map(({ key }) => key.name);
    assert.deepEqual(keys?.toSorted(), ["once", "twice"]);
  });

  it("a turn sees its own reminders and cancellations before the commit", async () => {
    await using app = await open();
    const clerk = app.actor(Clerk, "a");
    await clerk.work([{ set: "a" }, { set: "b" }, { set: "c" }]);
    const now = app.clock.now();
    const options = { due: "2h", every: "1h", data: { cups: 2 } };
    const listed = await clerk.work([{ cancel: "a" }, { set: "b", options }, { set: "d" }, "list"]);
    const [hour, two] = [now + 3_600_000, now + 7_200_000];
    assert.deepEqual(listed, [`b@${two}`, `c@${hour}`, `d@${hour}`]);
    assert.deepEqual(await clerk.names(), listed);
    const shown = { name: "b", next: two, number: 1, attempt: 0, data: { cups: 2 }, schedule: "every 1h" };
    assert.deepEqual(await clerk.got("b"), shown);
    assert.equal(await clerk.got("a"), undefined);
    const got = await clerk.work([
      ...[{ get: "b" }, { set: "b", options: { every: "2h" } }, { set: "b", options: { every: "3h" } }, { get: "b" }],
      ...[{ cancel: "c" }, { get: "c" }, { get: "d" }],
    ]);
    assert.deepEqual(got, ["every 1h", "every 3h", "undefined", "once"]);
  });

  it("a turn continues after a rejected schedule, which has no effect", async () => {
    await using app = await open();
    const clerk = app.actor(Clerk, "a");
    await assert.rejects(clerk.work([{ set: "tea", options: { due: "soon" } }]), (error) =>
      isLimpetError(error, "REMINDER_INVALID"),
    );
    await assert.rejects(clerk.work([{ set: "" }]), (error) => isLimpetError(error, "NAME_INVALID"));
    assert.deepEqual(await stored(app), []);
  });

  it("a fenced turn sets no reminder, and the new owner keeps its own", async () => {
    const store = new Watched();
    await using app = await open(store);
    await using other = await testLimpet({ actors: [Clerk], stateStore: store, reminders: false });
    await app.actor(Clerk, "a").work([{ set: "mine" }]);
    await other.actor(Clerk, "a").work([{ set: "theirs" }]);
    await assert.rejects(app.actor(Clerk, "a").work([{ set: "late" }, { cancel: "theirs" }]), (error) =>
      isLimpetError(error, "FENCED"),
    );
    assert.deepEqual(await stored(app), ["mine", "theirs"]);
  });

  it("a turn whose commit is retried after a lost answer sets its reminders once", async () => {
    const store = new Watched();
    await using app = await open(store);
    let attempts = 0;
    store.after = () => {
      if (++attempts === 1) throw new LimpetError("COMMIT_UNKNOWN", "no answer");
    };
    const call = app.actor(Clerk, "a").work([{ write: "x" }, { set: "tea" }]);
    await app.advance("1s");
    await call;
    const [{ generation } = {}] = await store.reminders.list(query());
    assert.deepEqual([attempts, generation], [2, 1]);
  });

  it("a turn is not answered before its reminders are stored", async () => {
    const store = new Watched();
    await using app = await open(store);
    await app.actor(Clerk, "a").words();
    const held = Promise.withResolvers<void>();
    store.before = () => held.promise;
    let isAnswered = false;
    const call = app
      .actor(Clerk, "a")
      .work([{ set: "tea" }])
      .then(() => {
        isAnswered = true;
      });
    await app.advance("1s");
    assert.deepEqual([isAnswered, await stored(app)], [false, []]);
    held.resolve();
    await call;
    assert.deepEqual(await stored(app), ["tea"]);
  });

  it("reminders can be used only within a turn", async () => {
    class Late extends Actor {
      async later() {
        const { reminders } = this;
        setImmediate(() => reminders.set("tea", { due: "1h" }).catch(strayed.resolve));
      }
    }
    const strayed = Promise.withResolvers<unknown>();
    await using app = await testLimpet({ actors: [Late] });
    await app.actor(Late, "a").later();
    assert.ok(isLimpetError(await strayed.promise, "STATE_OUTSIDE_TURN"));
  });
});

describe("nested turns", () => {
  it("nested turns add reminders to the outer turn, and all are stored when it ends", async () => {
    const store = new Watched();
    await using app = await open(store);
    const listed = await app
      .actor(Clerk, "a")
      .work([{ set: "a" }, { inside: [{ set: "b" }, { cancel: "a" }] }, "list"]);
    assert.deepEqual(
      listed.map((text) => text.split("@")[0]),
      ["b"],
    );
    assert.deepEqual([await stored(app), store.commits.length], [["b"], 1]);
  });

  it("a nested turn that throws rolls back only its own reminders", async () => {
    await using app = await open();
    const clerk = app.actor(Clerk, "a");
    await clerk.work([
      { set: "a" },
      { inside: [{ set: "b" }, { cancel: "a" }, { inside: [{ set: "c" }] }, "throw"] },
      { inside: [{ set: "d" }, { inside: [{ set: "e" }, "throw"] }] },
      { set: "f" },
    ]);
    assert.deepEqual(await stored(app), ["a", "d", "f"]);
  });

  it("reminders of nested turns are dropped when the outer turn throws", async () => {
    await using app = await open();
    await assert.rejects(app.actor(Clerk, "a").work([{ inside: [{ set: "b" }] }, "throw"]));
    assert.deepEqual(await stored(app), []);
  });
});

describe("an actor without state", () => {
  it("an actor without state sets and cancels reminders when its turn ends", async () => {
    await using app = await open();
    await app.actor(Bell, "a").set("tea", { due: "1h" });
    assert.deepEqual(await app.actor(Bell, "a").names(), ["tea", "tea too"]);
    await app.actor(Bell, "a").cancel("tea");
    assert.deepEqual(await stored(app, "Bell"), ["tea too"]);
    await app.advance("1h");
    assert.deepEqual(Bell.seen, ["tea too"]);
    assert.deepEqual(await stored(app, "Bell"), []);
  });

  it("an actor without state sets no reminder when its turn throws", async () => {
    await using app = await open();
    await assert.rejects(app.actor(Bell, "a").setAndThrow("tea"));
    assert.deepEqual(await stored(app, "Bell"), []);
  });

  it("an actor without state gets a correct error when the store rejects its reminders", async () => {
    for (const [code, isDone] of [
      ["STORE_UNAVAILABLE", false],
      ["COMMIT_UNKNOWN", true],
    ] as const) {
      await using app = await open();
      const write = app.store.reminders.write.bind(app.store.reminders);
      app.store.reminders.write = async (batch) => {
        if (isDone) await write(batch);
        throw new LimpetError(code, "no answer");
      };
      const call = app.actor(Bell, "a").set("tea", { due: "1h" });
      call.catch(() => {});
      await app.advance("20s");
      await assert.rejects(call, (error) => isLimpetError(error, code));
      assert.equal((await stored(app, "Bell")).length, isDone ? 2 : 0);
    }
  });

  it("an actor without state may set further reminders while it handles one", async () => {
    await using app = await open();
    await app.reminders.set(Bell, "a", "again", { due: "1s" });
    await app.advance("1s");
    assert.deepEqual(await stored(app, "Bell"), ["after"]);
    await app.advance("10s");
    assert.deepEqual(Bell.seen, ["again", "after"]);
  });
});

describe("onReminder", () => {
  it("onReminder gets the name, the data and the tick of the reminder", async () => {
    await using app = await open();
    await app.actor(Clerk, "a").work([{ set: "tea", options: { due: "1s", every: "1m", data: { cups: [1, null] } } }]);
    await app.advance("61s");
    assert.deepEqual(Clerk.seen, ['tea 1.1 {"cups":[1,null]}', 'tea 2.1 {"cups":[1,null]}']);
  });

  it("onReminder commits its changes, its reminders and the end of its tick together", async () => {
    const store = new Watched();
    await using app = await open(store);
    Clerk.script = { tea: [{ write: "tea" }, { set: "next" }, { cancel: "other" }] };
    await app.actor(Clerk, "a").work([{ set: "tea", options: { due: "1s" } }, { set: "other" }]);
    store.commits.length = 0;
    await app.advance("2s");
    assert.deepEqual(await stored(app), ["next"]);
    assert.equal(store.commits.length, 1);
    const [{ settle, reminders } = {}] = store.commits;
    assert.deepEqual([settle?.map(({ kind }) => kind), reminders?.length], [["done"], 2]);
  });

  it("a tick is settled even if onReminder changes nothing", async () => {
    const store = new Watched();
    await using app = await open(store);
    await app.actor(Clerk, "a").work([{ set: "tea", options: { due: "1s" } }]);
    store.commits.length = 0;
    await app.advance("2s");
    assert.deepEqual([Clerk.seen, await stored(app), store.commits], [["tea 1.1"], [], []]);
  });

  it("onReminder may replace or cancel its own reminder", async () => {
    await using app = await open();
    Clerk.script = {
      anew: [{ write: "anew" }, { set: "anew", options: { due: "10s" } }],
      ended: [{ write: "ended" }, { cancel: "ended" }],
    };
    const clerk = app.actor(Clerk, "a");
    await clerk.work([
      { set: "anew", options: { every: "1s" } },
      { set: "ended", options: { every: "1s" } },
    ]);
    await app.advance("1s");
    assert.deepEqual(await clerk.names(), [`anew@${app.clock.now() + 10_000}`]);
    await app.advance("9s");
    assert.deepEqual(await clerk.words(), ["anew", "ended"]);
    await app.advance("1s");
    assert.deepEqual(Clerk.seen, ["anew 1.1", "ended 1.1", "anew 1.1"]);
  });

  it("an onReminder that throws is rolled back, and called again with the same number", async () => {
    await using app = await open();
    Clerk.script = { tea: [{ write: "x" }, { set: "more" }, "throw"] };
    const clerk = app.actor(Clerk, "a");
    await clerk.work([{ set: "tea", options: { due: "1s", every: "1h", onFailure: { pause: "1s" } } }]);
    await app.advance("1500ms");
    assert.deepEqual([Clerk.seen, await stored(app), await clerk.words()], [["tea 1.1"], ["tea"], []]);
    Clerk.script = { tea: [{ write: "y" }] };
    await app.advance("2s");
    assert.deepEqual([Clerk.seen, await clerk.words()], [["tea 1.1", "tea 1.2"], ["y"]]);
    assert.equal((await clerk.got("tea"))?.number, 2);
  });

  it("an onReminder whose commit lost its answer is not run twice if the commit counts", async () => {
    const store = new Watched();
    await using app = await open(store);
    Clerk.script = { tea: [{ write: "tea" }] };
    await app.actor(Clerk, "a").work([{ set: "tea", options: { due: "1s", every: "1m" } }]);
    let losses = 2;
    store.after = () => {
      if (losses-- > 0) throw new LimpetError("COMMIT_UNKNOWN", "no answer");
    };
    await app.advance("30s");
    assert.deepEqual([Clerk.seen, await app.actor(Clerk, "a").words()], [["tea 1.1"], ["tea"]]);
    assert.equal((await app.actor(Clerk, "a").got("tea"))?.number, 2);
  });

  it("an onReminder whose commit is fenced runs again on the new owner", async () => {
    const store = new Watched();
    await using app = await open(store);
    Clerk.script = { tea: [{ write: "tea" }] };
    await app.actor(Clerk, "a").work([{ set: "tea", options: { due: "1s", onFailure: { attempts: 1 } } }]);
    // Another host takes the actor before the commit of the handler arrives.
    let isTaken = false;
    store.before = async () => {
      if (isTaken) return;
      isTaken = true;
      await store.take([{ ...query(), owner: "somebody" }]);
    };
    await app.advance("10s");
    assert.deepEqual([Clerk.seen, await app.actor(Clerk, "a").words()], [["tea 1.1", "tea 1.1"], ["tea"]]);
    assert.deepEqual(await store.reminders.count("default", 1), { all: 0, overdue: 0, dead: 0 });
  });

  it("onReminder waits in the mailbox like a call, and calls wait for it", async () => {
    const order: string[] = [];
    class Slow extends Actor {
      async call(ms: number) {
        await new Promise((go) => app.clock.after(ms, () => go(undefined)));
        order.push("call");
      }
      override async onReminder() {
        order.push("reminder begins");
        await new Promise((go) => app.clock.after(1_000, () => go(undefined)));
        order.push("reminder ends");
      }
    }
    await using app = await testLimpet({ actors: [Slow] });
    await app.reminders.set(Slow, "a", "tea", { due: "1s" });
    const calls = [app.actor(Slow, "a").call(2_000)];
    await app.advance("1500ms");
    calls.push(app.actor(Slow, "a").call(0));
    await app.advance("5s");
    await Promise.all(calls);
    assert.deepEqual(order, ["call", "reminder begins", "reminder ends", "call"]);
  });

  it("an onReminder that exceeds the call timeout is retried, and given up in the end", async () => {
    class Endless extends Actor {
      static attempts = 0;
      override async onReminder() {
        Endless.attempts++;
        await new Promise(() => {});
      }
    }
    await using app = await testLimpet({ actors: [Endless] });
    await app.reminders.set(Endless, "a", "tea", { due: "1s", onFailure: { attempts: 2, pause: "1s" } });
    await app.advance("5m");
    const [dead] = await app.store.reminders.listDead({ namespace: "default", limit: 10 });
    assert.match(dead?.error ?? "", /^LimpetError: .*30s/);
    assert.deepEqual(await stored(app, "Endless"), []);
    // The second one waited behind the first, which never ends.
    assert.equal(Endless.attempts, 1);
  });

  it("onReminder cannot be called from outside", async () => {
    await using app = await open();
    const clerk = app.actor("Clerk", "a") as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    for (const method of ["$remind", "onReminder"]) {
      await assert.rejects(clerk[method]!("tea", undefined, {}, {}), (error) => isLimpetError(error, "METHOD_UNKNOWN"));
    }
    assert.deepEqual(Clerk.seen, []);
  });

  it("a reminder of a class without onReminder is rejected by every API", async () => {
    class Deaf extends Actor {
      async set() {
        await this.reminders.set("tea", { due: "1s" });
      }
    }
    await using app = await testLimpet({ actors: [Deaf] });
    const refused = (error: unknown): boolean =>
      isLimpetError(error, "REMINDER_INVALID") && /Deaf has no method onReminder/.test(error.message);
    await assert.rejects(app.actor(Deaf, "a").set(), refused);
    await assert.rejects(app.reminders.set(Deaf, "a", "tea", { due: "1s" }), refused);
    await assert.rejects(app.reminders.set("Deaf", "a", "tea", { due: "1s" }), refused);
    const admin = app.host.reminders;
    const request = { dueTime: "1s", data: undefined, onFailure: undefined, isNew: false };
    await assert.rejects(admin.set({ type: "Deaf", id: "a", name: "tea" }, request), refused);
    assert.deepEqual(await app.store.reminders.count("default", 1), { all: 0, overdue: 0, dead: 0 });
  });

  it("a tick for a class that has lost its onReminder becomes a dead letter with the reason", async () => {
    const now = class extends Actor {
      static options = { name: "Clock" };
      override onReminder() {}
    };
    const later = class extends Actor {
      static options = { name: "Clock" };
      ping() {}
    };
    let at = BEGINNING;
    const store = new MemoryStore(() => at);
    const before = await testLimpet({ actors: [now], stateStore: store });
    const onFailure = { attempts: 2, pause: "1s" };
    await before.reminders.set(now, "a", "tea", { due: "1h", onFailure });
    await before.stop();
    await using app = await testLimpet({ actors: [later], stateStore: store });
    for (let hour = 0; hour < 2; hour++) {
      at += 3_600_000;
      await app.advance("1h");
    }
    const { reminders } = await app.host.reminders.listDead({ limit: 5 });
    assert.equal(reminders.length, 1);
    assert.match(String(reminders[0]!.error), /Clock has no method onReminder/);
  });

  it("onReminder may be a function in a field", async () => {
    let ticks = 0;
    // TypeScript accepts a method only; JavaScript has no such rule.
    const code = `return class Field extends Actor { onReminder = () => tick(); }`;
    const fieldOf = new Function("Actor", "tick", code)(Actor, () => void ticks++) as ActorClass;
    await using app = await testLimpet({ actors: [fieldOf] });
    await app.reminders.set(fieldOf, "a", "tea", { due: "1s" });
    await app.advance("2s");
    assert.equal(ticks, 1);
  });

  it("hooks may set reminders, and do not wait for their delivery", async () => {
    class Waking extends Actor<{ woke: number }> {
      initial() {
        return { woke: 0 };
      }
      override async onActivate() {
        await this.reminders.set("awake", { due: "10s" });
      }
      override async onDeactivate() {
        await this.reminders.set("asleep", { due: "10s" });
      }
      override onReminder() {}
      async names() {
        return (await this.reminders.list()).map(({ name }) => name);
      }
    }
    await using app = await testLimpet({ actors: [Waking], idleTimeout: "2s" });
    assert.deepEqual(await app.actor(Waking, "a").names(), ["awake"]);
    await app.advance("5s");
    assert.deepEqual(await stored(app, "Waking"), ["asleep", "awake"]);
  });
});
