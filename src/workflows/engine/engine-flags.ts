// Numbers the changes of the engine that a replay can see. The history of a run records the latest number at
// its start. Code that decides differently since then checks the number, and repeats the earlier behaviour
// for earlier runs.
//
// 1: the first version.
import { LimpetError } from "../../kernel/errors.ts";
import type { Started } from "./events.ts";

export const ENGINE_FLAGS = 1;

/**
 * Throws for a run that a later version began: this version cannot know its commands and leaves it to workers
 * of that version.
 */
export function checkFlags({ workflowId, flags }: Pick<Started, "workflowId" | "flags">): void {
  if (flags <= ENGINE_FLAGS) return;
  const message = `workflow ${workflowId} was begun by a later version (${flags}; this one knows up to ${ENGINE_FLAGS})`;
  throw new LimpetError("WORKFLOW_DIVERGED", `${message}: a worker of that version can go on with it`);
}
