// A query in a process that has no code of the workflow: workers elsewhere are asked, and when none of them can answer, whoever asked
// hears which processes could.
import { LimpetError } from "../kernel/errors.ts";
import type { StoredRun, StoredWorker } from "../ports/workflows.ts";
import type { Wire } from "./events.ts";
import { Refused } from "./remote/refusal.ts";

export interface ElsewhereWorld {
  /** Rejects with a refusal when nobody can answer. */
  ask(run: StoredRun, name: string, input: Wire): Promise<Wire>;
  /** All that are known, and whether each is there. */
  workers(): Promise<StoredWorker[]>;
  isLive(worker: StoredWorker): boolean;
}

export async function queryElsewhere(run: StoredRun, name: string, input: Wire, world: ElsewhereWorld): Promise<Wire> {
  try {
    return await world.ask(run, name, input);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.reason === "rejected_unknown_query") throw new LimpetError("QUERY_UNKNOWN", error.message);
    if (error.reason !== "query_worker_unavailable") throw new LimpetError("QUERY_FAILED", error.message);
    throw new LimpetError("WORKFLOW_TYPE_UNKNOWN", await whoCould(run, world));
  }
}

async function whoCould({ type, queue, build }: StoredRun, world: ElsewhereWorld): Promise<string> {
  const could = (await world.workers()).filter((worker) => {
    const { types = [] } = JSON.parse(worker.about) as { types?: readonly string[] };
    const isOurs = worker.queue === queue && (build === undefined || worker.build === build);
    return isOurs && types.includes(type) && world.isLive(worker);
  });
  const here = `a query is answered by the code of the workflow, and this process has none of ${type}`;
  if (could.length === 0) return `${here}; no worker that has it is there (queue ${queue})`;
  return `${here}; ask a process that has it: ${could.map(({ worker }) => worker).join(", ")}`;
}
