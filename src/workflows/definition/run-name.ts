// Reads the arguments of `workflows.get`: the id of a workflow, and optionally one run of it. It rejects two
// texts unless the second can be a run id: most callers that pass two texts mean a type and an id. Pure.
import { LimpetError } from "../../kernel/errors.ts";
import { textProblem } from "../../kernel/names.ts";
import { namesProblem } from "./checked-options.ts";
import { type AnyWorkflow, checkWorkflowId } from "./definition.ts";

/** One run of a workflow, by its id. */
export interface OneRun {
  readonly runId?: string;
}

/** A random id. A run that another run started or continued has that run's id and a number. */
const RUN_ID = /^[\w-]{22}(?:[-.]\d+)*$/;

export type GetArguments = [of: AnyWorkflow | string, idOrRun?: string | OneRun, runId?: string];

export function runToGet(...[of, second, runId]: GetArguments): { id: string; runId: string | undefined } {
  const named = typeof of === "string" ? { id: of, runId: runOf(of, second) } : { id: second, runId };
  checkWorkflowId(named.id);
  const problem = named.runId === undefined ? undefined : textProblem(named.runId);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `run id ${problem}`);
  return { id: named.id, runId: named.runId };
}

function runOf(id: string, run: string | OneRun | undefined): string | undefined {
  if (run === undefined) return undefined;
  if (typeof run !== "string") {
    const problem = namesProblem(run, { runId: true });
    if (problem !== undefined) throw new LimpetError("OPTION_INVALID", `workflows.get("${id}", …): ${problem}`);
    return run.runId;
  }
  if (RUN_ID.test(run)) return run;
  const advice = `pass the workflow itself and its id, or get("${run}") with the id alone, or get("${id}", { runId })`;
  throw new LimpetError("NAME_INVALID", `workflows.get("${id}", "${run}"): "${run}" is not a run id; ${advice}`);
}
