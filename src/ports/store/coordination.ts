// The state that schedulers share through the store: the leadership, the list of schedulers, and the member
// hosts. One contract suite (stores/coordination.contract.ts) covers every implementation.
//
// - There is one leadership. Its *term* grows whenever it changes hands or lapses, and never goes back, even
//   when the store is restored from a backup. A new term is at least the store's clock in seconds since 2026,
//   and above the terms its candidate has seen. The leadership expires `leaseMs` after it was last taken or
//   renewed, on the clock of the store.
// - Every scheduler that campaigned within its own `leaseMs` is listed. A dedicated one has precedence: while
//   one is listed, an embedded scheduler neither takes the leadership nor keeps it.
// - Members are the hosts that may hold actors. Only the leader of the current term changes them; a write of
//   an older term changes nothing. They survive leader changes: a new leader reads which hosts it must wait
//   for. A host without actors may remove itself under any leader, because its goodbye may have reached a
//   leader that was leaving as well.

/** A process, as precisely as another process on the same machine can identify it. */
export interface ProcessIdentity {
  /** The same for all processes that see each other's process ids, and for no others. */
  readonly machine: string;
  readonly pid: number;
}

export interface Candidate extends ProcessIdentity {
  /** New for every start of a scheduler. */
  readonly incarnation: string;
  /** The address for hosts; empty while its server is not open. */
  readonly address: string;
  readonly dedicated: boolean;
  /** The length of the leadership, and of the entry in the list, without a renewal. */
  readonly leaseMs: number;
  /**
   * The length of the leases that it grants to hosts. The next leader waits for the longest that may be
   * active.
   */
  readonly hostLeaseMs: number;
  /** The highest term that this process has seen. A term that it begins is above it. */
  readonly seenTerm?: number;
}

export interface SchedulerEntry extends ProcessIdentity {
  readonly incarnation: string;
  readonly address: string;
  readonly dedicated: boolean;
  readonly leader: boolean;
}

export interface ElectionResult {
  /** The current term; 0 when there never was a leader. */
  readonly term: number;
  /** The candidate leads. */
  readonly leading: boolean;
  /**
   * All listed schedulers, in order of address, then incarnation. At most one leads; the leader may be
   * missing from the list.
   */
  readonly schedulers: readonly SchedulerEntry[];
  /** The longest host lease that the leader of this term, or of the one before it, may have granted. */
  readonly hostLeaseMs: number;
  /** The leader's process, listed or not, while its leadership has not expired. */
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

/**
 * `isKnown`: it was added before, and is not added again if it has left meanwhile. Otherwise it is added or
 * replaced.
 */
export type MemberChange =
  | { readonly kind: "save"; readonly member: Member; readonly isKnown: boolean }
  | { readonly kind: "drop"; readonly incarnation: string };

/**
 * Rejections are STORE_UNAVAILABLE; whether the step was executed is then unknown, and every step may be
 * repeated.
 */
export interface Coordination {
  /**
   * Lists the candidate, and takes or keeps the leadership if it may, in one atomic step. `dead` names
   * schedulers whose process has ended: they are removed from the list, and their leadership is free.
   */
  campaign(candidate: Candidate, dead?: readonly string[]): Promise<ElectionResult>;
  /** Leaves the list, and frees the leadership if this scheduler has it. */
  resign(incarnation: string): Promise<void>;
  /** In order of namespace, then incarnation. */
  members(): Promise<Member[]>;
  /**
   * Changes members, at most LIMITS.memberChanges of them, in one atomic step, as if applied one after
   * another. False: `term` is over, and nothing was changed. Nothing is changed either when there would be
   * too many members.
   */
  persist(term: number, changes: readonly MemberChange[]): Promise<boolean>;
  /** A process removes itself, under all of its incarnations, after it has ended completely. */
  leave(incarnations: readonly string[]): Promise<void>;
  /**
   * The secret of the cluster: the first `offer` that reaches the store, unchanged from then on. Processes
   * with access to the store prove with it that they belong together.
   */
  secret(offer: string): Promise<string>;
}
