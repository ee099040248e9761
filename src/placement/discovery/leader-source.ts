// The leading scheduler, as a host sees it: found through the store (placement/leader/election.ts) or by
// watching configured schedulers (watched-schedulers.ts).

import type { LeaderAdmin } from "../../ports/admin.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";

/** The leader, in this process or in another one. */
export interface Leader extends LeaderAdmin {
  /** For display. */
  readonly address: string;
  readonly term: number;
  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage>;
  /**
   * Only of a leader in the same process: ends its term here and resolves to whether the store knows no later
   * term. The request to the store is sent at once, and no campaign of this process overtakes it.
   */
  endTerm?(): Promise<boolean>;
}

export interface LeaderSource {
  readonly leader: Leader | undefined;
  /** The reason why there is no leader, and the remedy. */
  readonly problem: string;
  /**
   * Time since when the store has not named the leader, on the monotonic clock; undefined: it responds, or is
   * not asked.
   */
  readonly silentSince?: number;
  /** Called whenever `leader` has changed. One listener. */
  onChange: (() => void) | undefined;
  /** The leader does not respond, or denies that it leads: look again, soon. */
  recheck(): void;
  /** A host here rejects the leader, because it has seen this newer term. */
  sawTerm?(term: number): void;
}
