// Reads parts that several commands of an HTTP worker share: groups and selections, results of local
// activities, and unsupported fields. Such a field is rejected by name, so that no run depends on it. Pure.

import type { SerializedError } from "../../../kernel/serialized-error.ts";
import { failureElsewhere, finalEvent } from "../../../workflows/activities/failure.ts";
import type { ParallelGroup } from "../../../workflows/engine/events.ts";
import { groupMode, readSelection, SELECT_MODE } from "../../../workflows/history/selection.ts";
import type { LocalOutcome, WorkerCommand } from "../../commands/command.ts";
import { invalidField, Refused } from "../../refusal.ts";
import { type Fields, isFields, list, oneOf, optionalText, text, whole, words } from "../fields.ts";
import { readPayload } from "./payloads.ts";

/** Fields that change the meaning of a command and are not supported. */
const REFUSED_FIELDS = ["worker_session", "cancellation_scope_id", "cancellation_cleanup", "workflow_stream"] as const;

const MOST_DEEP = 32;
const MOST_STEP = 10_000_000;

export const refused = (what: string): Refused => new Refused(409, "unsupported_command", `${what} is not supported`);

export function refuseUnsupported(fields: Fields): void {
  for (const name of REFUSED_FIELDS) if (fields[name] != null) throw refused(name);
  if (fields.type !== "open_condition_wait" || fields.parallel_group_id == null) return;
  // A worker that replays a selection does not evaluate the predicates of its members.
  throw refused("a condition in a group");
}

/** The effect of a cancellation on a step that the run waits for; undefined: the default. */
export function policyOf<Policy extends string>(
  { cancellation_policy: policy }: Fields,
  usual: string,
  others: readonly Policy[],
): Policy | undefined {
  if (policy == null || policy === usual) return undefined;
  const known = others.find((other) => other === policy);
  if (known === undefined) throw refused(`cancellation_policy ${JSON.stringify(policy).slice(0, 80)}`);
  return known;
}

export function groupOf(fields: Fields): { group?: ParallelGroup } {
  const id = optionalText(fields, "parallel_group_id");
  if (id === undefined) return {};
  const number = (name: string, least: number): number => whole(fields, `parallel_group_${name}`, least, MOST_STEP);
  return {
    group: {
      id,
      kind: optionalText(fields, "parallel_group_kind") ?? "mixed",
      base: number("base_sequence", 1),
      size: number("size", 1),
      index: number("index", 0),
      path: pathOf(fields),
    },
  };
}

/** Groups from the outermost to the innermost. A selection is the outermost group. */
function pathOf(fields: Fields): unknown[] | undefined {
  const path = list(fields, "parallel_group_path");
  const entries = path ?? [];
  if (entries.length > MOST_DEEP) throw invalidField("parallel_group_path", `can have at most ${MOST_DEEP} groups`);
  if (!entries.every(isFields)) throw invalidField("parallel_group_path", "must be a list of objects");
  for (const [i, entry] of entries.entries()) checkMode(groupMode(entry), i);
  if (path === undefined && groupMode(fields) !== undefined) throw invalidField("parallel_group_path", "is required");
  const [outermost] = entries as Fields[];
  if (outermost !== undefined && groupMode(outermost) === SELECT_MODE && readSelection(outermost) === undefined) {
    throw invalidField("parallel_group_path", "must describe a member of a selection");
  }
  return path;
}

function checkMode(mode: unknown, depth: number): void {
  if (mode === undefined) return;
  if (mode !== SELECT_MODE) throw refused(`parallel_group_mode ${JSON.stringify(mode).slice(0, 80)}`);
  if (depth > 0) throw refused("a selection inside a group");
}

/** The member of a selection to cancel, as its worker names it. */
export function selectionMember(
  fields: Fields,
): Omit<Extract<WorkerCommand, { kind: "cancel_selection_operation" }>, "kind"> {
  const { member_key: key } = fields;
  return {
    selection: text(fields, "selection_group_id"),
    member: {
      key: Number.isInteger(key) ? (key as number) : text(fields, "member_key", 10_000),
      index: whole(fields, "member_index", 0, MOST_STEP),
      base: whole(fields, "member_base_sequence", 1, MOST_STEP),
      size: whole(fields, "member_size", 1, 1_000),
      kind: text(fields, "operation_kind"),
    },
    identity: text(fields, "operation_identity", 1_000),
  };
}

const FAILED = { failed: "failed", timed_out: "timed out", cancelled: "cancelled" } as const;

export function localOutcome(fields: Fields): LocalOutcome {
  const outcome = oneOf(fields, "outcome", ["completed", "failed", "timed_out", "cancelled"]);
  if (outcome === undefined) throw invalidField("outcome", "is required");
  if (outcome === "completed") return { result: readPayload(fields.result, "result") };
  const attempts = Math.max(list(fields, "attempts")?.length ?? 1, 1);
  const message = words(fields, "message") ?? "no message";
  const kind = FAILED[outcome];
  const failure = failureElsewhere(message, words(fields, "exception_type", 255), { kind, isFinal: true });
  const event = finalEvent(0, failure, attempts) as { readonly error: SerializedError };
  return { failed: kind, error: event.error, attempts };
}
