// Changes of the engine that a replay can see, each with a number. A run keeps in its history the number that was the latest when it
// was begun: code that decides differently since asks for it, and does for older runs what was done for them then.
//
// 1: all that there was at the beginning.
import { LimpetError } from "../../kernel/errors.ts";
import type { Started } from "./events.ts";

export const ENGINE_FLAGS = 1;

/** Throws for a run that was begun by a later version: this one cannot know what it decided there, and leaves it to those that do. */
export function checkFlags({ workflowId, flags }: Pick<Started, "workflowId" | "flags">): void {
  if (flags <= ENGINE_FLAGS) return;
  const said = `workflow ${workflowId} was begun by a later version (${flags}; this one knows up to ${ENGINE_FLAGS})`;
  throw new LimpetError("WORKFLOW_DIVERGED", `${said}: a worker of that version can go on with it`);
}
