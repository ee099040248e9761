// Measures a case: every contender once per round (ours, floor, peers, ours, floor, peers …), so that a busy
// moment of the machine affects all of them alike. A contender that fails is left out from then on, and its
// earlier figures are not used.
import type { BenchCase, Contender, Measurement } from "../case.ts";
import type { Samples } from "./row.ts";

/** A contender in its process. */
export interface Started {
  run(): Promise<Measurement>;
  close(): Promise<void>;
}

export interface Plan {
  readonly rounds: number;
  /** A new process for each round. */
  readonly restart: boolean;
  readonly start: (contender: Contender) => Promise<Started>;
  /** Called after each measurement. */
  readonly progress: (round: number, name: string, value: Measurement) => void;
}

interface Side {
  readonly name: string;
  readonly contender: Contender;
  readonly values: Measurement[];
  started: Started | undefined;
  out: boolean;
}

export interface Measured extends Samples {
  readonly oursFailed: boolean;
}

export async function measure(benchCase: BenchCase, plan: Plan): Promise<Measured> {
  const notes: string[] = [];
  const reason = benchCase.unavailable?.();
  if (reason !== undefined) notes.push(`ours: left out, ${reason}`);
  const ours = side("ours", reason === undefined ? benchCase.ours : undefined);
  const floor = side("floor", benchCase.floor);
  const peers = (benchCase.peers ?? []).map((peer) => side(peer.name, peer)!);
  const sides = [ours, floor, ...peers].filter((it) => it !== undefined);

  for (let round = 1; round <= plan.rounds; round++) {
    const last = plan.restart || round === plan.rounds;
    for (const one of sides) {
      if (!one.out) await attempt(one, round, last, plan, notes);
    }
  }
  // A contender that failed did not reach its last round.
  for (const one of sides) await one.started?.close().catch(() => {});
  return {
    ours: ours?.values ?? [],
    floor: floor?.values ?? [],
    peers: new Map(peers.map((peer) => [peer.name, peer.values])),
    notes,
    oursFailed: ours?.out ?? false,
  };
}

function side(name: string, contender: Contender | undefined): Side | undefined {
  return contender && { name, contender, values: [], started: undefined, out: false };
}

async function attempt(one: Side, round: number, last: boolean, plan: Plan, notes: string[]): Promise<void> {
  try {
    one.started ??= await plan.start(one.contender);
    const value = await one.started.run();
    one.values.push(value);
    plan.progress(round, one.name, value);
    if (last) {
      const { started } = one;
      one.started = undefined;
      await started.close();
    }
  } catch (error) {
    one.out = true;
    one.values.length = 0;
    notes.push(`${one.name}: failed, ${error instanceof Error ? error.message : String(error)}`);
  }
}
