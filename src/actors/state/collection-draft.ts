// The drafts of a Map and a Set.
import { RAW, unwrap } from "../../kernel/values.ts";
import { Draft, inward, NODE, outward, rejectChange } from "./draft.ts";
import { MAP_KEY, type Node } from "./journal.ts";

/** A proxy cannot reach the contents of Maps and Sets, so every method is replaced. */
abstract class CollectionNode extends Draft {
  abstract readonly methods: Record<PropertyKey, unknown>;

  get(target: { size: number }, key: PropertyKey): unknown {
    if (key === RAW) return target;
    if (key === NODE) return this;
    if (key === "size") return target.size;
    if (Object.hasOwn(this.methods, key)) return this.methods[key];
    const inherited: unknown = Reflect.get(target, key, target);
    // An unknown method might change the collection without a record in the journal.
    return typeof inherited === "function" && key !== "constructor" ? undefined : inherited;
  }

  override set(): boolean {
    rejectChange("a Map or Set has no keys of its own");
  }

  outward(key: unknown, value: unknown): unknown {
    return outward(this, key, value);
  }
}

export class MapNode extends CollectionNode {
  override get methods(): Record<PropertyKey, unknown> {
    return mapMethods;
  }

  /** A changed key has no address any more. */
  override noteChild(child: Node): void {
    super.noteChild(child);
    if (child.key === MAP_KEY) this.rewritten = true;
  }
}

export class SetNode extends CollectionNode {
  override get methods(): Record<PropertyKey, unknown> {
    return setMethods;
  }

  /** Members have no key to be addressed by, so a changed member rewrites the set. */
  override noteChild(child: Node): void {
    super.noteChild(child);
    this.rewritten = true;
  }
}

type AnyMap = Map<unknown, unknown>;
type AnySet = Set<unknown>;
const collectionNode = (draft: unknown): CollectionNode => (draft as { [NODE]: CollectionNode })[NODE];
const mapOf = (node: CollectionNode): AnyMap => node.raw as AnyMap;
const setOf = (node: CollectionNode): AnySet => node.raw as AnySet;

function clear(this: AnyMap | AnySet): void {
  const node = collectionNode(this);
  const raw = node.raw as AnyMap | AnySet;
  node.journal.assertOpen();
  if (raw.size === 0) return;
  node.journal.recordRefill(raw);
  raw.clear();
  node.rewrite();
}

function remove(this: AnyMap | AnySet, key: unknown): boolean {
  const node = collectionNode(this);
  const raw = node.raw as AnyMap | AnySet;
  node.journal.assertOpen();
  const plain = unwrap(key);
  if (!raw.has(plain)) return false;
  node.journal.recordDelete(raw);
  node.touchKey(plain, true);
  return raw.delete(plain);
}

function has(this: AnyMap | AnySet, key: unknown): boolean {
  return (collectionNode(this).raw as AnyMap | AnySet).has(unwrap(key));
}

const mapMethods = {
  clear,
  delete: remove,
  has,
  get(this: AnyMap, key: unknown): unknown {
    const node = collectionNode(this);
    const plain = unwrap(key);
    return node.outward(plain, mapOf(node).get(plain));
  },
  set(this: AnyMap, key: unknown, value: unknown): AnyMap {
    const node = collectionNode(this);
    const raw = mapOf(node);
    node.journal.assertOpen();
    const plain = inward(node.journal, key);
    const next = inward(node.journal, value);
    const existed = raw.has(plain);
    const before = raw.get(plain);
    if (existed && Object.is(before, next)) return this;
    node.journal.record(existed ? () => raw.set(plain, before) : () => raw.delete(plain));
    node.touchKey(plain, existed);
    raw.set(plain, next);
    return this;
  },
  *entries(this: AnyMap): Generator<[unknown, unknown]> {
    const node = collectionNode(this);
    for (const [key, value] of mapOf(node)) yield [node.outward(MAP_KEY, key), node.outward(key, value)];
  },
  *keys(this: AnyMap): Generator<unknown> {
    const node = collectionNode(this);
    for (const key of mapOf(node).keys()) yield node.outward(MAP_KEY, key);
  },
  *values(this: AnyMap): Generator<unknown> {
    const node = collectionNode(this);
    for (const [key, value] of mapOf(node)) yield node.outward(key, value);
  },
  forEach(this: AnyMap, fn: (value: unknown, key: unknown, map: AnyMap) => void, self?: unknown): void {
    for (const [key, value] of mapMethods.entries.call(this)) fn.call(self, value, key, this);
  },
  [Symbol.iterator](this: AnyMap): Generator<[unknown, unknown]> {
    return mapMethods.entries.call(this);
  },
};

const setMethods: Record<PropertyKey, unknown> = {
  clear,
  delete: remove,
  has,
  add(this: AnySet, member: unknown): AnySet {
    const node = collectionNode(this);
    const raw = setOf(node);
    node.journal.assertOpen();
    const plain = inward(node.journal, member);
    if (raw.has(plain)) return this;
    node.journal.record(() => raw.delete(plain));
    node.touchKey(plain, false);
    raw.add(plain);
    return this;
  },
  *entries(this: AnySet): Generator<[unknown, unknown]> {
    for (const member of members(this)) yield [member, member];
  },
  keys(this: AnySet): Generator<unknown> {
    return members(this);
  },
  values(this: AnySet): Generator<unknown> {
    return members(this);
  },
  forEach(this: AnySet, fn: (value: unknown, key: unknown, set: AnySet) => void, self?: unknown): void {
    for (const member of members(this)) fn.call(self, member, member, this);
  },
  [Symbol.iterator](this: AnySet): Generator<unknown> {
    return members(this);
  },
};

function* members(draft: AnySet): Generator<unknown> {
  const node = collectionNode(draft);
  for (const member of setOf(node)) yield node.outward(member, member);
}

// The set algebra only reads; it works on a set of drafts.
const algebra = ["union", "intersection", "difference", "symmetricDifference"] as const;
for (const name of [...algebra, "isSubsetOf", "isSupersetOf", "isDisjointFrom"] as const) {
  setMethods[name] = function (this: AnySet, other: AnySet): unknown {
    return new Set(members(this))[name](other);
  };
}
