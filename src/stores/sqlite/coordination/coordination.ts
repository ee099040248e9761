// The coordination port on the event loop: each step is one request to the worker thread, which serves it
// before takes and commits. Times are on the machine's clock, which all processes on the file share.
import type {
  Candidate,
  Coordination,
  ElectionResult,
  Member,
  MemberChange,
} from "../../../ports/store/coordination.ts";
import type { WorkerLink } from "../thread/worker-link.ts";

export class SqliteCoordination implements Coordination {
  readonly #link: WorkerLink;

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  // Field by field, here and below: other properties of the caller's object need not be cloneable.
  async campaign(candidate: Candidate, dead: readonly string[] = []): Promise<ElectionResult> {
    const { incarnation, address, machine, pid, dedicated, leaseMs, hostLeaseMs, seenTerm } = candidate;
    const question = {
      kind: "campaign",
      candidate: { incarnation, address, machine, pid, dedicated, leaseMs, hostLeaseMs, seenTerm },
      dead: [...dead],
    } as const;
    return (await this.#link.ask(question)) as ElectionResult;
  }

  async resign(incarnation: string): Promise<void> {
    await this.#link.ask({ kind: "resign", incarnation });
  }

  async members(): Promise<Member[]> {
    return (await this.#link.ask({ kind: "members" })) as Member[];
  }

  async persist(term: number, changes: readonly MemberChange[]): Promise<boolean> {
    const copies = changes.map((change): MemberChange => {
      if (change.kind === "drop") return { kind: "drop", incarnation: change.incarnation };
      const { namespace, incarnation, address, machine, pid, types } = change.member;
      const member = { namespace, incarnation, address, machine, pid, types: [...types] };
      return { kind: "save", member, isKnown: change.isKnown };
    });
    return (await this.#link.ask({ kind: "note", term, changes: copies })) as boolean;
  }

  async leave(incarnations: readonly string[]): Promise<void> {
    await this.#link.ask({ kind: "leave", incarnations: [...incarnations] });
  }

  async secret(offer: string): Promise<string> {
    return (await this.#link.ask({ kind: "secret", offer })) as string;
  }
}
