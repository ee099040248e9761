// The process around workflow code, as the engine sees it.

/** Guards around workflow code: active only while that code may run. */
export interface CodeGuards {
  /** Workflow code may run from now on. */
  enter(): void;
  /** Called once for each `enter`; the last call removes the guards. */
  leave(): void;
}

/** Waits until no runnable code is left: all settled promises have run their callbacks, and so on. */
export type Settle = () => Promise<void>;
