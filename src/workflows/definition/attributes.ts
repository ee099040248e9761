// What runs can be found by: a few names with plain values, the same wherever they are given.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import type { AttributeValue } from "./context.ts";

/** So many one run may have. */
const MOST = 100;

/** Throws WORKFLOW_INVALID for what could not be looked for. */
export function checkAttributes(attributes: Readonly<Record<string, unknown>>): void {
  const problem = attributesProblem(attributes);
  if (problem !== undefined) throw new LimpetError("WORKFLOW_INVALID", problem);
}

/** Undefined: all of them can be looked for. */
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
      return `attribute ${name} is none that can be looked for: texts, finite numbers and yes or no can be looked for`;
    }
    // It is part of an index, in which there is no room for more.
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes > LIMITS.attributeBytes)
      return `attribute ${name}: ${bytes} bytes, and ${LIMITS.attributeBytes} are allowed`;
  }
  return undefined;
}

const isPlainValue = (value: unknown): value is AttributeValue =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

/** Workers elsewhere may have lists of them. */
export const isPlainOrList = (value: unknown): boolean =>
  isPlainValue(value) || (Array.isArray(value) && value.every(isPlainValue));

/** Without those that are taken away. */
export const presentAttributes = (attributes: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null));
