// Records the changes of one turn to the state: enough to write only the changes, and to undo them.
//
// The state itself is a tree of plain objects, arrays, Maps and Sets, changed in place. User code sees it
// through drafts (draft.ts); each touched container gets a node here for the length of the turn. A node
// records the changes of its container and its changed children, so a walk from the root visits only touched
// containers. The undo list restores every container exactly, entry by entry, newest first.
import { LimpetError } from "../../kernel/errors.ts";
import { putOwn } from "../../kernel/values.ts";

export type Container = object;

/** Final position of a key: `set` in its old place, or `moved` to the end of the order by delete and set. */
export type KeyChange = "set" | "moved";

/** One splice of an array, in the order it happened. */
export interface Splice {
  readonly start: number;
  readonly removed: number;
  readonly items: readonly unknown[];
}

/** A container that was touched in this turn. It is also the handler of its draft. */
export abstract class Node {
  readonly journal: ChangeJournal;
  readonly raw: Container;
  readonly parent: Node | undefined;
  /** Position in its parent; may be out of date after the parent was reordered. */
  readonly key: unknown;
  draft: object | undefined;
  /** The same container put at a second place within the turn. */
  otherParents: Node[] | undefined;
  changed: Set<Node> | undefined;
  keys: Map<unknown, KeyChange> | undefined;
  splices: Splice[] | undefined;
  /** The container is written whole: too many changes, or changes without an address. */
  rewritten = false;

  constructor(journal: ChangeJournal, raw: Container, parent: Node | undefined, key: unknown) {
    this.journal = journal;
    this.raw = raw;
    this.parent = parent;
    this.key = key;
  }

  touchKey(key: unknown, existed: boolean): void {
    this.journal.dirty = true;
    if (this.journal.coarse) return;
    this.keys ??= new Map();
    if (existed) {
      if (!this.keys.has(key)) this.keys.set(key, "set");
    } else {
      // Keys new in this turn stand in the order in which they were added, like in the container.
      const known = this.keys.delete(key);
      this.keys.set(key, known ? "moved" : "set");
    }
    this.#spread();
  }

  touchSplice(splice: Splice): void {
    this.splices ??= [];
    this.splices.push(splice);
    if (this.splices.length > 32 && this.splices.length > (this.raw as unknown[]).length) this.rewritten = true;
    this.#spread();
  }

  rewrite(): void {
    this.rewritten = true;
    this.#spread();
  }

  #spread(): void {
    this.journal.dirty = true;
    this.parent?.noteChild(this);
    if (this.otherParents !== undefined) for (const parent of this.otherParents) parent.noteChild(this);
  }

  noteChild(child: Node): void {
    if (this.changed === undefined) this.changed = new Set();
    else if (this.changed.has(child)) return;
    this.changed.add(child);
    this.#spread();
  }
}

/** Key of a child that is itself a key of its Map: changing it rewrites the whole Map. */
export const MAP_KEY: unique symbol = Symbol("limpet.map-key");

/**
 * Containers up to this size are copied before a key is deleted, so that undo restores the order of keys too.
 */
const COPY_BEFORE_DELETE = 256;

type Undo = () => void;

export type NodeMaker = (journal: ChangeJournal, raw: Container, parent: Node | undefined, key: unknown) => Node;

export class ChangeJournal {
  readonly #newNode: NodeMaker;
  /** True: the state will be written whole, so changes are not tracked in detail. */
  readonly coarse: boolean;
  #root: Node | undefined;
  // Most turns touch the root and nothing else, so the map is made for the second container.
  #nodes: Map<Container, Node> | undefined;
  readonly #undo: Undo[] = [];
  /** Dates and bytes that were handed out: they cannot be watched, so the end of the turn compares them. */
  #exposed: Map<object, Exposure> | undefined;
  #afterwards: (() => void)[] | undefined;
  dirty = false;
  /** An object was put into the state; it must not stay shared with the code that put it there. */
  attached = false;
  /** A value outside plain JSON was put into the state. */
  special = false;
  /** The root itself was replaced. */
  replaced = false;
  /** Undo cannot restore everything; the state must be read again. */
  lost = false;
  /** The turn is over: its drafts no longer change anything. */
  closed = false;

  constructor(newNode: NodeMaker, coarse: boolean) {
    this.#newNode = newNode;
    this.coarse = coarse;
  }

