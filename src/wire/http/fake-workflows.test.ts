// A fake `WorkflowAdmin`: it records its requests, and knows only the data that a test sets.
import { LimpetError } from "../../kernel/errors.ts";
import type {
  EventPage,
  NewWorkflow,
  RunName,
  WorkerOverview,
  WorkflowAdmin,
  WorkflowCounts,
  WorkflowEvent,
  WorkflowPage,
  WorkflowPageQuery,
  WorkflowSummary,
  WorkflowView,
} from "../../ports/workflow-admin.ts";

export class FakeWorkflows implements WorkflowAdmin {
  readonly asked: unknown[][] = [];
  now = 1_000;
  workflows: WorkflowSummary[] = [];
  counts: WorkflowCounts = { running: 0, blocked: 0 };
  view: WorkflowView | undefined;
  history: WorkflowEvent[] = [];
  overview: Omit<WorkerOverview, keyof WorkflowCounts | "now"> = {
    workers: [],
    sticky: { runs: 0, ready: 0, leased: 0, owned: 0, isEnabled: true, ttlMs: 300_000 },
    lastMinute: { sticky_hit_expected: 0, cold_replay: 0, forced_cold_replay: 0, miss: 0 },
    unserved: [],
  };
  answer: unknown;
  /** Thrown by every method that changes a workflow. */
  problem: unknown;

  async list(query: WorkflowPageQuery): Promise<WorkflowPage> {
    this.asked.push(["list", query]);
    const begin = query.before ?? 0;
    const end = begin + query.limit;
    const isMore = end < this.workflows.length;
    return { now: this.now, workflows: this.workflows.slice(begin, end), next: isMore ? end : undefined };
  }

  async count(): Promise<WorkflowCounts> {
    return this.counts;
  }

  async look(name: RunName, steps: number): Promise<WorkflowView> {
    this.asked.push(["look", name, steps]);
    if (this.view !== undefined) return this.view;
    throw new LimpetError("WORKFLOW_UNKNOWN", `there is no workflow ${name.workflowId}`);
  }

  async events(name: RunName, after: number, limit: number): Promise<EventPage> {
    this.asked.push(["events", name, after, limit]);
    const events = this.history.slice(after, after + limit);
    return { events, next: after + limit < this.history.length ? after + limit : undefined };
  }

  async workers(): Promise<WorkerOverview> {
    return { now: this.now, ...this.counts, ...this.overview };
  }

  async start(request: NewWorkflow) {
    this.#steer("start", request);
    return { workflowId: request.id ?? "made-up", runId: "run-1" };
  }

  async signal(name: RunName, signal: string, input: unknown): Promise<void> {
    this.#steer("signal", name, signal, input);
  }

  async query(name: RunName, query: string, input: unknown): Promise<unknown> {
    this.#steer("query", name, query, input);
    return this.answer;
  }

  async update(name: RunName, update: string, input: unknown): Promise<unknown> {
    this.#steer("update", name, update, input);
    return this.answer;
  }

  async cancel(name: RunName, reason: string): Promise<void> {
    this.#steer("cancel", name, reason);
  }

  async terminate(name: RunName, reason: string): Promise<void> {
    this.#steer("terminate", name, reason);
  }

  async wake(name: RunName): Promise<void> {
    this.#steer("wake", name);
  }

  #steer(...asked: unknown[]): void {
    this.asked.push(asked);
    if (this.problem !== undefined) throw this.problem;
  }
}
