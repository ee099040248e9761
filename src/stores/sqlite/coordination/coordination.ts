// The coordination port on the event loop, and its verbs in the worker thread, which serves them before takes
// and commits. Times are on the machine's clock, which all processes on the file share.
import type { Candidate, Coordination, MemberChange } from "../../../ports/store/coordination.ts";
import { type Call, read, write } from "../thread/verb.ts";

const URGENT = { isUrgent: true } as const;

export const COORDINATION_VERBS = {
  campaign: write(
    (on, candidate: Candidate, dead: readonly string[]) => on.coordination.campaign(candidate, dead, Date.now()),
    URGENT,
  ),
  resign: write((on, incarnation: string) => on.coordination.resign(incarnation), URGENT),
  members: read((on) => on.coordination.members(), URGENT),
  persist: write((on, term: number, changes: readonly MemberChange[]) => on.coordination.persist(term, changes), {
    ...URGENT,
    rows: (_, __, changes) => changes.length,
  }),
  leave: write((on, incarnations: readonly string[]) => on.coordination.leave(incarnations), URGENT),
  secret: write((on, offer: string) => on.coordination.secret(offer), URGENT),
};

// Field by field: other properties of the caller's objects need not be cloneable.
export const sqliteCoordination = (call: Call<typeof COORDINATION_VERBS>): Coordination => ({
  campaign({ incarnation, address, machine, pid, dedicated, leaseMs, hostLeaseMs, seenTerm }, dead = []) {
    const candidate = { incarnation, address, machine, pid, dedicated, leaseMs, hostLeaseMs, seenTerm };
    return call("campaign", candidate, [...dead]);
  },
  resign: (incarnation) => call("resign", incarnation),
  members: () => call("members"),
  persist: (term, changes) => call("persist", term, changes.map(copyOf)),
  leave: (incarnations) => call("leave", [...incarnations]),
  secret: (offer) => call("secret", offer),
});

function copyOf(change: MemberChange): MemberChange {
  if (change.kind === "drop") return { kind: "drop", incarnation: change.incarnation };
  const { namespace, incarnation, address, machine, pid, types } = change.member;
  const member = { namespace, incarnation, address, machine, pid, types: [...types] };
  return { kind: "save", member, isKnown: change.isKnown };
}
