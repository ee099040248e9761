// Limpet: the actors of this area, in shards and placed by the hash of their id, and their hosts.
import { Actor, type ActorOptions, type App, limpet, sharded } from "../../src/index.ts";
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

export class ShardedPinger extends Pinger {
  static options: ActorOptions = { placement: sharded() };
}

/** An actor with a state, which is committed at its first call. */
export class ShardedKeeper extends Actor<{ n: number }> {
  static options: ActorOptions = { placement: sharded() };

  override initial() {
    return { n: 0 };
  }

  ping(n: number): number {
    if (this.state.n === 0) this.state.n = 1;
    return n + 1;
  }
}

/** A type with the largest number of shards. */
export class ManyShards extends Actor {
  static options: ActorOptions = { placement: sharded({ shards: 100_000 }) };
}

export interface HostOptions {
  readonly store: string;
}

/** More than any case activates, so that no actor has to leave. */
const MOST_ACTORS = 10_000_000;

export const openHost = ({ store }: HostOptions): Promise<App> =>
  limpet({ actors: [HashPinger, ShardedPinger, ShardedKeeper], store, maxResident: MOST_ACTORS });

export const startOtherHost = (options: HostOptions): Promise<OtherProcess> =>
  OtherProcess.start("sharding/host-process.ts", options);

/** Every type has exactly so many hosts, and their tables are everywhere. */
export async function settled(app: App, hosts: number): Promise<void> {
  await until(`a cluster of ${hosts}`, async () => {
    const tables = (await app.host.cluster().catch(() => undefined))?.tables ?? [];
    return tables.length === 3 && tables.every((table) => table.phase === "settled" && table.hosts.length === hosts);
  });
}
