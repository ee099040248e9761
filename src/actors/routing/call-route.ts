// The routing of one call: its place in the order of calls, and its rejections so far. A call has a route
// only if its type is sharded, if it waits, or if a host rejected it: other calls do not pay for it.
import type { InFlightByShard } from "./in-flight-by-shard.ts";

export class CallRoute {
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
