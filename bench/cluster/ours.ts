// Limpet: the host that both processes of a cluster run. They share only the store.
import { Actor, type App, limpet } from "../../src/index.ts";
import { OtherProcess } from "./other-process.ts";

export class Pinger extends Actor {
  /** Pings that were answered in this process. */
  static answered = 0;

  ping(n: number): number {
    Pinger.answered++;
    return n + 1;
  }
}

export interface HostOptions {
  readonly store: string;
  /** `lease`: as between machines, where the end of a process is not visible. */
  readonly failover: "auto" | "lease";
}

export const openHost = ({ store, failover }: HostOptions): Promise<App> =>
  limpet({ actors: [Pinger], store, cluster: { failover } });

/** Resolves when the other host has opened; it may become a member later. */
export const startOtherHost = (options: HostOptions): Promise<OtherProcess> =>
  OtherProcess.start("cluster/ours-process.ts", options);

/**
 * Exactly so many hosts are members, no other one is expected, and all of them are in the table of the type.
 */
export async function isSettled(app: App, hosts: number): Promise<boolean> {
  const view = await app.host.cluster().catch(() => undefined);
  const present = view?.hosts.filter(({ state }) => state !== "evicted") ?? [];
  const table = view?.tables.find(({ type }) => type === Pinger.name);
  return (
    present.length === hosts &&
    present.every(({ state }) => state === "member") &&
    table?.phase === "settled" &&
    table.hosts.length === hosts
  );
}
