// Limpet: the actors of this area, each once sticky and once placed by the hash of its id, and their hosts.
import { Actor, type ActorOptions, type App, limpet } from "../../src/index.ts";
import { OtherProcess } from "../cluster/other-process.ts";
import { until } from "../until.ts";

/** Pings that were answered in this process. */
export const answered = { pings: 0 };

// Neither of two compared classes inherits from the other, so that their methods are found in the same way.
class Pinger extends Actor {
  ping(n: number): number {
    answered.pings++;
    return n + 1;
  }
}

export class HashPinger extends Pinger {}

export class StickyPinger extends Pinger {
  static options: ActorOptions = { placement: "sticky" };
}

/** The same with a state that is committed before the answer. */
class Keeper extends Actor<{ n: number }> {
  override initial() {
    return { n: 0 };
  }

  ping(n: number): number {
    this.state.n = n + 1;
    return n + 1;
  }
}

export class HashKeeper extends Keeper {}

export class StickyKeeper extends Keeper {
  static options: ActorOptions = { placement: "sticky" };
}

export interface HostOptions {
  readonly store: string;
  /** Empty: an embedded one in each host. */
  readonly schedulers?: readonly string[];
}

/** More than any case activates, so that no actor has to leave. */
const MOST_ACTORS = 10_000_000;

export const openHost = ({ store, schedulers = [] }: HostOptions): Promise<App> =>
  limpet({
    actors: [HashPinger, StickyPinger, HashKeeper, StickyKeeper],
    store,
    maxResident: MOST_ACTORS,
    schedulers: [...schedulers],
  });

export const startOtherHost = (options: HostOptions): Promise<OtherProcess> =>
  OtherProcess.start("sticky/host-process.ts", options);

/** Every type has exactly so many hosts, and nothing moves. */
export async function settled(app: App, hosts: number): Promise<void> {
  await until(`a cluster of ${hosts}`, async () => {
    const tables = (await app.host.cluster().catch(() => undefined))?.tables ?? [];
    return tables.length === 4 && tables.every((table) => table.phase === "settled" && table.hosts.length === hosts);
  });
}
