// limpet actors

import { didYouMean } from "../../config/nearest.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { ActorSummary } from "../../ports/host.ts";
import { askJson } from "../ask.ts";
import { columns } from "../columns.ts";
import { type Command, type Context, textFlag } from "../command.ts";
import { EXIT, wrongUsage } from "../failure.ts";
import { formatBytes } from "../phrases.ts";
import { resolveTarget, TARGET_FLAGS, type Target } from "../target.ts";
import { safe } from "../terminal.ts";

const DEFAULT_LIMIT = 50;

/** A page as it travels: the place to go on from is a word of the process. */
interface Page {
  readonly actors: readonly ActorSummary[];
  readonly next?: string;
}

export const command: Command = {
  name: "actors",
  summary: "List actors",
  about: "Actors with stored state, and those that are in memory now, by type and id.",
  arguments: [],
  flags: [
    { name: "type", kind: "text", placeholder: "type", help: "Only this type." },
    { name: "prefix", kind: "text", placeholder: "text", help: "Only ids that begin with this." },
    { name: "active", kind: "switch", help: "Only those in memory now." },
    { name: "limit", kind: "text", placeholder: "number", help: `At most this many. Default ${DEFAULT_LIMIT}.` },
    { name: "all", kind: "switch", help: "As many as there are." },
    ...TARGET_FLAGS,
  ],
  examples: ["limpet actors", "limpet actors --type Cart --prefix ali", "limpet actors --active --all --json"],
  async run(context) {
    const { terminal, flags, json } = context;
    const limit = readLimit(context);
    const target = resolveTarget(context);
    const list = json ? jsonList(context) : tableList(context);
    let shown = 0;
    let after: string | undefined;
    do {
      const { actors, next } = await fetchPage(target, context, Math.min(limit - shown, LIMITS.listPage), after);
      list.page(actors);
      shown += actors.length;
      after = next;
    } while (after !== undefined && shown < limit && !terminal.gone);
    list.end(after);
    if (shown === 0 && !json) await explainNothing(target, textFlag(flags, "type"), context);
    return EXIT.ok;
  },
};

function readLimit({ flags }: Context): number {
  const text = textFlag(flags, "limit");
  if (flags.all === true && text !== undefined)
    throw wrongUsage("--all and --limit contradict each other; give one of them");
  if (flags.all === true) return Number.POSITIVE_INFINITY;
  const limit = text === undefined ? DEFAULT_LIMIT : /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw wrongUsage(`--limit: ${JSON.stringify(text)} is not a whole number of at least 1`);
  return limit;
}

function fetchPage(target: Target, { flags }: Context, limit: number, after: string | undefined): Promise<Page> {
  const query = new URLSearchParams({ limit: String(limit) });
  for (const name of ["type", "prefix"]) {
    const value = textFlag(flags, name);
    if (value !== undefined) query.set(name, value);
  }
  if (flags.active === true) query.set("active", "true");
  if (after !== undefined) query.set("after", after);
  return askJson<Page>(target, { verb: "GET", path: `/v1.0/inspect/actors?${query}` });
}

interface List {
  page(actors: readonly ActorSummary[]): void;
  end(next: string | undefined): void;
}

/** One object, written piece by piece, so that a long list needs no memory here. */
function jsonList({ terminal }: Context): List {
  let before = '{"actors":[';
  return {
    page(actors) {
      for (const actor of actors) {
        terminal.line(before + JSON.stringify(actor));
        before = ",";
      }
    },
    end(next) {
      const tail = next === undefined ? "]}" : `],"next":${JSON.stringify(next)}}`;
      terminal.line(before === "," ? tail : before + tail);
    },
  };
}

const SHAPE = [
  { title: "TYPE" },
  { title: "ID" },
  { title: "IN MEMORY" },
  { title: "WAITING", align: "right" },
  { title: "VERSION", align: "right" },
  { title: "SIZE", align: "right" },
] as const;

/** Each page is a table of its own width; only the first has titles. */
function tableList({ terminal }: Context): List {
  const { paint } = terminal;
  let first = true;
  let seen = 0;
  return {
    page(actors) {
      if (actors.length === 0) return;
      const [titles, ...lines] = columns(
        SHAPE,
        actors.map((actor) => row(actor)),
      );
      if (first) terminal.line(paint("dim", titles!));
      for (const line of lines) terminal.line(line);
      first = false;
      seen += actors.length;
    },
    end(next) {
      if (next !== undefined) terminal.errLine(`There are more than these ${seen}; --all shows all of them.`);
    },
  };
}

function row({ type, id, active, waiting, version, bytes }: ActorSummary): string[] {
  const size = bytes === undefined ? "-" : formatBytes(bytes);
  return [
    safe(type),
    safe(id),
    active ? "yes" : "-",
    waiting === 0 ? "-" : String(waiting),
    String(version ?? "-"),
    size,
  ];
}

/** An empty list is an answer, but a newcomer wonders. */
async function explainNothing(target: Target, type: string | undefined, { terminal }: Context): Promise<void> {
  const { actors = [] } = await askJson<{ actors?: { type: string }[] }>(target, {
    verb: "GET",
    path: "/v1.0/metadata",
  });
  const types = actors.map((actor) => actor.type);
  if (type !== undefined && !types.includes(type)) {
    const guess = didYouMean(type, types, String) || ".";
    terminal.errLine(safe(`This process has no type ${type}${guess} Its types: ${types.join(", ") || "none"}.`));
    return;
  }
  const example = `limpet call ${type ?? types[0] ?? "Cart"} <id> <method>`;
  terminal.errLine(safe(`No actors match. An actor comes to life with the first call to it: ${example}`));
}
