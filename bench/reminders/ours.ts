// Limpet: the actor whose reminders are measured, the processes that run it, and its rows as they stand in the store.
import { Actor, type App, limpet } from "../../src/index.ts";
import { resolvePolicy } from "../../src/reminders/schedule/failure-policy.ts";
import { encodePlan } from "../../src/reminders/schedule/plan.ts";
import { until } from "../until.ts";
import { Handlers } from "./handlers.ts";
import { Tally } from "./tally.ts";

export const tally = new Tally();

export class Sink extends Actor {
  override onReminder(_name: string, item: unknown): void {
    tally.hit(item as number);
  }
}

/** Reminders are spread over so many actors, unless a case says otherwise. */
export const ACTORS = 1_000;

export const idOf = (item: number, actors: number): string => `sink-${item % actors}`;
export const nameOf = (item: number): string => `reminder-${item}`;

/** What is stored of the schedule of one that ticks once. */
export const planText = (first: number): string =>
  encodePlan({ schedule: { first, missed: "once" }, policy: resolvePolicy(undefined) });

export interface HostOptions {
  readonly store: string;
  /** How often the store is asked, where it cannot tell. */
  readonly pollInterval?: string | undefined;
  /** How many reminders are taken at a time. */
  readonly batchSize?: number | undefined;
  /** How many are handled at once; twice as many are held at most. */
  readonly concurrency?: number | undefined;
}

/** For working off a backlog: in larger pieces than usual, as peers are told to, and with room for several of them. */
export const IN_LARGE_PIECES = { batchSize: 1_000, concurrency: 4_000 } as const;

export const openHost = ({ store, ...reminders }: HostOptions): Promise<App> =>
  limpet({ actors: [Sink], store, reminders });

/** Hosts in processes of their own, in one cluster when they are several. */
export async function startHosts(options: HostOptions, processes: number): Promise<Handlers> {
  const handlers = await Handlers.start("reminders/ours-process.ts", options, processes);
  await until(`a cluster of ${processes}`, async () => {
    const hosts = await Promise.all(handlers.processes.map((one) => one.ask("hosts")));
    return hosts.every((count) => count === processes);
  });
  return handlers;
}

export async function hostsOf(app: App): Promise<number> {
  const tables = (await app.host.cluster().catch(() => undefined))?.tables ?? [];
  const table = tables.find(({ type }) => type === Sink.name);
  return table?.phase === "settled" ? table.hosts.length : 0;
}
