// Tasks that are ready or leased, in the order of their moments: those of each queue and type apart, and in there those of each worker
// that has runs in memory. So a claim looks at what it may have, and not at what waits for somebody else.
import type { ReplayMode, TaskClaim } from "../../ports/workflows.ts";
import { DueOrder } from "./due-order.ts";
import type { Task } from "./run-rows.ts";
import type { WorkerRows } from "./worker-rows.ts";

/** Tasks of one type: by the worker that has them in memory; `undefined`: nobody. */
type Shelf = Map<string | undefined, DueOrder<Task>>;

export interface Match {
  readonly task: Task;
  readonly mode: ReplayMode;
}

export interface Matches {
  /** In the order in which they are to be had. */
  readonly found: readonly Match[];
  readonly next: number | undefined;
}

export class TaskBoard {
  /** Namespace, then queue, then type. */
  readonly #shelves = new Map<string, Map<string, Map<string, Shelf>>>();

  /** Idle ones have no place here. */
  add(task: Task): void {
    if (task.state === "idle") return;
    const shelf = this.#shelf(task);
    const order = shelf.get(task.stickyWorker) ?? new DueOrder<Task>();
    shelf.set(task.stickyWorker, order);
    order.add(task);
  }

  remove(task: Task): void {
    if (task.state === "idle") return;
    const shelf = this.#shelf(task);
    const order = shelf.get(task.stickyWorker);
    order?.remove(task);
    if (order?.size === 0) shelf.delete(task.stickyWorker);
  }

  /** What a claim gets. Nothing is changed. */
  match(claim: TaskClaim, workers: WorkerRows, now: number): Matches {
    const search = new Search(claim, workers, now);
    const types = this.#shelves.get(claim.namespace)?.get(claim.queue);
    for (const type of new Set(claim.types)) {
      for (const [owner, order] of types?.get(type) ?? []) search.look(owner, order);
    }
    return search.end();
  }

  #shelf({ run: { namespace, queue, type } }: Task): Shelf {
    const queues = this.#shelves.get(namespace) ?? new Map<string, Map<string, Shelf>>();
    const types = queues.get(queue) ?? new Map<string, Shelf>();
    const shelf: Shelf = types.get(type) ?? new Map();
    this.#shelves.set(namespace, queues.set(queue, types.set(type, shelf)));
    return shelf;
  }
}

/** One claim's way along the shelves. */
class Search {
  readonly #claim: TaskClaim;
  readonly #workers: WorkerRows;
  readonly #now: number;
  readonly #preferred: Task[] = [];
  readonly #others: Match[] = [];
  #next = Number.POSITIVE_INFINITY;

  constructor(claim: TaskClaim, workers: WorkerRows, now: number) {
    this.#claim = claim;
    this.#workers = workers;
    this.#now = now;
  }

  /** At tasks with affinity for one worker, or for none. */
  look(owner: string | undefined, order: Iterable<Task>): void {
    const { limit, lease, isSticky } = this.#claim;
    const isMine = isSticky && owner === lease.worker;
    const heldUntil = isSticky && owner !== undefined && !isMine ? this.#workers.livesUntil(this.#claim, owner) : 0;
    let [preferred, others] = [0, 0];
    for (const task of order) {
      if (!this.#mayRun(task.run.build)) continue;
      // The first one behind those that can be had says when there may be more, and no other is looked at.
      const isBehind = task.at > this.#now || others === limit;
      if (isBehind) this.#later(Math.max(task.at, this.#now));
      if (isBehind) break;
      const isActive = task.stickyUntil > this.#now;
      if (isMine && isActive) {
        if (preferred++ < limit) this.#preferred.push(task);
        else this.#later(this.#now);
      } else if (isActive && heldUntil > this.#now) {
        this.#later(Math.min(task.stickyUntil, heldUntil));
      } else {
        others++;
        this.#others.push({ task, mode: owner === undefined ? "cold_replay" : "forced_cold_replay" });
      }
    }
  }

  #mayRun(bound: string | undefined): boolean {
    const { build, compatible } = this.#claim;
    return bound === undefined || bound === build || compatible.includes(bound);
  }

  end(): Matches {
    const { limit } = this.#claim;
    this.#preferred.sort(byMoment);
    this.#others.sort((a, b) => byMoment(a.task, b.task));
    const mine = this.#preferred.map((task): Match => ({ task, mode: "sticky_hit_expected" }));
    const all = [...mine, ...this.#others];
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

const byMoment = (a: Task, b: Task): number => a.at - b.at || a.generation - b.generation;
