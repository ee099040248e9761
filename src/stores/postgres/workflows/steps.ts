// Completes tasks in batches. Steps with only event batches and outcomes share one statement, and so one
// round trip. Steps with reminders, starts or messages, or with new search attributes, share one transaction
// of several statements.
import { setTimeout as pause } from "node:timers/promises";
import { invariant } from "../../../kernel/errors.ts";
import type { CompletionOutcome, InboxMessage, StartOutcome, TaskCompletion } from "../../../ports/store/workflows.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Row, Runner, Statement } from "../connection/connections.ts";
import { asAmbiguous } from "../connection/faults.ts";
import { isLocked } from "../connection/while-held.ts";
import type { CommitNotifications } from "./commit-notifications.ts";
import { type CompleteOneRow, CompleteOneStatements } from "./complete-one.ts";
import {
  type CompletionRow,
  completeTasks,
  completionValues,
  findBatches,
  isAfter,
  readSteps,
  rewriteRuns,
  type StepRow,
} from "./completions.ts";
import type { InboxDelivery } from "./inbox-messages.ts";
import type { WorkflowStarts } from "./starts.ts";
import { tagsText } from "./tags.ts";

/** A step in progress. */
interface Pending {
  readonly step: TaskCompletion;
  outcome: CompletionOutcome | undefined;
}

/** The result of an applied step. */
interface Done {
  readonly delivered: number;
  readonly isWatched: boolean;
}

export interface StepOptions {
  readonly connections: Connections;
  readonly schema: string;
  /** How long rows that other transactions hold are retried. */
  readonly heldMs: number;
  readonly starts: WorkflowStarts;
  readonly inbox: InboxDelivery;
  readonly notifications: () => CommitNotifications;
}

export class PostgresWorkflowSteps {
  readonly #options: StepOptions;
  readonly #ones: CompleteOneStatements;
  readonly #statements = new Map<string, Statement>();
  readonly #read: Statement;
  readonly #find: Statement;
  readonly #rewrite: Statement;
  readonly #lock: Statement;

  constructor(options: StepOptions) {
    this.#options = options;
    this.#ones = new CompleteOneStatements(options.schema);
    this.#read = readSteps(options.schema);
    this.#find = findBatches(options.schema);
    this.#rewrite = rewriteRuns(options.schema);
    this.#lock = lockTasks(options.schema);
  }

  async complete(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]> {
    const outcomes = await this.#completeAll(batch);
    const late = batch.filter((step, i) => isEndWithMessages(step, outcomes[i]!));
    if (late.length > 0) await this.#options.inbox.emptyEnded(late.map(({ ref }) => ref));
    return outcomes;
  }

