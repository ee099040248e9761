// Marks code that runs as part of a workflow. Promises carry the mark through any number of awaits.
import { AsyncLocalStorage } from "node:async_hooks";

export interface Inside {
  /** The name of the workflow, for display. */
  readonly workflow: string;
  /** A cancellation does not interrupt waits here. */
  readonly isShielded: boolean;
  /**
   * Answers a query, validates an update or evaluates a side effect: it may read the run and must not change
   * it.
   */
  readonly isLooking?: boolean;
  /** The result is recorded, so it may use the clock, random numbers and everything else of the process. */
  readonly isRecorded?: boolean;
  /** Breaks the run, because its code failed where nothing catches the error. */
  readonly blame?: (thrown: unknown) => void;
}

const storage = new AsyncLocalStorage<Inside | undefined>();

/** Undefined: the calling code is not part of a workflow. */
export const inside = (): Inside | undefined => storage.getStore();

export const runInside = <T>(where: Inside, fn: () => T): T => storage.run(where, fn);

/** For code of the engine, and activities above all. */
export const runOutside = <T>(fn: () => T): T => storage.run(undefined, fn);
