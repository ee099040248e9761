// Random stories against a model small enough to be obviously right: a few workers start, signal, claim,
// complete, return and end a few runs while time passes, also with knowledge of earlier claims. The store
// must return the same results as the model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ClaimedPin, CompletionOutcome, InboxMessage, TaskCompletion } from "../../ports/store/workflows.ts";
import { type ModelRun, WorkflowModel } from "./workflows-model-rules.contract.ts";
import { batchOf, freshId, type LeasedTask, MINUTE, Site, type WorkflowsHarness } from "./workflows-shared.contract.ts";

// In minutes, on the clock of the story. Time passes in tens; tasks are ready at fives, leases end at threes,
// affinity at sevens and workers are stale at ones. So the real duration of a story makes no difference.
const tens = (min: number, max: number) => fc.integer({ min, max }).map((n) => n * 10);
const leaseFor = tens(0, 4).map((n) => n + 3);
const affinityFor = tens(0, 4).map((n) => n + 7);
const STALE = 41;

const IDS = 5;
const WORKERS = ["w1", "w2", "w3"];
const which = fc.nat(IDS - 1);
const worker = fc.constantFrom(...WORKERS);
/** Counted from the last one, and mostly one of the last. */
const remembered = fc.oneof({ weight: 6, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(30) });
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined, freq: 2 });

const outcome = fc.oneof(
  fc.record({ kind: fc.constant("keep" as const), lease: leaseFor }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rest" as const) }) },
  fc.record({ kind: fc.constant("close" as const), status: fc.constantFrom("completed", "failed", "continued") }),
);
const completion = fc.record({
  of: remembered,
  events: fc.nat(2),
  /** Mostly right. */
  off: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, -1),
  takes: fc.boolean(),
  outcome,
  affinity: fc.option(fc.record({ worker, for: affinityFor }), { nil: undefined, freq: 4 }),
});

const stays = (...texts: string[]) => texts.map((pinned) => ({ pinned, pins: pinned }));
/** Pins that workers may take and give: by builds, and by builds and definitions. */
const PINS: (readonly ClaimedPin[])[] = [
  [{ pinned: undefined, pins: undefined }, ...stays("b1")],
  [{ pinned: undefined, pins: "b1" }, ...stays("b1", "b2")],
  [{ pinned: undefined, pins: "b2" }, ...stays("b2", "b1", "b1 f")],
  [...[undefined, "f", "b1", "b1 f"].map((pinned) => ({ pinned, pins: "b1 f" }))],
  [{ pinned: undefined, pins: "f" }, { pinned: "b2", pins: "b2 f" }, ...stays("f", "b2 f")],
];

