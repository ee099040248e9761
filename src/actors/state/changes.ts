// Encodes the changes of a turn as text to append to the stored state, and applies them to the state before
// the turn.
//
// A change is a JSON list of steps in order. A path is a list of keys: a string in an object, a number in an
// array, and [key] in a Map.
//   ["=", path, value] put the value there
//   ["-", path] remove that key, or that member of a Set
//   ["+", path, member] add to the Set at the path
//   ["~", path, start, removed, items] splice the array at the path
import { invariant } from "../../kernel/errors.ts";
import { copyValue, fromWire, putOwn, toWire } from "../../kernel/values.ts";
import type { ChangeJournal, Node } from "./journal.ts";

type Key = string | number | readonly [unknown];
type Path = readonly Key[];
type Step =
  | readonly ["=", Path, unknown]
  | readonly ["-", Path]
  | readonly ["+", Path, unknown]
  | readonly ["~", Path, number, number, unknown[]];

/**
 * The changes of a turn as text; `undefined` when the state must be written whole. Objects put into the state
 * are replaced by copies after the commit, so that no outside code shares them; this registers the
 * replacements in the journal.
 */
export function encodeChanges(journal: ChangeJournal): string | undefined {
  const root = journal.root;
  if (journal.replaced || root === undefined || isWhole(root)) return undefined;
  const steps: Step[] = [];
  describe(root, [], steps);
  return JSON.stringify(steps);
}

/**
 * True: the container must be written whole. An object as the key of a Map or the member of a Set has no
 * address.
 */
function isWhole(node: Node): boolean {
  if (node.rewritten) return true;
  if (!(node.raw instanceof Map || node.raw instanceof Set)) return false;
  const unaddressed = (key: unknown): boolean => typeof key === "object" && key !== null;
  if (node.keys?.keys().some(unaddressed)) return true;
  return node.changed?.keys().some((child) => unaddressed(keyOf(node, child))) ?? false;
}

function describe(node: Node, path: Path, steps: Step[]): void {
  if (node.splices !== undefined) describeSplices(node, path, steps);
  else if (node.keys !== undefined) describeKeys(node, path, steps);
  if (node.changed === undefined) return;
  const fresh = freshItems(node);
  for (const child of node.changed) {
    const key = keyOf(node, child);
    // A value put there in this turn is already written with all its contents; a removed one needs no step.
    if (key === undefined || node.keys?.has(key) || fresh?.has(child.raw)) continue;
    const at = [...path, address(node, key)];
    if (isWhole(child)) {
      steps.push(["=", at, encode(child.raw, at)]);
      put(node, key, child.raw);
    } else {
      describe(child, at, steps);
    }
  }
}

function describeKeys(node: Node, path: Path, steps: Step[]): void {
  const raw = node.raw;
  for (const [key, how] of node.keys!) {
    const at = [...path, address(node, key)];
    const present = raw instanceof Map || raw instanceof Set ? raw.has(key) : Object.hasOwn(raw, key as string);
    if (!present || how === "moved") steps.push(["-", at]);
    if (!present) continue;
    if (raw instanceof Set) {
      steps.push(["+", path, encode(key, at)]);
      continue;
    }
    const value = raw instanceof Map ? raw.get(key) : (raw as Record<string, unknown>)[key as string];
    steps.push(["=", at, encode(value, at)]);
    put(node, key, value);
  }
}

function describeSplices(node: Node, path: Path, steps: Step[]): void {
  const raw = node.raw as unknown[];
  let last: [start: number, removed: number, items: unknown[]] | undefined;
  for (const { start, removed, items } of node.splices!) {
    const wires = items.map((item, i) => encode(item, [...path, start + i]));
    if (last !== undefined && removed === 0 && start === last[0] + last[2].length) {
      for (const wire of wires) last[2].push(wire);
      continue;
    }
    last = [start, removed, wires];
    steps.push(["~", path, ...last]);
  }
  for (const item of freshItems(node) ?? []) {
    const copies: unknown[] = [];
    for (const other of raw) if (other === item) copies.push(copyValue(item, "state", "STATE_INVALID"));
    node.journal.afterwards(() => {
      for (const copied of copies) raw[raw.indexOf(item)] = copied;
    });
  }
}

