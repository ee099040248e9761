// Encodes batches of starts, messages and steps as flat arrays of numbers and strings, between the store and
// its worker thread. Each pair of functions encodes and decodes one message; no other module depends on the
// layout.
import type { Commit } from "../../../ports/store/store.ts";
import type {
  ClaimedTask,
  CompletionOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  TaskClaim,
  TaskClaims,
  TaskCompletion,
  TaskOutcome,
} from "../../../ports/store/workflows.ts";
import { packWrites, unpackWrites } from "../reminders/messages.ts";
import { FlatReader, FlatWriter, type Packed, Portions } from "../thread/flat-arrays.ts";
import { modeCode, replayModeOf, statusCode, statusOf } from "./codes.ts";

/** Starts, and separately the reminders that they set. */
export interface PackedStarts {
  readonly starts: Packed;
  readonly reminders: Packed;
}

/** Runs to start, and messages to runs. */
export interface PackedWorkflowRequests {
  readonly starts: PackedStarts;
  readonly messages: Packed;
}

/** Steps, and separately their attachments: most have none. */
export interface PackedSteps {
  readonly steps: Packed;
  readonly attached: (PackedWorkflowRequests & { readonly reminders: Packed }) | undefined;
}

/** The starts and messages of a batch of commits. */
export interface PackedAttachedWorkflows extends PackedWorkflowRequests {
  /**
   * For each commit with attachments: its place in the batch, the number of runs it starts, the number of
   * messages it sends.
   */
  readonly places: readonly number[];
}

const IS_PINNED = 1;
const HAS_LEASE = 2;
const HAS_REFUSAL = 4;
const IF_CLOSED = ["start", "start unless completed", "keep"] as const;
/** The unit of this choice within the flags. */
const IF_CLOSED_UNIT = 8;

export function packStarts(batch: readonly RunStart[]): PackedStarts {
  const to = new FlatWriter();
  for (const start of batch) {
    const { pinned, lease, refusal, ifClosed, first, delayMs, reminders } = start;
    const flags =
      (pinned === undefined ? 0 : IS_PINNED) |
      (lease === undefined ? 0 : HAS_LEASE) |
      (refusal === undefined ? 0 : HAS_REFUSAL) |
      (IF_CLOSED.indexOf(ifClosed) * IF_CLOSED_UNIT);
    to.next().numbers(flags, first.count, delayMs, reminders.length);
    to.strings(start.namespace, start.workflowId, start.runId, start.type, start.queue);
    to.strings(first.data, start.attributes, start.memo);
    if (pinned !== undefined) to.strings(pinned);
    if (lease !== undefined) to.numbers(lease.leaseMs).strings(lease.token, lease.worker);
    if (refusal !== undefined) writeInboxMessage(to, refusal);
  }
  return { starts: to.packed(), reminders: packWrites(batch.flatMap(({ reminders }) => reminders)) };
}

export function unpackStarts({ starts, reminders }: PackedStarts): RunStart[] {
  const writes = new Portions(unpackWrites(reminders));
  return new FlatReader(starts).all((from): RunStart => {
    const [flags, count, delayMs, attached] = [from.number(), from.number(), from.number(), from.number()];
    const key = { namespace: from.string(), workflowId: from.string(), runId: from.string() };
    const [type, queue, data] = [from.string(), from.string(), from.string()];
    const [attributes, memo] = [from.string(), from.string()];
    const pinned = flags & IS_PINNED ? from.string() : undefined;
    const lease =
      flags & HAS_LEASE ? { leaseMs: from.number(), token: from.string(), worker: from.string() } : undefined;
    return {
      ...key,
      type,
      queue,
      pinned,
      first: { count, data },
      attributes,
      memo,
      delayMs,
      lease,
      refusal: flags & HAS_REFUSAL ? readInboxMessage(from) : undefined,
      ifClosed: IF_CLOSED[Math.floor(flags / IF_CLOSED_UNIT)] as RunStart["ifClosed"],
      reminders: writes.take(attached),
    };
  });
}

function writeOutcome(to: FlatWriter, { ref, status, isNew, runId }: StartOutcome): void {
  to.numbers(ref, statusCode(status), isNew ? 1 : 0);
  if (!isNew) to.strings(runId);
}

/** A new run has the requested id. */
function readOutcome(from: FlatReader, asked: RunStart): StartOutcome {
  const [ref, status, isNew] = [from.number(), statusOf(from.number()), from.number() === 1];
  return { ref, runId: isNew ? asked.runId : from.string(), status, isNew };
}

export function packStartOutcomes(outcomes: readonly StartOutcome[]): Packed {
  const to = new FlatWriter();
  for (const outcome of outcomes) writeOutcome(to.next(), outcome);
  return to.packed();
}

