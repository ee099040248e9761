// Formats sticky actors for display: their hosts, the rule for lost hosts, and one actor in sentences. Pure.

import { formatDuration } from "../../kernel/durations.ts";
import type { ClusterSticky, ClusterTable, ClusterView, StickyActor } from "../../ports/host-admin.ts";
import { type Column, filledColumns, NOTHING } from "../common/columns.ts";
import { moment, plural, sentenceList, shellWord, showHost } from "../common/phrases.ts";
import { type Paint, safe } from "../common/terminal.ts";

export type StickyTable = ClusterTable & { readonly sticky: ClusterSticky };

export function stickyTables({ tables }: ClusterView): StickyTable[] {
  return tables.filter((table): table is StickyTable => table.sticky !== undefined);
}

/** One part for each sticky type; empty when there is none. */
export function stickySummary(view: ClusterView, paint: Paint): string {
  const tables = stickyTables(view);
  const named = new Set(tables.map(({ namespace }) => namespace)).size > 1;
  return tables.map((table) => summaryOf(table, named, paint).join("\n")).join("\n\n");
}

function summaryOf(table: StickyTable, named: boolean, paint: Paint): string[] {
  const { type, namespace, sticky } = table;
  const title = named ? `${type} in namespace ${namespace}` : type;
  return [
    paint("bold", safe(`${title}: ${countText(sticky)}`)),
    lostText(sticky.lost),
    ...unsettled(table),
    ...holders(sticky, paint),
  ];
}

function countText({ holders }: ClusterSticky): string {
  const all = countOf(holders);
  if (all === 0) return "no sticky actors at this moment.";
  const away = holders.filter((holder) => holder.away);
  const count = plural(all, "sticky actor");
  if (away.length === 0) return `${count}.`;
  const hosts = `${plural(away.length, "host")} that ${away.length === 1 ? "is" : "are"} away`;
  return `${count}, ${countOf(away)} of them kept for ${hosts}.`;
}

export function countOf(holders: ClusterSticky["holders"]): number {
  return holders.reduce((sum, { actors }) => sum + actors, 0);
}

/** The rule for the actors of a lost host, as a sentence. */
export function lostText(lost: ClusterSticky["lost"]): string {
  const rule =
    lost === "never"
      ? "are kept until a host of its name is back"
      : lost === 0
        ? "may live on another one as soon as its lease is over"
        : `are kept for a host of its name for ${formatDuration(lost)}; then they may live on another one`;
  return `When a host is lost, its actors ${rule}.`;
}

/** A new leader waits for the claims of the hosts. */
function unsettled({ phase, waitsFor }: StickyTable): string[] {
  if (phase !== "closed") return [];
  const hosts = waitsFor.length === 0 ? "hosts" : sentenceList(waitsFor);
  return [safe(`The leader is new and waits for the claims of ${hosts}: there may be more actors.`)];
}

const HOLDERS: readonly Column[] = [
  { title: "HOST" },
  { title: "NAME" },
  { title: "ACTORS", align: "right" },
  { title: "AWAY" },
];

function holders(sticky: ClusterSticky, paint: Paint): string[] {
  const rows = sticky.holders.map(({ address, name, actors, away }) => [
    safe(address),
    safe(name) || NOTHING,
    String(actors),
    awayCell(away, paint),
  ]);
  const [titles, ...lines] = filledColumns(HOLDERS, rows);
  return titles === undefined ? [] : [paint("dim", titles), ...lines];
}

const awayCell = (away: boolean, paint: Paint): string => (away ? paint("yellow", "away") : NOTHING);

export const STICKY_SHAPE: readonly Column[] = [
  { title: "ID" },
  { title: "HOST" },
  { title: "NAME" },
  { title: "SINCE" },
  { title: "AWAY" },
];

/** One line of the list of a type. */
export function stickyRow({ id, address, name, since, away }: StickyActor, now: number, paint: Paint): string[] {
  return [safe(id), safe(address), safe(name) || NOTHING, moment(since, now), awayCell(away, paint)];
}

export function stickyActorText(actor: StickyActor, now: number, paint: Paint): string {
  const { type, id, address, name, since, away } = actor;
  const host = showHost(address, name);
  const headline = away ? `${type}/${id} is kept for ${host}, which is away.` : `${type}/${id} is held by ${host}.`;
  return [
    paint("bold", safe(headline)),
    `Sticky there since ${moment(since, now)}.`,
    ...(away ? awayText(type, id, name) : []),
  ].join("\n");
}

/** The host that an actor waits for, and the command that releases it. */
export function awayText(type: string, id: string, name: string | undefined): string[] {
  const host = name === undefined || name === "" ? "its host" : `a host named ${name}`;
  return [
    safe(`It waits for ${host} to return; until then, or until its type releases it, calls fail with OWNER_AWAY.`),
    safe(`To let the next call place it again: limpet sticky ${shellWord(type)} ${shellWord(id)} --release`),
  ];
}

/** `actor`: its state before the release. */
export function releasedText({ type, id, address, name, away }: StickyActor): string {
  const host = showHost(address, name);
  const done = away
    ? `${type}/${id} is no longer kept for ${host}, which is away.`
    : `${host} releases ${type}/${id} when its turn has ended.`;
  return safe(`${done} The next call places it again.`);
}
