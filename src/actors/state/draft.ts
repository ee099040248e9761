// Drafts: the view of the state that user code holds. A draft behaves like the object, array, Map or Set
// behind it. Reads go through; changes go through and are recorded in the journal of the turn. Drafts are
// made only for touched containers, and end with their turn. Dates and bytes are handed out as they are.
import { LimpetError } from "../../kernel/errors.ts";
import { isJsonPrimitive, unwrap } from "../../kernel/values.ts";
import type { ChangeJournal, Container } from "./journal.ts";
import { Node } from "./journal.ts";

/** A draft answers this key with its node. */
export const NODE: unique symbol = Symbol("limpet.node");

export function draftOf(journal: ChangeJournal, raw: Container, parent: Node | undefined, key: unknown): object {
  const node = journal.nodeOf(raw, parent, key);
  node.draft ??= new Proxy(raw, node as ProxyHandler<Container>);
  return node.draft;
}

/** The value that user code gets for a value at `key` of a container. */
export function outward(node: Node, key: unknown, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date || value instanceof Uint8Array) {
    if (!node.journal.closed) node.journal.expose(value, node, key);
    return value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const container =
    Array.isArray(value) ||
    prototype === Object.prototype ||
    prototype === null ||
    value instanceof Map ||
    value instanceof Set;
  // Any other object cannot be stored, and the end of the turn reports it; until then it is left alone.
  return container ? draftOf(node.journal, unwrap(value), node, key) : value;
}

/** The value stored in a container when user code puts `value` there. */
export function inward(journal: ChangeJournal, value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    if (!isJsonPrimitive(value)) journal.special = true;
    return value;
  }
  journal.attached = true;
  return unwrap(value);
}

export function rejectChange(what: string): never {
  throw new LimpetError("STATE_INVALID", `state must stay plain data: ${what}`);
}

/** Traps with the same meaning for every kind of container. */
export abstract class Draft extends Node {
  setPrototypeOf(): boolean {
    rejectChange("its prototype cannot be changed");
  }

  preventExtensions(): boolean {
    rejectChange("it cannot be frozen or sealed");
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    const descriptor = Reflect.getOwnPropertyDescriptor(target, key);
    if (descriptor?.configurable && "value" in descriptor) descriptor.value = outward(this, key, descriptor.value);
    return descriptor;
  }

  abstract set(target: object, key: PropertyKey, value: unknown): boolean;

  defineProperty(target: object, key: PropertyKey, descriptor: PropertyDescriptor): boolean {
    const plain = descriptor.get === undefined && descriptor.set === undefined;
    // Assigning to a draft through Reflect.set or to an inheriting object ends here with only a value.
    const full = descriptor.writable !== false && descriptor.enumerable !== false && descriptor.configurable !== false;
    if (!plain || !full) rejectChange(`${String(key)} cannot be an accessor, read-only or hidden`);
    return this.set(target, key, descriptor.value);
  }
}
