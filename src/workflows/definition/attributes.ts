// Checks search attributes: a few names with plain values, by the same rules wherever they are given.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import type { AttributeValue } from "./context.ts";

/** Attributes of one run. */
const MOST = 100;

/** Throws WORKFLOW_INVALID for attributes that cannot be searched. */
export function checkAttributes(attributes: Readonly<Record<string, unknown>>): void {
  const problem = attributesProblem(attributes);
  if (problem !== undefined) throw new LimpetError("WORKFLOW_INVALID", problem);
}

/** Undefined: all attributes are valid. */
export function attributesProblem(
  attributes: unknown,
  isPlain: (value: unknown) => boolean = isPlainValue,
): string | undefined {
  if (typeof attributes !== "object" || attributes === null || Array.isArray(attributes)) {
    return 'attributes are an object, such as { city: "Rome" }';
  }
  const entries = Object.entries(attributes);
  if (entries.length > MOST) return `${entries.length} attributes are too many; ${MOST} are allowed`;
  for (const [name, value] of entries) {
    const problem = nameProblem(name, LIMITS.wordBytes);
    if (problem !== undefined) return `attribute name ${problem}`;
    if (!isPlain(value)) {
      return `attribute ${name} must be a text, a finite number, true or false`;
    }
    // The value is part of an index, which limits its size.
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes > LIMITS.attributeBytes)
      return `attribute ${name}: ${bytes} bytes, and ${LIMITS.attributeBytes} are allowed`;
  }
  return undefined;
}

const isPlainValue = (value: unknown): value is AttributeValue =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

/** Remote workers may use lists of plain values. */
export const isPlainOrList = (value: unknown): boolean =>
  isPlainValue(value) || (Array.isArray(value) && value.every(isPlainValue));

/** Without the attributes that a null removes. */
export const presentAttributes = (attributes: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null));
