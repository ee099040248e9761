// Computes the leadership from the stored roll and one reading of the store's clock. Pure: a store reads the
// roll, calls this module and writes the result, all in one atomic step. PostgreSQL does the same in a
// function of its own (postgres/coordination/tables.ts), and the contract suite requires the same results of
// both.
import { LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { Candidate, ElectionResult, ProcessIdentity, SchedulerEntry } from "../ports/store/coordination.ts";
import { byCodePoint } from "./memory/code-points.ts";

/** A listed scheduler, or the leader. */
export interface ListedMember extends ProcessIdentity {
  readonly incarnation: string;
  readonly address: string;
  readonly dedicated: boolean;
  readonly leaseMs: number;
  /** The first moment after its lease. */
  readonly until: number;
}

export interface Leadership {
  /** The term of the last leader; it stays when the leadership is free. */
  readonly term: number;
  /** `undefined`: the leadership is free. */
  readonly holder: ListedMember | undefined;
  /** The longest lease that the leader of `term` may have granted to hosts. */
  readonly hostLeaseMs: number;
  /** The same for the term before. */
  readonly formerHostLeaseMs: number;
}

export interface Roll {
  readonly leadership: Leadership;
  /** All stored schedulers, in any order. */
  readonly listed: readonly ListedMember[];
}

export const NOBODY_YET: Leadership = { term: 0, holder: undefined, hostLeaseMs: 0, formerHostLeaseMs: 0 };

/** The roll after the candidate's campaign. Unchanged parts are the same objects as before. */
export function campaigned(roll: Roll, candidate: Candidate, dead: readonly string[], now: number): Roll {
  const { incarnation, address, machine, pid, dedicated, leaseMs } = candidate;
  const me: ListedMember = { incarnation, address, machine, pid, dedicated, leaseMs, until: now + leaseMs };
  const ended = new Set(dead);
  // A candidate is alive, even if it lists itself as dead.
  ended.delete(incarnation);
  const isGone = (one: ListedMember) => one.until <= now || ended.has(one.incarnation);
  const others = roll.listed
    .map((one) => notBeyondLease(one, now))
    .filter((one) => one.incarnation !== incarnation && !isGone(one));
  if (others.length >= LIMITS.schedulers) throw tooMany("schedulers");
  const mayLead = dedicated || !others.some((one) => one.dedicated);
  return { leadership: decided(roll.leadership), listed: [...others, me] };

  function decided(before: Leadership): Leadership {
    const holder = before.holder && notBeyondLease(before.holder, now);
    if (holder === undefined || isGone(holder)) {
      // The leadership ended or was given up: every new leader, even the same one, begins a new term.
      if (mayLead) return begun(before, me, candidate, now);
      return before.holder === undefined ? before : { ...before, holder: undefined };
    }
    if (holder.incarnation !== incarnation) return holder === before.holder ? before : { ...before, holder };
    if (!mayLead) return { ...before, holder: undefined };
    return { ...before, holder: me, hostLeaseMs: Math.max(before.hostLeaseMs, candidate.hostLeaseMs) };
  }
}

/**
 * Terms count seconds from this moment: 2026-01-01. Leaders multiply terms, so a term in milliseconds would
 * be too large.
 */
const TERMS_BEGIN_SECOND = 1_767_225_600;

/** The least term of a leadership that begins at this moment, in milliseconds since 1970. */
export const termAt = (now: number): number => Math.floor(now / 1_000) - TERMS_BEGIN_SECOND;

/**
 * Terms grow also when the store is restored from a backup and forgets the last ones: a term is never below
 * the store's clock, nor below the terms that the candidate has seen. Hosts reject every leader of an older
 * term.
 */
function begun(before: Leadership, holder: ListedMember, candidate: Candidate, now: number): Leadership {
  const { hostLeaseMs, seenTerm = 0 } = candidate;
  const term = Math.max(before.term + 1, seenTerm + 1, termAt(now));
  return { term, holder, hostLeaseMs, formerHostLeaseMs: before.hostLeaseMs };
}

/** A clock that was set back would prolong leases; no lease ends later than its length from now. */
function notBeyondLease(one: ListedMember, now: number): ListedMember {
  return one.until <= now + one.leaseMs ? one : { ...one, until: now + one.leaseMs };
}

/** The result of a campaign for the scheduler, from an up-to-date roll. */
export function standingOf({ leadership, listed }: Roll, incarnation: string): ElectionResult {
  const { term, holder, hostLeaseMs, formerHostLeaseMs } = leadership;
  return {
    term,
    leading: holder?.incarnation === incarnation,
    schedulers: membersInOrder(listed.map((one) => entryOf(one, one.incarnation === holder?.incarnation))),
    hostLeaseMs: Math.max(hostLeaseMs, formerHostLeaseMs),
    leader: holder && entryOf(holder, true),
  };
}

/** By address, then incarnation, by code point. */
export function membersInOrder(schedulers: readonly SchedulerEntry[]): SchedulerEntry[] {
  return schedulers.toSorted((a, b) => byCodePoint(a.address, b.address) || byCodePoint(a.incarnation, b.incarnation));
}

function entryOf({ incarnation, address, machine, pid, dedicated }: ListedMember, leader: boolean): SchedulerEntry {
  return { incarnation, address, machine, pid, dedicated, leader };
}

/** Nothing was changed; a retry works when some of them have left. */
export function tooMany(what: "schedulers" | "members"): LimpetError {
  return new LimpetError(
    "STORE_UNAVAILABLE",
    `there would be more than ${LIMITS[what]} ${what} in the store, which is its limit; stop some of them`,
  );
}
