// limpet ps: requests the view of the cluster, and formats it as three small tables: schedulers, hosts, and
// the placement tables of the types. Empty columns are left out.

import type { ClusterHost, ClusterTable, ClusterView } from "../../ports/host-admin.ts";
import { askAdmin } from "../common/admin.ts";
import { type Column, filledColumns, NOTHING } from "../common/columns.ts";
import type { CliCommand } from "../common/command.ts";
import { EXIT } from "../common/failure.ts";
import { formatSpan } from "../common/phrases.ts";
import { resolveTarget, TARGET_FLAGS } from "../common/target.ts";
import { type Paint, safe, type Tint } from "../common/terminal.ts";
import { countOf } from "../sticky/sticky-text.ts";

export const psCommand: CliCommand = {
  name: "ps",
  summary: "Show the schedulers, the hosts and the tables of the cluster",
  about: "Any process of the cluster can answer; it requests the leading scheduler.",
  arguments: [],
  flags: TARGET_FLAGS,
  examples: ["limpet ps", "limpet ps --url http://10.0.0.5:7300 --json"],
  async run(context) {
    const { terminal, json } = context;
    const view = await askAdmin(resolveTarget(context), { kind: "cluster" });
    if (json) terminal.json(view);
    else terminal.line(clusterText(view, terminal.paint));
    if (!json && view.hosts.length === 0) terminal.errLine("There are no hosts. Start one with: limpet dev app.ts");
    return EXIT.ok;
  },
};

/** Items in a cell; further ones are counted. */
const LISTED = 4;

export function clusterText(view: ClusterView, paint: Paint): string {
  const parts = [schedulers(view), hosts(view, paint), tables(view, paint)].filter((lines) => lines.length > 0);
  return parts.map(([titles, ...lines]) => [paint("dim", titles!), ...lines].join("\n")).join("\n\n");
}

function schedulers(view: ClusterView): string[] {
  const shape = [{ title: "SCHEDULER" }, { title: "KIND" }, { title: "LEADS" }];
  const rows = view.schedulers.map(({ address, dedicated, leader }) => [
    safe(address) || NOTHING,
    dedicated ? "dedicated" : "embedded",
    leader ? `term ${view.term}` : NOTHING,
  ]);
  return filledColumns(shape, rows);
}

const STATE_TINTS: Partial<Record<ClusterHost["state"], Tint>> = {
  expected: "yellow",
  joining: "yellow",
  suspect: "yellow",
  evicted: "red",
};

function hosts(view: ClusterView, paint: Paint): string[] {
  const shape: Column[] = [
    { title: "HOST" },
    { title: "NAME" },
    { title: "NAMESPACE" },
    { title: "STATE" },
    { title: "LEASE", align: "right" },
    { title: "ACTORS", align: "right" },
    { title: "TYPES" },
  ];
  const named = namespacesOf(view).size > 1;
  const rows = view.hosts.map(({ address, name, namespace, state, leaseLeftMs, actors, types }) => {
    const tint = STATE_TINTS[state];
    return [
      safe(address),
      safe(name) || NOTHING,
      named ? safe(namespace) : NOTHING,
      tint === undefined ? state : paint(tint, state),
      leaseLeftMs > 0 ? formatSpan(leaseLeftMs) : NOTHING,
      String(actors),
      short(types),
    ];
  });
  return filledColumns(shape, rows);
}

function tables(view: ClusterView, paint: Paint): string[] {
  const shape: Column[] = [
    { title: "TYPE" },
    { title: "NAMESPACE" },
    { title: "VERSION", align: "right" },
    { title: "PHASE" },
    { title: "HOSTS", align: "right" },
    { title: "STICKY", align: "right" },
    { title: "WAITS FOR" },
  ];
  const named = namespacesOf(view).size > 1;
  const rows = view.tables.map((each) => [
    safe(each.type),
    named ? safe(each.namespace) : NOTHING,
    versionOf(each, view.term),
    each.phase === "settled" ? each.phase : paint("yellow", each.phase),
    String(each.hosts.length),
    stickyOf(each, paint),
    short(each.waitsFor),
  ]);
  return filledColumns(shape, rows);
}

/** Actors that hosts hold, and the number of them reserved for hosts that are away. */
function stickyOf({ sticky }: ClusterTable, paint: Paint): string {
  if (sticky === undefined) return NOTHING;
  const away = countOf(sticky.holders.filter((holder) => holder.away));
  const all = String(countOf(sticky.holders));
  return away === 0 ? all : `${all} (${paint("yellow", `${away} away`)})`;
}

/** A table of an earlier leader shows its term. */
function versionOf({ version, term }: ClusterTable, current: number): string {
  return term === current ? String(version) : `${version} of term ${term}`;
}

function namespacesOf({ hosts, tables }: ClusterView): Set<string> {
  return new Set([...hosts, ...tables].map(({ namespace }) => namespace));
}

function short(words: readonly string[]): string {
  if (words.length === 0) return NOTHING;
  const more = words.length > LISTED ? ` +${words.length - LISTED}` : "";
  return safe(words.slice(0, LISTED).join(", ")) + more;
}
