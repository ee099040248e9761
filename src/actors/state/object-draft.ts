// The draft of a plain object.
import { putOwn, RAW } from "../../kernel/values.ts";
import { Draft, inward, NODE, outward, rejectChange } from "./draft.ts";

export class ObjectNode extends Draft {
  get(target: Record<string, unknown>, key: PropertyKey): unknown {
    if (key === RAW) return target;
    if (key === NODE) return this;
    const value = target[key as string];
    if (typeof value !== "object" || value === null || !Object.hasOwn(target, key)) return value;
    return outward(this, key, value);
  }

  override set(target: Record<string, unknown>, key: PropertyKey, value: unknown): boolean {
    this.journal.assertOpen();
    if (typeof key === "symbol") rejectChange("a symbol cannot be a key");
    const name = key as string;
    const next = inward(this.journal, value);
    if (name === "$") this.journal.special = true;
    const existed = Object.hasOwn(target, name);
    const before = existed ? target[name] : undefined;
    if (existed && Object.is(before, next)) return true;
    this.journal.record(
      existed
        ? () => putOwn(target, name, before)
        : () => {
            delete target[name];
          },
    );
    this.touchKey(name, existed);
    putOwn(target, name, next);
    return true;
  }

  deleteProperty(target: Record<string, unknown>, key: PropertyKey): boolean {
    this.journal.assertOpen();
    if (typeof key === "symbol" || !Object.hasOwn(target, key)) return true;
    this.journal.recordDelete(target);
    this.touchKey(key, true);
    delete target[key as string];
    return true;
  }
}
