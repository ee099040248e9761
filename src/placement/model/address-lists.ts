// Lists of addresses in the order of rings and tables: by code unit, each address once.

/**
 * Sorts a list and removes duplicates. Tables come in order already; then one pass over the list suffices.
 */
export function inOrder(addresses: readonly string[]): readonly string[] {
  for (let at = 1; at < addresses.length; at++) {
    if (!(addresses[at - 1]! < addresses[at]!)) return [...new Set(addresses)].sort();
  }
  return [...addresses];
}

/** Index of the address in the list, or the index at which it would be inserted. */
export function indexOfAddress(address: string, list: readonly string[]): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]! < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((address, index) => address === b[index]);
}

export interface Differences {
  /** Indices in the new list of addresses that are not in the old one. */
  readonly joining: readonly number[];
  /** Indices in the old list of addresses that are not in the new one. */
  readonly leaving: readonly number[];
}

export function differences(old: readonly string[], now: readonly string[]): Differences {
  const joining: number[] = [];
  const leaving: number[] = [];
  let passed = 0;
  for (let at = 0; at < now.length; at++) {
    const address = now[at]!;
    // Equality first: it is the usual case and cheaper than order.
    while (passed < old.length && old[passed] !== address && old[passed]! < address) leaving.push(passed++);
    if (old[passed] === address) passed++;
    else joining.push(at);
  }
  while (passed < old.length) leaving.push(passed++);
  return { joining, leaving };
}
