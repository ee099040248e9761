// An actor that detects lost and repeated increments, and the messages between its host process
// (fixtures/tally-host.ts) and the test that drives that process (support/host-process.ts).
import { setTimeout as pause } from "node:timers/promises";
import { Actor } from "../../src/index.ts";
import type { Verdict } from "../../src/kernel/errors.ts";

export interface TallyReport {
  readonly n: number;
  /** Every operation that was applied. */
  readonly seen: readonly string[];
  /** Those that were applied again. */
  readonly again: readonly string[];
}

export class Tally extends Actor<{ n: number; seen: Set<string>; again: string[] }> {
  initial() {
    return { n: 0, seen: new Set<string>(), again: [] };
  }

  /** Returns the number of this increment: 1, 2, 3 and so on, for all callers. */
  add(operation: string): number {
    if (this.state.seen.has(operation)) this.state.again.push(operation);
    this.state.seen.add(operation);
    this.state.n++;
    return this.state.n;
  }

  /** The same in a long turn, like one that calls another actor. */
  async addSlowly(operation: string): Promise<number> {
    await pause(20);
    return this.add(operation);
  }

  report(): TallyReport {
    const { n, seen, again } = this.state;
    return { n, seen: [...seen], again: [...again] };
  }
}

export type Call = readonly [number: number, type: string, id: string, method: string, args: readonly unknown[]];

export interface ToHost {
  readonly calls: readonly Call[];
  readonly stop?: boolean;
}

export interface Outcome {
  readonly code: string;
  readonly retry: Verdict;
  readonly message: string;
}

export interface Reply {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: Outcome;
}

export type FromHost = { readonly ready: true } | { readonly replies: readonly Reply[] };
