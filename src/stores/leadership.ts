// Who leads, worked out from what is stored and one moment of the store's clock. Pure: whoever stores it reads, asks here,
// and writes what came out, all in one step that nobody else can come between. PostgreSQL does the same in a function of its
// own (postgres/coordination-tables.ts), and the contract suite holds both to the same answers.
import { LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { Candidate, ElectionResult, ProcessIdentity, SchedulerEntry } from "../ports/coordination.ts";
import { byCodePoint } from "./memory/code-points.ts";

/** A scheduler that is there, or the one that leads. */
export interface Listed extends ProcessIdentity {
  readonly incarnation: string;
  readonly address: string;
  readonly dedicated: boolean;
  readonly leaseMs: number;
  /** The first moment at which it is over. */
  readonly until: number;
}

export interface Leadership {
  /** Of the last one who led; it stays when the leadership is free. */
  readonly term: number;
  /** `undefined`: it is free. */
  readonly holder: Listed | undefined;
  /** The longest that the leader of `term` may have granted to hosts. */
  readonly hostLeaseMs: number;
  /** The same of the term before. */
  readonly formerHostLeaseMs: number;
}

export interface Roll {
  readonly leadership: Leadership;
  /** Everybody who is stored, in any order. */
  readonly listed: readonly Listed[];
}

export const NOBODY_YET: Leadership = { term: 0, holder: undefined, hostLeaseMs: 0, formerHostLeaseMs: 0 };

/** The roll after the candidate's campaign. What did not change is the same object as before. */
export function campaigned(roll: Roll, candidate: Candidate, dead: readonly string[], now: number): Roll {
  const { incarnation, address, machine, pid, dedicated, leaseMs } = candidate;
  const me: Listed = { incarnation, address, machine, pid, dedicated, leaseMs, until: now + leaseMs };
  const ended = new Set(dead);
  // Who campaigns is alive, whatever it says of itself.
  ended.delete(incarnation);
  const isGone = (one: Listed) => one.until <= now || ended.has(one.incarnation);
  const others = roll.listed
    .map((one) => notBeyondLease(one, now))
    .filter((one) => one.incarnation !== incarnation && !isGone(one));
  if (others.length >= LIMITS.schedulers) throw tooMany("schedulers");
  const mayLead = dedicated || !others.some((one) => one.dedicated);
  return { leadership: decided(roll.leadership), listed: [...others, me] };

  function decided(before: Leadership): Leadership {
    const holder = before.holder && notBeyondLease(before.holder, now);
    if (holder === undefined || isGone(holder)) {
      // It lapsed or was given up: whoever takes it, even the one who had it, begins a new term.
      if (mayLead) return begun(before, me, candidate, now);
      return before.holder === undefined ? before : { ...before, holder: undefined };
    }
    if (holder.incarnation !== incarnation) return holder === before.holder ? before : { ...before, holder };
    if (!mayLead) return { ...before, holder: undefined };
    return { ...before, holder: me, hostLeaseMs: Math.max(before.hostLeaseMs, candidate.hostLeaseMs) };
  }
}

/** Terms count seconds from this moment: 2026-01-01. Leaders multiply terms, so a term in milliseconds would be too large. */
const TERMS_BEGIN_SECOND = 1_767_225_600;

/** The least term of a leadership that begins at this moment, in milliseconds since 1970. */
export const termAt = (now: number): number => Math.floor(now / 1_000) - TERMS_BEGIN_SECOND;

/**
 * Terms grow also when the store is restored from a backup and forgets the last ones: a term is never below the store's clock, nor below
 * the terms that the candidate has seen. Hosts reject every leader of an older term.
 */
function begun(before: Leadership, holder: Listed, candidate: Candidate, now: number): Leadership {
  const { hostLeaseMs, seenTerm = 0 } = candidate;
  const term = Math.max(before.term + 1, seenTerm + 1, termAt(now));
  return { term, holder, hostLeaseMs, formerHostLeaseMs: before.hostLeaseMs };
}

/** A clock that was set back would keep what ends by it for long; nothing lasts longer than its lease from now. */
function notBeyondLease(one: Listed, now: number): Listed {
  return one.until <= now + one.leaseMs ? one : { ...one, until: now + one.leaseMs };
}

/** What the scheduler is told of a roll that has just been brought up to date. */
export function standingOf({ leadership, listed }: Roll, incarnation: string): ElectionResult {
  const { term, holder, hostLeaseMs, formerHostLeaseMs } = leadership;
  return {
    term,
    leading: holder?.incarnation === incarnation,
    schedulers: inOrder(listed.map((one) => entryOf(one, one.incarnation === holder?.incarnation))),
    hostLeaseMs: Math.max(hostLeaseMs, formerHostLeaseMs),
    leader: holder && entryOf(holder, true),
  };
}

/** By address, then incarnation, by code point. */
export function inOrder(schedulers: readonly SchedulerEntry[]): SchedulerEntry[] {
  return schedulers.toSorted((a, b) => byCodePoint(a.address, b.address) || byCodePoint(a.incarnation, b.incarnation));
}

function entryOf({ incarnation, address, machine, pid, dedicated }: Listed, leader: boolean): SchedulerEntry {
  return { incarnation, address, machine, pid, dedicated, leader };
}

/** Nothing was changed; it works again when some of them have gone. */
export function tooMany(what: "schedulers" | "members"): LimpetError {
  return new LimpetError(
    "STORE_UNAVAILABLE",
    `there would be more than ${LIMITS[what]} ${what} in the store, which is the most it can list; stop some of them`,
  );
}
