// Interface of the contenders.
import type { Settings } from "../case.ts";

export interface Engine {
  /** Starts a workflow of this many steps, and resolves with its result: its number of steps. */
  run(workflow: number, steps: number): Promise<number>;
  close(): Promise<void>;
}

/** `stepped` is called by every step that is really taken, with its number, from 0 on. */
export type StartEngine = (settings: Settings, stepped: (step: number) => void) => Promise<Engine>;
