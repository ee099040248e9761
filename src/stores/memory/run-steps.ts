// All changes of workflow runs in memory: starts, deliveries, steps, and tasks. It collects the namespaces
// with changes for watchers.
import type {
  ClaimedTask,
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  RunStatus,
  StartOutcome,
  TaskClaim,
  TaskCompletion,
  TaskReturn,
  WorkflowKey,
} from "../../ports/store/workflows.ts";
import type { MemoryReminders } from "./memory-reminders.ts";
import { addBatch, isOpenRun, lostSoFar, type OpenRun, type Run, type RunRows, type Task } from "./run-rows.ts";
import type { Match, TaskIndex } from "./task-index.ts";

export class RunSteps {
  readonly namespacesWithWork = new Set<string>();
  readonly #runs: RunRows;
  readonly #taskIndex: TaskIndex;
  readonly #reminders: MemoryReminders;
  readonly #now: () => number;

  constructor(runs: RunRows, taskIndex: TaskIndex, reminders: MemoryReminders, now: () => number) {
    this.#runs = runs;
    this.#taskIndex = taskIndex;
    this.#reminders = reminders;
    this.#now = now;
  }

  start(start: RunStart): StartOutcome {
    const known = this.#runs.find(start, start.runId);
    if (known !== undefined) return outcomeOf(known, true);
    const latest = this.#runs.find(start, undefined);
    if (isOpenRun(latest)) return outcomeOf(latest, false);
    if (latest !== undefined && !mayFollow(latest.status, start.ifClosed)) return outcomeOf(latest, false);
    const run = this.#runs.insert(start, this.#now());
    addBatch(run, start.first);
    this.#open(run, start);
    this.#reminders.writeNow(start.reminders);
    return outcomeOf(run, true);
  }

  deliver({ runId, key, data, goesAlong, wakes, ...workflow }: InboxMessage): DeliveryOutcome {
    const run = this.#runs.find(workflow, runId);
    if (!isOpenRun(run)) return { kind: "closed", status: run?.status };
    const { ref, task, inbox } = run;
    const isPaused = task.state === "ready" && task.at > this.#now();
    if (wakes === true && isPaused) this.#makeReady(task, this.#now());
    const known = inbox.get(key);
    if (known !== undefined) return { kind: "delivered", ref, runId: run.runId, number: known.number };
    const number = ++task.delivered;
    inbox.set(key, { number, key, data, goesAlong });
    if (task.state === "idle") this.#makeReady(task, this.#now());
    return { kind: "delivered", ref, runId: run.runId, number };
  }

