// Coordination among schedulers in the file: the one row of leadership, the list of schedulers, the members.
// Every writing method runs inside a write transaction of the caller, and may run again after a rollback. The
// lists are short, one row for each process of a machine, so they are read whole.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LIMITS } from "../../../kernel/limits.ts";
import type { Candidate, ElectionResult, Member, MemberChange } from "../../../ports/store/coordination.ts";
import { campaigned, type Leadership, type ListedMember, standingOf, tooMany } from "../../leadership.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";

type ListedRow = [string, string, string, number, number, number, number];
type LeadershipRow = [number, number, number, string | null, ...Tail<ListedRow>];
type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;
type MemberRow = [string, string, string, string, number, string];

const LISTED = "incarnation, address, machine, pid, dedicated, lease_ms, until";
const MEMBER = "namespace, incarnation, address, machine, pid, types";

export class CoordinationStatements {
  readonly #leadership: StatementSync;
  readonly #lead: StatementSync;
  readonly #free: StatementSync;
  readonly #schedulers: StatementSync;
  readonly #list: StatementSync;
  readonly #strike: StatementSync;
  readonly #term: StatementSync;
  readonly #members: StatementSync;
  readonly #isMember: StatementSync;
  readonly #countMembers: StatementSync;
  readonly #saveMember: StatementSync;
  readonly #dropMember: StatementSync;
  readonly #offerSecret: StatementSync;
  readonly #readSecret: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // The one row, by its key.
    this.#leadership = asArrays(
      `SELECT term, host_lease_ms, former_host_lease_ms, ${LISTED} FROM leadership WHERE one = 1`,
    );
    this.#lead = db.prepare(
      `UPDATE leadership SET (term, host_lease_ms, former_host_lease_ms, ${LISTED}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       WHERE one = 1`,
    );
    // The row still describes the last leader; without an incarnation it is free.
    this.#free = db.prepare("UPDATE leadership SET incarnation = NULL WHERE one = 1 AND incarnation = ?");
    this.#term = asArrays("SELECT term FROM leadership WHERE one = 1");

    // Reads all rows; each campaign needs all of them.
    this.#schedulers = asArrays(`SELECT ${LISTED} FROM schedulers`);
    this.#list = db.prepare(`INSERT OR REPLACE INTO schedulers (${LISTED}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    this.#strike = db.prepare("DELETE FROM schedulers WHERE incarnation = ?");

    // Reads all rows, once for each term. Text is compared byte by byte, which is by code point.
    this.#members = asArrays(`SELECT ${MEMBER} FROM members ORDER BY namespace, incarnation`);
    this.#isMember = asArrays("SELECT 1 FROM members WHERE incarnation = ?");
    // Reads the key of every member, only when members are added.
    this.#countMembers = asArrays("SELECT count(*) FROM members");
    this.#saveMember = db.prepare(`INSERT OR REPLACE INTO members (${MEMBER}) VALUES (?, ?, ?, ?, ?, ?)`);
    this.#dropMember = db.prepare("DELETE FROM members WHERE incarnation = ?");

    this.#offerSecret = db.prepare("INSERT OR IGNORE INTO cluster_secret VALUES (1, ?)");
    this.#readSecret = asArrays("SELECT secret FROM cluster_secret WHERE one = 1");
  }

  campaign(candidate: Candidate, dead: readonly string[], now: number): ElectionResult {
    const before = { leadership: this.#readLeadership(), listed: this.#readListed() };
    const after = campaigned(before, candidate, dead, now);
    const kept = new Set(after.listed.map(({ incarnation }) => incarnation));
    for (const { incarnation } of before.listed) if (!kept.has(incarnation)) this.#strike.run(incarnation);
    const unchanged = new Set(before.listed);
    for (const one of after.listed) if (!unchanged.has(one)) this.#list.run(...rowOf(one));
    if (after.leadership !== before.leadership) this.#writeLeadership(after.leadership, before.leadership);
    return standingOf(after, candidate.incarnation);
  }

  resign(incarnation: string): void {
    this.#strike.run(incarnation);
    this.#free.run(incarnation);
  }

  members(): Member[] {
    return (this.#members.all() as unknown as MemberRow[]).map(
      ([namespace, incarnation, address, machine, pid, types]) => {
        return { namespace, incarnation, address, machine, pid, types: JSON.parse(types) as string[] };
      },
    );
  }

  persist(term: number, changes: readonly MemberChange[]): boolean {
    if (!this.isCurrent(term)) return false;
    let more = 0;
    for (const change of changes) {
      const { incarnation } = change.kind === "drop" ? change : change.member;
      const isThere = this.#isMember.get(incarnation) !== undefined;
      if (change.kind === "drop") {
        if (isThere) more--;
        this.#dropMember.run(incarnation);
      } else if (isThere || !change.isKnown) {
        if (!isThere) more++;
        const { namespace, address, machine, pid, types } = change.member;
        this.#saveMember.run(namespace, incarnation, address, machine, pid, JSON.stringify(types));
      }
    }
    if (more > 0) {
      const [count] = this.#countMembers.get() as unknown as [number];
      if (count > LIMITS.members) throw tooMany("members");
    }
    return true;
  }

  leave(incarnations: readonly string[]): void {
    for (const incarnation of incarnations) this.#dropMember.run(incarnation);
  }

  secret(offer: string): string {
    this.#offerSecret.run(offer);
    const [secret] = this.#readSecret.get() as unknown as [string];
    return secret;
  }

  /** Every method runs in one write transaction, so the result stays true until it ends. */
  isCurrent(term: number): boolean {
    const [current] = this.#term.get() as unknown as [number];
    return current === term;
  }

  #readListed(): ListedMember[] {
    return (this.#schedulers.all() as unknown as ListedRow[]).map(listedOf);
  }

  #readLeadership(): Leadership {
    const row = this.#leadership.get() as unknown as LeadershipRow;
    const [term, hostLeaseMs, formerHostLeaseMs, incarnation, ...rest] = row;
    const holder = incarnation === null ? undefined : listedOf([incarnation, ...rest]);
    return { term, holder, hostLeaseMs, formerHostLeaseMs };
  }

  #writeLeadership({ term, hostLeaseMs, formerHostLeaseMs, holder }: Leadership, before: Leadership): void {
    if (holder !== undefined) this.#lead.run(term, hostLeaseMs, formerHostLeaseMs, ...rowOf(holder));
    else if (before.holder !== undefined) this.#free.run(before.holder.incarnation);
  }
}

function listedOf([incarnation, address, machine, pid, dedicated, leaseMs, until]: ListedRow): ListedMember {
  return { incarnation, address, machine, pid, dedicated: dedicated === 1, leaseMs, until };
}

function rowOf({ incarnation, address, machine, pid, dedicated, leaseMs, until }: ListedMember): ListedRow {
  return [incarnation, address, machine, pid, dedicated ? 1 : 0, leaseMs, until];
}
