// Durable selections: groups of steps of which the first that ends decides how the code goes on. A worker
// describes a selection in the path of a step's parallel group; this file reads it, finds the winner, and
// finds the steps of a member. Pure.
//
// Always true: a selection has one winner. A member is one step, or an ordinary group of steps. A single step
// ends with its first terminal event. A group fails with its first failed step, and completes when all of its
// steps are complete.
import type { ParallelGroup } from "../engine/events.ts";
import type { RunState } from "./run-state.ts";

export interface Selection {
  readonly id: string;
  readonly base: number;
  readonly size: number;
  readonly member: SelectionMember;
}

export interface SelectionMember {
  readonly key: string | number;
  readonly index: number;
  readonly base: number;
  readonly size: number;
  readonly kind: string;
}

export const SELECT_MODE = "select";
/** A selection has at most as many steps as a task has commands. */
const MOST_STEPS = 1_000;

/**
 * The selection that a step belongs to; undefined: the step is no member of one, or its description makes no
 * sense.
 */
export function selectionOf(group: ParallelGroup | undefined): Selection | undefined {
  if (!Array.isArray(group?.path)) return undefined;
  const entry = group.path.find((each: unknown) => groupMode(each) === SELECT_MODE) as
    | Record<string, unknown>
    | undefined;
  return entry === undefined ? undefined : readSelection(entry);
}

/** How the code awaits the members of a group; undefined: all of them. */
export function groupMode(entry: unknown): unknown {
  if (typeof entry !== "object" || entry === null || !Object.hasOwn(entry, "parallel_group_mode")) return undefined;
  return (entry as Record<string, unknown>).parallel_group_mode ?? undefined;
}

export function readSelection(entry: Readonly<Record<string, unknown>>): Selection | undefined {
  const id = entry.parallel_group_id;
  const key = entry.selection_member_key;
  const kind = entry.selection_member_kind;
  const base = whole(entry.parallel_group_base_sequence, 1);
  const size = whole(entry.parallel_group_size, 1, MOST_STEPS);
  const index = whole(entry.selection_member_index, 0, MOST_STEPS);
  const memberBase = whole(entry.selection_member_base_sequence, 1);
  const memberSize = whole(entry.selection_member_size, 1, MOST_STEPS);
  if (typeof id !== "string" || id === "" || typeof kind !== "string" || !isKey(key)) return undefined;
  if (base === undefined || size === undefined || index === undefined) return undefined;
  if (memberBase === undefined || memberSize === undefined) return undefined;
  if (memberBase < base || memberBase + memberSize > base + size) return undefined;
  return { id, base, size, member: { key, index, base: memberBase, size: memberSize, kind } };
}

const isKey = (key: unknown): key is string | number =>
  (typeof key === "string" && key !== "") || whole(key, 0) !== undefined;

function whole(value: unknown, least: number, most = 10_000_000): number | undefined {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
    ? (value as number)
    : undefined;
}

/** The numbers of a member's steps. */
export const stepsOf = ({ base, size }: Pick<SelectionMember, "base" | "size">): number[] =>
  Array.from({ length: size }, (_, i) => base + i);

/** The outcome of a selection when a step ends; undefined: the selection is still open, or has a winner. */
export function outcomeOf(run: RunState, n: number, isFailure: boolean): "completed" | "failed" | undefined {
  const selection = selectionOf(run.steps.get(n)?.group);
  if (selection === undefined || run.selected.has(selection.id)) return undefined;
  if (isFailure) return "failed";
  return stepsOf(selection.member).every((each) => each === n || run.isDone(each)) ? "completed" : undefined;
}

/** The identity of a member's operation in the worker protocol. */
export function identityOf(run: Pick<RunState, "runId" | "steps">, { base, size, kind }: SelectionMember): string {
  if (kind === "group") return `group:${base}:${size}`;
  return run.steps.get(base)?.kind === "ChildWorkflowScheduled" ? `${run.runId}-${base}` : `${run.runId}:${base}`;
}
