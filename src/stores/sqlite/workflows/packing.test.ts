import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LimpetError } from "../../../kernel/errors.ts";
import type { ReminderWrite } from "../../../ports/store/reminders.ts";
import type { Commit } from "../../../ports/store/store.ts";
import type {
  ClaimedTask,
  CompletionOutcome,
  InboxMessage,
  RunStart,
  RunStatus,
  StartOutcome,
  TaskCompletion,
  TaskOutcome,
} from "../../../ports/store/workflows.ts";
import { mayRepeat, type Verbs } from "../thread/verbs.ts";
import {
  packAttachedWorkflows,
  packClaims,
  packInboxMessages,
  packStartOutcomes,
  packStarts,
  packStepOutcomes,
  packSteps,
  unpackAttachedWorkflows,
  unpackClaims,
  unpackInboxMessages,
  unpackStartOutcomes,
  unpackStarts,
  unpackStepOutcomes,
  unpackSteps,
} from "./packing.ts";

/** Plain objects, as callers create them. */
const record = <T>(of: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(of, { noNullPrototype: true });
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 3 });
const text = fc.string({ unit: "grapheme", maxLength: 5 });
const count = fc.nat();

const reminder: fc.Arbitrary<ReminderWrite> = record({
  kind: fc.constant("cancel" as const),
  key: record({ namespace: text, type: text, id: text, name: text }),
});
const eventBatch = record({ count, data: text });
const message: fc.Arbitrary<InboxMessage> = record({
  namespace: text,
  workflowId: text,
  runId: maybe(text),
  key: text,
  data: text,
  goesAlong: fc.boolean(),
  wakes: fc.boolean(),
});
const start: fc.Arbitrary<RunStart> = record({
  namespace: text,
  workflowId: text,
  runId: text,
  type: text,
  queue: text,
  pinned: maybe(text),
  first: eventBatch,
  attributes: text,
  memo: text,
  delayMs: count,
  reminders: few(reminder),
  ifClosed: fc.constantFrom("start" as const, "start unless completed" as const, "keep" as const),
  lease: maybe(record({ token: text, worker: text, leaseMs: count })),
  refusal: maybe(message),
});
const ends = ["completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const;
const outcome: fc.Arbitrary<TaskOutcome> = fc.oneof(
  record({ kind: fc.constant("rest" as const) }),
  record({ kind: fc.constant("keep" as const), leaseMs: count }),
  record({ kind: fc.constant("close" as const), status: fc.constantFrom(...ends), result: text }),
);
const step: fc.Arbitrary<TaskCompletion> = record({
  ref: count,
  token: text,
  last: count,
  batch: maybe(eventBatch),
  taken: count,
  outcome,
  affinity: maybe(record({ worker: text, ms: count })),
  attributes: maybe(text),
  memo: maybe(text),
  reminders: few(reminder),
  starts: few(start),
  messages: few(message),
});

test("encoded starts, messages and steps are decoded unchanged", () => {
  fc.assert(
    fc.property(fc.array(start), fc.array(message), fc.array(step), (starts, messages, steps) => {
      assert.deepEqual(unpackStarts(packStarts(starts)), starts);
      assert.deepEqual(unpackInboxMessages(packInboxMessages(messages)), messages);
      assert.deepEqual(unpackSteps(packSteps(steps)), steps);
    }),
  );
});

test("steps without attachments encode none", () => {
  const plain = step.map((one) => ({ ...one, reminders: [], starts: [], messages: [] }));
  fc.assert(fc.property(fc.array(plain), (steps) => assert.equal(packSteps(steps).attached, undefined)));
});

const status = fc.constantFrom<RunStatus>("running", ...ends);
/** Possible outcomes of a start: a new run has its own id. */
const outcomeOf = ({ runId }: RunStart): fc.Arbitrary<StartOutcome> =>
  fc.oneof(
    record({ ref: count, runId: fc.constant(runId), status, isNew: fc.constant(true) }),
    record({ ref: count, runId: text, status, isNew: fc.constant(false) }),
  );

test("outcomes of starts and steps are decoded as they were encoded", () => {
  const started = few(start).chain((starts) => fc.tuple(fc.constant(starts), fc.tuple(...starts.map(outcomeOf))));
  const done = fc
    .tuple(step, started, count, fc.boolean())
    .map(([one, [starts, outcomes], delivered, isWatched]): [TaskCompletion, CompletionOutcome] => {
      return [
        { ...one, starts },
        { kind: "done", delivered, starts: outcomes, isWatched },
      ];
    });
  const lost = step.map((one): [TaskCompletion, CompletionOutcome] => [one, { kind: "lost" }]);
  fc.assert(
    fc.property(started, fc.array(fc.oneof(done, lost)), ([starts, outcomes], steps) => {
      assert.deepEqual(unpackStartOutcomes(packStartOutcomes(outcomes), starts), outcomes);
      const [asked, became] = [steps.map(([one]) => one), steps.map(([, one]) => one)];
      assert.deepEqual(unpackStepOutcomes(packStepOutcomes(became), asked), became);
    }),
  );
});

test("claimed tasks are decoded as they were encoded", () => {
  const lease = { token: "t", worker: "w", leaseMs: 1 };
  const types = ["A", "B"].map((type) => ({ type, pins: [] }));
  const request = { namespace: "n", types, lease, queue: "q", limit: 9, isSticky: true, staleMs: 1 };
  const task: fc.Arbitrary<ClaimedTask> = record({
    namespace: fc.constant("n"),
    workflowId: text,
    runId: text,
    token: fc.constant("t"),
    ref: count,
    type: fc.constantFrom("A", "B"),
    lost: fc.nat(),
    attempt: count,
    last: count,
    taken: count,
    delivered: count,
    pinned: maybe(text),
    mode: fc.constantFrom("sticky_hit_expected" as const, "cold_replay" as const, "forced_cold_replay" as const),
  });
  fc.assert(
    fc.property(fc.array(task), count, maybe(count), (tasks, now, next) => {
      assert.deepEqual(unpackClaims(packClaims({ tasks, now, next }, request), request), { tasks, now, next });
    }),
  );
});

test("attached workflows of commits are decoded with their places", () => {
  const commit: fc.Arbitrary<Commit> = record({
    ref: count,
    epoch: count,
    version: count,
    id: text,
    write: fc.constant({ kind: "keep" as const }),
    starts: maybe(few(start)),
    messages: maybe(few(message)),
  });
  fc.assert(
    fc.property(fc.array(commit), (batch) => {
      const packed = packAttachedWorkflows(batch);
      const expected = batch
        .map(({ starts = [], messages = [] }, place) => ({ place, starts, messages }))
        .filter(({ starts, messages }) => starts.length + messages.length > 0);
      assert.deepEqual(packed === undefined ? [] : unpackAttachedWorkflows(packed), expected);
    }),
  );
});

test("only a request that is recognised by its id, or harmless, is repeated after an ambiguous end", () => {
  const unknown = new LimpetError("COMMIT_UNKNOWN", "");
  const again = (name: keyof Verbs["workflows"]) => mayRepeat({ feature: "workflows", name, args: [] }, unknown);
  for (const name of ["start", "deliver", "complete", "claim", "renew", "wake", "releaseWorker"] as const) {
    assert.equal(again(name), true, name);
  }
  for (const name of ["close", "giveBack", "forgetWorker"] as const) assert.equal(again(name), false, name);
});
