// Guards around workflow code: active only while that code may run.

export interface CodeGuards {
  /** Workflow code may run from now on. */
  enter(): void;
  /** Called once for each `enter`; the last call removes the guards. */
  leave(): void;
}