  async #completeAll(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]> {
    const [first] = batch;
    if (batch.length === 1 && isPlain(first!)) {
      const outcome = await this.#alone(first!);
      if (outcome !== undefined) return [outcome];
    }
    const all = batch.map((step): Pending => ({ step, outcome: undefined }));
    const inOrder = all.slice().sort((a, b) => a.step.ref - b.step.ref);
    // Results are matched by run.
    for (let i = 1; i < inOrder.length; i++) {
      invariant(inOrder[i]!.step.ref !== inOrder[i - 1]!.step.ref, "no run is twice in one batch");
    }
    const plain = inOrder.filter(({ step }) => isPlain(step));
    const rich = plain.length === all.length ? [] : inOrder.filter(({ step }) => !isPlain(step));
    const ends = await Promise.allSettled([
      this.#whileHeld(plain, (some) => this.#write(some)),
      this.#whileHeld(rich, (some) => this.#writeRich(some)),
    ]);
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) {
      throw all.some(({ outcome }) => outcome !== undefined) ? asAmbiguous(failed.reason) : failed.reason;
    }
    return all.map(({ outcome }) => outcome!);
  }

  /**
   * The fast path, for a single run. Undefined: it was not applied, and `#classify` finds out whether it is
   * lost.
   */
  async #alone(step: TaskCompletion): Promise<CompletionOutcome | undefined> {
    try {
      const notifications = this.#options.notifications();
      const done = await this.#runOne(this.#options.connections, step, notifications);
      notifications.send();
      return done === undefined ? undefined : { kind: "done", starts: [], ...done };
    } catch (error) {
      if (isLocked(error)) return undefined;
      throw error;
    }
  }

  /** Splits the batch to find a row that another transaction keeps locked, so that it delays no other. */
  async #whileHeld(pending: readonly Pending[], write: (some: readonly Pending[]) => Promise<void>): Promise<void> {
    const deadline = performance.now() + this.#options.heldMs;
    for (let tries = 1, left = pending; left.length > 0; tries++) {
      try {
        if (tries === 1) await write(left);
        else await halving(left, write);
        return;
      } catch (error) {
        left = left.filter(({ outcome }) => outcome === undefined);
        if (!isLocked(error) || performance.now() > deadline) throw error;
      }
      await pause(5 + Math.random() * 20);
    }
  }

  async #write(pending: readonly Pending[]): Promise<void> {
    if (pending.length === 0) return;
    const notifications = this.#options.notifications();
    const applied = await this.#step(this.#options.connections, pending, notifications);
    const left = pending.filter(({ step }) => !applied.has(step.ref));
    for (const one of pending) {
      const done = applied.get(one.step.ref);
      if (done !== undefined) one.outcome = { kind: "done", ...done, starts: [] };
    }
    await this.#classify(left);
    notifications.send();
  }

  /** Applies all contents of the steps that count. */
  async #writeRich(pending: readonly Pending[]): Promise<void> {
    if (pending.length === 0) return;
    const { connections, schema, starts, inbox } = this.#options;
    const steps = pending.map(({ step }) => step);
    let notifications = this.#options.notifications();
    const done = await connections.transaction(async (runner) => {
      notifications = this.#options.notifications();
      const sent = steps.flatMap((step) => step.messages);
      if (sent.length > 0) {
        // Two runs that send to each other at once lock in the same order.
        const refs = await inbox.refsOf(runner, sent);
        await runner.run(this.#lock, [bigints([...steps.map(({ ref }) => ref), ...refs])], "harmless");
      }
      const applied = await this.#step(runner, pending, notifications);
      const counting = steps.filter(({ ref }) => applied.has(ref));
      await this.#describe(runner, counting);
      const begun = await starts.startAll(
        runner,
        counting.flatMap((step) => step.starts),
        notifications,
      );
      await inbox.deliverAll(runner, await this.#allToSend(runner, counting, begun), notifications);
      await notifications.remind(
        runner,
        schema,
        counting.flatMap((step) => step.reminders),
      );
      return { applied, begun };
    });
    let next = 0;
    for (const one of pending) {
      const { ref, starts: own } = one.step;
      const found = done.applied.get(ref);
      if (found === undefined) continue;
      one.outcome = { kind: "done", ...found, starts: done.begun.slice(next, next + own.length) };
      next += own.length;
    }
    await this.#classify(pending.filter(({ outcome }) => outcome === undefined));
    notifications.send();
  }

  /**
   * Refusals of starts that created no run, messages that steps send, and messages that move on to continued
   * runs.
   */
  async #allToSend(
    runner: Runner,
    steps: readonly TaskCompletion[],
    begun: readonly StartOutcome[],
  ): Promise<InboxMessage[]> {
    const starts = steps.flatMap((step) => step.starts);
    const refusals = starts.flatMap(({ refusal }, i) => (refusal === undefined || begun[i]!.isNew ? [] : refusal));
    const sent = steps.flatMap((step) => step.messages);
    const continued = steps.filter(isContinued);
    return [...refusals, ...sent, ...(await this.#options.inbox.takeAlong(runner, continued))];
  }

  /** By run: the number of delivered messages, and whether a caller waits for its end. */
  async #step(
    runner: Runner,
    pending: readonly Pending[],
    notifications: CommitNotifications,
  ): Promise<Map<number, Done>> {
    const steps = pending.map(({ step }) => step);
    const done = new Map<number, Done>();
    if (steps.length === 1) {
      const one = await this.#runOne(runner, steps[0]!, notifications);
      return one === undefined ? done : done.set(steps[0]!.ref, one);
    }
    let count = 0;
    for (const row of (await this.#runAll(runner, steps)) as unknown as CompletionRow[]) {
      const [ref, delivered, isWatched, notifiedIn] = row;
      if (ref === null) count = delivered;
      else done.set(ref, { delivered, isWatched });
      if (notifiedIn !== null) notifications.add(notifiedIn);
    }
    if (count === steps.length) {
      for (const { ref, taken } of steps) if (!done.has(ref)) done.set(ref, { delivered: taken, isWatched: false });
    }
    return done;
  }

  async #runOne(runner: Runner, step: TaskCompletion, notifications: CommitNotifications): Promise<Done | undefined> {
    const one = this.#ones.for(step);
    const [row] = await runner.run(one.statement, one.valuesOf(step), "doubtful");
    if (row === undefined) return undefined;
    const [delivered, isWatched, notifiedIn] = row as unknown as CompleteOneRow;
    if (notifiedIn !== null) notifications.add(notifiedIn);
    return { delivered, isWatched };
  }

  #runAll(runner: Runner, steps: readonly TaskCompletion[]): Promise<Row[]> {
    const parts = {
      closes: steps.some(({ outcome }) => outcome.kind === "close"),
      takes: steps.some(({ taken }) => taken > 0),
    };
    const name = `all ${parts.closes} ${parts.takes}`;
    const statement = this.#statement(name, () => completeTasks(this.#options.schema, parts));
    return runner.run(statement, completionValues(steps, parts), "doubtful");
  }

  async #describe(runner: Runner, steps: readonly TaskCompletion[]): Promise<void> {
    const changed = steps.filter(({ attributes, memo }) => attributes !== undefined || memo !== undefined);
    if (changed.length === 0) return;
    const values = [
      bigints(changed.map(({ ref }) => ref)),
      texts(changed.map(({ attributes }) => attributes)),
      texts(changed.map(({ attributes }) => tagsText(attributes ?? ""))),
      texts(changed.map(({ memo }) => memo)),
    ];
    await runner.run(this.#rewrite, values, "doubtful");
  }

  /** Distinguishes steps that were applied before, and whose response was lost, from lost steps. */
  async #classify(left: readonly Pending[]): Promise<void> {
    if (left.length === 0) return;
    const { connections, starts } = this.#options;
    const refs = bigints(left.map(({ step }) => step.ref));
    const rows = (await connections.run(this.#read, [refs], "harmless")) as unknown as StepRow[];
    const found = new Map(rows.map((row) => [row[0], row]));
    const likely = left.filter(({ step }) => found.has(step.ref) && isAfter(step, found.get(step.ref)!));
    const written = await this.#written(likely.map(({ step }) => step));
    for (const one of left) {
      const { step } = one;
      const row = found.get(step.ref)!;
      if (!written.has(step.ref)) {
        one.outcome = { kind: "lost" };
        continue;
      }
      const begun: StartOutcome[] = await starts.recall(step.starts);
      one.outcome = { kind: "done", delivered: row[3] ?? step.taken, starts: begun, isWatched: row[4] };
    }
  }

  /** The steps whose event batches are in the history, or that have none. */
  async #written(steps: readonly TaskCompletion[]): Promise<Set<number>> {
    const written = new Set(steps.filter(({ batch }) => batch === undefined).map(({ ref }) => ref));
    const paged = steps.filter(({ batch }) => batch !== undefined);
    if (paged.length === 0) return written;
    const values = [
      bigints(paged.map(({ ref }) => ref)),
      bigints(paged.map(({ last }) => last + 1)),
      texts(paged.map(({ batch }) => batch?.data)),
    ];
    const rows = await this.#options.connections.run(this.#find, values, "harmless");
    for (const [ref] of rows) written.add(ref as number);
    return written;
  }

  #statement(name: string, make: () => Statement): Statement {
    const statement = this.#statements.get(name) ?? make();
    this.#statements.set(name, statement);
    return statement;
  }
}

