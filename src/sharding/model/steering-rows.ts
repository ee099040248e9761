// Rows for an operator's instructions about a type's shards: assignments to hosts, and the pause of
// rebalancing. They have the same shape as rows of homes, under names that no type can have because of their
// slash. So the same fenced step writes them, and they survive leader changes in the same way.

interface Row {
  readonly type: string;
  readonly shard: number;
  readonly incarnation: string | undefined;
}

const ASSIGNED = "/told";
const PAUSED = "/paused";

export const assignedRow = (type: string, shard: number, host: string | undefined): Row => {
  return { type: type + ASSIGNED, shard, incarnation: host };
};

export const pausedRow = (type: string, isPaused: boolean): Row => {
  return { type: type + PAUSED, shard: 0, incarnation: isPaused ? "paused" : undefined };
};

/** All names under which rows of the type are stored. */
export const namesOf = (type: string): readonly string[] => [type, type + ASSIGNED, type + PAUSED];

export interface PersistedShards {
  /** Homes, by shard. */
  readonly homes: Map<number, string>;
  readonly assigned: Map<number, string>;
  isPaused: boolean;
}

/** Rows recorded by the previous leader, by type. */
export function readPersisted(rows: Iterable<Row>): Map<string, PersistedShards> {
  const types = new Map<string, PersistedShards>();
  const of = (type: string): PersistedShards => {
    const persisted = types.get(type) ?? { homes: new Map(), assigned: new Map(), isPaused: false };
    types.set(type, persisted);
    return persisted;
  };
  for (const { type, shard, incarnation } of rows) {
    if (incarnation === undefined) continue;
    if (type.endsWith(ASSIGNED)) of(type.slice(0, -ASSIGNED.length)).assigned.set(shard, incarnation);
    else if (type.endsWith(PAUSED)) of(type.slice(0, -PAUSED.length)).isPaused = true;
    else of(type).homes.set(shard, incarnation);
  }
  return types;
}
