// Tests of the workflow checkers: each must accept a correct sequence of events and report a faulty one. Runs
// are real, in a store in memory. The test invents the processes that start, claim and write them, and the
// events that observers get.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LimpetError } from "../../../src/kernel/errors.ts";
import { replaceMethods } from "../../../src/ports/store/intercept.ts";
import type { Commit, CommitVerdict } from "../../../src/ports/store/store.ts";
import type {
  InboxMessage,
  RunStart,
  StoredRun,
  TaskClaim,
  TaskCompletion,
  TypeClaim,
} from "../../../src/ports/store/workflows.ts";
import { MemoryStore } from "../../../src/stores/memory/memory-store.ts";
import { writeMessage } from "../../../src/workflows/definition/messages.ts";
import type { HistoryEvent } from "../../../src/workflows/engine/events.ts";
import { writeEventBatch } from "../../../src/workflows/engine/events.ts";
import { Execution } from "../../../src/workflows/engine/execution.ts";
import type { Process } from "../../../src/world/process.ts";
import type { ActivityRun, DeedOperation, Observer } from "../../observer.ts";
import type { ScriptStep, WorkflowDeed } from "../../plan.ts";
import { SCRIPTS, type ScriptInput } from "../../scripts.ts";
import type { Stage } from "../../stage.ts";
import { CHECKERS } from "../all.ts";
import type { Checker } from "../checker.ts";

const LEASE_MS = 10_000;
const FLOW = { namespace: "default", workflowId: "flow" };

/** Claims scripts that are pinned to nothing, or to this build. */
const scripts = (build: string | undefined): TypeClaim => ({
  type: "Script",
  pins: [...new Set([undefined, build])].map((pinned) => ({ pinned, pins: pinned })),
});

type HowStarted = Partial<RunStart> & { steps?: ScriptStep[]; continuedFrom?: string };

/** A stage with only a store. */
class Scene {
  now = 0;
  readonly found: string[] = [];
  readonly observers: Observer[] = [];
  readonly deeds: DeedOperation[] = [];
  readonly operations = [];
  readonly plan = { workflows: { workers: {}, notifies: true }, hosts: [{ namespace: "default" }] };
  readonly truth = new MemoryStore(() => this.now);
  readonly checker: Checker;
  /** Changes the runs that the store returns. */
  lie: (run: StoredRun) => StoredRun = (run) => run;
  readonly world;
  #runs = 0;

  constructor(name: string) {
    const scene = this;
    const store = this.truth.workflows;
    const find = async (wanted: Parameters<typeof store.find>[0]) => {
      const run = await store.find(wanted);
      return run && this.lie(run);
    };
    const workflows = replaceMethods(store, { find });
    const database = {
      truth: { workflows },
      get now() {
        return scene.now;
      },
    };
    this.world = { database };
    const kind = CHECKERS.find((each) => each.name === name);
    assert.ok(kind, `there is no checker called ${name}`);
    this.checker = kind.make(this as unknown as Stage, (what) => this.found.push(what));
    this.observers.push(this.checker);
  }

  process = (number = 1): Process => ({ number, hasEnded: false }) as unknown as Process;

  observe(what: (observer: Observer) => void): Promise<void> {
    for (const observer of this.observers) what(observer);
    return new Promise((done) => setImmediate(done));
  }

  async healed(): Promise<void> {
    this.checker.healed?.();
    await new Promise((done) => setImmediate(done));
  }

  startOf(word: string, how: HowStarted = {}): RunStart {
    const { steps = [], continuedFrom, ...more } = how;
    const runId = more.runId ?? `run-${++this.#runs}`;
    const input: ScriptInput = { word, steps };
    const began = { kind: "WorkflowStarted", type: "Script", workflowId: "flow", runId, input, flags: 1 } as const;
    const events: HistoryEvent[] = [{ ...began, ...(continuedFrom === undefined ? {} : { continuedFrom }) }];
    return {
      ...FLOW,
      runId,
      type: "Script",
      queue: "default",
      pinned: undefined,
      attributes: "{}",
      memo: "{}",
      first: writeEventBatch({ at: this.now, events }),
      delayMs: 0,
      ifClosed: "start",
      lease: undefined,
      refusal: undefined,
      reminders: [],
      ...more,
    };
  }

