// Guards around the code of workflows: in place while it may run, and nowhere else.

export interface CodeGuards {
  /** The code of a workflow may run from now on. */
  enter(): void;
  /** Once for each `enter`; after the last one everything is as it was. */
  leave(): void;
}
