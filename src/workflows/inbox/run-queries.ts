// Answers queries and displays the waits of runs, by the code of this process or elsewhere. A query never
// changes its run.
import { fromWire, toWire } from "../../kernel/values.ts";
import type { Clock } from "../../ports/clock.ts";
import type { StoredRun, Workflows } from "../../ports/store/workflows.ts";
import { closed } from "../client/client.ts";
import type { Wire } from "../engine/events.ts";
import type { HttpWorkers } from "../http-workers.ts";
import type { LoadedRun } from "../worker/loaded-run.ts";
import { checkQueryable } from "../worker/lost-attempts.ts";
import { staleAfter } from "../worker/presence.ts";
import type { Worker } from "../worker/worker.ts";
import type { HostQuestion, HostQuestions } from "./host-questions.ts";
import { answerQuery, type QueryDeps } from "./query-elsewhere.ts";

export interface RunQueriesDeps {
  readonly clock: Clock;
  readonly namespace: string;
  readonly store: Workflows;
  readonly worker: Worker;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly hosts: HostQuestions;
  readonly httpWorkers: HttpWorkers;
  /** The store's clock. */
  now(): number;
}

/** Longer histories are not replayed for display. */
const MOST_REPLAYED = 10_000;

export class RunQueries {
  readonly #deps: RunQueriesDeps;
  readonly #places: QueryDeps;

  constructor(deps: RunQueriesDeps) {
    this.#deps = deps;
    const { clock, worker, hosts, httpWorkers, leaseMs } = deps;
    const { workers } = httpWorkers;
    this.#places = {
      clock,
      worker: deps.workerId,
      hasType: (type) => worker.has(type),
      hasCodeOf: (run) => worker.hasCodeOf(run),
      here: async (run, name, input) => {
        const result = await this.#here(run, name, fromWire(structuredClone(input)));
        return toWire(result, "the result", "RESULT_INVALID");
      },
      askHost: (...question) => hosts.ask(...question),
      askHttpWorkers: (...question) => httpWorkers.query(...question),
      workers: () => workers.rows(),
      // With long leases workers send heartbeats less often.
      isLive: (row) => workers.isLive(row) || row.seenAt + staleAfter(leaseMs) > deps.now(),
    };
  }

  /** A query of application code, with plain values. */
  async ask(run: StoredRun, name: string, input: unknown): Promise<unknown> {
    const wire = toWire(input, "the input", "ARGUMENT_INVALID");
    const answer = await this.askWire(run, name, wire).catch((error: unknown) => {
      throw this.#deps.httpWorkers.plainError(error);
    });
    return fromWire(answer);
  }

  askWire(run: StoredRun, name: string, input: Wire): Promise<Wire> {
    return answerQuery(run, name, input, this.#places);
  }

  /** Answers a query of another process that does not have the code. */
  async answer({ workflowId, runId, name, input }: HostQuestion): Promise<unknown> {
    const run = await this.#deps.store.find({ namespace: this.#deps.namespace, workflowId, runId });
    if (run === undefined) throw closed(workflowId, undefined);
    checkQueryable(run);
    return this.#here(run, name, input);
  }

  async #here(run: StoredRun, name: string, input: unknown): Promise<unknown> {
    const { execution } = this.#warm(run) ?? (await this.#cold(run));
    return execution.handlers.query(name, input);
  }

  /** The current waits of a run's code; undefined: the code is not here, or the replay is refused. */
  async waitsOf(run: StoredRun): Promise<readonly string[] | undefined> {
    if (!this.#deps.worker.hasCodeOf(run) || run.events > MOST_REPLAYED) return undefined;
    const warm = this.#warm(run);
    if (warm !== undefined) return warm.execution.waitsFor;
    // A replay of code that crashed other processes may crash this one.
    if (run.task !== undefined && run.task.lost > 0) return undefined;
    try {
      return (await this.#cold(run)).execution.waitsFor;
    } catch {
      // The task of the run records the error once a worker has tried it.
      return undefined;
    }
  }

  /** The run in memory, if it has all durable events. */
  #warm({ ref, events }: StoredRun): LoadedRun | undefined {
    const run = this.#deps.worker.cache.peek(ref);
    return run?.last === events ? run : undefined;
  }

  #cold({ ref, type, events }: StoredRun): Promise<LoadedRun> {
    return this.#deps.worker.replayer.replay({ ref, type, last: events, taken: 0 });
  }
}
