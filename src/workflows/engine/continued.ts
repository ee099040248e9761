// Thrown by `ctx.continueAsNew`: the code goes no further.
import type { Wire } from "./events.ts";

export class Continued {
  readonly input: Wire;

  constructor(input: Wire) {
    this.input = input;
  }
}

/** The id of the run that continues this one. It is the same at every replay, so the next run starts once. */
export function nextRunId(runId: string): string {
  const [, root, number] = /^(.*?)(?:\.(\d+))?$/.exec(runId)!;
  return `${root}.${Number(number ?? 1) + 1}`;
}