  /** Starts a run of a script, with the first commands of its code. */
  async start(word: string, how: HowStarted = {}) {
    const start = this.startOf(word, how);
    const outcomes = await this.truth.workflows.start([start]);
    await this.observe((one) => one.begun?.(this.process(), [start], outcomes));
    return { ref: outcomes[0]!.ref, runId: start.runId };
  }

  async claim(token: string, how: Partial<TaskClaim> = {}): Promise<void> {
    const request: TaskClaim = {
      namespace: "default",
      queue: "default",
      types: [scripts(undefined)],
      limit: 10,
      staleMs: 1_000,
      isSticky: true,
      lease: { token, worker: "w1", leaseMs: LEASE_MS },
      ...how,
    };
    const claims = await this.truth.workflows.claim(request);
    await this.observe((one) => one.polled?.(this.process(), request, claims));
  }

  step(
    ref: number,
    token: string,
    last: number,
    events: HistoryEvent[],
    more: Partial<TaskCompletion> = {},
  ): TaskCompletion {
    const batch = events.length === 0 ? undefined : writeEventBatch({ at: this.now, events });
    return {
      ref,
      token,
      last,
      batch,
      taken: 0,
      outcome: { kind: "keep", leaseMs: LEASE_MS },
      affinity: undefined,
      attributes: undefined,
      memo: undefined,
      reminders: [],
      starts: [],
      messages: [],
      ...more,
    };
  }

  /** `observed`: the completion that observers get, if it differs. */
  async complete(complete: TaskCompletion, observed: TaskCompletion = complete): Promise<void> {
    const outcomes = await this.truth.workflows.complete([complete]);
    await this.observe((one) => one.completed?.(this.process(), [observed], outcomes));
  }

  async signal(word: string, runId?: string): Promise<void> {
    const data = writeMessage({ kind: "SignalReceived", id: word, name: "north", input: word });
    const batch: InboxMessage[] = [{ ...FLOW, runId, key: word, data, goesAlong: true }];
    const outcomes = await this.truth.workflows.deliver(batch);
    await this.observe((one) => one.delivered?.(this.process(), batch, outcomes));
  }

  /** Reports a commit of a turn and its outcome to the observers. The scene itself does not change. */
  turn(outcome: CommitVerdict, brings: Pick<Commit, "starts" | "messages">, id = "c1"): Promise<void> {
    const commit: Commit = { ref: 1, epoch: 1, version: 1, id, write: { kind: "keep" }, ...brings };
    const key = { namespace: "default", type: "Ledger", id: "a" };
    return this.observe((one) => one.committed?.(this.process(), commit, key, outcome));
  }

  deed(token: string, deed: WorkflowDeed, more: Partial<DeedOperation> = {}): DeedOperation {
    const planned = { at: 0, from: "host-1", workflow: "flow", deed };
    const operation: DeedOperation = {
      token,
      planned,
      namespace: "default",
      process: this.process(),
      beganAt: 0,
      acceptedAt: undefined,
      runId: undefined,
      endedAt: undefined,
      outcome: undefined,
      ...more,
    };
    this.deeds.push(operation);
    return operation;
  }
}

const scheduled = (n: number): HistoryEvent => ({ kind: "ActivityScheduled", n, name: "work", input: null });
const completed = (of: number, result: string): HistoryEvent => ({ kind: "ActivityCompleted", of, result });
const ended = (n: number, result: unknown = []): HistoryEvent => ({ kind: "WorkflowCompleted", n, result });
const signalled = (id: string): HistoryEvent => ({ kind: "SignalReceived", id, name: "north", input: id });
const CLOSED = { outcome: { kind: "close", status: "completed", result: "{}" } } as const;
const CONTINUED = { outcome: { kind: "close", status: "continued", result: "{}" } } as const;

