// One verb of the worker thread: its handler, its transaction, and whether it may be repeated. Each feature
// has one table of verbs. Both threads infer the arguments and the result of a call from that table.
import type { Statements } from "./statements.ts";

export interface StoreVerb<Args extends readonly unknown[], Result> {
  /** Runs in the worker thread, inside a transaction of `kind`. A write may run again after a rollback. */
  readonly run: (on: Statements, ...args: Args) => Result;
  /** "close" runs outside of a transaction, and ends the thread. */
  readonly kind: "read" | "write" | "close";
  /** Requests of schedulers go before all others: a leadership may end while they wait. */
  readonly isUrgent: boolean;
  /**
   * Whether the same request may be applied twice. "recognised": the store finds its id and applies it once.
   * "unsafe": the second attempt would look as if another process had made the first.
   */
  readonly repeat: "harmless" | "recognised" | "unsafe";
  /** The number of rows that the request added to its transaction. */
  rows(result: Result, ...args: Args): number;
}

type Handler<Args extends readonly unknown[], Result> = StoreVerb<Args, Result>["run"];
type Details<Args extends readonly unknown[], Result> = Partial<Omit<StoreVerb<Args, Result>, "run" | "kind">>;

/** Any verb, for code that treats all of them alike. */
export type AnyVerb = StoreVerb<never[], unknown>;

/** A call of one verb of a table, from the event loop. */
export type Call<Table> = <Name extends keyof Table & string>(
  name: Name,
  ...args: Table[Name] extends { run: (on: never, ...args: infer Args) => unknown } ? Args : never
) => Promise<Table[Name] extends { run: (...args: never) => infer Result } ? Result : never>;

const PLAIN = { isUrgent: false, repeat: "harmless", rows: () => 1 } as const;

export function read<Args extends readonly unknown[], Result>(
  run: Handler<Args, Result>,
  details?: Details<Args, NoInfer<Result>>,
): StoreVerb<Args, Result> {
  return { ...PLAIN, ...details, run, kind: "read" };
}

export function write<Args extends readonly unknown[], Result>(
  run: Handler<Args, Result>,
  details?: Details<Args, NoInfer<Result>>,
): StoreVerb<Args, Result> {
  return { ...PLAIN, ...details, run, kind: "write" };
}

export function close(run: Handler<[], void>): StoreVerb<[], void> {
  return { ...PLAIN, run, kind: "close" };
}
