// Routing data of a call that looks for its actor: its place in the order of calls, and the rejections so
// far. It is a base class, so that a turn needs no second object.
import type { InFlightByShard } from "./in-flight-by-shard.ts";

export class RoutedCall {
  /** Set for calls from another host: notifies that host that it must route the call again. */
  rejectNotOwner: (() => void) | undefined;
  /** Hosts that rejected the call. */
  hops = 0;
  /** Why the call could not be sent to its host. */
  obstacle: string | undefined;
  /** True: the call was in the waiting queue, so it arrived later than it was made. */
  waited = false;
  /** Order of arrival; it matters in the waiting queue and for calls in flight to sharded actors. */
  arrival = 0;
  /**
   * Calls in flight to the same sharded type, and the number of this call there. The number is valid only
   * with `lanes`.
   */
  lanes: InFlightByShard | undefined;
  lane = 0;
}
