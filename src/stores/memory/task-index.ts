// Keeps ready and leased tasks in the order of their times: by queue and type, and within these by the worker
// that has the run in memory. So a claim reads the tasks that it may take, and not the backlog of other
// workers.
import type { ReplayMode, TaskClaim, TypeClaim } from "../../ports/store/workflows.ts";
import { DueOrder } from "./due-order.ts";
import type { Task } from "./run-rows.ts";
import type { WorkerRows } from "./worker-rows.ts";

/** Tasks of one type, by the worker that has them in memory; `undefined`: no worker. */
type TasksByWorker = Map<string | undefined, DueOrder<Task>>;

export interface Match {
  readonly task: Task;
  readonly mode: ReplayMode;
  /** The new pin of its run. */
  readonly nextPin: string | undefined;
}

/** The pins that runs may have, and the pins that a claim gives them. */
type Pins = ReadonlyMap<string | undefined, string | undefined>;

export interface Matches {
  /** In the order in which they are assigned. */
  readonly found: readonly Match[];
  readonly next: number | undefined;
}

export class TaskIndex {
  /** Namespace, then queue, then type. */
  readonly #byNamespace = new Map<string, Map<string, Map<string, TasksByWorker>>>();

  /** Idle tasks are not in the tasks. */
  add(task: Task): void {
    if (task.state === "idle") return;
    const tasks = this.#tasksOf(task);
    const order = tasks.get(task.stickyWorker) ?? new DueOrder<Task>();
    tasks.set(task.stickyWorker, order);
    order.add(task);
  }

  remove(task: Task): void {
    if (task.state === "idle") return;
    const tasks = this.#tasksOf(task);
    const order = tasks.get(task.stickyWorker);
    order?.remove(task);
    if (order?.size === 0) tasks.delete(task.stickyWorker);
  }

  /** The tasks that a claim gets, by the rules of src/workflows/matching.md. It changes nothing. */
  match(claim: TaskClaim, workers: WorkerRows, now: number): Matches {
    const search = new Search(claim, workers, now);
    const types = this.#byNamespace.get(claim.namespace)?.get(claim.queue);
    for (const [type, pins] of pinsOf(claim.types)) {
      for (const [owner, order] of types?.get(type) ?? []) search.look(owner, order, pins);
    }
    return search.end();
  }

  #tasksOf({ run: { namespace, queue, type } }: Task): TasksByWorker {
    const queues = this.#byNamespace.get(namespace) ?? new Map<string, Map<string, TasksByWorker>>();
    const types = queues.get(queue) ?? new Map<string, TasksByWorker>();
    const tasks: TasksByWorker = types.get(type) ?? new Map();
    this.#byNamespace.set(namespace, queues.set(queue, types.set(type, tasks)));
    return tasks;
  }
}

/** The search of one claim. */
class Search {
  readonly #claim: TaskClaim;
  readonly #workers: WorkerRows;
  readonly #now: number;
  readonly #preferred: Match[] = [];
  readonly #others: Match[] = [];
  #next = Number.POSITIVE_INFINITY;

  constructor(claim: TaskClaim, workers: WorkerRows, now: number) {
    this.#claim = claim;
    this.#workers = workers;
    this.#now = now;
  }

  /** Reads tasks with affinity for one worker, or for none. */
  look(owner: string | undefined, order: Iterable<Task>, pins: Pins): void {
    const { limit, lease, isSticky } = this.#claim;
    const isMine = isSticky && owner === lease.worker;
    const ownedUntil = isSticky && owner !== undefined && !isMine ? this.#workers.livesUntil(this.#claim, owner) : 0;
    let [preferred, others] = [0, 0];
    for (const task of order) {
      const { pinned } = task.run;
      if (!pins.has(pinned)) continue;
      const nextPin = pins.get(pinned);
      // The first task behind the available ones determines when there may be more; the claim reads no
      // further.
      const isBehind = task.at > this.#now || others === limit;
      if (isBehind) this.#later(Math.max(task.at, this.#now));
      if (isBehind) break;
      const isActive = task.stickyUntil > this.#now;
      if (isMine && isActive) {
        if (preferred++ < limit) this.#preferred.push({ task, mode: "sticky_hit_expected", nextPin });
        else this.#later(this.#now);
      } else if (isActive && ownedUntil > this.#now) {
        this.#later(Math.min(task.stickyUntil, ownedUntil));
      } else {
        others++;
        this.#others.push({ task, mode: hadAffinity(task) ? "forced_cold_replay" : "cold_replay", nextPin });
      }
    }
  }

  end(): Matches {
    const { limit } = this.#claim;
    const all = [...this.#preferred.sort(byMoment), ...this.#others.sort(byMoment)];
    if (all.length > limit) this.#later(this.#now);
    return {
      found: all.slice(0, limit),
      next: this.#next === Number.POSITIVE_INFINITY ? undefined : Math.max(this.#next, this.#now),
    };
  }

  #later(moment: number): void {
    this.#next = Math.min(this.#next, moment);
  }
}

/** True if the task had affinity when it became ready. A task that was leased is not new. */
const hadAffinity = ({ state, at, stickyWorker, stickyUntil }: Task): boolean =>
  stickyWorker !== undefined && (state === "leased" || Math.abs(stickyUntil) > at);

const byMoment = ({ task: a }: Match, { task: b }: Match): number => a.at - b.at || a.generation - b.generation;

const pinsOf = (types: readonly TypeClaim[]): Map<string, Pins> =>
  new Map(types.map(({ type, pins }) => [type, new Map(pins.map(({ pinned, pins: nextPin }) => [pinned, nextPin]))]));
