// Builds the messages between a run and its child runs. Pure.
//
// Other runs may have continued a child since its start. A message of the parent therefore goes to the open
// run of the child, which ignores it unless it descends from this very run. A message of a child goes only to
// the run that started it.
import { LimpetError } from "../../kernel/errors.ts";
import { type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import type { InboxMessage } from "../../ports/store/workflows.ts";
import type { Sent } from "../definition/messages.ts";
import { inboxMessage } from "../inbox/inbox-messages.ts";
import type { ParentClosePolicy, Started, Wire } from "./events.ts";

export interface ChildOfRun {
  readonly workflowId: string;
  readonly onParentClose: ParentClosePolicy;
}

export type RunOutcome = { readonly result: Wire } | { readonly error: SerializedError };

/** Notifies the children of the end of a run, by the policy that each was started with. */
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
    return [inboxMessage(to, { kind, reason }, { onlyFor: { runId, n } })];
  });
}

/** False: the message comes from the parent of another run of that name. */
export const isMeant = ({ parent }: Started, { onlyFor }: Pick<Sent, "onlyFor">): boolean =>
  onlyFor === undefined || (parent?.runId === onlyFor.runId && parent.n === onlyFor.n);

/** Notifies the parent of the outcome of a run. */
export function toParent(namespace: string, { parent }: Started, outcome: RunOutcome): InboxMessage[] {
  if (parent === undefined) return [];
  const { workflowId, runId, n } = parent;
  const message =
    "error" in outcome
      ? ({ kind: "ChildRunFailed", of: n, error: outcome.error } as const)
      : ({ kind: "ChildRunCompleted", of: n, result: outcome.result } as const);
  return [inboxMessage({ namespace, workflowId, runId, key: `child ${n}` }, message)];
}

/** Notifies a run that its child cannot start, because another workflow has that id. */
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
  return inboxMessage(to, { kind: "ChildRunFailed", of: n, error: serializeError(taken) });
}
