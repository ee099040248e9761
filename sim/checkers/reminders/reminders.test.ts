// Tests of the reminder checkers: each must accept a correct sequence of events and report a faulty one. Rows
// are real, in a store in memory. The test invents the processes that claim, settle and handle them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeValue } from "../../../src/kernel/values.ts";
import type { ReminderTick } from "../../../src/ports/reminder-writer.ts";
import type { ReminderKey, ReminderWrite, Tick, TickOutcome } from "../../../src/ports/store/reminders.ts";
import type { Commit, CommitVerdict } from "../../../src/ports/store/store.ts";
import { resolvePolicy } from "../../../src/reminders/schedule/failure-policy.ts";
import { encodePlan } from "../../../src/reminders/schedule/plan.ts";
import { resolveSchedule, type ScheduleOptions } from "../../../src/reminders/schedule/schedule.ts";
import { MemoryStore } from "../../../src/stores/memory/memory-store.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Observer, Operation } from "../../observer.ts";
import type { Stage } from "../../stage.ts";
import { CHECKERS } from "../all.ts";
import type { Checker } from "../checker.ts";

const LEASE_MS = 10_000;

interface SetHow extends ScheduleOptions {
  readonly name?: string;
  readonly type?: string;
  readonly lease?: string;
  readonly onFailure?: Parameters<typeof resolvePolicy>[0];
}

/** A stage with only a store. */
class Scene {
  now = 0;
  isChaos = false;
  readonly found: string[] = [];
  readonly observers: Observer[] = [];
  readonly operations: Operation[] = [];
  readonly faults = new Map<string, number>();
  readonly plan = {
    reminders: { notifies: true },
    hosts: [{ namespace: "default", clock: {} }],
    calls: [],
    faults: [],
  };
  readonly world;
  #runs = 0;

  constructor(name: string) {
    const scene = this;
    const truth = new MemoryStore(() => this.now);
    const database = {
      truth,
      get now() {
        return scene.now;
      },
    };
    this.world = { database };
    const kind = CHECKERS.find((each) => each.name === name);
    assert.ok(kind, `there is no checker called ${name}`);
    const checker = kind.make(this as unknown as Stage, (what) => this.found.push(what));
    this.observers.push(checker);
  }

  process(number: number): Process {
    return { number, hasEnded: false } as unknown as Process;
  }

  observe(what: (observer: Observer) => void): Promise<void> {
    for (const observer of this.observers) what(observer);
    return new Promise((done) => setImmediate(done));
  }

  key = (name = "tea", type = "Ledger"): ReminderKey => ({ namespace: "default", type, id: "a", name });

  write(op: string, { name, type, lease, onFailure, ...when }: SetHow): Extract<ReminderWrite, { kind: "set" }> {
    const schedule = resolveSchedule(when, this.now);
    const tick = { at: schedule.first, due: schedule.first, number: 1, attempt: 0 };
    const content = {
      schedule: encodePlan({ schedule, policy: resolvePolicy(onFailure), mark: undefined }),
      data: encodeValue({ op, how: {} }, "data"),
    };
    const own = lease === undefined ? undefined : { token: lease, leaseMs: LEASE_MS };
    return { kind: "set", key: this.key(name, type), tick, content, lease: own, isNew: false };
  }

  async set(process: Process, op: string, how: SetHow): Promise<number> {
    const batch = [this.write(op, how)];
    const outcomes = await this.world.database.truth.reminders.write(batch);
    await this.observe((one) => one.reminded?.(process, batch, outcomes));
    return (outcomes[0] as { generation: number }).generation;
  }

  async cancel(process: Process): Promise<void> {
    const batch: ReminderWrite[] = [{ kind: "cancel", key: this.key() }];
    const outcomes = await this.world.database.truth.reminders.write(batch);
    await this.observe((one) => one.reminded?.(process, batch, outcomes));
  }

  async claim(process: Process, token: string, types = ["Ledger", "$sweep"]): Promise<void> {
    const request = { namespace: "default", types, limit: 10, aheadMs: 5_000, leaseMs: LEASE_MS, token };
    const claim = await this.world.database.truth.reminders.claim(request);
    await this.observe((one) => one.claimed?.(process, request, claim));
  }

  async settle(process: Process, generation: number, token: string, fate: TickOutcome): Promise<void> {
    const batch = [{ generation, token, ...fate }];
    const counted = await this.world.database.truth.reminders.settle(batch);
    await this.observe((one) => one.settled?.(process, batch, counted));
  }