  complete(completion: TaskCompletion): CompletionOutcome {
    const { ref, token, last, taken, outcome, starts, messages } = completion;
    const run = this.#runs.get(ref);
    const task = this.#held(ref, token);
    if (run === undefined) return { kind: "lost" };
    if (task === undefined || run.last !== last) {
      if (!wasDone(run, completion)) return { kind: "lost" };
      const started = starts.map((start) => this.#startedBefore(start));
      return { kind: "done", delivered: run.task?.delivered ?? 0, starts: started, isWatched: run.isWatched };
    }
    const left = outcome.kind === "close" && outcome.status === "continued" ? leftOver(run, taken) : [];
    this.#step(run as OpenRun, completion);
    const { delivered } = task;
    const started = starts.map((start) => this.start(start));
    for (const [i, { refusal }] of starts.entries()) {
      if (refusal !== undefined && !started[i]!.isNew) this.deliver(refusal);
    }
    for (const message of messages) this.deliver(message);
    // The run that continues this one is the open one by now.
    const { namespace, workflowId } = run;
    for (const one of left) this.deliver({ ...one, namespace, workflowId, runId: undefined });
    return { kind: "done", delivered, starts: started, isWatched: run.isWatched };
  }

  close({ runId, status, batch, result, reminders, messages, ...key }: Closing): boolean {
    const run = this.#runs.find(key, runId);
    if (!isOpenRun(run)) return false;
    addBatch(run, batch);
    this.#end(run, status, result);
    this.#reminders.writeNow(reminders);
    for (const message of messages) this.deliver(message);
    return true;
  }

  claim({ task, mode, nextPin }: Match, { lease: { token, worker, leaseMs } }: TaskClaim): ClaimedTask {
    const now = this.#now();
    task.run.pinned = nextPin;
    task.lost = lostSoFar(task);
    this.#move(task, () => {
      Object.assign(task, { state: "leased", at: now + leaseMs, token, worker, mode, claimedAt: now });
      task.attempt++;
    });
    const { namespace, workflowId, ref, runId, type, pinned, last } = task.run;
    const { attempt, lost, taken, delivered } = task;
    return { namespace, workflowId, ref, runId, type, token, attempt, lost, mode, pinned, last, taken, delivered };
  }

  /** False: the token does not hold the task any more. */
  renew(ref: number, token: string, leaseMs: number): boolean {
    const task = this.#held(ref, token);
    if (task === undefined) return false;
    this.#move(task, () => {
      task.at = this.#now() + leaseMs;
    });
    return true;
  }

  giveBack({ ref, token, pauseMs, problem }: TaskReturn): boolean {
    const task = this.#held(ref, token);
    if (task === undefined) return false;
    task.token = undefined;
    this.#move(task, () => {
      if (problem === undefined) task.attempt--;
      else Object.assign(task, { problem, stickyWorker: undefined, stickyUntil: 0 });
    });
    this.#makeReady(task, this.#now() + pauseMs);
    return true;
  }

  /** Returns the number of tasks that it had leased. */
  releaseWorker(namespace: string, worker: string, isDead: boolean): number {
    let released = 0;
    for (const { task } of this.#runs.all(namespace)) {
      if (task?.stickyWorker === worker && task.stickyUntil > this.#now()) {
        this.#move(task, () => Object.assign(task, { stickyUntil: -task.stickyUntil }));
        this.namespacesWithWork.add(namespace);
      }
      if (task?.state !== "leased" || task.worker !== worker) continue;
      task.token = undefined;
      if (isDead) task.lost = lostSoFar(task);
      this.#makeReady(task, this.#now());
      released++;
    }
    return released;
  }

  wake(key: WorkflowKey, forgives: boolean): boolean {
    const run = this.#runs.find(key, undefined);
    if (!isOpenRun(run)) return false;
    const { state, at } = run.task;
    const now = this.#now();
    if (forgives && state !== "leased") run.task.lost = 0;
    if (state !== "leased") this.#makeReady(run.task, state === "ready" ? Math.min(at, now) : now);
    return true;
  }

  #open(run: Run, { lease, delayMs }: RunStart): void {
    const now = this.#now();
    const task: Task = {
      run,
      generation: run.ref,
      state: "idle",
      at: 0,
      token: lease?.token,
      worker: lease?.worker,
      attempt: 0,
      lost: 0,
      problem: undefined,
      mode: undefined,
      claimedAt: undefined,
      delivered: 0,
      taken: 0,
      stickyWorker: undefined,
      stickyUntil: 0,
    };
    run.task = task;
    if (lease === undefined) {
      this.#makeReady(task, now + delayMs);
    } else {
      const held: Partial<Task> = { state: "leased", at: now + lease.leaseMs, attempt: 1, claimedAt: now };
      this.#move(task, () => Object.assign(task, held));
    }
  }

  #step(run: OpenRun, { token, batch, taken, outcome, affinity, attributes, memo, reminders }: TaskCompletion): void {
    const now = this.#now();
    const { task } = run;
    if (batch !== undefined) addBatch(run, batch);
    task.taken = Math.max(task.taken, taken);
    for (const { number, key } of run.inbox.values()) {
      if (number > taken) break;
      run.inbox.delete(key);
    }
    run.attributes = attributes ?? run.attributes;
    run.memo = memo ?? run.memo;
    task.problem = undefined;
    this.#move(task, () => {
      task.stickyWorker = affinity?.worker;
      task.stickyUntil = affinity === undefined ? 0 : now + affinity.ms;
      if (outcome.kind === "keep") task.at = now + outcome.leaseMs;
      else Object.assign(task, { state: "idle", attempt: 0, worker: undefined });
    });
    if (outcome.kind === "close") {
      this.#end(run, outcome.status, outcome.result);
      run.closedBy = token;
    } else if (outcome.kind === "rest" && task.delivered > task.taken) {
      this.#makeReady(task, now);
    }
    this.#reminders.writeNow(reminders);
  }

  /** The outcome of a start in a step that was applied before. */
  #startedBefore(start: RunStart): StartOutcome {
    const mine = this.#runs.find(start, start.runId);
    if (mine !== undefined) return outcomeOf(mine, true);
    const other = this.#runs.find(start, undefined);
    // The run has been removed since.
    return other ? outcomeOf(other, false) : { ref: 0, runId: start.runId, status: "completed", isNew: false };
  }

  /** The token decides, not the clock: an ended lease still counts until another worker claims the task. */
  #held(ref: number, token: string): Task | undefined {
    const task = this.#runs.get(ref)?.task;
    return task?.state === "leased" && task.token === token ? task : undefined;
  }

  #makeReady(task: Task, at: number): void {
    this.#move(task, () => Object.assign(task, { state: "ready", at, worker: undefined }));
    this.namespacesWithWork.add(task.run.namespace);
  }

  /** Applies a change that moves the task in the task index. */
  #move(task: Task, change: () => void): void {
    this.#taskIndex.remove(task);
    change();
    this.#taskIndex.add(task);
  }

  #end(run: OpenRun, status: RunStatus, result: string): void {
    this.#taskIndex.remove(run.task);
    if (run.isWatched) this.namespacesWithWork.add(run.namespace);
    run.inbox.clear();
    const ended: Partial<Run> = { status, result, closedAt: this.#now(), task: undefined };
    Object.assign(run, ended);
  }
}

/** The messages for the workflow that were not taken. */
const leftOver = ({ inbox }: Run, taken: number) =>
  [...inbox.values()].filter((one) => one.number > taken && one.goesAlong);

/**
 * This very step was the last one applied: its token, its event batch at the end of the history, and the
 * expected state of its task.
 */
function wasDone(run: Run, { token, last, batch, outcome }: TaskCompletion): boolean {
  const { task, batches } = run;
  if ((task?.token ?? run.closedBy) !== token || run.last !== last + (batch?.count ?? 0)) return false;
  if (batch !== undefined && batches.at(-1)?.data !== batch.data) return false;
  if (outcome.kind === "close") return task === undefined && run.status === outcome.status;
  return task !== undefined && (task.state === "leased") === (outcome.kind === "keep");
}

const outcomeOf = ({ ref, runId, status }: Run, isNew: boolean): StartOutcome => ({ ref, runId, status, isNew });

const mayFollow = (status: RunStatus, ifClosed: RunStart["ifClosed"]): boolean =>
  ifClosed === "start" || (ifClosed === "start unless completed" && status !== "completed");
