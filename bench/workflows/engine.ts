// What every contender offers to those who drive it.
import type { Settings } from "../case.ts";

export interface Engine {
  /** Starts a workflow of this many steps, and resolves with its result: how many steps it took. */
  run(workflow: number, steps: number): Promise<number>;
  close(): Promise<void>;
}

/** `stepped` is called by every step that is really taken, with its number, from 0 on. */
export type StartEngine = (settings: Settings, stepped: (step: number) => void) => Promise<Engine>;
