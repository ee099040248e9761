// Limpet: the actor whose reminders are measured, its processes, and its rows in the store.
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

/** Default number of actors over which reminders are spread. */
export const ACTORS = 1_000;

export const idOf = (item: number, actors: number): string => `sink-${item % actors}`;
export const nameOf = (item: number): string => `reminder-${item}`;

/** Stored form of the schedule of a reminder that ticks once. */
export const planText = (first: number): string =>
  encodePlan({ schedule: { first, missed: "once" }, policy: resolvePolicy(undefined) });

export interface HostOptions {
  readonly store: string;
  /** Poll interval for stores without notifications. */
  readonly pollInterval?: string;
  /** Number of reminders per claim. */
  readonly batchSize?: number;
  /** Number of concurrent handlers; at most twice as many are claimed. */
  readonly concurrency?: number;
}

/** For draining a backlog: larger batches than usual, like the peers, with capacity for several of them. */
export const IN_LARGE_PIECES = { batchSize: 1_000, concurrency: 4_000 } as const;

export const openHost = ({ store, ...reminders }: HostOptions): Promise<App> =>
  limpet({ actors: [Sink], store, reminders });

/** Hosts in their own processes, in one cluster if there are several. */
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