export function unpackStartOutcomes(answer: Packed, batch: readonly RunStart[]): StartOutcome[] {
  return new FlatReader(answer).all((from, place) => readOutcome(from, batch[place] as RunStart));
}

const IS_CERTAIN = 1;
const GOES_ALONG = 2;
const WAKES = 4;

function writeInboxMessage(
  to: FlatWriter,
  { namespace, workflowId, runId, key, data, goesAlong, wakes }: InboxMessage,
): void {
  to.numbers((runId === undefined ? 0 : IS_CERTAIN) | (goesAlong ? GOES_ALONG : 0) | (wakes === true ? WAKES : 0));
  to.strings(namespace, workflowId, key, data);
  if (runId !== undefined) to.strings(runId);
}

function readInboxMessage(from: FlatReader): InboxMessage {
  const flags = from.number();
  const [namespace, workflowId, key, data] = [from.string(), from.string(), from.string(), from.string()];
  const runId = flags & IS_CERTAIN ? from.string() : undefined;
  const [goesAlong, wakes] = [(flags & GOES_ALONG) !== 0, (flags & WAKES) !== 0];
  return { namespace, workflowId, runId, key, data, goesAlong, wakes };
}

export function packInboxMessages(batch: readonly InboxMessage[]): Packed {
  const to = new FlatWriter();
  for (const message of batch) writeInboxMessage(to.next(), message);
  return to.packed();
}

export const unpackInboxMessages = (packed: Packed): InboxMessage[] => new FlatReader(packed).all(readInboxMessage);

const HAS_BATCH = 1;
const HAS_AFFINITY = 2;
const HAS_ATTRIBUTES = 4;
const HAS_MEMO = 8;
const BRINGS = 16;
const OUTCOMES = ["keep", "rest", "close"] as const;
/** The unit of this choice within the flags. */
const OUTCOMES_UNIT = 32;

export function packSteps(batch: readonly TaskCompletion[]): PackedSteps {
  const to = new FlatWriter();
  for (const step of batch) {
    const { batch: events, outcome, affinity, attributes, memo, reminders, starts, messages } = step;
    const flags =
      (events === undefined ? 0 : HAS_BATCH) |
      (affinity === undefined ? 0 : HAS_AFFINITY) |
      (attributes === undefined ? 0 : HAS_ATTRIBUTES) |
      (memo === undefined ? 0 : HAS_MEMO) |
      (hasAttached(step) ? BRINGS : 0) |
      (OUTCOMES.indexOf(outcome.kind) * OUTCOMES_UNIT);
    to.next().numbers(flags, step.ref, step.last, step.taken).strings(step.token);
    if (events !== undefined) to.numbers(events.count).strings(events.data);
    if (affinity !== undefined) to.numbers(affinity.ms).strings(affinity.worker);
    if (attributes !== undefined) to.strings(attributes);
    if (memo !== undefined) to.strings(memo);
    if (hasAttached(step)) to.numbers(reminders.length, starts.length, messages.length);
    if (outcome.kind === "keep") to.numbers(outcome.leaseMs);
    if (outcome.kind === "close") to.numbers(statusCode(outcome.status)).strings(outcome.result);
  }
  const attached = batch.filter(hasAttached);
  return { steps: to.packed(), attached: attached.length === 0 ? undefined : packAttached(attached) };
}

const hasAttached = ({ reminders, starts, messages }: TaskCompletion): boolean =>
  reminders.length > 0 || starts.length > 0 || messages.length > 0;

function packAttached(batch: readonly TaskCompletion[]): PackedSteps["attached"] {
  return { ...packRequests(batch), reminders: packWrites(batch.flatMap(({ reminders }) => reminders)) };
}

function packRequests(batch: readonly Pick<Commit, "starts" | "messages">[]): PackedWorkflowRequests {
  return {
    starts: packStarts(batch.flatMap(({ starts = [] }) => starts)),
    messages: packInboxMessages(batch.flatMap(({ messages = [] }) => messages)),
  };
}

export function unpackSteps({ steps, attached }: PackedSteps): TaskCompletion[] {
  const writes = new Portions(attached === undefined ? [] : unpackWrites(attached.reminders));
  const starts = new Portions(attached === undefined ? [] : unpackStarts(attached.starts));
  const messages = new Portions(attached === undefined ? [] : unpackInboxMessages(attached.messages));
  return new FlatReader(steps).all((from): TaskCompletion => {
    const flags = from.number();
    const [ref, last, taken, token] = [from.number(), from.number(), from.number(), from.string()];
    const events = flags & HAS_BATCH ? { count: from.number(), data: from.string() } : undefined;
    const affinity = flags & HAS_AFFINITY ? { ms: from.number(), worker: from.string() } : undefined;
    const attributes = flags & HAS_ATTRIBUTES ? from.string() : undefined;
    const memo = flags & HAS_MEMO ? from.string() : undefined;
    const isBringing = (flags & BRINGS) !== 0;
    return {
      ref,
      last,
      taken,
      token,
      batch: events,
      affinity,
      attributes,
      memo,
      reminders: writes.take(isBringing ? from.number() : 0),
      starts: starts.take(isBringing ? from.number() : 0),
      messages: messages.take(isBringing ? from.number() : 0),
      outcome: readTaskOutcome(from, OUTCOMES[Math.floor(flags / OUTCOMES_UNIT)] as TaskOutcome["kind"]),
    };
  });
}

