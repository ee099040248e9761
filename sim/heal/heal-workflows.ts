// Workflows after the chaos: every run that waits for a signal gets one, and then every run completes.
import { OPTIONS } from "../../src/config/options.ts";
import { type Duration, parseDuration } from "../../src/kernel/durations.ts";
import type { StoredRun } from "../../src/ports/store/workflows.ts";
import { isParkedByLosses } from "../../src/workflows/worker/lost-attempts.ts";
import { runsOf, type SeenRun } from "../checkers/workflows/workflow-runs.ts";
import { doDeed } from "../deeds.ts";
import type { Plan } from "../plan.ts";
import { SIGNALS } from "../scripts.ts";
import type { Stage } from "../stage.ts";

type Until = (ms: number, isDone?: () => boolean) => Promise<void>;

const LOOK_MS = 1_000;
const PAGE = 100_000;
/**
 * Longest delay of a retry after many failures. A worker polls at least twice in this time, even if the store
 * notifies it.
 */
const LATE_MS = 60_000;
/** Longest time that a script takes by itself. */
const LONGEST_SCRIPT_MS = 120_000;

export async function demandWorkflows(stage: Stage, until: Until): Promise<void> {
  if (stage.plan.workflows === undefined) return;
  const deadline = stage.now + boundOf(stage.plan) + stage.boundMs;
  let open = await openRuns(stage);
  for (let round = 0; open.length > 0 && stage.now < deadline; round++) {
    await wakeParked(stage, open);
    ring(stage, open, round);
    await until(stage.now + LOOK_MS);
    open = await openRuns(stage);
    // The remaining runs wait for calls that can never succeed.
    if (open.every(({ runId }) => waitsForNobody(stage, runsOf(stage).byRunId.get(runId)))) break;
  }
  for (const { namespace, workflowId, runId, task, events } of open) {
    if (waitsForNobody(stage, runsOf(stage).byRunId.get(runId))) continue;
    const { state, attempt, problem, arrived, taken, at } = task!;
    const now = stage.world.database.now;
    const how = `${state}${at === undefined ? "" : ` ${at - now} ms`}, attempt ${attempt}, ${taken} of ${arrived} messages taken`;
    const why = problem === undefined ? "" : `, ${problem}`;
    stage.violation(
      "workflow progress",
      `${workflowId} (run ${runId}) of ${namespace} does not end after healing: ${how}, ${events} events${why}`,
    );
  }
}

/**
 * The run, or a child of it, calls an actor of a type that no host has any more. Such a call is retried for
 * ever.
 */
function waitsForNobody(stage: Stage, run: SeenRun | undefined): boolean {
  if (run === undefined) return false;
  if (!isRunSomewhere(stage, run)) return true;
  const answered = new Set(run.events.map(({ event }) => ("of" in event ? event.of : 0)));
  return run.events.some(({ event }) => {
    if (!("n" in event) || answered.has(event.n)) return false;
    if (event.kind === "ActorCalled") return !isHosted(stage, run.namespace, event.type);
    if (event.kind !== "ChildWorkflowScheduled") return false;
    return waitsForNobody(stage, runsOf(stage).of(run.namespace, event.workflowId).at(-1));
  });
}

/** False in a reduced plan without a worker for this run. */
const isRunSomewhere = ({ plan }: Stage, { namespace, type, build }: SeenRun): boolean =>
  plan.hosts.some((host) => {
    const worker = plan.workflows?.workers[host.name];
    const isOfBuild = build === undefined || worker?.build === build;
    return host.namespace === namespace && worker?.types.includes(type) && isOfBuild;
  });

const isHosted = (stage: Stage, namespace: string, type: string): boolean =>
  stage.players.some(({ planned, types }) => planned.namespace === namespace && types.includes(type));

function boundOf({ settings }: Plan): number {
  const { lease, stickyTtl } = typeof settings.worker === "object" ? settings.worker : {};
  const leaseMs = parseDuration(lease ?? (OPTIONS.workerLease.default as Duration), "lease");
  const stickyMs = parseDuration(stickyTtl ?? (OPTIONS.workerStickyTtl.default as Duration), "stickyTtl");
  return 2 * leaseMs + stickyMs + LATE_MS + LONGEST_SCRIPT_MS;
}

async function openRuns(stage: Stage): Promise<StoredRun[]> {
  const namespaces = new Set(stage.plan.hosts.map(({ namespace }) => namespace));
  const pages = await Promise.all(
    [...namespaces].map((namespace) =>
      stage.world.database.truth.workflows.list({ namespace, status: "running", limit: PAGE }),
    ),
  );
  return pages.flat();
}

/** An operator resumes each run that was parked because its processes died too often. */
async function wakeParked(stage: Stage, open: readonly StoredRun[]): Promise<void> {
  const { workflows } = stage.world.database.truth;
  for (const { namespace, workflowId, task } of open) {
    if (isParkedByLosses(task?.problem)) await workflows.wake({ namespace, workflowId }, true);
  }
}

/** Every run that waits for a signal without a timeout gets one in every round. */
function ring(stage: Stage, open: readonly StoredRun[], round: number): void {
  for (const [i, { namespace, workflowId }] of open.entries()) {
    const here = stage.players.filter(({ planned }) => planned.namespace === namespace && !planned.dedicated);
    const from = here[(i + round) % here.length]!.planned.name;
    const deed = { kind: "signal", name: SIGNALS[round % SIGNALS.length]! } as const;
    void doDeed(stage, { at: stage.now, from, workflow: workflowId, deed }, `ring-${round}-${i}`);
  }
}
