// A row of the results: printed by `--json` and shown in the table. Scripts rely on its fields.
import type { BenchCase, Figure, Goals, Measurement, Peer } from "../case.ts";
import { rounded, type Spread, spreadOf } from "./statistics.ts";

/** The measurements of one case, by contender, in the order of the rounds. */
export interface Samples {
  readonly ours: readonly Measurement[];
  readonly floor: readonly Measurement[];
  /** By the peer's name. */
  readonly peers: ReadonlyMap<string, readonly Measurement[]>;
  /** Failures and omissions, for display. */
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
  /** Undefined if there is no target or nothing to compare. */
  readonly met: boolean | undefined;
  readonly notes: readonly string[];
}

/** A row for each figure of the case and each of its peers. */
export function rowsOf(area: string, benchCase: BenchCase, samples: Samples): Row[] {
  if (benchCase.figures === undefined) return rowsOfFigure(area, benchCase, undefined, benchCase, samples);
  return Object.entries(benchCase.figures).flatMap(([name, figure], index) =>
    rowsOfFigure(area, benchCase, name, figure, index === 0 ? samples : { ...samples, notes: [] }),
  );
}

function rowsOfFigure(
  area: string,
  benchCase: BenchCase,
  name: string | undefined,
  figure: Figure,
  samples: Samples,
): Row[] {
  const peers: readonly (Peer | undefined)[] = benchCase.peers?.length ? benchCase.peers : [undefined];
  const spread = (measurements: readonly Measurement[] = []) => spreadOf(measurements.map((it) => numberOf(it, name)));
  const ours = spread(samples.ours);
  const floor = spread(samples.floor);
  const caseName = name === undefined ? benchCase.name : `${benchCase.name}: ${name}`;
  return peers.map((peer, index) => {
    const theirs = peer && spread(samples.peers.get(peer.name));
    const ratioFloor = ratio(ours, floor);
    const ratioPeer = ratio(ours, theirs);
    return {
      area,
      case: peer && peers.length > 1 ? `${caseName}, against ${peer.name}` : caseName,
      unit: figure.unit,
      ours,
      floor,
      peer: theirs,
      peerName: peer?.name,
      ratioFloor,
      ratioPeer,
      target: targetText(figure),
      met: isMet(figure, ours?.median, ratioFloor, ratioPeer),
      notes: index === 0 ? samples.notes : [],
    };
  });
}

/** A contender that leaves out a figure of its case would give a row without meaning. */
export function numberOf(measurement: Measurement, figure?: string): number {
  const number = figure === undefined ? measurement : (measurement as Readonly<Record<string, number>>)[figure];
  if (typeof number !== "number") throw new Error(`no number was measured${figure ? ` for "${figure}"` : ""}`);
  return number;
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

function targetText({ goals = {}, better, unit }: Figure): string {
  const sign = better === "higher" ? "≥" : "≤";
  const parts: string[] = [];
  if (goals.ours !== undefined) parts.push(`${sign} ${goals.ours.toLocaleString("en-US")} ${unit}`);
  if (goals.floor !== undefined) parts.push(`${sign} ${goals.floor}× floor`);
  if (goals.peer !== undefined) parts.push(`${sign} ${goals.peer}× peer`);
  return parts.join(", ");
}

function isMet(
  { goals = {}, better }: Figure,
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
