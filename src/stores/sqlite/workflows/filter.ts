// Checks whether a run matches a query. Pure.
import type { RunQuery } from "../../../ports/store/workflows.ts";
import { statusCode } from "./codes.ts";

export type FilterRow = [
  kind: number,
  status: number,
  startedAt: number,
  namespace: string,
  workflowId: string,
  /** Null when the query has no attributes. */
  attributes: string | null,
];

/** `isKind`: true for the requested namespace, type and queue. */
export function isMatch(row: FilterRow, query: RunQuery, isKind: (kind: number) => boolean): boolean {
  const [kind, status, startedAt, , workflowId, attributes] = row;
  if (!isKind(kind)) return false;
  if (query.status !== undefined && status !== statusCode(query.status)) return false;
  if (query.workflowId !== undefined && workflowId !== query.workflowId) return false;
  if (query.prefix !== undefined && !workflowId.startsWith(query.prefix)) return false;
  if (query.startedFrom !== undefined && startedAt < query.startedFrom) return false;
  if (query.startedBefore !== undefined && startedAt >= query.startedBefore) return false;
  return query.attributes === undefined || hasAttributes(attributes ?? "{}", query.attributes);
}

function hasAttributes(text: string, wanted: NonNullable<RunQuery["attributes"]>): boolean {
  const attributes = JSON.parse(text) as Record<string, unknown>;
  return Object.entries(wanted).every(([name, value]) => Object.hasOwn(attributes, name) && attributes[name] === value);
}
