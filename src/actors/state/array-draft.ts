// The draft of an array. Every change is a splice or a reordering, so a push or a shift costs one entry in
// the journal, and not one for each later item. Arrays never have holes or keys of their own.
import { RAW, unwrap } from "../../kernel/values.ts";
import { splice } from "./changes.ts";
import { Draft, inward, NODE, outward, rejectChange } from "./draft.ts";

export class ArrayNode extends Draft {
  get(target: unknown[], key: PropertyKey): unknown {
    if (key === RAW) return target;
    if (key === NODE) return this;
    const value = target[key as unknown as number];
    if (typeof value === "function") return Object.hasOwn(arrayMethods, key) ? arrayMethods[key as string] : value;
    return outward(this, key, value);
  }

  override set(target: unknown[], key: PropertyKey, value: unknown): boolean {
    this.journal.assertOpen();
    if (key === "length") {
      const length = Number(value);
      if (length < target.length) this.splice(length, target.length - length, []);
      else if (length > target.length) rejectChange("an array cannot have holes");
      return true;
    }
    const index = typeof key === "string" ? Number(key) : Number.NaN;
    if (!Number.isInteger(index) || index < 0 || String(index) !== key) rejectChange("an array has no other keys");
    if (index > target.length) rejectChange("an array cannot have holes");
    const next = inward(this.journal, value);
    if (index < target.length && Object.is(target[index], next)) return true;
    this.splice(index, index < target.length ? 1 : 0, [next]);
    return true;
  }

  deleteProperty(target: unknown[], key: PropertyKey): boolean {
    if (Object.hasOwn(target, key)) rejectChange("an array cannot have holes; use splice");
    return true;
  }

  splice(start: number, removed: number, items: readonly unknown[]): unknown[] {
    this.journal.assertOpen();
    const raw = this.raw as unknown[];
    const gone = splice(raw, start, removed, items);
    if (gone.length === 0 && items.length === 0) return gone;
    this.touchSplice({ start, removed: gone.length, items });
    // The item is in the array already and may have changed: a splice alone would not describe both of its
    // places.
    if (items.some((item) => this.journal.isChild(item, this))) this.rewrite();
    this.journal.record(() => {
      this.splices!.pop();
      splice(raw, start, items.length, gone);
    });
    return gone;
  }

  reorder(change: (raw: unknown[]) => void): void {
    this.journal.assertOpen();
    this.journal.recordRefill(this.raw);
    change(this.raw as unknown[]);
    this.rewrite();
  }

  outward(value: unknown): unknown {
    return outward(this, undefined, value);
  }
}

const arrayNode = (draft: unknown): ArrayNode => (draft as { [NODE]: ArrayNode })[NODE];

/** Methods that would go through the draft item by item, or compare drafts with the items they represent. */
const arrayMethods: Record<string, unknown> = {
  push(this: unknown[], ...items: unknown[]): number {
    const node = arrayNode(this);
    const raw = node.raw as unknown[];
    node.splice(
      raw.length,
      0,
      items.map((item) => inward(node.journal, item)),
    );
    return raw.length;
  },
  pop(this: unknown[]): unknown {
    const node = arrayNode(this);
    const last = (node.raw as unknown[]).length - 1;
    return last < 0 ? undefined : node.outward(node.splice(last, 1, [])[0]);
  },
  shift(this: unknown[]): unknown {
    const node = arrayNode(this);
    return node.outward(node.splice(0, 1, [])[0]);
  },
  unshift(this: unknown[], ...items: unknown[]): number {
    const node = arrayNode(this);
    node.splice(
      0,
      0,
      items.map((item) => inward(node.journal, item)),
    );
    return (node.raw as unknown[]).length;
  },
  splice(this: unknown[], ...args: [number, number?, ...unknown[]]): unknown[] {
    const node = arrayNode(this);
    const length = (node.raw as unknown[]).length;
    const [from, count, ...items] = args;
    if (args.length === 0) return [];
    const whole = Math.trunc(Number(from)) || 0;
    const start = whole < 0 ? Math.max(length + whole, 0) : Math.min(whole, length);
    const wanted = args.length === 1 ? length - start : Math.trunc(Number(count)) || 0;
    const removed = Math.min(Math.max(wanted, 0), length - start);
    const gone = node.splice(
      start,
      removed,
      items.map((item) => inward(node.journal, item)),
    );
    return gone.map((item) => node.outward(item));
  },
  sort(this: unknown[], compare?: (a: unknown, b: unknown) => number): unknown[] {
    const node = arrayNode(this);
    const by = compare && ((a: unknown, b: unknown) => compare(node.outward(a), node.outward(b)));
    node.reorder((raw) => raw.sort(by));
    return this;
  },
  reverse(this: unknown[]): unknown[] {
    arrayNode(this).reorder((raw) => raw.reverse());
    return this;
  },
  fill(this: unknown[], value: unknown, start?: number, end?: number): unknown[] {
    const node = arrayNode(this);
    node.reorder((raw) => raw.fill(inward(node.journal, value), start, end));
    return this;
  },
  copyWithin(this: unknown[], target: number, start: number, end?: number): unknown[] {
    arrayNode(this).reorder((raw) => raw.copyWithin(target, start, end));
    return this;
  },
  includes(this: unknown[], value: unknown, from?: number): boolean {
    return (arrayNode(this).raw as unknown[]).includes(unwrap(value), from);
  },
  indexOf(this: unknown[], value: unknown, from?: number): number {
    return (arrayNode(this).raw as unknown[]).indexOf(unwrap(value), from);
  },
  lastIndexOf(this: unknown[], value: unknown, ...from: [number?]): number {
    return (arrayNode(this).raw as unknown[]).lastIndexOf(unwrap(value), ...(from as [number]));
  },
};