describe("workflow history", () => {
  it("the rule 'workflow history' accepts batches at the end, also a repeated one", async () => {
    const scene = new Scene("workflow history");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    const step = scene.step(ref, "t", 1, [scheduled(1)]);
    await scene.complete(step);
    await scene.complete(step);
    await scene.complete(scene.step(ref, "t", 2, [ended(2)], CLOSED));
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflow history' reports a batch without a request, and a missing one", async () => {
    const scene = new Scene("workflow history");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)]));
    await scene.complete(scene.step(ref, "t", 2, [scheduled(2)]), scene.step(ref, "t", 2, [scheduled(9)]));
    assert.match(scene.found.join("\n"), /grown by events of no task/);
    const unsaid = scene.step(ref, "t", 3, [scheduled(3)]);
    await scene.observe((one) => {
      const done = { kind: "done", delivered: 0, starts: [], isWatched: false } as const;
      one.completed?.(scene.process(), [unsaid], [done]);
    });
    assert.match(scene.found.join("\n"), /the written events are not there/);
  });
});

describe("one decision per task", () => {
  it("the rule 'one decision per task' accepts steps of the holder of the lease", async () => {
    const scene = new Scene("one decision per task");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)], { outcome: { kind: "rest" } }));
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'one decision per task' reports a step of another process, and a repeated number", async () => {
    const scene = new Scene("one decision per task");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)]), scene.step(ref, "other", 1, [scheduled(1)]));
    assert.match(scene.found.join("\n"), /without the lease on its task/);
    await scene.complete(scene.step(ref, "t", 2, [scheduled(1)]));
    assert.match(scene.found.join("\n"), /is decision 1, and 1 is the one before it/);
  });

  it("the rule 'one decision per task' reports a holder without the whole history, and no other rejected step", async () => {
    const scene = new Scene("one decision per task");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    const step = scene.step(ref, "t", 1, [scheduled(1)]);
    await scene.complete(step);
    await scene.complete(scene.step(ref, "t", 2, [scheduled(2)]));
    await scene.complete(step);
    await scene.complete(scene.step(ref, "old", 1, [scheduled(1)]));
    assert.deepEqual(scene.found, []);
    await scene.complete(scene.step(ref, "t", 1, [scheduled(9)]));
    assert.match(scene.found.join("\n"), /process 1 has the task of flow \(run run-1\), and wrote behind event 1/);
  });

  it("the rule 'one decision per task' reports a task that is assigned during a lease", async () => {
    const scene = new Scene("one decision per task");
    const { ref, runId } = await scene.start("a");
    await scene.claim("t");
    const task = {
      ...FLOW,
      ref,
      runId,
      type: "Script",
      token: "u",
      pinned: undefined,
      attempt: 1,
      last: 1,
      taken: 0,
      delivered: 0,
      lost: 0,
    };
    const request = { lease: { token: "u", worker: "w2", leaseMs: 1 } } as TaskClaim;
    const claims = { now: 0, next: undefined, tasks: [{ ...task, mode: "cold_replay" } as const] };
    await scene.observe((one) => one.polled?.(scene.process(2), request, claims));
    assert.match(scene.found.join("\n"), /which process 1 has for 10000 ms more/);
  });
});

describe("workflow causality", () => {
  const work = (scene: Scene, key: string, result: string): ActivityRun => ({
    number: 1,
    process: scene.process(),
    workflowId: "flow",
    runId: key.split(":")[0]!,
    key,
    word: "",
    attempt: 1,
    result,
    beganAt: 0,
  });

  it("the rule 'workflow causality' accepts a result of the worker that ran the activity, after its command", async () => {
    const scene = new Scene("workflow causality");
    const { ref, runId } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)]));
    const run = work(scene, `${runId}:1`, "done");
    await scene.observe((one) => one.activityBegan?.(run));
    await scene.observe((one) => one.activityEnded?.(run, true));
    await scene.complete(scene.step(ref, "t", 2, [completed(1, "done")]));
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflow causality' reports an invented result, a repeated one, and an activity without a command", async () => {
    const scene = new Scene("workflow causality");
    const { ref, runId } = await scene.start("a");
    await scene.claim("t");
    await scene.observe((one) => one.activityBegan?.(work(scene, `${runId}:1`, "done")));
    assert.match(scene.found.join("\n"), /the history has nothing there/);
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1), completed(1, "made up"), completed(1, "made up")]));
    assert.match(scene.found.join("\n"), /no attempt at it has given that/);
    assert.match(scene.found.join("\n"), /of which ActivityCompleted has come before/);
  });

  it("the rule 'workflow causality' reports a timer that fires too early", async () => {
    const scene = new Scene("workflow causality");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [{ kind: "TimerScheduled", n: 1, at: 500 }]));
    scene.now = 499;
    await scene.complete(scene.step(ref, "t", 2, [{ kind: "TimerFired", of: 1 }]));
    assert.match(scene.found.join("\n"), /comes 1 ms too early/);
  });
});

