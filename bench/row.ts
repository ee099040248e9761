// A row of the results: what `--json` prints and what the table shows. Its fields are a promise to scripts.
import type { BenchCase, Goals, Peer } from "./case.ts";
import { rounded, type Spread, spreadOf } from "./statistics.ts";

/** The measurements of one case, by contender, in the order of the rounds. */
export interface Samples {
  readonly ours: readonly number[];
  readonly floor: readonly number[];
  /** By the peer's name. */
  readonly peers: ReadonlyMap<string, readonly number[]>;
  /** What went wrong or was left out, for people. */
  readonly notes: readonly string[];
}

export interface Row {
  readonly area: string;
  readonly case: string;
  readonly unit: string;
  readonly ours: Spread | undefined;
  readonly floor: Spread | undefined;
  readonly peer: Spread | undefined;
  readonly peerName: string | undefined;
  readonly ratioFloor: number | undefined;
  readonly ratioPeer: number | undefined;
  readonly target: string;
  /** Undefined when there is no target or nothing to compare. */
  readonly met: boolean | undefined;
  readonly notes: readonly string[];
}

export function rowsOf(area: string, benchCase: BenchCase, samples: Samples): Row[] {
  const peers: readonly (Peer | undefined)[] = benchCase.peers?.length ? benchCase.peers : [undefined];
  const ours = spreadOf(samples.ours);
  const floor = spreadOf(samples.floor);
  return peers.map((peer, index) => {
    const theirs = peer && spreadOf(samples.peers.get(peer.name) ?? []);
    const ratioFloor = ratio(ours, floor);
    const ratioPeer = ratio(ours, theirs);
    return {
      area,
      case: peer && peers.length > 1 ? `${benchCase.name}, against ${peer.name}` : benchCase.name,
      unit: benchCase.unit,
      ours,
      floor,
      peer: theirs,
      peerName: peer?.name,
      ratioFloor,
      ratioPeer,
      target: targetText(benchCase),
      met: isMet(benchCase, ours?.median, ratioFloor, ratioPeer),
      notes: index === 0 ? samples.notes : [],
    };
  });
}

/** One line of `--json`, without its line end. */
export function jsonOf(row: Row): string {
  const number = (value: number | undefined) => (value === undefined ? null : rounded(value));
  return JSON.stringify({
    area: row.area,
    case: row.case,
    unit: row.unit,
    ours: number(row.ours?.median),
    floor: number(row.floor?.median),
    peer: number(row.peer?.median),
    ratio_floor: number(row.ratioFloor),
    ratio_peer: number(row.ratioPeer),
  });
}

function ratio(ours: Spread | undefined, theirs: Spread | undefined): number | undefined {
  if (ours === undefined || theirs === undefined || theirs.median === 0) return undefined;
  return ours.median / theirs.median;
}

function targetText({ goals = {}, better, unit }: BenchCase): string {
  const sign = better === "higher" ? "≥" : "≤";
  const parts: string[] = [];
  if (goals.ours !== undefined) parts.push(`${sign} ${goals.ours.toLocaleString("en-US")} ${unit}`);
  if (goals.floor !== undefined) parts.push(`${sign} ${goals.floor}× floor`);
  if (goals.peer !== undefined) parts.push(`${sign} ${goals.peer}× peer`);
  return parts.join(", ");
}

function isMet(
  { goals = {}, better }: BenchCase,
  ours: number | undefined,
  ratioFloor: number | undefined,
  ratioPeer: number | undefined,
): boolean | undefined {
  const pairs: [keyof Goals, number | undefined][] = [
    ["ours", ours],
    ["floor", ratioFloor],
    ["peer", ratioPeer],
  ];
  let met: boolean | undefined;
  for (const [goal, value] of pairs) {
    const wanted = goals[goal];
    if (wanted === undefined) continue;
    if (value === undefined) return undefined;
    met = (met ?? true) && (better === "higher" ? value >= wanted : value <= wanted);
  }
  return met;
}
