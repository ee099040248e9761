// Orders names by code point, as databases order UTF-8 bytes. JavaScript's own `<` compares UTF-16 units,
// which puts characters outside the basic plane before some inside it.

/** Negative, zero or positive, as `sort` expects. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Surrogates (U+D800 to U+DFFF) stand for code points above everything else, so they move behind U+FFFF. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