describe("workflow replay", () => {
  const STEPS: ScriptStep[] = [{ do: "activity", name: "work", ms: 5 }];

  /** The first commands of its code. */
  async function decisions(runId: string): Promise<HistoryEvent[]> {
    const settle = (): Promise<void> => new Promise((done) => process.nextTick(done));
    const needs = { settle, namespace: "default", queue: "default", nameOf: () => undefined };
    const execution = new Execution(SCRIPTS[0]!, needs);
    const input: ScriptInput = { word: "a", steps: STEPS };
    await execution.begin({ kind: "WorkflowStarted", type: "Script", workflowId: "flow", runId, input, flags: 1 }, 0);
    return execution.commands.takeFresh();
  }

  it("the rule 'workflow replay' accepts equal commands", async () => {
    const scene = new Scene("workflow replay");
    const { ref, runId } = await scene.start("a", { steps: STEPS });
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, await decisions(runId)));
    await scene.complete(scene.step(ref, "t", 2, [completed(1, "x"), ended(2, ["0 x"])], CLOSED));
    await scene.healed();
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflow replay' reports another word in a result", async () => {
    const scene = new Scene("workflow replay");
    const { ref, runId } = await scene.start("a", { steps: STEPS });
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, await decisions(runId)));
    await scene.complete(scene.step(ref, "t", 2, [completed(1, "x"), ended(2, ["0 y"])], CLOSED));
    await scene.healed();
    assert.match(scene.found.join("\n"), /decides .*0 x.*the history has .*0 y/);
  });
});

describe("workflows once", () => {
  it("the rule 'workflows once' accepts a start with its run, and a rejected one without", async () => {
    const scene = new Scene("workflows once");
    const { runId } = await scene.start("a");
    const start: WorkflowDeed = { kind: "start", steps: [] };
    scene.deed("a", start, { acceptedAt: 1, runId, outcome: { value: runId } });
    scene.deed("b", start, { outcome: { error: new LimpetError("WORKFLOW_EXISTS", "there is one") } });
    await scene.healed();
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflows once' reports a start with two runs, and a rejected one with a run", async () => {
    const scene = new Scene("workflows once");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [ended(1)], CLOSED));
    await scene.start("a");
    scene.deed("a", { kind: "start", steps: [] }, { outcome: { error: new LimpetError("WORKFLOW_EXISTS", "one") } });
    await scene.healed();
    assert.match(scene.found.join("\n"), /a has started flow \(run run-1\) and flow \(run run-2\)/);
    assert.match(scene.found.join("\n"), /a was refused/);
  });

  it("the rule 'workflows once' accepts a fenced turn that has left nothing, and a repeated commit that is fenced", async () => {
    const scene = new Scene("workflows once");
    await scene.turn("fenced", { starts: [scene.startOf("a")] }, "c1");
    const start = scene.startOf("b", { workflowId: "other" });
    await scene.truth.workflows.start([start]);
    await scene.turn("committed", { starts: [start] }, "c2");
    await scene.turn("fenced", { starts: [start] }, "c2");
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflows once' reports a fenced turn that has started a run", async () => {
    const scene = new Scene("workflows once");
    const start = scene.startOf("a");
    await scene.truth.workflows.start([start]);
    await scene.turn("fenced", { starts: [start] });
    assert.match(scene.found.join("\n"), /a turn of .*Ledger\/a was fenced, and has started flow \(run run-1\)/);
  });
});

