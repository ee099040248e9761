// Views of the leader for display: the hosts, the table of each type, and the holders of sticky actors.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type {
  ClusterHost,
  ClusterSticky,
  ClusterTable,
  StickyActor,
  StickyPage,
  StickyQuery,
} from "../../ports/host-admin.ts";
import type { NamespaceController } from "../model/namespace-controller.ts";
import type { HeldActor } from "../model/sticky-owners.ts";

export interface LeaderView {
  readonly hosts: ClusterHost[];
  readonly tables: ClusterTable[];
}

export function viewOf(namespaces: ReadonlyMap<string, NamespaceController>, term: number, now: number): LeaderView {
  const hosts: ClusterHost[] = [];
  const tables: ClusterTable[] = [];
  for (const [namespace, controller] of namespaces) {
    const view = controller.view();
    const addressOf = new Map(view.hosts.map(({ incarnation, address }) => [incarnation, address]));
    for (const { address, name, incarnation, state, leaseUntil, types, actors } of view.hosts) {
      const leaseLeftMs = Math.max(Math.round(leaseUntil - now), 0);
      hosts.push({ namespace, address, name, incarnation, state, leaseLeftMs, types: [...types].sort(), actors });
    }
    for (const { type, phase, table, waitsFor } of view.types) {
      tables.push({
        namespace,
        type,
        version: table?.version.number ?? 0,
        term: table?.version.term ?? term,
        hosts: (table?.hosts ?? []).map(({ address }) => address),
        phase,
        waitsFor: [...waitsFor].map((incarnation) => addressOf.get(incarnation) ?? incarnation),
        sticky: holdersOf(controller, type, now),
      });
    }
  }
  return { hosts, tables };
}

function holdersOf({ sticky: { owners } }: NamespaceController, type: string, now: number): ClusterSticky | undefined {
  const lost = owners.rule(type);
  if (lost === undefined) return undefined;
  const holders = owners.holders(type, now).map(({ host: { address, name }, ids, away }) => {
    return { address, name, actors: ids, away };
  });
  return { lost, holders };
}

/** Undefined: the leader knows no such namespace. */
export function stickyPage(controller: NamespaceController | undefined, query: StickyQuery, now: number): StickyPage {
  const owners = controller?.sticky.owners;
  if (owners === undefined) return { actors: [], next: undefined };
  if (query.type !== undefined && query.id !== undefined) {
    const found = owners.find(query.type, query.id, now);
    if (found === undefined && !owners.isOpen(query.type)) {
      throw new LimpetError("NOT_READY", `the leader is new and does not know all holders of ${query.type} yet; retry`);
    }
    return { actors: found === undefined ? [] : [shown(query.type, found)], next: undefined };
  }
  const limit = Math.min(query.limit, LIMITS.listPage);
  const { after, prefix = "" } = query;
  const actors: StickyActor[] = [];
  for (const type of [...owners.types].sort()) {
    if ((query.type !== undefined && type !== query.type) || (after !== undefined && type < after.type)) continue;
    const left = limit + 1 - actors.length;
    if (left === 0) break;
    const from = after?.type === type ? after.id : undefined;
    actors.push(...owners.list(type, from, prefix, left, now).map((held) => shown(type, held)));
  }
  const page = actors.slice(0, limit);
  const last = page.at(-1);
  return { actors: page, next: actors.length > limit && last ? { type: last.type, id: last.id } : undefined };
}

function shown(type: string, { id, host, since, away }: HeldActor): StickyActor {
  return { type, id, address: host.address, name: host.name, since, away };
}
