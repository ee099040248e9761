// What a run and the runs that it has started as children say to each other. Pure.
//
// A child may have been continued by other runs since: so what its parent says is for whichever run of it is open, and counts only if that
// one is a child of this very run. What a child says is for the run that started it, and nobody else.
import { LimpetError } from "../../kernel/errors.ts";
import { type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import type { InboxMessage } from "../../ports/workflows.ts";
import type { Sent } from "../definition/messages.ts";
import { arrivalOf } from "../inbox/inbox-messages.ts";
import type { ParentClosePolicy, Started, Wire } from "./events.ts";

export interface ChildOfRun {
  readonly workflowId: string;
  readonly onParentClose: ParentClosePolicy;
}

export type RunOutcome = { readonly result: Wire } | { readonly error: SerializedError };

/** A run is over: its children hear of it, as it was decided when they were started. */
export function toChildren(
  namespace: string,
  { workflowId: parent, runId }: { readonly workflowId: string; readonly runId: string },
  children: ReadonlyMap<number, ChildOfRun>,
): InboxMessage[] {
  const reason = `its parent ${parent} is over`;
  return [...children].flatMap(([n, { workflowId, onParentClose }]) => {
    if (onParentClose === "abandon") return [];
    const kind = onParentClose === "cancel" ? "CancelRequested" : "TerminateRequested";
    const to = { namespace, workflowId, runId: undefined, key: `parent ${runId} ${n}` };
    return [arrivalOf(to, { kind, reason }, { onlyFor: { runId, n } })];
  });
}

/** False: it was sent by the parent of another run of that name. */
export const isMeant = ({ parent }: Started, { onlyFor }: Pick<Sent, "onlyFor">): boolean =>
  onlyFor === undefined || (parent?.runId === onlyFor.runId && parent.n === onlyFor.n);

/** A run is over: its parent hears what came of it. */
export function toParent(namespace: string, { parent }: Started, outcome: RunOutcome): InboxMessage[] {
  if (parent === undefined) return [];
  const { workflowId, runId, n } = parent;
  const message =
    "error" in outcome
      ? ({ kind: "ChildRunFailed", of: n, error: outcome.error } as const)
      : ({ kind: "ChildRunCompleted", of: n, result: outcome.result } as const);
  return [arrivalOf({ namespace, workflowId, runId, key: `child ${n}` }, message)];
}

/** What a run hears when a child of it cannot be started, because there is a workflow of that id. */
export function refusalOf(
  namespace: string,
  { workflowId, runId, n }: NonNullable<Started["parent"]>,
  child: string,
): InboxMessage {
  const taken = new LimpetError(
    "WORKFLOW_EXISTS",
    `there is a workflow ${child} already, and it is no child of this run`,
  );
  const to = { namespace, workflowId, runId, key: `child ${n}` };
  return arrivalOf(to, { kind: "ChildRunFailed", of: n, error: serializeError(taken) });
}
