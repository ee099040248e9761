// Chooses the process that answers a query: this process if it has the code of the run; otherwise another
// host that has it, preferably the one with the run in memory; otherwise a remote worker. Every wait is
// bounded, and without an answer the caller gets the reason. A query never changes the run.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { StoredRun, StoredWorker } from "../../ports/store/workflows.ts";
import { mayContinue, readPin, workerCodeOf } from "../definition/pins.ts";
import type { Wire } from "../engine/events.ts";
import { checkQueryable } from "../worker/lost-attempts.ts";

export interface QueryDeps {
  readonly clock: Clock;
  readonly worker: string;
  /** This process has a workflow of that name. */
  hasType(type: string): boolean;
  /** This process has exactly the code that the run is pinned to, in its queue. */
  hasCodeOf(run: StoredRun): boolean;
  /** Answers by the code of this process, in JSON-ready form. */
  here(run: StoredRun, name: string, input: Wire): Promise<Wire>;
  /** Asks another host; undefined: no answer in time. */
  askHost(
    worker: string,
    run: StoredRun,
    name: string,
    input: Wire,
    withinMs: number,
  ): Promise<{ readonly result: Wire } | undefined>;
  /** Asks HTTP workers; undefined: none is available. */
  askHttpWorkers(run: StoredRun, name: string, input: Wire): Promise<{ readonly result: Wire } | undefined>;
  /** All registered workers, and whether each is alive. */
  workers(): Promise<StoredWorker[]>;
  isLive(worker: StoredWorker): boolean;
}

/** The time limit for all other hosts together. */
const WITHIN_MS = 10_000;

export async function answerQuery(run: StoredRun, name: string, input: Wire, deps: QueryDeps): Promise<Wire> {
  checkQueryable(run);
  const isHere = deps.hasType(run.type);
  try {
    if (deps.hasCodeOf(run)) return await deps.here(run, name, input);
  } catch (error) {
    // Another worker may have the code that began the run.
    if (!isLimpetError(error, "WORKFLOW_DIVERGED")) throw error;
    return queryElsewhere(run, name, input, deps).catch((other: unknown) => {
      throw isLimpetError(other, "WORKFLOW_TYPE_UNKNOWN") ? error : other;
    });
  }
  try {
    return await queryElsewhere(run, name, input, deps);
  } catch (error) {
    // Code of another build is better than no answer: it computes the answer from the whole history.
    if (!isHere || !isLimpetError(error, "WORKFLOW_TYPE_UNKNOWN")) throw error;
    return deps.here(run, name, input);
  }
}

/** Asks other processes. Throws WORKFLOW_TYPE_UNKNOWN when none has the code. */
async function queryElsewhere(run: StoredRun, name: string, input: Wire, deps: QueryDeps): Promise<Wire> {
  const hosts = await hostsFor(run, deps);
  const answer = (await queryHosts(hosts, run, name, input, deps)) ?? (await deps.askHttpWorkers(run, name, input));
  if (answer !== undefined) return answer.result;
  const { type, queue } = run;
  const { build, definition } = readPin(run.pinned);
  if (hosts.length > 0) {
    throw new LimpetError("CALL_TIMEOUT", `workers that have the code of ${type} did not answer: ${hosts.join(", ")}`);
  }
  const here = `a query is answered by the code of the workflow, and this process has none of ${type}`;
  const pins = [build && `build ${build}`, definition && `definition ${definition}`];
  const where = [`queue ${queue}`, ...pins.filter((words) => words !== undefined)].join(", ");
  throw new LimpetError("WORKFLOW_TYPE_UNKNOWN", `${here}; no worker that has it is there (${where})`);
}

/** Asks the hosts one after the other; undefined: none answered. */
async function queryHosts(
  hosts: readonly string[],
  run: StoredRun,
  name: string,
  input: Wire,
  { clock, askHost }: QueryDeps,
): Promise<{ readonly result: Wire } | undefined> {
  const end = clock.monotonic() + WITHIN_MS;
  let diverged: unknown;
  for (const [i, host] of hosts.entries()) {
    const leftMs = end - clock.monotonic();
    if (leftMs <= 0) break;
    try {
      // A dead host may look alive for a while, so the next one gets half of the time.
      const answer = await askHost(host, run, name, input, i === hosts.length - 1 ? leftMs : leftMs / 2);
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!isLimpetError(error, "WORKFLOW_DIVERGED") && !isLimpetError(error, "WORKFLOW_TYPE_UNKNOWN")) throw error;
      diverged = error;
    }
  }
  if (diverged !== undefined) throw diverged;
  return undefined;
}

/** Live hosts with the code: first the one with the run in memory, last the draining ones. */
async function hostsFor(run: StoredRun, deps: QueryDeps): Promise<string[]> {
  const rows = (await deps.workers()).filter((row) => {
    const { remote, types = [] } = JSON.parse(row.about) as About;
    if (remote !== undefined || row.worker === deps.worker || row.queue !== run.queue) return false;
    return (
      types.includes(run.type) && mayContinue(readPin(run.pinned), run.type, workerCodeOf(row)) && deps.isLive(row)
    );
  });
  const rank = ({ worker, isDraining }: StoredWorker): number => (worker === run.stickyWorker ? 0 : isDraining ? 2 : 1);
  return rows.sort((a, b) => rank(a) - rank(b)).map(({ worker }) => worker);
}

interface About {
  readonly types?: readonly string[];
  readonly remote?: unknown;
}
