// Persists which actors are remembered, for the home of their shards: many changes in one step, one step
// after the other, with retries while the store does not respond. So changes of one actor are applied in the
// order of their requests.
import { FencedBatcher } from "../../kernel/batch/fenced-batcher.ts";
import type { Clock } from "../../ports/clock.ts";
import { batchInstruments, type Meter } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import type { RememberedChange, Shards } from "../../ports/store/shards.ts";

export interface RememberedWriterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly meter: Meter;
  readonly shards: Shards;
}

interface Request {
  /** The home that requests the change. */
  readonly home: string | undefined;
  readonly change: RememberedChange;
}

export class RememberedWriter {
  readonly #calls: FencedBatcher<Request, boolean>;
  readonly #shards: Shards;

  constructor(patienceMs: number, { clock, random, meter, shards }: RememberedWriterDeps) {
    this.#shards = shards;
    this.#calls = new FencedBatcher({
      clock,
      random,
      patienceMs,
      lanes: 1,
      eager: Number.POSITIVE_INFINITY,
      ...batchInstruments(meter, "remember"),
      weigh: () => 1,
      keyOf: ({ change: { type, id } }) => `${type.length}:${type}${id}`,
      send: (batch) => this.#send(batch),
    });
  }

  /** False: `home` is not the home of its shard. */
  write(home: string | undefined, change: RememberedChange): Promise<boolean> {
    return this.#calls.submit({ home, change });
  }

  /** Rejects the waiting changes. Attempts in progress end, and failed ones are not retried. */
  close(): void {
    this.#calls.giveUp();
  }

  /**
   * Nearly always all changes have one home. A retry repeats the steps before the failed one, which is
   * idempotent.
   */
  async #send(batch: readonly Request[]): Promise<boolean[]> {
    const made: boolean[] = [];
    for (const home of new Set(batch.map((request) => request.home))) {
      const own = [...batch.entries()].filter(([, request]) => request.home === home);
      const answers = await this.#shards.remember(
        home,
        own.map(([, { change }]) => change),
      );
      for (const [i, [at]] of own.entries()) made[at] = answers[i]!;
    }
    return made;
  }
}