/** Locks in the order of refs, for every purpose. */
export const lockTasks = (schema: string): Statement => ({
  name: "limpet_lock_tasks",
  text: `
    SELECT t.ref FROM ${schema}.workflow_tasks t WHERE t.ref = ANY ($1::bigint[]) ORDER BY t.ref FOR UPDATE`,
});

const isContinued = ({ outcome }: TaskCompletion): boolean =>
  outcome.kind === "close" && outcome.status === "continued";

/** True if a run ended with messages that it had not taken. A continued run passes them on. */
const isEndWithMessages = (step: TaskCompletion, outcome: CompletionOutcome): boolean =>
  step.outcome.kind === "close" && !isContinued(step) && outcome.kind === "done" && outcome.delivered > step.taken;

const isPlain = (step: TaskCompletion): boolean =>
  !isContinued(step) &&
  step.reminders.length === 0 &&
  step.starts.length === 0 &&
  step.messages.length === 0 &&
  step.attributes === undefined &&
  step.memo === undefined;

async function halving<T>(items: readonly T[], write: (some: readonly T[]) => Promise<void>): Promise<void> {
  const middle = Math.ceil(items.length / 2);
  const ends = await Promise.allSettled([items.slice(0, middle), items.slice(middle)].map((half) => write(half)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