describe("no lost wake-up", () => {
  it("the rule 'no lost wake-up' accepts a task that is ready after an event arrived", async () => {
    const scene = new Scene("no lost wake-up");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.signal("s");
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)], { outcome: { kind: "rest" } }));
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'no lost wake-up' reports a task that is idle", async () => {
    const scene = new Scene("no lost wake-up");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.signal("s");
    scene.lie = (run) => ({ ...run, task: { ...run.task!, state: "idle" } });
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)], { outcome: { kind: "rest" } }));
    assert.match(scene.found.join("\n"), /rests after complete, and 1 messages wait for it/);
  });
});

describe("workflow signals", () => {
  const goesOn = (seen: string[]): HistoryEvent => {
    const input: ScriptInput = { word: "a", steps: [], seen };
    return { kind: "WorkflowContinuedAsNew", n: 1, type: "Script", input, runId: "next" };
  };

  async function handedOver(follower: HistoryEvent[]): Promise<Scene> {
    const scene = new Scene("workflow signals");
    const { ref, runId } = await scene.start("a");
    await scene.claim("t");
    await scene.signal("s");
    await scene.complete(scene.step(ref, "t", 1, [goesOn([])], CONTINUED));
    const next = await scene.start("a", { runId: "next", continuedFrom: runId });
    await scene.claim("u");
    await scene.complete(scene.step(next.ref, "u", 1, follower));
    await scene.complete(scene.step(next.ref, "u", 1 + follower.length, [ended(1, [])], CLOSED));
    await scene.healed();
    return scene;
  }

  it("the rule 'workflow signals' accepts a signal that the next run sees", async () => {
    assert.deepEqual((await handedOver([signalled("s")])).found, []);
  });

  it("the rule 'workflow signals' reports a signal that no run sees", async () => {
    const { found } = await handedOver([signalled("another")]);
    assert.match(found.join("\n"), /signal s has arrived at flow \(run run-1\), which went on as next without it/);
  });

  it("the rule 'workflow signals' ends at a run that continues as itself, as after a restore", async () => {
    const scene = new Scene("workflow signals");
    const { ref } = await scene.start("a", { runId: "next" });
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [goesOn([])], CONTINUED));
    await scene.healed();
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflow signals' reports a signal that is seen twice, and one that is seen in another order", async () => {
    const scene = new Scene("workflow signals");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    const seen = ["0 signal late", "1 signal soon", "1 signal soon"];
    scene.deed("soon", { kind: "signal", name: "north" }, { beganAt: 1, acceptedAt: 2 });
    scene.deed("late", { kind: "signal", name: "north" }, { beganAt: 3, acceptedAt: 4 });
    await scene.complete(scene.step(ref, "t", 1, [ended(1, seen)], CLOSED));
    await scene.healed();
    assert.match(scene.found.join("\n"), /has seen late before soon/);
    assert.match(scene.found.join("\n"), /has seen "1 signal soon" twice/);
  });

  for (const outcome of ["committed", "fenced"] as const) {
    const verdict = outcome === "committed" ? "accepts" : "reports";
    it(`the rule 'workflow signals' ${verdict} a signal of a ${outcome} turn`, async () => {
      const scene = new Scene("workflow signals");
      const { ref } = await scene.start("a");
      await scene.claim("t");
      const data = writeMessage({ kind: "SignalReceived", id: "s", name: "north", input: "s" });
      await scene.turn(outcome, { messages: [{ ...FLOW, runId: undefined, key: "s", data, goesAlong: true }] });
      await scene.complete(scene.step(ref, "t", 1, [signalled("s")]));
      if (outcome === "committed") assert.deepEqual(scene.found, []);
      else assert.match(scene.found.join("\n"), /came to nothing, and flow \(run run-1\) has its signal/);
    });
  }
});

