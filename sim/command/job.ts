// Jobs and reports of workers: plain data, because they travel between processes.
import type { Plan } from "../plan.ts";
import type { Violation } from "../stage.ts";

export interface Job {
  readonly seed: number;
  /** Replaces the plan that the seed would draw. */
  readonly plan?: Plan;
  /** Number of hosts, instead of the one that the seed draws. */
  readonly hosts?: number;
  /** Runs once only, without the comparison with a second run. */
  readonly once?: boolean;
  /** Also reports the story: in the coarse form of recorded stories, or complete. */
  readonly detail?: "coarsely" | "everything";
}

export interface Report {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** The run was stopped after this much real time. The machine was slow; no rule was broken. */
  readonly overran?: string;
  readonly trace: string;
  readonly runs: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly operations: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly reached: readonly string[];
  readonly story: readonly string[];
}

/** Runs jobs, in this process or in others. */
export interface Worker {
  perform(job: Job): Promise<Report>;
}
