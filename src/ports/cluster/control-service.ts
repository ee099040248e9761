// The scheduler as the control server sees it.
import type { LeaderAdmin } from "../admin.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../control-messages.ts";

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

export interface ControlService extends LeaderAdmin {
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
}
