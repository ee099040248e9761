// Formats the shards of a type for display: the shards of each host, moves in progress, and finished moves.
// Pure.

import type { ShardMove, ShardMoved, ShardsOfHost, ShardsSummary, ShardsView } from "../../ports/shard-admin.ts";
import { type Column, filledColumns, NOTHING } from "../common/columns.ts";
import { formatSpan, moment, plural, sentenceList } from "../common/phrases.ts";
import { type Paint, safe } from "../common/terminal.ts";

const STRATEGIES: Record<ShardsView["strategy"], string> = {
  least: "each shard goes to the host with the fewest",
  hashed: "shards of the same number live together, whatever their type",
  external: "each shard goes to its assigned host",
  custom: "each shard goes where the strategy of the application places it",
};

const TYPES: readonly Column[] = [
  { title: "TYPE" },
  { title: "SHARDS", align: "right" },
  { title: "IN USE", align: "right" },
  { title: "MOVING", align: "right" },
  { title: "HOSTS", align: "right" },
  { title: "ACTORS", align: "right" },
  { title: "STRATEGY" },
  { title: "STATE" },
];

/** One line for each type. */
export function summariesText(types: readonly ShardsSummary[], paint: Paint): string {
  const rows = types.map(({ type, shards, used, moving, hosts, actors, strategy, paused, faults }) => {
    const failed = faults > 0 ? `strategy failed ${plural(faults, "time")}` : "";
    const state = [paused ? "paused" : "", failed].filter((word) => word !== "").join(", ");
    return [
      ...[safe(type), String(shards), String(used), String(moving), String(hosts)],
      ...[actors === undefined ? "?" : String(actors), strategy, state === "" ? NOTHING : paint("yellow", state)],
    ];
  });
  return table(TYPES, rows, paint).join("\n");
}

const used = (hosts: readonly ShardsOfHost[]): number => hosts.reduce((sum, { shards }) => sum + shards.length, 0);

/** `history`: the number of finished moves. */
export function shardsText(view: ShardsView, now: number, history: number, paint: Paint): string {
  return [
    paint("bold", safe(`${view.type}: ${plural(view.shards, "shard")}, ${used(view.hosts)} of them in use.`)),
    `Strategy: ${STRATEGIES[view.strategy]}.`,
    ...notes(view, paint),
    ...hostLines(view.hosts, paint),
    ...movingLines(view.moving, paint),
    ...movedLines(view.moved, now, history, paint),
  ].join("\n");
}

function notes({ paused, told, faults, hosts }: ShardsView, paint: Paint): string[] {
  const silent = hosts.filter(({ actors }) => actors === undefined).map(({ address }) => address);
  return [
    ...(paused ? [paint("yellow", "Rebalancing is paused: only shards of hosts that leave move.")] : []),
    ...(told.length > 0 ? [`Homes are assigned for ${plural(told.length, "shard")}.`] : []),
    ...(faults > 0 ? [paint("yellow", `The strategy failed ${plural(faults, "time")}; the logs show why.`)] : []),
    ...(silent.length > 0 ? [safe(`No actor counts from ${sentenceList(silent)}: no answer in time.`)] : []),
  ];
}

const HOSTS: readonly Column[] = [
  { title: "HOST" },
  { title: "NAME" },
  { title: "BUILD" },
  { title: "SHARDS", align: "right" },
  { title: "ACTORS", align: "right" },
  { title: "STATE" },
];

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

function hostLines(hosts: readonly ShardsOfHost[], paint: Paint): string[] {
  const rows = hosts.map(({ address, name, build, shards, actors, leaving }) => [
    ...[safe(address), safe(name) || NOTHING, safe(build) || NOTHING, String(shards.length)],
    ...[actors === undefined ? "?" : String(sum(actors)), leaving ? paint("yellow", "leaving") : NOTHING],
  ]);
  return table(HOSTS, rows, paint);
}

const HOMES: readonly Column[] = [
  { title: "SHARD", align: "right" },
  { title: "HOST" },
  { title: "NAME" },
  { title: "ACTORS", align: "right" },
];

/** Each shard with a home, in order. */
export function homesText({ hosts }: ShardsView, paint: Paint): string {
  const homes = hosts.flatMap(({ address, name, shards, actors }) =>
    shards.map((shard, i) => ({ shard, address, name, actors: actors?.[i] })),
  );
  const rows = homes
    .sort((a, b) => a.shard - b.shard)
    .map(({ shard, address, name, actors }) => [
      ...[String(shard), safe(address), safe(name) || NOTHING, actors === undefined ? "?" : String(actors)],
    ]);
  return table(HOMES, rows, paint).join("\n");
}

const MOVING: readonly Column[] = [
  { title: "SHARD", align: "right" },
  { title: "FROM" },
  { title: "TO" },
  { title: "WHY" },
  { title: "PHASE" },
  { title: "FOR", align: "right" },
  { title: "WAITS FOR" },
];

function movingLines(moving: readonly ShardMove[], paint: Paint): string[] {
  if (moving.length === 0) return [];
  const rows = moving.map(({ shard, from, to, reason, phase, forMs, waitsFor }) => [
    ...[String(shard), safe(from), safe(to ?? "?"), reason, phase, formatSpan(Math.round(forMs))],
    safe(sentenceList(waitsFor)) || NOTHING,
  ]);
  return ["", `Moving: ${plural(moving.length, "shard")}.`, ...table(MOVING, rows, paint)];
}

const MOVED: readonly Column[] = [
  { title: "WHEN" },
  { title: "SHARD", align: "right" },
  { title: "FROM" },
  { title: "TO" },
  { title: "WHY" },
  { title: "TOOK", align: "right" },
  { title: "RESULT" },
];

function movedLines(moved: readonly ShardMoved[], now: number, history: number, paint: Paint): string[] {
  const shown = moved.slice(0, history);
  if (shown.length === 0) return [];
  const rows = shown.map(({ at, shard, from, to, reason, tookMs, forced }) => [
    ...[moment(at, now), String(shard), safe(from), safe(to ?? "nowhere"), reason, formatSpan(Math.round(tookMs))],
    forced ? paint("yellow", "some actors were given up") : NOTHING,
  ]);
  const which = shown.length < moved.length ? `Last moves, ${shown.length} of ${moved.length}:` : "Last moves:";
  return ["", which, ...table(MOVED, rows, paint)];
}

function table(shape: readonly Column[], rows: readonly (readonly string[])[], paint: Paint): string[] {
  const [titles, ...lines] = filledColumns(shape, rows);
  return titles === undefined ? [] : [paint("dim", titles), ...lines];
}
