// Time as the modules see it. They never read a clock or set a timer themselves, so that a test or the
// simulator can control time.

export interface Clock {
  /** Wall clock, milliseconds since 1970. It may jump: use it for display, not for decisions. */
  now(): number;
  /** Milliseconds since a fixed moment; it never goes back. Deadlines use this clock. */
  monotonic(): number;
  /**
   * Calls `fn` once, not before `ms` have passed. Any length is allowed. A background timer does not keep the
   * process alive.
   */
  after(ms: number, fn: () => void, background?: "background"): Timer;
  /** Calls `fn` after all currently runnable code, for example to collect a batch. */
  soon(fn: () => void): void;
}

export interface Timer {
  cancel(): void;
}
