// Routing of calls to actors that are not in memory here, and the lease under which this host runs actors. In
// a cluster `ClusterRouting` implements it. A host alone owns every actor: `LocalRouting`.
import { LimpetError } from "../../kernel/errors.ts";
import type { EndReason } from "../../ports/actor-host.ts";
import type { Turn } from "../activation/turn.ts";
import type { MissingMethod } from "./missing-method.ts";

export interface ActorRouting {
  /** True: no other host can have a type. */
  readonly isAlone: boolean;
  /** Throws HOST_FULL if this host is alone. */
  route(turn: Turn): void;
  /** Routes a call again that its activation has not begun. */
  reroute(turn: Turn): void;
  /**
   * True: the sharded actor is here, but earlier calls to it have not arrived, so this call waits for them.
   */
  queueBehindEarlier(turn: Turn): boolean;
  /** True: no call of this host to that actor is in flight or waits. */
  isQuiet(type: string, id: string): boolean;
  /** A sticky actor has left memory. */
  left(type: string, id: string, reason: EndReason | undefined): void;
  /** True: another host runs actors of this type. */
  reaches(type: string): boolean;
  /** True: the turn fails after other hosts have reported whether their code has its method. */
  askElsewhere(turn: Turn, missing: MissingMethod): boolean;
  /** False: too much of the host's lease has passed to begin a turn. */
  mayBegin(now: number): boolean;
  /** False: the lease may be over, so a turn must not commit now. */
  mayCommit(): boolean;
  /**
   * Called when `mayCommit` is false. Calls back once the host knows whether it kept its lease after a sleep.
   */
  confirmLease(settled: (isKept: boolean) => void): void;
}

export class LocalRouting implements ActorRouting {
  readonly isAlone = true;
  readonly #host: { wake(turn: Turn): void };

  constructor(host: { wake(turn: Turn): void }) {
    this.#host = host;
  }

  route(turn: Turn): void {
    this.#host.wake(turn);
  }

  reroute(turn: Turn): void {
    turn.fail(new LimpetError("NO_HOST", `${turn.type.name} does not run here any more`));
  }

  queueBehindEarlier(): boolean {
    return false;
  }

  isQuiet(): boolean {
    return true;
  }

  left(): void {}

  reaches(): boolean {
    return false;
  }

  askElsewhere(): boolean {
    return false;
  }

  mayBegin(): boolean {
    return true;
  }

  mayCommit(): boolean {
    return true;
  }

  confirmLease(settled: (isKept: boolean) => void): void {
    settled(true);
  }
}
