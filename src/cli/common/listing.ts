// Shows a list that a running process returns page by page: a table for display, one object for programs.
// Each page is shown on arrival, so a long list needs no memory here and `| head` ends it early.

import { LIMITS } from "../../kernel/limits.ts";
import { askJson } from "./ask.ts";
import { type Column, columns } from "./columns.ts";
import { type Context, type Flag, textFlag } from "./command.ts";
import { wrongUsage } from "./failure.ts";
import type { Target } from "./target.ts";
import type { Terminal } from "./terminal.ts";

const DEFAULT_LIMIT = 50;

export const LISTING_FLAGS: readonly Flag[] = [
  { name: "prefix", kind: "text", placeholder: "text", help: "Only ids that begin with this." },
  { name: "limit", kind: "text", placeholder: "number", help: `At most this many. Default ${DEFAULT_LIMIT}.` },
  { name: "all", kind: "switch", help: "Without a limit." },
];

type Items = "actors" | "reminders" | "workflows" | "events";

export interface Listing<Item> {
  readonly path: string;
  /** The filter, without the paging. */
  readonly query: Readonly<Record<string, string | undefined>>;
  /** The field of the items in a page. */
  readonly items: Items;
  /** More fields of the JSON object. */
  readonly head?: object;
  readonly shape: readonly Column[];
  /** `now`: the time of the listing on the clock of the process. */
  row(item: Item, now: number): readonly string[];
  /** For display, when all items are on one page; otherwise the order of the process applies. */
  readonly order?: (a: Item, b: Item) => number;
  /** Receives all items. */
  see?(items: readonly Item[], now: number): void;
}

/** A page of the answer: `next` is an opaque cursor. */
interface Page<Item> extends Readonly<Partial<Record<Items, readonly Item[]>>> {
  readonly now?: number;
  readonly next?: string;
}

/** The number of items to show. */
export function readLimit({ flags }: Context): number {
  const text = textFlag(flags, "limit");
  if (flags.all === true && text !== undefined)
    throw wrongUsage("--all and --limit exclude each other; give one of them");
  if (flags.all === true) return Number.POSITIVE_INFINITY;
  const limit = text === undefined ? DEFAULT_LIMIT : /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw wrongUsage(`--limit: ${JSON.stringify(text)} is not a whole number of at least 1`);
  return limit;
}

/** Shows up to `limit` items, and returns their number. */
export async function showListing<Item>(
  { terminal, json }: Context,
  target: Target,
  listing: Listing<Item>,
  limit: number,
): Promise<number> {
  const list: List<Item> = json ? jsonList(terminal, listing) : tableList(terminal, listing);
  let shown = 0;
  let after: string | undefined;
  do {
    const page = await fetchPage(target, listing, Math.min(limit - shown, LIMITS.listPage), after);
    const { now = Date.now(), next } = page;
    const found = page[listing.items] ?? [];
    const isAll = after === undefined && next === undefined;
    list.page(isAll && !json && listing.order !== undefined ? found.toSorted(listing.order) : found, now);
    listing.see?.(found, now);
    shown += found.length;
    after = next;
  } while (after !== undefined && shown < limit && !terminal.gone);
  list.end(after);
  return shown;
}

function fetchPage<Item>(
  target: Target,
  listing: Listing<Item>,
  limit: number,
  after: string | undefined,
): Promise<Page<Item>> {
  const query = new URLSearchParams({ limit: String(limit) });
  for (const [name, value] of Object.entries({ ...listing.query, after })) {
    if (value !== undefined) query.set(name, value);
  }
  return askJson<Page<Item>>(target, { verb: "GET", path: `${listing.path}?${query}` });
}

interface List<Item> {
  page(items: readonly Item[], now: number): void;
  end(next: string | undefined): void;
}

/** One object, written in chunks. */
function jsonList<Item>(terminal: Terminal, { items: name, head = {} }: Listing<Item>): List<Item> {
  let before = JSON.stringify({ ...head, [name]: [] }).slice(0, -2);
  return {
    page(items) {
      for (const item of items) {
        terminal.line(before + JSON.stringify(item));
        before = ",";
      }
    },
    end(next) {
      const tail = next === undefined ? "]}" : `],"next":${JSON.stringify(next)}}`;
      terminal.line(before === "," ? tail : before + tail);
    },
  };
}

/** Each page is a table with its own widths; only the first has titles. */
function tableList<Item>(terminal: Terminal, { shape, row }: Listing<Item>): List<Item> {
  let seen = 0;
  return {
    page(items, now) {
      if (items.length === 0) return;
      const [titles, ...lines] = columns(
        shape,
        items.map((item) => row(item, now)),
      );
      if (seen === 0) terminal.line(terminal.paint("dim", titles!));
      for (const line of lines) terminal.line(line);
      seen += items.length;
    },
    end(next) {
      if (next !== undefined) terminal.errLine(`Only the first ${seen} are shown; --all shows all.`);
    },
  };
}
