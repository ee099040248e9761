// Batches starts, inbox messages and steps of many runs, and retries them when the store does not answer. A
// rejection after an unanswered attempt is ambiguous (`isInDoubt`): the store may have applied that attempt,
// or may still apply it.

import { KeyedBatcher } from "../../kernel/batch/keyed-batcher.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import { replaceMethods } from "../../ports/store/intercept.ts";
import type { Reminders, Rewriting, Settlement } from "../../ports/store/reminders.ts";
import type {
  CompletionOutcome,
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  TaskCompletion,
  Workflows,
} from "../../ports/store/workflows.ts";

/** While the store writes one batch, this process continues with the runs of another. */
const LANES = { lanes: 2, largest: 250 } as const;
/** All of these requests write. */
const LATE = { late: "COMMIT_UNKNOWN" } as const;

/** Batches the outcomes of queued activities. */
export function batchActivities(
  store: Pick<Reminders, "settle" | "rewrite">,
  clock: Clock,
  patienceMs: number,
): {
  settle(settlement: Settlement): Promise<boolean>;
  rewrite(rewriting: Rewriting): Promise<boolean>;
} {
  const keyOf = ({ generation }: { readonly generation: number }): string => String(generation);
  const settling = new KeyedBatcher<Settlement, boolean>({
    clock,
    ...LATE,
    send: (batch) => store.settle(batch),
    keyOf,
  });
  const rewriting = new KeyedBatcher<Rewriting, boolean>({
    clock,
    ...LATE,
    send: (batch) => store.rewrite(batch),
    keyOf,
    resolveAmbiguous: (_, isMine) => (isMine ? isMine : Promise.reject(rewrittenMaybe())),
  });
  return {
    settle: (one) => settling.ask(one, clock.monotonic() + patienceMs),
    rewrite: (one) => rewriting.ask(one, clock.monotonic() + patienceMs),
  };
}

const rewrittenMaybe = (): LimpetError =>
  new LimpetError("COMMIT_UNKNOWN", "an answer of the store was lost; the store may have changed the activity");

/** `patienceMs`: the time for retries. */
export function batchWorkflows(store: Workflows, clock: Clock, patienceMs: number): Workflows {
  const starts = new KeyedBatcher<RunStart, StartOutcome>({
    clock,
    ...LANES,
    ...LATE,
    send: (batch) => store.start(batch),
    keyOf: ({ workflowId }) => workflowId,
    resolveAmbiguous: (_, outcome) => (outcome.isNew ? outcome : { ...outcome, isAmbiguous: true }),
  });
  const messages = new KeyedBatcher<InboxMessage, DeliveryOutcome>({
    clock,
    ...LATE,
    send: (batch) => store.deliver(batch),
    resolveAmbiguous: (_, outcome) => (outcome.kind === "delivered" ? outcome : { ...outcome, isAmbiguous: true }),
  });
  const steps = new KeyedBatcher<TaskCompletion, CompletionOutcome>({
    clock,
    ...LANES,
    ...LATE,
    send: (batch) => store.complete(batch),
    keyOf: ({ ref }) => String(ref),
  });
  const askAll = async <Request, Answer>(
    batcher: KeyedBatcher<Request, Answer>,
    batch: readonly Request[],
  ): Promise<Answer[]> => {
    const until = clock.monotonic() + patienceMs;
    // Nearly always: a caller asks for one run.
    if (batch.length === 1) return [await batcher.ask(batch[0]!, until)];
    return Promise.all(batch.map((request) => batcher.ask(request, until)));
  };
  return replaceMethods(store, {
    start: (batch) => askAll(starts, batch),
    deliver: (batch) => askAll(messages, batch),
    complete: (batch) => askAll(steps, batch),
  });
}