const steps = {
  start: fc.record({
    kind: fc.constant("start" as const),
    which,
    pinned: fc.constantFrom(undefined, undefined, "b1", "b2"),
    lease: maybe(leaseFor),
    delay: fc.constantFrom(0, 0, 15, 35),
    ifClosed: fc.constantFrom("start", "start", "start unless completed", "keep"),
    isAgain: fc.constantFrom(false, false, false, true),
  }),
  deliver: fc.record({
    kind: fc.constant("deliver" as const),
    batch: fc.array(fc.record({ which, key: fc.nat(6), goesAlong: fc.boolean(), wakes: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  complete: fc.record({
    kind: fc.constant("complete" as const),
    batch: fc.array(completion, { minLength: 1, maxLength: 3 }),
    starts: maybe(fc.nat(2)),
    sends: maybe(fc.record({ which, key: fc.nat(6) })),
    /** Mostly another run follows a continued one. */
    goesOn: fc.constantFrom(true, true, true, false),
    /** The run that gets the refusal when nothing is started. */
    refusesTo: maybe(fc.record({ which, key: fc.nat(6) })),
  }),
  again: fc.record({ kind: fc.constant("again" as const) }),
  claim: fc.record({
    kind: fc.constant("claim" as const),
    worker,
    lease: leaseFor,
    limit: fc.integer({ min: 1, max: 4 }),
    types: fc.constantFrom(["A", "B"], ["A", "B"], ["A"], ["B"]),
    isSticky: fc.constantFrom(true, true, true, false),
    pins: fc.constantFrom(...PINS),
  }),
  renew: fc.record({
    kind: fc.constant("renew" as const),
    of: fc.array(remembered, { maxLength: 3 }),
    lease: leaseFor,
  }),
  giveBack: fc.record({
    kind: fc.constant("giveBack" as const),
    of: remembered,
    pause: fc.constantFrom(0, 15, 25),
    problem: maybe(fc.constant("broken")),
  }),
  wake: fc.record({ kind: fc.constant("wake" as const), which }),
  close: fc.record({ kind: fc.constant("close" as const), which }),
  seen: fc.record({
    kind: fc.constant("seen" as const),
    worker,
    isSticky: fc.constantFrom(true, true, false),
    isDraining: fc.constantFrom(false, false, true),
  }),
  forget: fc.record({ kind: fc.constant("forget" as const), worker }),
  release: fc.record({ kind: fc.constant("release" as const), worker }),
  watch: fc.record({ kind: fc.constant("watch" as const), of: remembered }),
  pass: fc.record({ kind: fc.constant("pass" as const), tens: fc.integer({ min: 1, max: 4 }) }),
  prune: fc.record({ kind: fc.constant("prune" as const) }),
};
const step = fc.oneof(
  { weight: 8, arbitrary: steps.start },
  { weight: 10, arbitrary: steps.deliver },
  { weight: 12, arbitrary: steps.complete },
  { weight: 3, arbitrary: steps.again },
  { weight: 10, arbitrary: steps.claim },
  { weight: 2, arbitrary: steps.renew },
  { weight: 3, arbitrary: steps.giveBack },
  { weight: 1, arbitrary: steps.wake },
  { weight: 1, arbitrary: steps.close },
  { weight: 5, arbitrary: steps.seen },
  { weight: 1, arbitrary: steps.forget },
  { weight: 1, arbitrary: steps.release },
  { weight: 1, arbitrary: steps.watch },
  { weight: 4, arbitrary: steps.pass },
  { weight: 1, arbitrary: steps.prune },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Of<K extends Step["kind"]> = Extract<Step, { kind: K }>;

const idOf = (which: number): string => `run ${which}`;
const typeOf = (which: number): string => (which % 2 === 0 ? "A" : "B");

class Story {
  readonly #site: Site;
  readonly #advance: (ms: number) => Promise<void>;
  readonly #model = new WorkflowModel();
  readonly #memories: LeasedTask[] = [];
  readonly #starts: Parameters<WorkflowModel["start"]>[0][] = [];
  #lastBatch: TaskCompletion[] = [];
  #events = 0;

  constructor(site: Site, advance: (ms: number) => Promise<void>) {
    this.#site = site;
    this.#advance = advance;
  }

  #remembered(of: number): LeasedTask | undefined {
    return this.#memories[this.#memories.length - 1 - (of % this.#memories.length)];
  }

  async take(step: Step): Promise<void> {
    const { workflows, namespace } = this.#site;
    const model = this.#model;
    switch (step.kind) {
      case "start":
        return this.#start(step);
      case "deliver": {
        const batch = step.batch.map(({ which, key, goesAlong, wakes }) =>
          this.#site.messageTo(idOf(which), `${key}`, { goesAlong, wakes }),
        );
        const outcomes = await workflows.deliver(batch);
        return assert.deepEqual(
          outcomes,
          batch.map((one) => model.deliver(one)),
        );
      }
      case "complete":
        return this.#complete(step);
      case "again":
        return this.#send(this.#lastBatch);
      case "claim":
        return this.#claim(step);
      case "renew": {
        const tasks = [...new Set(step.of.flatMap((of) => this.#remembered(of) ?? []))];
        const lost = await workflows.renew(tasks, step.lease * MINUTE);
        const gone = tasks.filter(({ ref, token }) => !model.renew(ref, token, step.lease));
        return assert.deepEqual(lost.sort(), gone.map(({ ref }) => ref).sort());
      }
      case "giveBack": {
        const memory = this.#remembered(step.of);
        if (memory === undefined) return;
        const { ref, token } = memory;
        const back = { ref, token, pauseMs: step.pause * MINUTE, problem: step.problem };
        return assert.deepEqual(await workflows.giveBack([back]), [
          model.giveBack(ref, token, step.pause, step.problem),
        ]);
      }
      case "wake":
        return assert.equal(await workflows.wake(this.#site.key(idOf(step.which))), model.wake(idOf(step.which)));
      case "close": {
        const id = idOf(step.which);
        return assert.equal(
          await workflows.close(this.#site.closing(id)),
          model.close(id, "terminated", ["terminated"], "why"),
        );
      }
      case "seen":
        await this.#site.seen(step.worker, step);
        return model.seen(step.worker, step.isSticky && !step.isDraining);
      case "release":
        return assert.equal(await workflows.releaseWorker(namespace, step.worker, false), model.release(step.worker));
      case "forget":
        return assert.equal(await workflows.forgetWorker(namespace, step.worker), model.forget(step.worker));
      case "watch": {
        const ref = this.#remembered(step.of)?.ref;
        if (ref !== undefined) assert.deepEqual(await workflows.watchEnds([ref]), model.watchEnds(ref));
        return;
      }
      case "pass":
        model.clock += step.tens * 10;
        return this.#advance(step.tens * 10 * MINUTE);
      case "prune": {
        // Half past: a run that ended within this very minute stays, for any real duration of the story.
        const before = (await this.#site.now()) - 5 * MINUTE;
        return assert.equal(await workflows.prune(namespace, before, 100), model.prune(model.clock - 5));
      }
    }
  }

  async #start({ which, pinned, lease, delay, ifClosed, isAgain }: Of<"start">): Promise<void> {
    const own = lease === undefined ? undefined : { token: freshId(), worker: "w1", leaseMs: lease * MINUTE };
    const fresh = this.#site.startOf(idOf(which), {
      type: typeOf(which),
      pinned,
      lease: own,
      ifClosed,
      first: batchOf(`${++this.#events}`),
      delayMs: lease === undefined ? delay * MINUTE : 0,
    });
    const start =
      (isAgain ? this.#starts.findLast(({ workflowId }) => workflowId === fresh.workflowId) : undefined) ?? fresh;
    this.#starts.push(start);
    const outcome = await this.#site.send(start);
    assert.deepEqual(outcome, this.#model.start(start, outcome.ref));
    if (start.lease !== undefined)
      this.#memories.push({ ref: outcome.ref, token: start.lease.token, last: 1, taken: 0 });
  }

  async #complete({ batch, starts, sends, goesOn, refusesTo }: Of<"complete">): Promise<void> {
    const completions: TaskCompletion[] = [];
    for (const { of, events, off, takes, outcome, affinity } of batch) {
      const memory = this.#remembered(of);
      if (memory === undefined || completions.some(({ ref }) => ref === memory.ref)) continue;
      const run = this.#model.run(memory.ref);
      const some = Array.from({ length: events }, () => `${++this.#events}`);
      completions.push(
        this.#site.completionOf(memory, {
          last: memory.last + off,
          batch: events === 0 ? undefined : batchOf(...some),
          taken: takes ? Math.max(run?.task?.delivered ?? 0, memory.taken) : memory.taken,
          outcome:
            outcome.kind === "keep"
              ? { kind: "keep", leaseMs: outcome.lease * MINUTE }
              : outcome.kind === "rest"
                ? { kind: "rest" }
                : { kind: "close", status: outcome.status, result: "done" },
          affinity: affinity && { worker: affinity.worker, ms: affinity.for * MINUTE },
        }),
      );
    }
    const [first, ...rest] = completions;
    if (first === undefined) return;
    // Only the first step has attachments, and only where the order within the batch makes no difference. A
    // step that only keeps the task is applied again whenever it is repeated.
    const isAmong = (id: string) => completions.some(({ ref }) => this.#model.run(ref)?.workflowId === id);
    const [child, target] = [`run ${starts}`, sends && idOf(sends.which)];
    const mayBring = first.batch !== undefined || first.outcome.kind !== "keep";
    const own = this.#model.run(first.ref)?.workflowId;
    const isContinued = first.outcome.kind === "close" && first.outcome.status === "continued" && own !== undefined;
    const told = refusesTo && idOf(refusesTo.which);
    const refusal = told === undefined || isAmong(told) ? undefined : this.#site.messageTo(told, `${refusesTo?.key}`);
    const begun = isContinued && goesOn ? [this.#childOf(Number(own.at(-1)), refusal)] : [];
    const withMore: TaskCompletion = {
      ...first,
      starts: mayBring && starts !== undefined && !isAmong(child) ? [...begun, this.#childOf(starts, refusal)] : begun,
      messages:
        mayBring && target !== undefined && !isAmong(target) ? [this.#site.messageTo(target, `${sends?.key}`)] : [],
    };
    this.#lastBatch = [withMore, ...rest];
    await this.#send(this.#lastBatch);
  }

  #childOf(which: number, refusal: InboxMessage | undefined) {
    return this.#site.startOf(idOf(which), { type: typeOf(which), first: batchOf(`${++this.#events}`), refusal });
  }

  async #send(batch: readonly TaskCompletion[]): Promise<void> {
    const outcomes = await this.#site.workflows.complete(batch);
    assert.equal(outcomes.length, batch.length);
    for (const [i, completion] of batch.entries()) this.#check(completion, outcomes[i]!);
  }

  #check(completion: TaskCompletion, outcome: CompletionOutcome): void {
    const { ref, token, last, batch: some, taken } = completion;
    const refs = outcome.kind === "done" ? outcome.starts.map((start) => start.ref) : [];
    const expected = this.#model.complete(completion, refs);
    assert.equal(outcome.kind, expected.kind);
    if (outcome.kind !== "done" || expected.kind !== "done") return;
    // Runs that were removed since cannot be compared.
    for (const [i, start] of expected.starts.entries())
      if (start !== undefined) assert.deepEqual(outcome.starts[i], start);
    if (expected.isNew) {
      assert.equal(outcome.delivered, expected.delivered);
      if (completion.outcome.kind === "close") assert.equal(outcome.isWatched, expected.isWatched);
    }
    this.#memories.push({ ref, token, last: last + (some?.count ?? 0), taken });
  }

  async #claim({ worker, lease, limit, types, pins, isSticky }: Of<"claim">): Promise<void> {
    const token = freshId();
    const held = { token, worker, leaseMs: lease * MINUTE };
    const { now, tasks, next } = await this.#site.claim({
      types,
      pins,
      limit,
      isSticky,
      lease: held,
      staleMs: STALE * MINUTE,
    });
    const { ready, later } = this.#model.matches({ worker, types, pins, isSticky, stale: STALE });
    const wanted = ready.slice(0, limit).map(({ order, at }) => [order, at]);
    const got = tasks.map(({ ref }) => ready.find(({ run }) => run.ref === ref));
    assert.deepEqual(
      got.map((one) => one && [one.order, one.at]),
      wanted,
    );
    assert.equal(new Set(got).size, got.length);
    for (const [i, task] of tasks.entries()) {
      const { run, mode } = got[i]!;
      const { workflowId, runId, type, events } = run;
      const { pins: nextPin } = pins.find(({ pinned }) => pinned === run.pinned)!;
      const { attempt, lost, taken, delivered } = this.#model.claim(run, worker, token, lease, nextPin);
      const key = { namespace: this.#site.namespace, workflowId, ref: run.ref, runId, type, token };
      assert.deepEqual(task, {
        ...key,
        attempt,
        lost,
        mode,
        pinned: run.pinned,
        last: events.length,
        taken,
        delivered,
      });
      this.#memories.push({ ref: run.ref, token, last: events.length, taken });
    }
    const told = next === undefined ? undefined : Math.round((next - now) / MINUTE) + this.#model.clock;
    const moments = [...later, ...ready.slice(limit).map(() => this.#model.clock)];
    if (moments.length > 0) assert.ok(told !== undefined && told <= Math.min(...moments), `${told} and not ${moments}`);
    if (ready.length <= limit) assert.ok(told === undefined || told > this.#model.clock, "there was room for more");
  }

  /** Registers all workers as sticky. */
  async begin(): Promise<void> {
    for (const worker of WORKERS) await this.take({ kind: "seen", worker, isSticky: true, isDraining: false });
  }

  async end(): Promise<void> {
    const it = this.#site;
    const now = await it.now();
    const minute = (moment: number | undefined) =>
      moment === undefined ? undefined : Math.round((moment - now) / MINUTE) + this.#model.clock;
    const listed = await it.workflows.list({ namespace: it.namespace, limit: 1_000 });
    const stored = listed.map(({ ref, workflowId, runId, status, result, events, task, closedAt, ...run }) => ({
      ref,
      workflowId,
      runId,
      status,
      result,
      events,
      closedAt: minute(closedAt),
      pinned: run.pinned,
      sticky: run.stickyWorker && [run.stickyWorker, run.stickyUntil === 0 ? 0 : minute(run.stickyUntil)],
      task: task && [task.state, minute(task.at), task.attempt, task.lost, task.arrived, task.taken, task.worker],
    }));
    const expected = this.#model
      .all()
      .map(({ ref, workflowId, runId, status, result, events, task, closedAt, pinned }) => ({
        ref,
        workflowId,
        runId,
        status,
        result,
        events: events.length,
        closedAt,
        pinned,
        sticky: task?.sticky && [task.sticky.worker, Math.max(0, task.sticky.until)],
        task: task && [task.state, task.at, task.attempt, task.lost, task.delivered, task.taken, task.worker],
      }));
    assert.deepEqual(stored, expected);
    for (const run of this.#model.all()) await this.#compare(run);
  }

  async #compare({ ref, events, task, inbox }: ModelRun): Promise<void> {
    assert.deepEqual(await this.#site.events(ref), events);
    if (task !== undefined) {
      const waiting = inbox.map(([number, key]) => [number, key]);
      assert.deepEqual(await this.#site.inbox(ref), waiting);
    }
  }
}

export function workflowModelContract({ opened, options }: WorkflowsHarness): void {
  describe("model of workflows", () => {
    test("any story of workers goes as the model predicts", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80, size: "max" }), async (steps) => {
          const { store, advance } = opened();
          const story = new Story(new Site(store), advance);
          await story.begin();
          for (const one of steps) await story.take(one);
          await story.end();
        }),
        { numRuns: options.modelRuns ?? 100 },
      );
    });
  });
}