  /** Begins a handler now. The returned function ends it. */
  async begin(process: Process, op: string, tick: Partial<ReminderTick> = {}, type = "Ledger") {
    const key = this.key("tea", type);
    const full = { due: 0, number: 1, attempt: 1, ...tick } as ReminderTick;
    const run = { number: ++this.#runs, process, op, tick: full, sentAt: this.now, beganAt: this.now, ...key };
    await this.observe((one) => one.reminderBegan?.(run));
    return (isDone: boolean) => this.observe((one) => one.reminderEnded?.(run, isDone));
  }

  async handle(process: Process, op: string, tick: Partial<ReminderTick> = {}, isDone = true): Promise<void> {
    const end = await this.begin(process, op, tick);
    await end(isDone);
  }

  async reports(what?: RegExp): Promise<void> {
    await new Promise((done) => setImmediate(done));
    if (what === undefined) assert.deepEqual(this.found, []);
    else assert.match(String(this.found.splice(0)), what);
  }
}

const next = (number: number, at: number, attempt = 0, leaseMs?: number): TickOutcome => {
  const tick: Tick = { at, due: at, number, attempt };
  return { kind: "next", tick, leaseMs };
};

const DONE: TickOutcome = { kind: "done" };
const RELEASE: TickOutcome = { kind: "release" };
const dead = (number: number, attempt: number): TickOutcome => {
  return { kind: "dead", tick: { at: 0, due: 0, number, attempt }, error: "late" };
};

describe("reminders kept", () => {
  const kept = async (how: SetHow) => {
    const scene = new Scene("reminders kept");
    const one = scene.process(1);
    const generation = await scene.set(one, "default:1", { ...how, lease: "t" });
    return { scene, one, generation };
  };

  it("the rule 'reminders kept' accepts handled ticks, and the end after the last one", async () => {
    const { scene, one, generation } = await kept({ due: 0, every: 1_000, times: 2, missed: "all" });
    await scene.handle(one, "default:1");
    await scene.settle(one, generation, "t", next(2, 1_000, 0, LEASE_MS));
    scene.now = 1_000;
    await scene.handle(one, "default:1", { number: 2 });
    await scene.settle(one, generation, "t", DONE);
    await scene.reports();
  });

  it("the rule 'reminders kept' accepts missed ticks where one replaces all, or none runs", async () => {
    for (const missed of ["once", "skip"] as const) {
      const { scene, one, generation } = await kept({ due: 0, every: 1_000, missed });
      scene.now = 60_500;
      if (missed === "once") await scene.handle(one, "default:1", { number: 61 });
      await scene.settle(one, generation, "t", next(62, 61_000));
      await scene.reports();
    }
  });

  it("the rule 'reminders kept' reports a tick that was not handled, or whose handler threw", async () => {
    const { scene, one, generation } = await kept({ due: 0, every: 1_000, missed: "all" });
    await scene.settle(one, generation, "t", next(2, 1_000, 0, LEASE_MS));
    await scene.reports(/moved on to tick 2, and no handler has handled it/);
    await scene.handle(one, "default:1", { number: 2 }, false);
    await scene.settle(one, generation, "t", DONE);
    await scene.reports(/came to its end, and no handler has handled it/);
  });

  it("the rule 'reminders kept' reports skipped ticks, and an early end", async () => {
    const { scene, one, generation } = await kept({ due: 0, every: 10_000, times: 5, missed: "once" });
    await scene.handle(one, "default:1");
    await scene.settle(one, generation, "t", next(3, 20_000, 0, LEASE_MS));
    await scene.reports(/moved on to tick 3, and ticks between were not missed/);
    await scene.handle(one, "default:1", { number: 3 });
    await scene.settle(one, generation, "t", DONE);
    await scene.reports(/came to its end, and its last tick is 5/);
  });

  it("the rule 'reminders kept' reports a reminder that is given up before its last attempt", async () => {
    const onFailure = { attempts: 2, pause: 1 };
    const { scene, one, generation } = await kept({ due: 0, onFailure });
    await scene.settle(one, generation, "t", dead(1, 1));
    await scene.reports(/was given up after 1 attempts/);
    const again = await kept({ due: 0, onFailure });
    await again.scene.settle(one, again.generation, "t", next(1, 5, 1, LEASE_MS));
    await again.scene.settle(one, again.generation, "t", dead(1, 2));
    await again.scene.reports();
  });

  it("the rule 'reminders kept' reports changes by a rejected commit, and a reminder that a throwing handler set", async () => {
    const { scene, one, generation } = await kept({ due: 0 });
    const settlement = { generation, token: "t", ...DONE };
    const commit = { id: "c", settle: [settlement] } as unknown as Commit;
    const observe = (outcome: CommitVerdict) =>
      scene.observe((each) => each.committed?.(one, commit, {} as never, outcome));
    await observe("void");
    await scene.reports();
    await scene.world.database.truth.reminders.settle([settlement]);
    await observe("fenced");
    await scene.reports(/was changed by a fenced commit/);
    await scene.handle(one, "default:1", {}, false);
    await scene.set(one, "default:1!1.1", { due: 5, name: "other" });
    await scene.reports(/was stored, and the handler that set it has thrown/);
  });

  it("the rule 'reminders kept' reports an acknowledged reminder that is not stored, and a rejected one that is", async () => {
    const { scene } = await kept({ due: 0 });
    const call = { how: { remind: {} } };
    scene.operations.push({ token: "default:1", call, outcome: { value: 1 } } as unknown as Operation);
    await scene.observe((each) => (each as Checker).healed?.());
    await scene.reports();
    scene.operations.push({ token: "default:2", call, outcome: { value: 1 } } as unknown as Operation);
    scene.operations.push({ token: "default:1", call, outcome: { error: new Error("late") } } as unknown as Operation);
    await scene.observe((each) => (each as Checker).healed?.());
    await scene.reports(/default:2 was acknowledged.*the reminder of default:1 was stored, and its caller got/);
  });
});

describe("never early", () => {
  it("the rule 'never early' accepts a tick at its time, and reports one before it", async () => {
    const scene = new Scene("never early");
    await scene.set(scene.process(1), "default:1", { due: 1_000 });
    scene.now = 1_000;
    await scene.begin(scene.process(1), "default:1", { due: 1_000 });
    await scene.reports();
    scene.now = 999;
    await scene.begin(scene.process(1), "default:1", { due: 1_000 });
    await scene.reports(/handled 1 ms before its moment/);
  });
});

describe("one delivery at a time", () => {
  it("the rule 'one delivery at a time' accepts a claim of a released or expired reminder, and a second run of its tick", async () => {
    const scene = new Scene("one delivery at a time");
    const [one, two] = [scene.process(1), scene.process(2)];
    const generation = await scene.set(one, "default:1", { due: 0 });
    await scene.claim(one, "t1");
    await scene.settle(one, generation, "t1", RELEASE);
    await scene.claim(two, "t2");
    await scene.begin(two, "default:1");
    scene.now = LEASE_MS;
    await scene.claim(one, "t3");
    await scene.begin(one, "default:1");
    await scene.settle(two, generation, "t2", DONE);
    await scene.reports();
  });

  it("the rule 'one delivery at a time' reports a claim of a leased reminder, and a settlement by another process", async () => {
    const scene = new Scene("one delivery at a time");
    const [one, two] = [scene.process(1), scene.process(2)];
    const generation = await scene.set(one, "default:1", { due: 0, every: 1_000, lease: "t1" });
    // As if the store had given the lease to another process.
    const request = { namespace: "default", types: [], limit: 1, aheadMs: 0, leaseMs: LEASE_MS, token: "t2" };
    await scene.observe((each) => {
      each.claimed?.(two, request, { now: scene.now, reminders: [{ generation } as never], next: undefined });
    });
    await scene.reports(/is leased to process 2, and process 1 has it for 10000 ms more/);
    await scene.observe((each) => {
      const claim = { now: scene.now + LEASE_MS, reminders: [{ generation } as never], next: undefined };
      each.claimed?.(two, request, claim);
    });
    await scene.reports(/is leased a second time under the same token/);
    await scene.settle(one, generation, "t1", next(2, 1_000));
    await scene.reports(/process 1 settled Ledger\/a tea of default:1, and process 2 has it/);
  });

  it("the rule 'one delivery at a time' reports an attempt that is handled twice in one lease, or without one", async () => {
    const scene = new Scene("one delivery at a time");
    const one = scene.process(1);
    await scene.set(one, "default:1", { due: 0 });
    await scene.begin(one, "default:1");
    await scene.reports(/no process has ever had a lease on it/);
    await scene.claim(one, "t1");
    scene.now = 5;
    await scene.begin(one, "default:1", { attempt: 2 });
    await scene.begin(one, "default:1", { attempt: 2 });
    await scene.reports(/default:1 1.2 is handled twice in one lease/);
  });

  it("the rule 'one delivery at a time' reports a job that begins while it runs, and one that is already leased when it is set", async () => {
    const scene = new Scene("one delivery at a time");
    const one = scene.process(1);
    await scene.set(one, "default:job", { due: 0, every: 1_000, type: "$sweep", lease: "t" });
    scene.now = 1;
    const end = await scene.begin(one, "default:job", {}, "$sweep");
    await end(true);
    await scene.begin(one, "default:job", { number: 2 }, "$sweep");
    await scene.reports();
    await scene.begin(one, "default:job", { number: 3 }, "$sweep");
    await scene.reports(/default:job 3.1 begins while another tick is handled/);
    const write = { ...scene.write("default:2", { due: 0 }), lease: { token: "t", leaseMs: LEASE_MS } };
    const outcomes = await scene.world.database.truth.reminders.write([write]);
    await scene.observe((each) => each.reminded?.(one, [{ ...write, lease: undefined }], outcomes));
    await scene.reports(/was set, and is leased from before/);
  });
});

describe("on the grid", () => {
  it("the rule 'on the grid' accepts ticks at their times, and the latest of the missed ones", async () => {
    const scene = new Scene("on the grid");
    const one = scene.process(1);
    await scene.set(one, "default:1", { due: 500, every: 1_000, times: 100, ttl: 94_900, missed: "once" });
    await scene.begin(one, "default:1", { due: 500 });
    scene.now = 60_500;
    await scene.begin(one, "default:1", { due: 60_500, number: 61 });
    await scene.begin(one, "default:1", { due: 94_500, number: 95 });
    await scene.reports();
  });

  it("the rule 'on the grid' accepts a late tick whose sender slept, and reports one that was claimed only then", async () => {
    const scene = new Scene("on the grid");
    const [one, two] = [scene.process(1), scene.process(2)];
    await scene.set(one, "default:1", { due: 500, every: 1_000, missed: "once", lease: "t1" });
    await scene.observe((each) => each.slept?.(one, 30_000, "suspend"));
    scene.now = 34_000;
    await scene.begin(two, "default:1", { due: 500 });
    await scene.reports();
    scene.now = 45_000;
    await scene.begin(two, "default:1", { due: 500 });
    await scene.reports(/was missed long ago, and runs/);
    await scene.set(one, "default:2", { due: 500, every: 1_000, missed: "once" });
    await scene.observe((each) => each.slept?.(one, 30_000, "suspend"));
    scene.now = 76_000;
    await scene.claim(one, "t2");
    await scene.begin(two, "default:2", { due: 500 });
    await scene.reports(/was missed long ago, and runs/);
  });

  it("the rule 'on the grid' reports other times, ticks after the last, ticks to be skipped, and too many attempts", async () => {
    const scene = new Scene("on the grid");
    const one = scene.process(1);
    await scene.set(one, "default:1", {
      due: 500,
      every: 1_000,
      ttl: 94_900,
      missed: "once",
      onFailure: { attempts: 2 },
    });
    await scene.begin(one, "default:1", { due: 501 });
    await scene.reports(/has the moment 501, which is not on its grid/);
    await scene.begin(one, "default:1", { due: 95_500, number: 96 });
    await scene.reports(/tick 96.1 of default:1 has the moment 95500/);
    await scene.begin(one, "default:1", { due: 500, attempt: 3 });
    await scene.reports(/tick 1.3 of default:1 is one of 2 attempts/);
    scene.now = 60_500;
    await scene.begin(one, "default:1", { due: 500 });
    await scene.reports(/was missed long ago, and runs/);
    await scene.begin(one, "default:2");
    await scene.reports(/nobody has set it/);
  });
});

describe("void stays void", () => {
  it("the rule 'void stays void' accepts a delivery in flight at the cancellation, and reports one that is sent long afterwards", async () => {
    const scene = new Scene("void stays void");
    const one = scene.process(1);
    await scene.set(one, "default:1", { due: 0 });
    await scene.cancel(one);
    scene.now = 1_000;
    await scene.begin(one, "default:1");
    await scene.reports();
    scene.now = 3_000;
    await scene.begin(one, "default:1");
    await scene.reports(/tick 1 of default:1 is delivered 3000 ms after it was cancelled/);
  });

  it("the rule 'void stays void' reports a cancelled reminder that is still stored", async () => {
    const scene = new Scene("void stays void");
    const one = scene.process(1);
    await scene.set(one, "default:1", { due: 0 });
    const cancelled = [{ kind: "cancelled", existed: true }] as const;
    await scene.observe((each) => each.reminded?.(one, [{ kind: "cancel", key: scene.key() }], cancelled));
    await scene.reports(/was cancelled, and is still there/);
  });
});

describe("no lease left", () => {
  it("the rule 'no lease left' accepts a process that releases its reminders, and reports one that stops with a lease", async () => {
    const scene = new Scene("no lease left");
    const [one, two] = [scene.process(1), scene.process(2)];
    const generation = await scene.set(one, "default:1", { due: 0 });
    await scene.claim(one, "t1");
    await scene.observe((each) => each.gone?.({ name: "one" } as never, one));
    await scene.observe((each) => (each as Checker).healed?.());
    await scene.settle(one, generation, "t1", RELEASE);
    await scene.observe((each) => each.gone?.({ name: "one" } as never, one));
    await scene.reports();
    await scene.claim(two, "t2");
    await scene.observe((each) => each.gone?.({ name: "two" } as never, two));
    await scene.reports(/process 2 has stopped, and has Ledger\/a tea of default:1 for 10000 ms more/);
  });
});
