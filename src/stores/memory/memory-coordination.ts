// Coordination within one process: apps that share a MemoryStore share it. Each step runs to completion
// without interruption, so all steps are atomic.
import { LIMITS } from "../../kernel/limits.ts";
import type { Candidate, Coordination, ElectionResult, Member, MemberChange } from "../../ports/store/coordination.ts";
import { campaigned, NOBODY_YET, type Roll, standingOf, tooMany } from "../leadership.ts";
import { byCodePoint } from "./code-points.ts";

export class MemoryCoordination implements Coordination {
  #roll: Roll = { leadership: NOBODY_YET, listed: [] };
  /** By incarnation. */
  #members = new Map<string, Member>();
  #secret: string | undefined;
  readonly #now: () => number;
  readonly #checkOpen: () => void;

  /** `now` is the store's clock; `checkOpen` throws once the store is closed. */
  constructor(now: () => number, checkOpen: () => void) {
    this.#now = now;
    this.#checkOpen = checkOpen;
  }

  /** The current term. */
  get term(): number {
    return this.#roll.leadership.term;
  }

  /** The current members, in no order. */
  get present(): Iterable<Member> {
    return this.#members.values();
  }

  async campaign(candidate: Candidate, dead: readonly string[] = []): Promise<ElectionResult> {
    this.#checkOpen();
    this.#roll = campaigned(this.#roll, candidate, dead, this.#now());
    return standingOf(this.#roll, candidate.incarnation);
  }

  async resign(incarnation: string): Promise<void> {
    this.#checkOpen();
    const { leadership, listed } = this.#roll;
    const leads = leadership.holder?.incarnation === incarnation;
    this.#roll = {
      leadership: leads ? { ...leadership, holder: undefined } : leadership,
      listed: listed.filter((one) => one.incarnation !== incarnation),
    };
  }

  async members(): Promise<Member[]> {
    this.#checkOpen();
    return [...this.#members.values()].sort(
      (a, b) => byCodePoint(a.namespace, b.namespace) || byCodePoint(a.incarnation, b.incarnation),
    );
  }

  async persist(term: number, changes: readonly MemberChange[]): Promise<boolean> {
    this.#checkOpen();
    if (term !== this.term) return false;
    const members = new Map(this.#members);
    for (const change of changes) {
      if (change.kind === "drop") members.delete(change.incarnation);
      else if (!change.isKnown || members.has(change.member.incarnation)) {
        const { incarnation, namespace, address, machine, pid, types } = change.member;
        members.set(incarnation, { incarnation, namespace, address, machine, pid, types: [...types] });
      }
    }
    if (members.size > Math.max(this.#members.size, LIMITS.members)) throw tooMany("members");
    this.#members = members;
    return true;
  }

  async leave(incarnations: readonly string[]): Promise<void> {
    this.#checkOpen();
    for (const incarnation of incarnations) this.#members.delete(incarnation);
  }

  async secret(offer: string): Promise<string> {
    this.#checkOpen();
    this.#secret ??= offer;
    return this.#secret;
  }
}
