// Compares the assert statements of two versions of the tests. A statement counts by its text without line
// breaks, wherever it stands, so that moved and reformatted statements are unchanged.
import { basename } from "node:path";

export type Kind = "names" | "texts" | "changed" | "removed";

export interface AssertChange {
  readonly kind: Kind;
  readonly path: string;
  readonly before: string;
  /** The most similar new statement; undefined if there is none. */
  readonly after: string | undefined;
}

interface Statement {
  readonly path: string;
  readonly text: string;
  readonly tokens: readonly string[];
}

/** A pair that is less similar is no pair. */
const LEAST_SIMILAR = 0.5;
const TOKEN =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|(?<=[(,=:?[]\s*)\/(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\/[a-z]*|[\w$#]+|=>|[^\s\w]/g;

/** All assert statements of a file, each on one line. */
export function assertsIn(text: string): string[] {
  const found: string[] = [];
  for (const { index } of text.matchAll(/\bassert(?:\.\w+)?\(/g)) {
    let depth = 0;
    let statement = "";
    for (const { 0: token, index: at } of text.slice(index, index + 10_000).matchAll(TOKEN)) {
      if (token === "(") depth++;
      if (token === ")") depth--;
      if (token === ")" && depth === 0) {
        statement = text.slice(index, index + at + 1);
        break;
      }
    }
    // Formatting is no change: line breaks, and the comma after the last argument.
    if (statement !== "")
      found.push(statement.replace(/\s+/g, " ").replace(/([([{]) | (?=[)\]])|,(?= ?[)\]}])/g, "$1"));
  }
  return found;
}

/** Takes the files that differ, by their paths. */
export function assertChanges(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): { readonly changes: readonly AssertChange[]; readonly unchanged: number; readonly added: number } {
  const [old, now] = [statementsOf(before), statementsOf(after)];
  const [removed, added] = [withoutTexts(old, now), withoutTexts(now, old)];
  const pairs = pair(removed, added);
  const changes = removed.map((one): AssertChange => {
    const match = pairs.get(one);
    const kind = match === undefined ? "removed" : kindOf(one.tokens, match.tokens);
    return { kind, path: one.path, before: one.text, after: match?.text };
  });
  return { changes, unchanged: old.length - removed.length, added: added.length - pairs.size };
}

const statementsOf = (files: ReadonlyMap<string, string>): Statement[] =>
  [...files].flatMap(([path, text]) =>
    assertsIn(text).map((one) => ({ path, text: one, tokens: one.match(TOKEN) ?? [] })),
  );

/** Statements of `all` that `others` does not have, as often as it lacks them. */
function withoutTexts(all: readonly Statement[], others: readonly Statement[]): Statement[] {
  const counts = new Map<string, number>();
  for (const { text } of others) counts.set(text, (counts.get(text) ?? 0) + 1);
  return all.filter(({ text }) => {
    const left = counts.get(text) ?? 0;
    counts.set(text, left - 1);
    return left <= 0;
  });
}

/** The most similar pairs come first. */
function pair(removed: readonly Statement[], added: readonly Statement[]): Map<Statement, Statement> {
  const candidates = removed.flatMap((one) =>
    added.map((other) => ({ one, other, score: similarity(one, other) })).filter(({ score }) => score > LEAST_SIMILAR),
  );
  candidates.sort((a, b) => b.score - a.score);
  const pairs = new Map<Statement, Statement>();
  const used = new Set<Statement>();
  for (const { one, other } of candidates) {
    if (pairs.has(one) || used.has(other)) continue;
    pairs.set(one, other);
    used.add(other);
  }
  return pairs;
}

/** Share of common tokens, and a little more for statements of the same file. */
function similarity({ tokens: one, path }: Statement, { tokens: other, path: otherPath }: Statement): number {
  if (one[2] !== other[2] || Math.min(one.length, other.length) * 3 < Math.max(one.length, other.length)) return 0;
  const counts = new Map<string, number>();
  for (const token of one) counts.set(token, (counts.get(token) ?? 0) + 1);
  let common = 0;
  for (const token of other) {
    const left = counts.get(token) ?? 0;
    if (left > 0) common++;
    counts.set(token, left - 1);
  }
  return (2 * common) / (one.length + other.length) + (basename(path) === basename(otherPath) ? 0.1 : 0);
}

const isText = (token: string): boolean => /^["'`].* .*["'`]$/s.test(token) || /^\/.+\/[a-z]*$/s.test(token);
const isName = (token: string): boolean => /^[A-Za-z_$#][\w$]*$/.test(token) && !VALUES.has(token);
const VALUES: ReadonlySet<string> = new Set(["true", "false", "undefined", "null", "NaN", "Infinity"]);

/** Codes and other literals without a space are values, not texts. */
function kindOf(before: readonly string[], after: readonly string[]): Kind {
  if (before.length !== after.length) return "changed";
  let kind: Kind = "names";
  for (const [i, one] of before.entries()) {
    const other = after[i]!;
    if (one === other) continue;
    if (isText(one) && isText(other)) kind = "texts";
    else if (!isName(one) || !isName(other)) return "changed";
  }
  return kind;
}
