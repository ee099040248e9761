// Where the leading scheduler is, as a host sees it: found through the store (scheduler-node.ts) or by asking schedulers that
// were named (watched-schedulers.ts).

import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { ClusterView, StickyPage, StickyQuery } from "../../ports/host-admin.ts";
import type { ShardSteering, ShardsView } from "../../ports/shard-admin.ts";

/** The leader, reached in whatever way. */
export interface Leader {
  /** For people. */
  readonly address: string;
  readonly term: number;
  report(listener: ControlListener<SchedulerMessage>): ControlStream<HostMessage>;
  /**
   * Only of a leader in the same process: ends its term here and resolves to whether the store knows no later
   * term. The request to the store is sent at once, and no campaign of this process overtakes it.
   */
  endTerm?(): Promise<boolean>;
  describe(): Promise<ClusterView>;
  drain(host: string): Promise<void>;
  /** Of one namespace. */
  sticky(namespace: string, query: StickyQuery): Promise<StickyPage>;
  release(namespace: string, type: string, id: string): Promise<void>;
  shards(namespace: string, type: string): Promise<ShardsView>;
  steerShards(namespace: string, type: string, steering: ShardSteering): Promise<void>;
}

export interface LeaderSource {
  readonly leader: Leader | undefined;
  /** Why there is no leader, and what to do about it. */
  readonly problem: string;
  /** Since when the store has not answered which scheduler leads, on the monotonic clock; undefined: it answers, or is not asked. */
  readonly silentSince?: number | undefined;
  /** Called whenever `leader` has changed. One listener. */
  onChange: (() => void) | undefined;
  /** The leader does not answer, or says it is none: look again, soon. */
  doubt(): void;
  /** A host here rejects the leader, because it has seen this newer term. */
  sawTerm?(term: number): void;
}
