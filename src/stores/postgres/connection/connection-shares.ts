// Divides the connections of one process among the kinds of work, so that none waits for another.

/** With fewer, two writes of shards in progress would leave no connection for a read. */
export const FEWEST_CONNECTIONS = 8;
export const DEFAULT_CONNECTIONS = 17;

export interface ConnectionShares {
  /** Takes, commits and reads of actors. */
  readonly actors: number;
  /**
   * Batches of takes and commits that may be in progress at once. Two connections are left for reads where
   * there are enough.
   */
  readonly lanes: number;
  readonly workflows: number;
  /** Claims, settlements and writes of reminders. */
  readonly reminders: number;
}

/** Besides these, one connection serves the leadership and one listens for notifications. */
const APART = 2;
const MOST_REMINDERS = 3;
const FOR_READS = 2;

export function connectionShares(connections: number): ConnectionShares {
  const shared = Math.max(connections, FEWEST_CONNECTIONS) - APART;
  const reminders = Math.min(Math.max(Math.floor(shared / 5), 1), MOST_REMINDERS);
  const actors = Math.ceil((shared - reminders) / 2);
  return { actors, lanes: Math.max(actors - FOR_READS, 1), workflows: shared - reminders - actors, reminders };
}
