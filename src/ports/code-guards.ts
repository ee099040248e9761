// Guards around the code of workflows: in place only while that code may run.

export interface CodeGuards {
  /** The code of a workflow may run from now on. */
  enter(): void;
  /** Once for each `enter`; after the last one everything is as it was. */
  leave(): void;
}
