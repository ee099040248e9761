// Formats text in columns, by its width on a terminal. Pure.

import { stripVTControlCharacters } from "node:util";

// Characters that terminals draw two cells wide: East Asian wide characters and emoji.
const WIDE =
  /\p{Emoji_Presentation}|\p{Emoji}\u{fe0f}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

export function widthOf(text: string): number {
  const bare = stripVTControlCharacters(text);
  if (/^[\x20-\x7e]*$/.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of segmenter.segment(bare)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** An empty cell. */
export const NOTHING = "-";

export interface Column {
  readonly title?: string;
  readonly align?: "left" | "right";
}

/** Rows as lines, each column as wide as its widest cell. Titles, if any, come first. */
export function columns(shape: readonly Column[], rows: readonly (readonly string[])[], gap = "  "): string[] {
  const titles = shape.some((column) => column.title !== undefined) ? [shape.map(({ title }) => title ?? "")] : [];
  const all = [...titles, ...rows];
  const widths = shape.map((_, index) => all.reduce((most, row) => Math.max(most, widthOf(row[index] ?? "")), 0));
  return all.map((row) => {
    const cells = shape.map(({ align }, index) => {
      const cell = row[index] ?? "";
      const padding = " ".repeat(widths[index]! - widthOf(cell));
      return align === "right" ? padding + cell : cell + padding;
    });
    return cells.join(gap).trimEnd();
  });
}

/** The same without empty columns, except for the first. No rows: no lines. */
export function filledColumns(shape: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const kept = shape.map((_, index) => index === 0 || rows.some((row) => row[index] !== NOTHING));
  return columns(
    shape.filter((_, index) => kept[index]),
    rows.map((row) => row.filter((_, index) => kept[index])),
  );
}
