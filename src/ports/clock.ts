// Time, as the rooms see it. They never read a clock or set a timer of their own, so that a test or the simulator
// can hold time still.

export interface Clock {
  /** Wall clock, milliseconds since 1970. It may jump: show it to people, decide nothing by it. */
  now(): number;
  /** Milliseconds since some fixed moment, never going back. Deadlines are counted on this one. */
  monotonic(): number;
  /** Calls `fn` once, not before `ms` have passed. Any length is fine. A process does not stay alive for the background. */
  after(ms: number, fn: () => void, background?: "background"): Timer;
  /** Calls `fn` soon, after everything that is runnable now has run. Gathering a batch is what it is for. */
  soon(fn: () => void): void;
}

export interface Timer {
  cancel(): void;
}
