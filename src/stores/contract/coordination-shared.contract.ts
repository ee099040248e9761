// Shared parts of the coordination contract: opening a store, passing time, and candidates.
import { LIMITS } from "../../kernel/limits.ts";
import type { Candidate, Coordination, ElectionResult, Member, MemberChange } from "../../ports/store/coordination.ts";
import type { Store } from "../../ports/store/store.ts";

export interface OpenedCoordination {
  readonly store: Store;
  /** Another store object on the same data, as another process would have it. The suite closes it. */
  readonly second?: () => Promise<Store>;
  /**
   * Advances time for the stored data, or sets the clock back. Leases in this suite are so long that real
   * time does not matter.
   */
  readonly advance: (ms: number) => Promise<void>;
  /** Lists so many schedulers with a lease of an hour, without campaigning. */
  readonly listMany?: (count: number, dedicated: boolean) => Promise<void>;
  /** Adds so many members, independent of the term. */
  readonly addMany: (count: number) => Promise<void>;
  /** Closes everything that is still open and removes all created data. */
  readonly dispose: () => Promise<void>;
}

export interface CoordinationOptions {
  /** Random runs of the model test; fewer where a round trip is slow. */
  readonly modelRuns?: number;
}

export interface CoordinationHarness {
  readonly open: () => Promise<OpenedCoordination>;
  readonly opened: () => OpenedCoordination;
}

export const HOUR = 3_600_000;

let made = 0;

/** A new embedded scheduler. */
export function newCandidate(as: Partial<Candidate> = {}): Candidate {
  const number = ++made;
  return {
    incarnation: `scheduler-${number}`,
    address: `10.0.0.1:${10_000 + number}`,
    machine: "machine-1",
    pid: number,
    dedicated: false,
    leaseMs: HOUR,
    hostLeaseMs: 30_000,
    ...as,
  };
}

export const newDedicated = (as: Partial<Candidate> = {}): Candidate => newCandidate({ dedicated: true, ...as });

export function newMember(as: Partial<Member> = {}): Member {
  const number = ++made;
  return {
    namespace: "default",
    incarnation: `host-${String(number).padStart(6, "0")}`,
    address: `10.0.0.2:${number}`,
    machine: "machine-2",
    pid: number,
    types: ["Cart", "Order"],
    ...as,
  };
}

export const save = (member: Member, isKnown = false): MemberChange => ({ kind: "save", member, isKnown });
export const drop = (incarnation: string): MemberChange => ({ kind: "drop", incarnation });

/** Saves of so many new members, in steps of the largest allowed size. */
export function* manyNew(count: number): Generator<MemberChange[]> {
  for (let left = count; left > 0; left -= LIMITS.memberChanges) {
    yield Array.from({ length: Math.min(left, LIMITS.memberChanges) }, () => save(newMember()));
  }
}

export const entryOf = ({ incarnation, address, machine, pid, dedicated }: Candidate, leader: boolean) => ({
  incarnation,
  address,
  machine,
  pid,
  dedicated,
  leader,
});

/** Incarnations of the listed schedulers, in order. */
export const listedIn = ({ schedulers }: ElectionResult): string[] => schedulers.map(({ incarnation }) => incarnation);

export interface Desert {
  readonly coordination: Coordination;
  readonly advance: (ms: number) => Promise<void>;
  /** The term on record: the next one is one higher. */
  readonly term: number;
  /** The longest lease that the last two leaders granted to hosts. */
  readonly hostLeaseMs: number;
}

/** Above every term by clock, so that in this suite the next term is one higher than the last. */
const AHEAD_OF_CLOCKS = 2 ** 40;

/** Removes all schedulers, the leader and all members. */
export async function deserted({ opened }: CoordinationHarness): Promise<Desert> {
  const { store, advance } = opened();
  const { coordination } = store;
  await advance(1_000 * HOUR);
  const hostLeaseMs = 1;
  for (const sweeper of [1, 2].map(() => newDedicated({ hostLeaseMs, seenTerm: AHEAD_OF_CLOCKS }))) {
    const { term } = await coordination.campaign(sweeper);
    const members = await coordination.members();
    await coordination.persist(
      term,
      members.map(({ incarnation }) => drop(incarnation)),
    );
    await coordination.resign(sweeper.incarnation);
    if (members.length === 0) return { coordination, advance, term, hostLeaseMs };
  }
  throw new Error("members were left behind");
}
