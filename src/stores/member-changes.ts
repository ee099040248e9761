// Merges changes of members into sets, for a store that writes all of them at once and may touch no member
// twice.
import type { MemberChange } from "../ports/store/coordination.ts";

type Save = Extract<MemberChange, { kind: "save" }>;

export interface MergedChanges {
  readonly saved: readonly Save[];
  readonly dropped: readonly string[];
}

/** One change for each member, with the same effect as all of its changes in order. */
export function merged(changes: readonly MemberChange[]): MergedChanges {
  const last = new Map<string, MemberChange>();
  for (const change of changes) {
    const incarnation = incarnationOf(change);
    last.set(incarnation, followed(last.get(incarnation), change));
  }
  const all = [...last.values()];
  return {
    saved: all.filter((change) => change.kind === "save"),
    dropped: all.filter((change) => change.kind === "drop").map(({ incarnation }) => incarnation),
  };
}

/**
 * The last change counts. But a change of a known member requires its row, and the change before decides
 * whether there is one.
 */
function followed(before: MemberChange | undefined, change: MemberChange): MemberChange {
  if (before === undefined || change.kind === "drop" || !change.isKnown) return change;
  return before.kind === "drop" ? before : { ...change, isKnown: before.isKnown };
}

function incarnationOf(change: MemberChange): string {
  return change.kind === "drop" ? change.incarnation : change.member.incarnation;
}
