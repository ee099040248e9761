// What schedulers agree on through the store they share: who leads, who else is there, and which hosts are members.
// One contract suite (stores/coordination.contract.ts) says what every implementation must do.
//
// - There is one leadership. It has a *term* that grows whenever it changes hands or lapses, and never goes back, also when the store is
//   restored from a backup: a new term is at least the store's clock in seconds since 2026, and above the terms its candidate has seen.
//   It runs out `leaseMs` after it was last taken or kept, on the clock of the store and nobody else's.
// - Every scheduler that campaigned within its own `leaseMs` is listed. A dedicated one goes before an embedded one:
//   while one is listed, an embedded scheduler neither takes the leadership nor keeps it.
// - Members are the hosts that may hold actors. Only the leader of the current term changes them; a write of an older
//   term changes nothing. They outlive schedulers: a new leader reads whom it has to wait for. A host that holds nothing any more
//   may take itself out, whoever leads: its goodbye may have been said to a leader that was leaving as well.

/** A process, as exactly as another process on the same machine can know it. */
export interface ProcessIdentity {
  /** The same for all processes that see each other's process ids, and for no others. */
  readonly machine: string;
  readonly pid: number;
}

export interface Candidate extends ProcessIdentity {
  /** New for every start of a scheduler. */
  readonly incarnation: string;
  /** Where hosts reach it; empty while its door is not open. */
  readonly address: string;
  readonly dedicated: boolean;
  /** How long leadership, and the place in the list, last unless they are kept up. */
  readonly leaseMs: number;
  /** How long the leases last that it grants to hosts. The next leader waits for the longest that may be out. */
  readonly hostLeaseMs: number;
  /** The highest term that this process has seen. A term that it begins is above it. */
  readonly seenTerm?: number | undefined;
}

export interface SchedulerEntry extends ProcessIdentity {
  readonly incarnation: string;
  readonly address: string;
  readonly dedicated: boolean;
  readonly leader: boolean;
}

export interface ElectionResult {
  /** Of the leadership as it is now; 0 when there never was one. */
  readonly term: number;
  /** The candidate leads. */
  readonly leading: boolean;
  /** Everybody who is there, in order of address, then incarnation. At most one leads; it may be gone from the list. */
  readonly schedulers: readonly SchedulerEntry[];
  /** The longest host lease that the leader of this term, or of the one before it, may have granted. */
  readonly hostLeaseMs: number;
  /** The leader's process, listed or not, while its leadership has not run out. */
  readonly leader: SchedulerEntry | undefined;
}

export interface Member extends ProcessIdentity {
  readonly namespace: string;
  /** New for every start of a host, and after every loss of its lease. */
  readonly incarnation: string;
  readonly address: string;
  /** Types it may hold actors of. */
  readonly types: readonly string[];
}

/** `isKnown`: it was added before, and if it has left meanwhile it stays away. Otherwise it is added or replaced. */
export type MemberChange =
  | { readonly kind: "save"; readonly member: Member; readonly isKnown: boolean }
  | { readonly kind: "drop"; readonly incarnation: string };

/** Rejections are STORE_UNAVAILABLE; whether the step was taken is then unknown, and all of them may be repeated. */
export interface Coordination {
  /**
   * Lists the candidate, and takes or keeps the leadership if it may, in one atomic step. `dead` names schedulers of
   * which the candidate knows that their process has ended: they are struck from the list, and what they led is free.
   */
  campaign(candidate: Candidate, dead?: readonly string[]): Promise<ElectionResult>;
  /** Leaves the list, and frees the leadership if it is this scheduler's. */
  resign(incarnation: string): Promise<void>;
  /** In order of namespace, then incarnation. */
  members(): Promise<Member[]>;
  /**
   * Changes members, at most LIMITS.memberChanges of them, in one atomic step that comes out as if each followed the one
   * before it. False: `term` is over, nothing was changed. Neither is anything when there would be too many members.
   */
  persist(term: number, changes: readonly MemberChange[]): Promise<boolean>;
  /** A process takes itself out, under every name it had: nothing of it is left. */
  leave(incarnations: readonly string[]): Promise<void>;
  /**
   * The secret of the cluster: the first `offer` that reaches the store, the same for ever after. Processes that can read the store prove
   * with it that they belong together.
   */
  secret(offer: string): Promise<string>;
}