  /**
   * The node of a container, the same one for the whole turn. The root is requested first, and without a
   * parent.
   */
  nodeOf(raw: Container, parent: Node | undefined, key: unknown): Node {
    if (this.#root?.raw === raw) return this.#root;
    let node = this.#nodes?.get(raw);
    if (node === undefined) {
      node = this.#newNode(this, raw, parent, key);
      if (parent === undefined) {
        this.#root = node;
        return node;
      }
      this.#nodes ??= new Map();
      this.#nodes.set(raw, node);
    } else if (parent !== undefined && node.parent !== parent) {
      node.otherParents ??= [];
      if (!node.otherParents.includes(parent)) node.otherParents.push(parent);
    }
    return node;
  }

  get root(): Node | undefined {
    return this.#root;
  }

  /** The root was exchanged for another container. */
  replaceRoot(): void {
    this.#root = undefined;
    this.replaced = true;
  }

  assertOpen(): void {
    if (!this.closed) return;
    throw new LimpetError(
      "STATE_OUTSIDE_TURN",
      "the state was changed outside its turn: a draft was kept in a field, or a promise was not awaited",
    );
  }

  /** A point to return to when a nested turn fails. */
  savepoint(): number {
    this.settle();
    return this.#undo.length;
  }

  isChild(value: unknown, parent: Node): boolean {
    if (typeof value !== "object" || value === null) return false;
    const node = this.#nodes?.get(value);
    return node !== undefined && (node.parent === parent || node.otherParents?.includes(parent) === true);
  }

  /** Runs `work` after the commit of the turn. */
  afterwards(work: () => void): void {
    this.#afterwards ??= [];
    this.#afterwards.push(work);
  }

  /** Ends the turn; deferred work runs if the turn was committed. */
  close(committed: boolean): void {
    this.closed = true;
    if (committed) for (const work of this.#afterwards ?? []) work();
    for (const exposure of this.#exposed?.values() ?? []) exchange(exposure);
    this.#exposed = undefined;
  }

  record(undo: Undo): void {
    this.#undo.push(undo);
  }

  /** Undo for the deletion of a key: a restored key would be last, so the whole order is kept. */
  recordDelete(raw: Container): void {
    const size = raw instanceof Map || raw instanceof Set ? raw.size : Object.keys(raw).length;
    if (size > COPY_BEFORE_DELETE) this.lost = true;
    else this.recordRefill(raw);
  }

  /** Undo by putting back everything the container holds now. */
  recordRefill(raw: Container): void {
    if (raw instanceof Map) {
      const entries = [...raw];
      this.record(() => {
        raw.clear();
        for (const [key, value] of entries) raw.set(key, value);
      });
    } else if (raw instanceof Set) {
      const members = [...raw];
      this.record(() => {
        raw.clear();
        for (const member of members) raw.add(member);
      });
    } else if (Array.isArray(raw)) {
      const items = raw.slice();
      this.record(() => {
        raw.length = 0;
        for (const item of items) raw.push(item);
      });
    } else {
      const entries = Object.entries(raw);
      this.record(() => {
        for (const key of Object.keys(raw)) delete (raw as Record<string, unknown>)[key];
        for (const [key, value] of entries) putOwn(raw, key, value);
      });
    }
  }

  expose(value: Date | Uint8Array, holder: Node, key: unknown): void {
    this.#exposed ??= new Map();
    if (!this.#exposed.has(value)) this.#exposed.set(value, { value, before: snapshot(value), holder, key });
  }

  /** Detects Dates and bytes that were changed in place since the last check. */
  settle(): void {
    if (this.#exposed === undefined) return;
    for (const exposure of this.#exposed.values()) if (!same(exposure)) this.#noteExposed(exposure);
  }

  #noteExposed(exposure: Exposure): void {
    const { value, before, holder, key } = exposure;
    const index = Array.isArray(holder.raw) ? holder.raw.indexOf(value) : -1;
    this.record(() => {
      if (index >= 0) holder.splices!.pop();
      if (value instanceof Date) value.setTime(before as number);
      else value.set(before as Uint8Array);
      exposure.before = before;
    });
    exposure.before = snapshot(value);
    if (index >= 0) holder.touchSplice({ start: index, removed: 1, items: [value] });
    else if (holder.raw instanceof Set || key === MAP_KEY) holder.rewrite();
    else if (!Array.isArray(holder.raw)) holder.touchKey(key, true);
  }

  /** Undoes every change after `savepoint`. False: not everything could be restored. */
  rollback(savepoint: number): boolean {
    this.settle();
    for (let i = this.#undo.length - 1; i >= savepoint; i--) this.#undo[i]!();
    this.#undo.length = savepoint;
    // The effects of a key on the order before and after the savepoint can no longer be distinguished.
    for (const node of this.#allNodes()) if (node.keys?.values().some((how) => how === "moved")) node.rewrite();
    if (savepoint === 0) this.dirty = false;
    return !this.lost;
  }

  *#allNodes(): Generator<Node> {
    if (this.#root !== undefined) yield this.#root;
    if (this.#nodes !== undefined) yield* this.#nodes.values();
  }
}

interface Exposure {
  readonly value: Date | Uint8Array;
  before: number | Uint8Array;
  readonly holder: Node;
  readonly key: unknown;
}

const snapshot = (value: Date | Uint8Array): number | Uint8Array =>
  value instanceof Date ? value.getTime() : value.slice();

function same({ value, before }: Exposure): boolean {
  if (value instanceof Date) return Object.is(value.getTime(), before);
  return Buffer.compare(value, before as Uint8Array) === 0;
}

/** Replaces a Date or bytes by a copy, because user code may have kept the original and change it later. */
function exchange({ value, holder, key }: Exposure): void {
  const { raw } = holder;
  const copied = value instanceof Date ? new Date(value.getTime()) : value.slice();
  if (Array.isArray(raw)) {
    for (let at = raw.indexOf(value); at >= 0; at = raw.indexOf(value)) raw[at] = copied;
  } else if (raw instanceof Set || key === MAP_KEY) {
    refill(raw as Set<unknown> | Map<unknown, unknown>, value, copied);
  } else if (raw instanceof Map) {
    if (raw.get(key) === value) raw.set(key, copied);
  } else if ((raw as Record<string, unknown>)[key as string] === value) {
    putOwn(raw, key as string, copied);
  }
}

/** Members of a Set and keys of a Map can only be exchanged by filling it anew in the same order. */
function refill(raw: Set<unknown> | Map<unknown, unknown>, old: unknown, fresh: unknown): void {
  if (!raw.has(old)) return;
  const entries = [...raw.entries()];
  raw.clear();
  for (const [key, value] of entries) {
    const at = key === old ? fresh : key;
    if (raw instanceof Map) raw.set(at, value);
    else raw.add(at);
  }
}