/** Objects that were put into an array in this turn. */
function freshItems(node: Node): Set<unknown> | undefined {
  if (node.splices === undefined) return undefined;
  const fresh = new Set<unknown>();
  for (const { items } of node.splices) {
    for (const item of items) if (typeof item === "object" && item !== null) fresh.add(item);
  }
  return fresh;
}

function keyOf(node: Node, child: Node): unknown {
  const raw = node.raw;
  if (Array.isArray(raw)) {
    const guess = Number(child.key);
    const index = raw[guess] === child.raw ? guess : raw.indexOf(child.raw);
    return index < 0 ? undefined : index;
  }
  if (raw instanceof Map) {
    if (raw.get(child.key) === child.raw) return child.key;
    for (const [key, value] of raw) if (value === child.raw) return key;
    return undefined;
  }
  const fields = raw as Record<string, unknown>;
  if (typeof child.key === "string" && fields[child.key] === child.raw) return child.key;
  return Object.keys(fields).find((key) => fields[key] === child.raw);
}

function address(node: Node, key: unknown): Key {
  if (node.raw instanceof Map || node.raw instanceof Set) return [toWire(key, "state", "STATE_INVALID")];
  return key as string | number;
}

/** Replaces an object by a copy of its present contents, after the commit. */
function put(node: Node, key: unknown, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const copied = copyValue(value, "state", "STATE_INVALID");
  const raw = node.raw;
  node.journal.afterwards(() => {
    if (raw instanceof Map) raw.set(key, copied);
    else if (Array.isArray(raw)) raw[key as number] = copied;
    else putOwn(raw, key as string, copied);
  });
}

function encode(value: unknown, path: Path): unknown {
  let place = "state";
  for (const key of path) {
    if (typeof key === "number") place += `[${key}]`;
    else if (typeof key === "string") place += `.${key}`;
    else place += `.get(${JSON.stringify(key[0])})`;
  }
  return toWire(value, place, "STATE_INVALID", path.length);
}

/** Applies one encoded change to the state as it was before it. */
export function applyChanges(root: object, text: string): void {
  for (const step of JSON.parse(text) as Step[]) applyStep(root, step);
}

function applyStep(root: object, step: Step): void {
  const path = step[1];
  if (step[0] === "~") {
    const items = step[4].map(fromWire);
    splice(follow(root, path, path.length) as unknown[], step[2], step[3], items);
    return;
  }
  if (step[0] === "+") {
    (follow(root, path, path.length) as Set<unknown>).add(fromWire(step[2]));
    return;
  }
  const holder = follow(root, path, path.length - 1);
  const key = path[path.length - 1]!;
  if (typeof key === "object") {
    const plain = fromWire(key[0]);
    if (step[0] === "-") (holder as Map<unknown, unknown>).delete(plain);
    else (holder as Map<unknown, unknown>).set(plain, fromWire(step[2]));
  } else if (step[0] === "-") {
    delete (holder as Record<string, unknown>)[key];
  } else if (typeof key === "number") {
    (holder as unknown[])[key] = fromWire(step[2]);
  } else {
    putOwn(holder, key, fromWire(step[2]));
  }
}

function follow(root: object, path: Path, length: number): object {
  let at: unknown = root;
  for (let i = 0; i < length; i++) {
    const key = path[i]!;
    at = typeof key === "object" ? (at as Map<unknown, unknown>).get(fromWire(key[0])) : (at as never)[key];
    invariant(typeof at === "object" && at !== null, "a stored change leads to a container");
  }
  return at as object;
}

/** An argument list has a limit, and exceeding it would throw halfway. */
const ARGUMENTS = 10_000;

/** Like `list.splice(start, removed, ...items)`, for items of any number. Returns the removed items. */
export function splice(list: unknown[], start: number, removed: number, items: readonly unknown[]): unknown[] {
  if (items.length <= ARGUMENTS) return list.splice(start, removed, ...items);
  const tail = list.splice(start);
  for (const item of items) list.push(item);
  for (let i = removed; i < tail.length; i++) list.push(tail[i]);
  tail.length = Math.min(removed, tail.length);
  return tail;
}
