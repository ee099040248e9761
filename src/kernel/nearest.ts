// Finds the known word nearest to a typed one, for "did you mean …?". Pure.

const MAX_WORD = 200;

/** The nearest known word, or `undefined` when none is near enough. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  // Longer than any known word: a comparison would take long and find nothing.
  if (word.length > MAX_WORD) return undefined;
  const typed = plain(word);
  let best: string | undefined;
  // Up to a third of the letters may be wrong; with more it is another word.
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(typed, plain(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `; did you mean "x"?` or nothing, as the end of a sentence. */
export function didYouMean(word: string, known: Iterable<string>, show = (hit: string) => `"${hit}"`): string {
  const hit = nearest(word, known);
  return hit === undefined ? "" : `; did you mean ${show(hit)}?`;
}

// idle_timeout, idle-timeout and IdleTimeout count as the same word.
const plain = (word: string): string => word.toLowerCase().replace(/[-_\s]/g, "");

/** Letters to add, drop, change or swap with a neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
