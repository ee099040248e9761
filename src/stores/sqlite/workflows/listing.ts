// Reads runs for display: one, or a page of many, the latest first; and counts them. Each takes several
// statements; the caller holds one read transaction around them.
//
// One index, of kind and status, serves all frequent lists. A namespace, type, queue, status, or any
// combination is a set of its ranges, each in the order of refs. A page has the highest refs of all of them.
// So a start writes one entry and an end moves one, instead of an index for every filter. A workflow has its
// index of names; the few runs with a problem have theirs.
//
// Filters without an index (attributes, start time) are checked run by run, a limited number at a time. So
// are all filters when there are very many kinds, because every range costs a seek in the thread that also
// commits.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RunQuery, StoredRun } from "../../../ports/store/workflows.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { ALL_STATUSES, statusCode } from "./codes.ts";
import type { WorkflowKinds } from "./kinds.ts";
import type { RunKey, WorkflowRuns } from "./runs.ts";
import { STORED, type StoredRow, storedOf } from "./stored.ts";

/** Runs that one request reads before other requests get their turn. */
const LOOK = 2_000;
/**
 * Runs with a common id prefix are sorted when there are no more than these; otherwise all runs are read, the
 * latest first.
 */
const FEW = 5_000;
/** Up to this many kinds are read range by range; with more, runs are scanned. */
const MOST_KINDS = 64;
/** The portion size for a page of a query that scans all runs. */
const PORTION = 500;

/** A request may end early, so that others get their turn: the next one continues below `before`. */
export interface Part {
  readonly before: number | undefined;
}
type FilterRow = [
  kind: number,
  status: number,
  startedAt: number,
  namespace: string,
  workflowId: string,
  /** Null when the query has no attributes. */
  attributes: string | null,
];
type Refs = readonly number[];
type Range = readonly [kind: number, status: number];

export class SqliteWorkflowListing {
  readonly #kinds: WorkflowKinds;
  readonly #runs: WorkflowRuns;
  readonly #get: StatementSync;
  readonly #filter: StatementSync;
  readonly #ofName: StatementSync;
  readonly #ofPrefix: StatementSync;
  readonly #ofStatus: StatementSync;
  readonly #latest: StatementSync;
  readonly #blocked: StatementSync;
  readonly #countStatus: StatementSync;

