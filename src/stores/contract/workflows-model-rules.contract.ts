// The rules of workflows in their simplest form, for one namespace and one queue: a list of runs, and a clock
// in minutes.
import type {
  ClaimedPin,
  DeliveryOutcome,
  InboxMessage,
  ReplayMode,
  RunStart,
  RunStatus,
  StartOutcome,
  TaskCompletion,
} from "../../ports/store/workflows.ts";
import { MINUTE } from "./workflows-shared.contract.ts";

interface ModelTask {
  state: "idle" | "ready" | "leased";
  at: number | undefined;
  token: string | undefined;
  worker: string | undefined;
  attempt: number;
  /** Attempts that ended with their lease. */
  lost: number;
  delivered: number;
  taken: number;
  sticky: { readonly worker: string; readonly until: number } | undefined;
}

export interface ModelRun {
  readonly ref: number;
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  pinned: string | undefined;
  status: RunStatus;
  result: string | undefined;
  closedAt: number | undefined;
  closedBy: string | undefined;
  isWatched: boolean;
  events: string[];
  inbox: [number: number, key: string, goesAlong: boolean][];
  task: ModelTask | undefined;
}

interface Claimer {
  readonly worker: string;
  readonly types: readonly string[];
  readonly pins: readonly ClaimedPin[];
  readonly isSticky: boolean;
  readonly stale: number;
}

interface Ready {
  readonly run: ModelRun;
  readonly mode: ReplayMode;
  /** Preferred tasks come first. */
  readonly order: number;
  readonly at: number;
}

export class WorkflowModel {
  clock = 0;
  #runs: ModelRun[] = [];
  /** The last reports of sticky workers. */
  readonly #workers = new Map<string, number>();

  /** The latest first. */
  all(): ModelRun[] {
    return this.#runs.toReversed();
  }

  run(ref: number): ModelRun | undefined {
    return this.#runs.find((run) => run.ref === ref);
  }

