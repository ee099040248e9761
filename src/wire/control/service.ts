// What stands behind the control door: a scheduler, as the wire sees it.

import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { ClusterView, StickyPage, StickyQuery } from "../../ports/host-admin.ts";
import type { ShardSteering, ShardsView } from "../../ports/shard-admin.ts";

export interface SchedulerHost {
  /** Where hosts reach it; empty while its door is not open. */
  readonly address: string;
  readonly leader: boolean;
  readonly dedicated: boolean;
  readonly incarnation: string;
}

export interface SchedulerList {
  /** Of the leadership as it is now; 0 when there never was one. */
  readonly term: number;
  /** At most one leads. */
  readonly hosts: readonly SchedulerHost[];
}

/** Who is at the other end of a stream. */
export interface Peer {
  /** Its IP address. */
  readonly address: string;
  /** It runs on this machine. */
  readonly sameMachine: boolean;
}

export interface ControlService {
  /**
   * A host has opened its stream and will say hello first. A follower closes it at once with NOT_LEADER. What is
   * returned hears everything the host says, and how it ends: `closed` without an error is an orderly end.
   */
  report(stream: ControlStream<SchedulerMessage>, peer: Peer): ControlListener<HostMessage>;
  /** Tells the list of schedulers at once and again whenever it changes, until what it returns is called. */
  watch(listener: (list: SchedulerList) => void): () => void;
  /** Rejects with NOT_LEADER where there is nothing to tell. */
  describe(): Promise<ClusterView>;
  /** Has a host, by address or name, hand over its actors. */
  drain(host: string): Promise<void>;
  /** Sticky actors of one namespace, in order of type and id. */
  sticky(namespace: string, query: StickyQuery): Promise<StickyPage>;
  /** Has the host that holds a sticky actor let go of it. Rejects with NOT_STICKY. */
  release(namespace: string, type: string, id: string): Promise<void>;
  /** Where the shards of a type live. Rejects with NOT_SHARDED. */
  shards(namespace: string, type: string): Promise<ShardsView>;
  steerShards(namespace: string, type: string, steering: ShardSteering): Promise<void>;
}