  constructor(db: DatabaseSync, kinds: WorkflowKinds, runs: WorkflowRuns) {
    const asArrays = rowsAsArrays(db);
    this.#kinds = kinds;
    this.#runs = runs;
    this.#get = asArrays(STORED);
    // The beginning of a row, which is short; its attributes only if they are needed.
    this.#filter = asArrays(
      `SELECT kind, status, started_at, namespace, workflow_id, CASE WHEN ?2 THEN attributes END
       FROM workflow_runs WHERE ref = ?1`,
    );
    // One range of the names.
    this.#ofName = asArrays(
      "SELECT ref FROM workflow_runs WHERE namespace = ? AND workflow_id = ? AND ref < ? ORDER BY ref DESC LIMIT ?",
    );
    // One range of the names, entries only. The byte FF is in no UTF-8 text and above all that are.
    this.#ofPrefix = asArrays(
      `SELECT ref FROM workflow_runs WHERE namespace = ?1 AND workflow_id >= ?2 AND workflow_id < ?2 || CAST(X'FF' AS TEXT)
       LIMIT ?3`,
    );
    // One range of the index of kinds, entries only.
    this.#ofStatus = asArrays(
      `SELECT ref FROM workflow_runs WHERE kind = ? AND status = ? AND ref < ? AND ref > ? ORDER BY ref DESC LIMIT ?`,
    );
    // The table itself, from its end.
    this.#latest = asArrays("SELECT ref FROM workflow_runs WHERE ref < ? ORDER BY ref DESC LIMIT ?");
    this.#blocked = asArrays(
      "SELECT ref FROM workflow_tasks WHERE problem IS NOT NULL AND ref < ? ORDER BY ref DESC LIMIT ?",
    );
    this.#countStatus = asArrays(
      "SELECT count(*) FROM (SELECT 1 FROM workflow_runs WHERE kind = ? AND status = ? AND ref < ? LIMIT ?)",
    );
  }

  find(key: RunKey): StoredRun | undefined {
    const head = this.#runs.find(key);
    return head && this.#read(head.ref);
  }

  list(query: RunQuery): Part & { readonly runs: readonly StoredRun[] } {
    const { refs, before } = this.#matches(query);
    return { runs: refs.map((ref) => this.#read(ref) as StoredRun), before };
  }

  count(query: RunQuery): Part & { readonly count: number } {
    const ranges = isOfKinds(query) ? this.#ranges(query) : undefined;
    if (ranges !== undefined) return { count: this.#countOf(ranges, query), before: undefined };
    const { refs, before } = this.#matches(query);
    return { count: refs.length, before };
  }

  #read(ref: number): StoredRun | undefined {
    const row = this.#get.get(ref) as unknown as StoredRow | undefined;
    return row && storedOf(row);
  }

  #countOf(ranges: readonly Range[], { before = Number.MAX_SAFE_INTEGER, limit }: RunQuery): number {
    let count = 0;
    for (const [kind, status] of ranges) {
      if (count >= limit) break;
      count += (this.#countStatus.get(kind, status, before, limit - count) as unknown as [number])[0];
    }
    return count;
  }

  /** The refs of a page, or of as much of it as one request may find. */
  #matches(query: RunQuery): { refs: Refs; before: number | undefined } {
    const { limit } = query;
    const ranges = this.#ranges(query);
    const isKind = this.#kindMatch(query);
    const isIndexed = isOfKinds(query) && ranges !== undefined;
    const matches: number[] = [];
    let [before, looked] = [query.before ?? Number.MAX_SAFE_INTEGER, 0];
    const source = this.#source(query, ranges, isIndexed ? limit : Math.min(PORTION, LOOK));
    while (matches.length < limit) {
      if (looked >= LOOK) return { refs: matches, before };
      const refs = source(before);
      for (const ref of refs) {
        if (matches.length >= limit) break;
        before = ref;
        if (isIndexed || isMatch(this.#filterRow(ref, query), query, isKind)) matches.push(ref);
      }
      if (refs.length === 0) break;
      looked += refs.length;
    }
    return { refs: matches, before: undefined };
  }

  #filterRow(ref: number, { attributes }: RunQuery): FilterRow {
    return this.#filter.get(ref, attributes === undefined ? 0 : 1) as unknown as FilterRow;
  }

  /** Returns the next refs below one, descending; they include all possible matches. */
  #source(query: RunQuery, ranges: readonly Range[] | undefined, portion: number): (before: number) => Refs {
    const { namespace, workflowId, prefix, isBlocked } = query;
    const refs = (rows: unknown): Refs => (rows as [number][]).map(([ref]) => ref);
    if (workflowId !== undefined) {
      return (before) => refs(this.#ofName.all(namespace, workflowId, before, portion));
    }
    if (isBlocked) return (before) => refs(this.#blocked.all(before, portion));
    if (prefix !== undefined && prefix !== "") {
      const few = refs(this.#ofPrefix.all(namespace, prefix, FEW + 1));
      if (few.length <= FEW) {
        const sorted = few.toSorted((a, b) => b - a);
        return (before) => sorted.filter((ref) => ref < before).slice(0, portion);
      }
    }
    if (ranges === undefined) return (before) => refs(this.#latest.all(before, portion));
    return (before) => this.#highest(ranges, before, portion);
  }

  /** The highest refs of all ranges. The refs found so far bound the search in later ranges. */
  #highest(ranges: readonly Range[], before: number, count: number): Refs {
    let found: number[] = [];
    let above = 0;
    for (const [kind, status] of ranges) {
      const rows = this.#ofStatus.all(kind, status, before, above, count) as unknown as [number][];
      if (rows.length === 0) continue;
      for (const [ref] of rows) found.push(ref);
      if (found.length > rows.length) found = found.sort((a, b) => b - a).slice(0, count);
      if (found.length === count) above = found[count - 1] as number;
    }
    return found;
  }

  /** Undefined: there are too many. */
  #ranges(query: RunQuery): Range[] | undefined {
    const statuses = query.status === undefined ? ALL_STATUSES : [statusCode(query.status)];
    return this.#kindsOf(query)?.flatMap((kind) => statuses.map((status): Range => [kind, status]));
  }

  #kindsOf({ namespace, type, queue }: RunQuery): number[] | undefined {
    if (type !== undefined && queue !== undefined) {
      const kind = this.#kinds.find(namespace, queue, type);
      return kind === undefined ? [] : [kind];
    }
    const kinds = this.#kinds.few(namespace, queue, MOST_KINDS);
    return kinds?.filter((kind) => (type ?? kind.type) === kind.type).map(({ ref }) => ref);
  }

  /** Whether a kind has the requested namespace, type and queue. Caches its results. */
  #kindMatch({ namespace, type, queue }: RunQuery): (kind: number) => boolean {
    const known = new Map<number, boolean>();
    return (ref) => {
      let isMatch = known.get(ref);
      if (isMatch === undefined) {
        const kind = this.#kinds.get(ref);
        isMatch =
          kind.namespace === namespace && (type ?? kind.type) === kind.type && (queue ?? kind.queue) === kind.queue;
        known.set(ref, isMatch);
      }
      return isMatch;
    };
  }
}

/** True if the ranges of the index express the whole query. */
function isOfKinds(query: RunQuery): boolean {
  const { workflowId, prefix = "", attributes, startedFrom, startedBefore, isBlocked = false } = query;
  const isAnywhere = workflowId === undefined && prefix === "" && attributes === undefined && !isBlocked;
  return isAnywhere && startedFrom === undefined && startedBefore === undefined;
}

/** `isKind`: true for the requested namespace, type and queue. */
function isMatch(row: FilterRow, query: RunQuery, isKind: (kind: number) => boolean): boolean {
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
