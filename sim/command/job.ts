// What a worker is asked to do, and what it says afterwards: plain data, because it goes from one process to another.
import type { Plan } from "../plan.ts";
import type { Violation } from "../stage.ts";

export interface Job {
  readonly seed: number;
  /** Instead of what the seed would draw. */
  readonly plan?: Plan | undefined;
  /** So many hosts instead of what the seed says. */
  readonly hosts?: number | undefined;
  /** Runs once only: nobody looks whether a second run is the same. */
  readonly once?: boolean | undefined;
  /** Also says what happened: in the coarse words of kept stories, or all of it. */
  readonly tells?: "coarsely" | "everything" | undefined;
}

export interface Report {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** The run was stopped after this much real time. The machine was slow; no rule was broken. */
  readonly overran?: string | undefined;
  readonly trace: string;
  readonly runs: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly operations: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly marks: readonly string[];
  readonly told: readonly string[];
}

/** Whoever does jobs: this process or others. */
export interface Worker {
  perform(job: Job): Promise<Report>;
}
