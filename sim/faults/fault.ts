// Interface of faults: how a fault is drawn into a plan, and how it occurs. The list is in all.ts.
import type { Prng } from "../../src/kernel/prng.ts";
import type { Plan, PlannedFault } from "../plan.ts";
import type { Stage } from "../stage.ts";

export interface Fault {
  /** Name in plans, headers and figures. */
  readonly name: string;
  /** Description in one sentence. */
  readonly summary: string;
  /** Draws its occurrences in a run of this plan. `chance` belongs to this fault alone. */
  draw(chance: Prng, plan: Plan): PlannedFault[];
  /** Runs at the planned time. It calls stage.fault() when it really takes effect. */
  happen(stage: Stage, planned: PlannedFault): void;
}

type Drawn<D> = D & { readonly at: number };

interface Kind<D> {
  readonly name: string;
  readonly summary: string;
  draw(chance: Prng, plan: Plan): Drawn<D>[];
  /** `strike` records that the fault takes effect now, and on which host. */
  happen(stage: Stage, drawn: Drawn<D>, strike: Strike): void;
}

export type Strike = (who?: string, fields?: Record<string, unknown>) => void;

/** A fault with typed details. Details are plain data, so that a plan can be saved. */
export function fault<D extends object>({ name, summary, draw, happen }: Kind<D>): Fault {
  return {
    name,
    summary,
    draw: (chance, plan) => draw(chance, plan).map((drawn): PlannedFault => ({ ...drawn, fault: name })),
    happen: (stage, planned) =>
      happen(stage, planned as unknown as Drawn<D>, (who, fields) => stage.fault(name, who, fields)),
  };
}

/** One to `most` times during the chaos, in order. */
export function times<D extends object>(chance: Prng, { chaosMs }: Plan, most: number, draw: () => D): Drawn<D>[] {
  const count = 1 + chance.below(most);
  const moments = Array.from({ length: count }, () => Math.floor(chance.between(0, chaosMs)));
  return moments.sort((a, b) => a - b).map((at) => ({ ...draw(), at }));
}

/**
 * Values between `least` and `most`; small ones are as likely as large ones. The range is drawn once, so that
 * one seed is mild and another one harsh.
 */
export function severity(chance: Prng, least: number, most: number): () => number {
  // Harsh seeds are as frequent as mild ones, and a harsh seed still has mild moments.
  const top = least * (most / least) ** Math.sqrt(chance.number());
  return () => least * (top / least) ** chance.number();
}

/** Like `severity`, in whole milliseconds. */
export function lengths(chance: Prng, leastMs: number, mostMs: number): () => number {
  const draw = severity(chance, leastMs, mostMs);
  return () => Math.floor(draw());
}

/** Hosts that are present before the chaos ends. */
export const hostNames = ({ hosts, chaosMs }: Plan): string[] =>
  hosts.filter(({ startsAt }) => startsAt < chaosMs).map(({ name }) => name);

/** One to all of them but one, in any order. */
export function some<T>(chance: Prng, items: readonly T[]): T[] {
  return chance.shuffle(items).slice(0, 1 + chance.below(Math.max(1, items.length - 1)));
}
