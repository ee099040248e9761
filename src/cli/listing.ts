// A listing that a running process gives page by page: a table for people, one object for programs. A page is shown as soon as
// it is there, so that a long list needs no memory here and `| head` ends it early.

import { LIMITS } from "../kernel/limits.ts";
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
  { name: "all", kind: "switch", help: "As many as there are." },
];

type Items = "actors" | "reminders" | "workflows" | "events";

export interface Listing<Item> {
  readonly path: string;
  /** What it is about, without the page. */
  readonly query: Readonly<Record<string, string | undefined>>;
  /** What they are called in a page. */
  readonly items: Items;
  /** For programs, in the same object. */
  readonly head?: object | undefined;
  readonly shape: readonly Column[];
  /** `now`: when the process looked, by its own account. */
  row(item: Item, now: number): readonly string[];
  /** For people, when all of them are on one page; more come in the order of the process. */
  readonly order?: ((a: Item, b: Item) => number) | undefined;
  /** Sees them all. */
  see?(items: readonly Item[], now: number): void;
}

/** A page as it travels: the place to go on from is a word of the process. */
interface Page<Item> extends Readonly<Partial<Record<Items, readonly Item[]>>> {
  readonly now?: number;
  readonly next?: string;
}

/** How many the user wants to see. */
export function readLimit({ flags }: Context): number {
  const text = textFlag(flags, "limit");
  if (flags.all === true && text !== undefined)
    throw wrongUsage("--all and --limit contradict each other; give one of them");
  if (flags.all === true) return Number.POSITIVE_INFINITY;
  const limit = text === undefined ? DEFAULT_LIMIT : /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw wrongUsage(`--limit: ${JSON.stringify(text)} is not a whole number of at least 1`);
  return limit;
}

/** Shows up to `limit` of them, and says how many those were. */
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

/** One object, written piece by piece. */
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

/** Each page is a table of its own width; only the first has titles. */
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
      if (next !== undefined) terminal.errLine(`There are more than these ${seen}; --all shows all of them.`);
    },
  };
}
