// Longer leases for what is held, and the question whether it is still ours. It may have been set anew, cancelled, or claimed by
// somebody else since. To the store both are the same.
import type { Clock } from "../ports/clock.ts";
import type { Reminders } from "../ports/reminders.ts";
import { Batcher } from "./batcher.ts";
import type { Held } from "./held.ts";

export interface LeaseWorld {
  readonly clock: Clock;
  readonly store: Reminders;
}

export class Leases {
  readonly #world: LeaseWorld;
  readonly #leaseMs: number;
  readonly #checking: Batcher<Held, number | undefined>;

  constructor(leaseMs: number, world: LeaseWorld) {
    this.#leaseMs = leaseMs;
    this.#world = world;
    this.#checking = new Batcher({ clock: world.clock, send: (batch) => this.renew(batch) });
  }

  /** The same for one, together with others that are asked for in the same moment, and again while its lease lasts. */
  check(held: Held): Promise<number | undefined> {
    return this.#checking.ask(held, held.leaseUntil);
  }

  /** Until when each is ours, on the monotonic clock; undefined: it is not any more. */
  async renew(batch: readonly Held[]): Promise<(number | undefined)[]> {
    const { clock, store } = this.#world;
    const until = clock.monotonic() + this.#leaseMs;
    const byToken = Map.groupBy(batch, ({ token }) => token);
    const lost = new Set<number>();
    const asked = [...byToken].map(async ([token, mine]) => {
      const generations = mine.map(({ reminder }) => reminder.generation);
      for (const generation of await store.renew(generations, token, this.#leaseMs)) lost.add(generation);
    });
    await Promise.all(asked);
    return batch.map(({ reminder }) => (lost.has(reminder.generation) ? undefined : until));
  }
}
