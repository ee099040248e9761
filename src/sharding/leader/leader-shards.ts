// Sharding in a process that may lead: reads the homes of shards when a term begins, and persists them while
// it lasts. Each namespace of a term has a coordinator and its operations.
import type { Clock } from "../../ports/clock.ts";
import type { LeaderFeature, TermFeature } from "../../ports/cluster/leader-feature.ts";
import type { Log } from "../../ports/log.ts";
import type { Meter } from "../../ports/meter.ts";
import type { ShardHomeRow, Shards } from "../../ports/store/shards.ts";
import { ShardOperations } from "../operations/shard-operations.ts";
import { CoordinatorDriver } from "./coordinator-driver.ts";
import { HomeWrites } from "./home-writes.ts";
import { ShardInstruments } from "./metrics.ts";

export interface LeaderShardsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly shards: Shards;
}

export class LeaderShards implements LeaderFeature {
  readonly #deps: LeaderShardsDeps;
  readonly #instruments: ShardInstruments;

  constructor(deps: LeaderShardsDeps) {
    this.#deps = deps;
    this.#instruments = new ShardInstruments(deps.meter);
  }

  async load(): Promise<(term: number, over: (why: string) => void) => TermFeature> {
    const homes = await this.#deps.shards.homes();
    return (term, over) => this.#begin(homes, new HomeWrites(term, { ...this.#deps, over }));
  }

  #begin(homes: readonly ShardHomeRow[], writes: HomeWrites): TermFeature {
    const { clock, log } = this.#deps;
    const instruments = this.#instruments;
    return {
      namespace(of) {
        const rows = homes.filter(({ namespace }) => namespace === of.namespace);
        const coordinator = new CoordinatorDriver(
          {
            ...of,
            clock,
            log,
            instruments,
            persist: (change, written) => writes.write(change, () => of.feed(written)),
          },
          rows,
        );
        const requests = new ShardOperations(coordinator, {
          ...of,
          clock,
          requestStats: (hosts, type, question) => {
            const streams = hosts.flatMap((incarnation) => of.host(incarnation)?.stream ?? []);
            of.send(streams, { kind: "getShardStats", question, type });
          },
          persist: (change, written) => writes.write(change, written),
        });
        return { coordinator, requests };
      },
      end() {
        writes.end();
        instruments.end();
      },
    };
  }
}
