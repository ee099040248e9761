// Results for display: an aligned table with ratios, targets, and the spread of the rounds.
import type { Row } from "./row.ts";
import type { Spread } from "./statistics.ts";

const HEAD = ["case", "unit", "ours", "floor", "peer", "ours/floor", "ours/peer", "target"] as const;

export function tableOf(rows: readonly Row[]): string {
  const cells = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  const lines = cells.map((line) =>
    line
      .map((cell, column) => pad(cell, widths[column]!, column))
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "─".repeat(width)).join("  "));
  return `${lines.join("\n")}\n`;
}

/** 1,234 with its spread: `1.23k (1.20..1.31)`. */
export function showSpread(spread: Spread | undefined): string {
  if (spread === undefined) return "–";
  const { median, min, max } = spread;
  return min === max ? show(median) : `${show(median)} (${show(min)}..${show(max)})`;
}

export function show(value: number): string {
  if (value >= 999_500) return `${(value / 1e6).toPrecision(3)}M`;
  if (value >= 9_995) return `${(value / 1e3).toPrecision(3)}k`;
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

function cellsOf(row: Row): string[] {
  return [
    row.case,
    row.unit,
    showSpread(row.ours),
    showSpread(row.floor),
    showSpread(row.peer),
    showRatio(row.ratioFloor),
    showRatio(row.ratioPeer),
    row.met === undefined ? row.target : `${row.target}: ${row.met ? "met" : "missed"}`,
  ];
}

function showRatio(ratio: number | undefined): string {
  return ratio === undefined ? "–" : `${ratio >= 100 ? Math.round(ratio) : ratio.toPrecision(2)}×`;
}

/** Words are aligned left, numbers right. */
function pad(cell: string, width: number, column: number): string {
  return column < 2 || column === HEAD.length - 1 ? cell.padEnd(width) : cell.padStart(width);
}
