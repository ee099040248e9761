// Numbers for tasks of one namespace, queue, type and pin in the index of claimable tasks.
import { queueOf } from "../reminders/queue.ts";

interface Pool {
  readonly namespace: string;
  readonly queue: string;
  readonly type: string;
  /** The build or definition that the runs are pinned to; undefined: none. */
  readonly pinned: string | undefined;
}

/** If two pools ever share a number, the row of the run distinguishes them. */
export function poolOf({ namespace, queue, type, pinned }: Pool): number {
  // The lengths make the name unambiguous.
  return queueOf(
    namespace,
    `${queue.length}:${type.length}:${queue}${type}${pinned === undefined ? "" : `:${pinned}`}`,
  );
}
