// What runs can be found by: a few names with plain values, the same wherever they are given.
import { LimpetError } from "../kernel/errors.ts";
import type { AttributeValue } from "./context.ts";
import { checked } from "./definition.ts";

/** So many one run may have. */
const MOST = 100;

/** Throws WORKFLOW_INVALID for what could not be looked for. */
export function checkAttributes(attributes: Readonly<Record<string, unknown>>): void {
  if (typeof attributes !== "object" || attributes === null || Array.isArray(attributes)) {
    throw new LimpetError("WORKFLOW_INVALID", 'attributes are an object, such as { city: "Rome" }');
  }
  const entries = Object.entries(attributes);
  if (entries.length > MOST) {
    throw new LimpetError("WORKFLOW_INVALID", `${entries.length} attributes are too many; ${MOST} are allowed`);
  }
  for (const [name, value] of entries) {
    checked("attribute", name);
    if (isPlain(value)) continue;
    const said = "texts, finite numbers and yes or no can be looked for";
    throw new LimpetError("WORKFLOW_INVALID", `attribute ${name} is none that can be looked for: ${said}`);
  }
}

const isPlain = (value: unknown): value is AttributeValue =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

/** Without those that are taken away. */
export const presentAttributes = (attributes: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null));