describe("workflow matching", () => {
  it("the rule 'workflow matching' accepts a matching worker, and the one that has the run in memory", async () => {
    const scene = new Scene("workflow matching");
    const { ref } = await scene.start("a", { pinned: "blue" });
    await scene.claim("t", { types: [scripts("blue")] });
    const rests = { outcome: { kind: "rest" }, affinity: { worker: "w1", ms: 500 } } as const;
    await scene.complete(scene.step(ref, "t", 1, [scheduled(1)], rests));
    await scene.signal("s");
    await scene.claim("u", { types: [scripts("blue")] });
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflow matching' reports another build, and a worker that takes a run from the memory of another", async () => {
    const scene = new Scene("workflow matching");
    await scene.start("a", { pinned: "blue" });
    scene.lie = (run) => ({ ...run, pinned: "green", stickyWorker: "w2", stickyUntil: 100 });
    const about = { namespace: "default", queue: "default", build: "", isDraining: false, about: "{}" };
    await scene.truth.workflows.seen({ ...about, worker: "w2", isSticky: true });
    await scene.signal("s");
    await scene.claim("t", { types: [scripts("blue")] });
    assert.match(scene.found.join("\n"), /which is pinned to green/);
    assert.match(scene.found.join("\n"), /which w2 has in memory for 100 ms more/);
  });
});

describe("workflow answers", () => {
  it("the rule 'workflow answers' accepts the result of the history, and possible errors", async () => {
    const scene = new Scene("workflow answers");
    const { ref } = await scene.start("a");
    await scene.claim("t");
    await scene.complete(scene.step(ref, "t", 1, [ended(1, ["0 x"])], CLOSED));
    const result = scene.deed("r", { kind: "result" }, { outcome: { value: ["0 x"] } });
    await scene.observe((one) => one.didDeed?.(result));
    const away = { error: new LimpetError("STORE_UNAVAILABLE", "away") };
    await scene.observe((one) => one.didDeed?.(scene.deed("q", { kind: "query" }, { outcome: away })));
    assert.deepEqual(scene.found, []);
  });

  it("the rule 'workflow answers' reports another result, another end, and errors outside the catalogue", async () => {
    const scene = new Scene("workflow answers");
    await scene.start("a");
    const answered = (token: string, deed: WorkflowDeed, outcome: DeedOperation["outcome"]): Promise<void> =>
      scene.observe((one) => one.didDeed?.(scene.deed(token, deed, { outcome })));
    await answered("r", { kind: "result" }, { value: ["0 x"] });
    await answered("f", { kind: "result" }, { error: new LimpetError("WORKFLOW_FAILED", "failed") });
    await answered("u", { kind: "update", ms: 0 }, { error: new TypeError("oops") });
    assert.match(scene.found.join("\n"), /r got .* as the result of flow, and it is not/);
    assert.match(scene.found.join("\n"), /which is not how it ended/);
    assert.match(scene.found.join("\n"), /which is not of the catalogue/);
  });

  it("a query may be rejected for lost attempts only while its run is parked", async () => {
    const scene = new Scene("workflow answers");
    const { ref } = await scene.start("a");
    const refused = (token: string, kind: "query" | "result"): Promise<void> => {
      const outcome = { error: new LimpetError("WORKFLOW_ATTEMPTS_LOST", "parked") };
      return scene.observe((one) => one.didDeed?.(scene.deed(token, { kind }, { outcome, beganAt: scene.now })));
    };
    await refused("before", "query");
    assert.match(
      scene.found.join("\n"),
      /^before, query of flow, .* which is the answer of a run that was not parked$/,
    );
    await scene.claim("t");
    const back = [{ ref, token: "t", pauseMs: LEASE_MS, problem: "parked: attempts lost: 3 attempts" }];
    const counted = await scene.truth.workflows.giveBack(back);
    await scene.observe((one) => one.gaveBack?.(scene.process(), back, counted));
    scene.now += 1_000;
    await refused("parked", "query");
    assert.equal(scene.found.length, 1);
    await refused("other", "result");
    assert.match(scene.found[1] ?? "", /^other, result of flow, .* which is not a possible outcome of such a request$/);
    await scene.truth.workflows.wake(FLOW, true);
    await scene.claim("u");
    await scene.complete(scene.step(ref, "u", 1, [scheduled(1)]));
    scene.now += 1_000;
    await refused("after", "query");
    assert.match(scene.found[2] ?? "", /^after, query of flow, .* which is the answer of a run that was not parked$/);
  });
});