function readTaskOutcome(from: FlatReader, kind: TaskOutcome["kind"]): TaskOutcome {
  if (kind === "rest") return { kind };
  if (kind === "keep") return { kind, leaseMs: from.number() };
  const status = statusOf(from.number()) as Extract<TaskOutcome, { kind: "close" }>["status"];
  return { kind, status, result: from.string() };
}

const LOST = -1;

export function packStepOutcomes(outcomes: readonly CompletionOutcome[]): Packed {
  const to = new FlatWriter();
  for (const outcome of outcomes) {
    to.next();
    if (outcome.kind === "lost") {
      to.numbers(LOST);
      continue;
    }
    to.numbers(outcome.delivered, outcome.isWatched ? 1 : 0);
    for (const start of outcome.starts) writeOutcome(to, start);
  }
  return to.packed();
}

export function unpackStepOutcomes(answer: Packed, batch: readonly TaskCompletion[]): CompletionOutcome[] {
  return new FlatReader(answer).all((from, place): CompletionOutcome => {
    const delivered = from.number();
    if (delivered === LOST) return { kind: "lost" };
    const isWatched = from.number() === 1;
    const starts = (batch[place] as TaskCompletion).starts.map((start) => readOutcome(from, start));
    return { kind: "done", delivered, starts, isWatched };
  });
}

/** `undefined` when no commit has attachments, which is nearly always. */
export function packAttachedWorkflows(batch: readonly Commit[]): PackedAttachedWorkflows | undefined {
  if (batch.every(({ starts, messages }) => starts === undefined && messages === undefined)) return undefined;
  const places = batch.flatMap(({ starts = [], messages = [] }, place) => {
    return starts.length + messages.length === 0 ? [] : [place, starts.length, messages.length];
  });
  return { places, ...packRequests(batch) };
}

/** The starts and messages of one commit. */
export interface AttachedWorkflows {
  readonly place: number;
  readonly starts: readonly RunStart[];
  readonly messages: readonly InboxMessage[];
}

export function unpackAttachedWorkflows(attachedWorkflows: PackedAttachedWorkflows): AttachedWorkflows[] {
  const starts = new Portions(unpackStarts(attachedWorkflows.starts));
  const messages = new Portions(unpackInboxMessages(attachedWorkflows.messages));
  const all: AttachedWorkflows[] = [];
  for (let i = 0; i < attachedWorkflows.places.length; i += 3) {
    const [place, begins, sends] = attachedWorkflows.places.slice(i, i + 3) as [number, number, number];
    all.push({ place, starts: starts.take(begins), messages: messages.take(sends) });
  }
  return all;
}

export interface ClaimsAnswer extends Packed {
  readonly now: number;
  readonly next: number | undefined;
}

export function packClaims({ now, tasks, next }: TaskClaims, { types }: TaskClaim): ClaimsAnswer {
  const to = new FlatWriter();
  for (const task of tasks) {
    const { ref, attempt, lost, mode, pinned, last, taken, delivered } = task;
    const place = types.findIndex(({ type }) => type === task.type);
    to.next().numbers(ref, place, attempt, lost, modeCode(mode), last, taken, delivered);
    to.strings(task.workflowId, task.runId).numbers(pinned === undefined ? 0 : IS_PINNED);
    if (pinned !== undefined) to.strings(pinned);
  }
  return { now, next, ...to.packed() };
}

export function unpackClaims(answer: ClaimsAnswer, { namespace, types, lease }: TaskClaim): TaskClaims {
  const tasks = new FlatReader(answer).all((from): ClaimedTask => {
    const [ref, type, attempt, lost] = [from.number(), types[from.number()]!.type, from.number(), from.number()];
    const [mode, last, taken, delivered] = [replayModeOf(from.number()), from.number(), from.number(), from.number()];
    const [workflowId, runId] = [from.string(), from.string()];
    const pinned = from.number() === IS_PINNED ? from.string() : undefined;
    const { token } = lease;
    return { namespace, workflowId, runId, ref, type, token, attempt, lost, mode, pinned, last, taken, delivered };
  });
  return { now: answer.now, tasks, next: answer.next };
}
