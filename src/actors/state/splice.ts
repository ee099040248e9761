// Splicing lists of any length: an argument list has a limit, and exceeding it would throw halfway.

const ARGUMENTS = 10_000;

/** Like `list.splice(start, removed, ...items)`. Returns the removed items. */
export function splice(list: unknown[], start: number, removed: number, items: readonly unknown[]): unknown[] {
  if (items.length <= ARGUMENTS) return list.splice(start, removed, ...items);
  const tail = list.splice(start);
  for (const item of items) list.push(item);
  for (let i = removed; i < tail.length; i++) list.push(tail[i]);
  tail.length = Math.min(removed, tail.length);
  return tail;
}
