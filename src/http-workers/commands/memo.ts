// Limits the memo that a remote worker changes. Each change writes the whole memo, so the whole is limited as
// well. Pure.
import { LimpetError } from "../../kernel/errors.ts";
import type { Wire } from "../../workflows/engine/events.ts";
import { encodeAvro } from "../avro-value.ts";

export const MEMO_LIMITS = { entries: 100, valueBytes: 10_240, totalBytes: 65_536 } as const;
/** A key with digits only would be a number in some languages. */
const KEY = /^(?!-?\d+$)[A-Za-z0-9_.:-]{1,64}$/;

const isMemoKey = (key: string): boolean => KEY.test(key);

/** The memo with these changes; throws WORKFLOW_INVALID when a worker could not read it. */
export function checkMemo(memo: Readonly<Record<string, unknown>>, changes: Wire): Record<string, unknown> {
  if (typeof changes !== "object" || changes === null || Array.isArray(changes) || Object.hasOwn(changes, "$")) {
    throw invalid("must be a map");
  }
  const entries = Object.entries(changes);
  if (entries.length === 0) throw invalid("must have at least one entry");
  for (const [key, value] of entries) {
    if (!isMemoKey(key)) throw invalid(`key ${JSON.stringify(key.slice(0, 80))} must match ${KEY.source}`);
    const bytes = bytesOf(value);
    if (bytes > MEMO_LIMITS.valueBytes)
      throw invalid(`${key} has ${bytes} bytes; ${MEMO_LIMITS.valueBytes} are allowed`);
  }
  const merged = Object.fromEntries(Object.entries({ ...memo, ...changes }).filter(([, value]) => value !== null));
  const readable = readableMemo(merged);
  const count = Object.keys(readable).length;
  if (count > MEMO_LIMITS.entries || entries.length > MEMO_LIMITS.entries) {
    throw invalid(`can have ${MEMO_LIMITS.entries} entries at most`);
  }
  const total = bytesOf(readable);
  if (total > MEMO_LIMITS.totalBytes)
    throw invalid(`the memo has ${total} bytes; ${MEMO_LIMITS.totalBytes} are allowed`);
  return merged;
}

/**
 * The part of a memo that remote workers can read. The client that started the run may have chosen other
 * keys.
 */
export const readableMemo = (memo: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(memo).filter(([key]) => isMemoKey(key)));

const bytesOf = (wire: Wire): number => Math.floor((encodeAvro(wire).length * 3) / 4);

const invalid = (problem: string): LimpetError => new LimpetError("WORKFLOW_INVALID", `upsert_memo: ${problem}`);
