// The number that tasks of one namespace, queue, type and binding have in the index of what may be claimed.
import { queueOf } from "./reminder-queue.ts";

interface Pool {
  readonly namespace: string;
  readonly queue: string;
  readonly type: string;
  /** What their runs are bound to; undefined: nothing. */
  readonly bound: string | undefined;
}

/** Should two pools ever share a number, they are told apart by what stands on the run. */
export function poolOf({ namespace, queue, type, bound }: Pool): number {
  // Lengths keep the words apart.
  return queueOf(namespace, `${queue.length}:${type.length}:${queue}${type}${bound === undefined ? "" : `:${bound}`}`);
}
