// The scheduler as the control server sees it.
import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { ClusterView, StickyPage, StickyQuery } from "../../ports/host-admin.ts";
import type { ShardSteering, ShardsView } from "../../ports/shard-admin.ts";

export interface SchedulerHost {
  /** The address for hosts; empty while its server is not open. */
  readonly address: string;
  readonly leader: boolean;
  readonly dedicated: boolean;
  readonly incarnation: string;
}

export interface SchedulerList {
  /** The current leader term; 0 when there never was a leader. */
  readonly term: number;
  /** At most one scheduler leads. */
  readonly hosts: readonly SchedulerHost[];
}

/** The peer of a stream. */
export interface Peer {
  /** Its IP address. */
  readonly address: string;
  /** The peer runs on this machine. */
  readonly sameMachine: boolean;
}

export interface ControlService {
  /**
   * A host has opened its stream and will send a hello first. A follower closes the stream at once with
   * NOT_LEADER. The returned listener receives every message of the host and its end: `closed` without an
   * error is an orderly end.
   */
  report(stream: ControlStream<SchedulerMessage>, peer: Peer): ControlListener<HostMessage>;
  /**
   * Notifies the listener of the list of schedulers at once and after every change. The returned function
   * stops it.
   */
  watch(listener: (list: SchedulerList) => void): () => void;
  /** Rejects with NOT_LEADER on a scheduler that does not lead. */
  describe(): Promise<ClusterView>;
  /** Drains a host, given by address or name: it hands over its actors. */
  drain(host: string): Promise<void>;
  /** Sticky actors of one namespace, in order of type and id. */
  sticky(namespace: string, query: StickyQuery): Promise<StickyPage>;
  /** Requests the host that holds a sticky actor to release it. Rejects with NOT_STICKY. */
  release(namespace: string, type: string, id: string): Promise<void>;
  /** The homes of the shards of a type. Rejects with NOT_SHARDED. */
  shards(namespace: string, type: string): Promise<ShardsView>;
  steerShards(namespace: string, type: string, steering: ShardSteering): Promise<void>;
}
