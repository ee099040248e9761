// A kind of trouble: how it is drawn into a plan, and how it is made to happen. The list is in all.ts.
import type { Prng } from "../../src/kernel/prng.ts";
import type { Plan, PlannedFault } from "../plan.ts";
import type { Stage } from "../stage.ts";

export interface Fault {
  /** As plans, headers and figures name it. */
  readonly name: string;
  /** What happens, in one sentence. */
  readonly says: string;
  /** What of it happens in a run of this shape. `chance` is its own. */
  draw(chance: Prng, plan: Plan): PlannedFault[];
  /** The moment has come. It calls stage.fault() when it really does something. */
  happen(stage: Stage, planned: PlannedFault): void;
}

/** So many moments of the chaos, in order. */
export function moments(chance: Prng, { chaosMs }: Plan, most: number): number[] {
  const count = 1 + chance.below(most);
  return Array.from({ length: count }, () => Math.floor(chance.between(0, chaosMs))).sort((a, b) => a - b);
}

export const hostNames = ({ hosts }: Plan): string[] => hosts.map(({ name }) => name);