  #latest(workflowId: string): ModelRun | undefined {
    return this.#runs.findLast((run) => run.workflowId === workflowId);
  }

  /** `ref` is the ref of a new run. */
  start(start: RunStart, ref: number): StartOutcome {
    const { workflowId, runId, type, pinned, first, lease, delayMs, ifClosed } = start;
    const outcome = (run: ModelRun, isNew: boolean) => ({ ref: run.ref, runId: run.runId, status: run.status, isNew });
    const known = this.#runs.find((run) => run.runId === runId);
    if (known !== undefined) return outcome(known, true);
    const latest = this.#latest(workflowId);
    if (latest?.task !== undefined) return outcome(latest, false);
    if (latest !== undefined && ifClosed === "keep") return outcome(latest, false);
    if (latest?.status === "completed" && ifClosed === "start unless completed") return outcome(latest, false);
    const task: ModelTask = {
      state: lease === undefined ? "ready" : "leased",
      token: lease?.token,
      worker: lease?.worker,
      at: this.clock + (lease?.leaseMs ?? delayMs) / MINUTE,
      attempt: lease === undefined ? 0 : 1,
      lost: 0,
      delivered: 0,
      taken: 0,
      sticky: undefined,
    };
    const run: ModelRun = {
      ref,
      workflowId,
      runId,
      type,
      pinned,
      status: "running",
      result: undefined,
      closedAt: undefined,
      closedBy: undefined,
      isWatched: false,
      events: first.data.split("\n"),
      inbox: [],
      task,
    };
    this.#runs.push(run);
    return outcome(run, true);
  }

  deliver({ workflowId, key, goesAlong, wakes }: Omit<InboxMessage, "namespace" | "runId" | "data">): DeliveryOutcome {
    const run = this.#latest(workflowId);
    if (run?.task === undefined) return { kind: "closed", status: run?.status };
    const { ref, runId, task, inbox } = run;
    if (wakes === true && task.state === "ready") task.at = Math.min(task.at ?? this.clock, this.clock);
    const known = inbox.find(([, one]) => one === key);
    if (known !== undefined) return { kind: "delivered", ref, runId, number: known[0] };
    inbox.push([++task.delivered, key, goesAlong]);
    if (task.state === "idle") Object.assign(task, { state: "ready", at: this.clock });
    return { kind: "delivered", ref, runId, number: task.delivered };
  }

  #held(ref: number, token: string): ModelTask | undefined {
    const task = this.run(ref)?.task;
    return task?.state === "leased" && task.token === token ? task : undefined;
  }

  /** `isNew`: the step was not applied before. `refs` are the refs of the runs that it starts. */
  complete(
    { ref, token, last, batch, taken, outcome, affinity, starts, messages }: TaskCompletion,
    refs: readonly number[],
  ) {
    const lost = { kind: "lost" as const };
    const run = this.run(ref);
    if (run === undefined) return lost;
    const task = this.#held(ref, token);
    const begin = () => starts.map((start, i) => this.start(start, refs[i]!));
    if (task === undefined || run.events.length !== last) {
      const isTheirs = run.task === undefined ? run.closedBy === token : run.task.token === token;
      const [own, written] = [batch?.data.split("\n") ?? [], run.events.slice(last)];
      if (!isTheirs || run.events.length !== last + own.length || own.join() !== written.join()) return lost;
      if (outcome.kind !== "close" ? run.task === undefined : run.status !== outcome.status) return lost;
      if (run.task !== undefined && (run.task.state === "leased") !== (outcome.kind === "keep")) return lost;
      const found = starts.map((start) => {
        const mine = this.#runs.find(({ runId }) => runId === start.runId);
        const one = mine ?? this.#latest(start.workflowId);
        return one && { ref: one.ref, runId: one.runId, status: one.status, isNew: mine !== undefined };
      });
      return { kind: "done" as const, isNew: false, starts: found, delivered: 0, isWatched: false };
    }
    if (batch !== undefined) run.events.push(...batch.data.split("\n"));
    run.inbox = run.inbox.filter(([number]) => number > taken);
    task.taken = Math.max(task.taken, taken);
    task.sticky = affinity && { worker: affinity.worker, until: this.clock + affinity.ms / MINUTE };
    if (outcome.kind === "keep") {
      task.at = this.clock + outcome.leaseMs / MINUTE;
    } else {
      Object.assign(task, { state: "idle", at: undefined, worker: undefined, attempt: 0, lost: 0 });
      if (outcome.kind === "close") Object.assign(this.#end(run, outcome.status, outcome.result), { closedBy: token });
      else if (task.delivered > task.taken) Object.assign(task, { state: "ready", at: this.clock });
    }
    const { delivered } = task;
    const begun = begin();
    for (const [i, { refusal }] of starts.entries()) {
      if (refusal !== undefined && !begun[i]!.isNew) this.deliver(refusal);
    }
    for (const message of messages) this.deliver(message);
    if (run.status === "continued") {
      const { workflowId } = run;
      for (const [, key, goesAlong] of run.inbox) if (goesAlong) this.deliver({ workflowId, key, goesAlong });
    }
    return { kind: "done" as const, isNew: true, starts: begun, delivered, isWatched: run.isWatched };
  }

  #end(run: ModelRun, status: RunStatus, result: string): ModelRun {
    return Object.assign(run, { status, result, closedAt: this.clock, task: undefined });
  }

  close(workflowId: string, status: RunStatus, events: readonly string[], result: string): boolean {
    const run = this.#latest(workflowId);
    if (run?.task === undefined) return false;
    run.events.push(...events);
    this.#end(run, status, result);
    return true;
  }

  /** The tasks a claimer may take, in order; and the latest times at which there may be more. */
  matches({ worker, types, pins, isSticky, stale }: Claimer): { ready: Ready[]; later: number[] } {
    const ready: Ready[] = [];
    const later: number[] = [];
    for (const run of this.#runs) {
      const { task } = run;
      if (task?.at === undefined || !types.includes(run.type)) continue;
      if (!pins.some(({ pinned }) => pinned === run.pinned)) continue;
      const { at, sticky } = task;
      const isActive = isSticky && sticky !== undefined && sticky.until > this.clock;
      const isMine = isActive && sticky.worker === worker;
      const lives =
        sticky !== undefined && (this.#workers.get(sticky.worker) ?? Number.NEGATIVE_INFINITY) + stale > this.clock;
      if (at > this.clock) later.push(at);
      else if (isMine) ready.push({ run, at, order: 0, mode: "sticky_hit_expected" });
      else if (isActive && lives) later.push(sticky.until);
      else ready.push({ run, at, order: 1, mode: hadAffinity(task) ? "forced_cold_replay" : "cold_replay" });
    }
    return { ready: ready.sort((a, b) => a.order - b.order || a.at - b.at), later };
  }

  /** `pinned`: the pin that the claim gives. */
  claim(run: ModelRun, worker: string, token: string, lease: number, pinned: string | undefined): ModelTask {
    const { task } = run;
    const { attempt } = task!;
    const lost = task!.lost + (task!.state === "leased" ? 1 : 0);
    run.pinned = pinned;
    return Object.assign(task!, { state: "leased", at: this.clock + lease, token, worker, attempt: attempt + 1, lost });
  }

  renew(ref: number, token: string, lease: number): boolean {
    const task = this.#held(ref, token);
    if (task !== undefined) task.at = this.clock + lease;
    return task !== undefined;
  }

  giveBack(ref: number, token: string, pause: number, problem: string | undefined): boolean {
    const task = this.#held(ref, token);
    if (task === undefined) return false;
    const attempt = task.attempt - (problem === undefined ? 1 : 0);
    Object.assign(task, { state: "ready", at: this.clock + pause, token: undefined, worker: undefined, attempt });
    if (problem !== undefined) task.sticky = undefined;
    return true;
  }

  wake(workflowId: string): boolean {
    const task = this.#latest(workflowId)?.task;
    if (task === undefined) return false;
    const at = Math.min(task.at ?? this.clock, this.clock);
    if (task.state !== "leased") Object.assign(task, { state: "ready", at });
    return true;
  }

  seen(worker: string, mayHold: boolean): void {
    this.#workers.set(worker, mayHold ? this.clock : Number.NEGATIVE_INFINITY);
  }

  forget(worker: string): boolean {
    return this.#workers.delete(worker);
  }

  release(worker: string): number {
    let released = 0;
    for (const { task } of this.#runs) {
      const { sticky } = task ?? {};
      if (sticky?.worker === worker && sticky.until > this.clock) task!.sticky = { worker, until: -sticky.until };
      if (task?.state !== "leased" || task.worker !== worker) continue;
      Object.assign(task, { state: "ready", at: this.clock, token: undefined, worker: undefined });
      released++;
    }
    return released;
  }

  watchEnds(ref: number): object[] {
    const run = this.run(ref);
    if (run?.task !== undefined) run.isWatched = true;
    return run === undefined || run.task !== undefined
      ? []
      : [{ ref, runId: run.runId, status: run.status, result: run.result }];
  }

  prune(endedBefore: number): number {
    const before = this.#runs.length;
    this.#runs = this.#runs.filter(({ closedAt }) => closedAt === undefined || closedAt >= endedBefore);
    return before - this.#runs.length;
  }
}

/** The affinity when the task became ready; affinity that was ended early is negative. */
const hadAffinity = ({ state, at, sticky }: ModelTask): boolean =>
  sticky !== undefined && (state === "leased" || Math.abs(sticky.until) > at!);
