// Reads the filter of a list of workflows: `workflow_type = "order" AND city = "Rome"`. One comparison or
// several, joined by AND. Names are fields of a run or search attributes. Any other filter is rejected, so
// that no list is longer than its filter allows. Pure.

import type { RunQuery, RunStatus } from "../../ports/store/workflows.ts";
import { invalidField } from "../refusal.ts";

/** Fields of a run in a query; other names are search attributes. */
type Filter = Pick<RunQuery, "workflowId" | "type" | "status" | "queue" | "attributes">;

const LONGEST = 2_000;
const MOST_CLAUSES = 20;
const CLAUSE = /^\s*([A-Za-z_][\w.-]{0,63})\s*=\s*("[^"\\]*"|'[^'\\]*'|-?\d{1,15}(?:\.\d{1,15})?|true|false)\s*/;
const AND = /^AND\s+/i;
const EXAMPLE = 'such as workflow_type = "order" AND city = "Rome"';

const FIELDS: ReadonlyMap<string, "workflowId" | "type" | "status" | "queue"> = new Map([
  ["workflowid", "workflowId"],
  ["workflowtype", "type"],
  ["status", "status"],
  ["executionstatus", "status"],
  ["taskqueue", "queue"],
]);

export const STATUSES: readonly RunStatus[] = [
  ...(["running", "completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const),
];

export function parseVisibility(text: string): Filter {
  if (text.length > LONGEST) throw invalid(`has ${text.length} characters; ${LONGEST} are allowed`);
  const found: Filter[] = [];
  for (let rest = text.trim(); rest !== ""; ) {
    if (found.length === MOST_CLAUSES) throw invalid(`can have at most ${MOST_CLAUSES} comparisons`);
    const [whole, name, value] = CLAUSE.exec(rest) ?? [];
    if (whole === undefined) throw invalid(`must be comparisons with = joined by AND, ${EXAMPLE}`);
    found.push(clause(name!, plainValue(value!)));
    rest = rest.slice(whole.length);
    if (rest === "") break;
    const and = AND.exec(rest)?.[0];
    if (and === undefined || and === rest) throw invalid(`must be comparisons with = joined by AND, ${EXAMPLE}`);
    rest = rest.slice(and.length);
  }
  return together(found);
}

const invalid = (problem: string) => invalidField("query", problem);

function plainValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^["']/.test(text) ? text.slice(1, -1) : Number(text);
}

function clause(name: string, value: string | number | boolean): Filter {
  const field = FIELDS.get(name.replaceAll("_", "").toLowerCase());
  if (field === undefined) return { attributes: { [name]: value } };
  if (typeof value !== "string") throw invalid(`${name} must be compared with a text`);
  if (field !== "status") return { [field]: value };
  const status = STATUSES.find((each) => each === value.toLowerCase().replaceAll("_", " "));
  if (status === undefined) throw invalid(`${name} must be one of ${STATUSES.join(", ")}`);
  return { status };
}

function together(filters: readonly Filter[]): Filter {
  const fields = filters.flatMap((filter) => Object.keys(filter.attributes ?? filter));
  const twice = fields.find((field, i) => fields.indexOf(field) !== i);
  if (twice !== undefined) throw invalid(`compares ${twice} twice`);
  const attributes = Object.fromEntries(filters.flatMap((filter) => Object.entries(filter.attributes ?? {})));
  const others = Object.assign({}, ...filters.map(({ attributes: _, ...rest }) => rest)) as Filter;
  return Object.keys(attributes).length === 0 ? others : { ...others, attributes };
}
