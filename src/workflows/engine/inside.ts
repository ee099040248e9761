// Which code runs as part of a workflow. Promises carry it along, so that it is known behind any number of awaits.
import { AsyncLocalStorage } from "node:async_hooks";

export interface Inside {
  /** For people: which workflow it is. */
  readonly workflow: string;
  /** A cancellation does not interrupt what is waited for here. */
  readonly isShielded: boolean;
  /** It answers a query, judges an update or works out a side effect: it may look at the run, and must leave it as it is. */
  readonly isLooking?: boolean;
  /** What it gives is recorded: it may use the clock, the dice and everything else of the process. */
  readonly isRecorded?: boolean;
  /** Breaks the run, because its code has failed where nothing catches it. */
  readonly blame?: (thrown: unknown) => void;
}

const storage = new AsyncLocalStorage<Inside | undefined>();

/** Undefined: the code that asks is not part of a workflow. */
export const inside = (): Inside | undefined => storage.getStore();

export const runInside = <T>(where: Inside, fn: () => T): T => storage.run(where, fn);

/** For what the engine itself does in between, activities above all. */
export const runOutside = <T>(fn: () => T): T => storage.run(undefined, fn);
