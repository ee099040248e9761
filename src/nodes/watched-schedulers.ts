// Finds the leader by asking schedulers that were named: any of them tells who leads, and says so again when that changes. When
// one does not answer the next one is asked. The named ones are only a way in; those they tell of are asked as well.
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { WatchListener } from "../wire/control/client.ts";
import type { SchedulerList } from "../wire/control/service.ts";
import type { Leader, LeaderSource } from "./leader-source.ts";

export interface SchedulerClient extends Leader {
  /** Until what it returns is called. */
  watch(listener: WatchListener): () => void;
  close(): void;
}

export interface WatchWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  connect(address: string, term: number): SchedulerClient;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export class WatchedSchedulers implements LeaderSource {
  readonly #named: readonly string[];
  readonly #world: WatchWorld;
  #known: readonly string[] = [];
  #watched: SchedulerClient | undefined;
  #leader: SchedulerClient | undefined;
  #list: SchedulerList | undefined;
  #at: number;
  #failures = 0;
  #retry: Timer | undefined;
  #stopped = false;
  onChange: (() => void) | undefined;

  constructor(addresses: readonly string[], world: WatchWorld) {
    this.#named = addresses;
    this.#world = world;
    // Hosts spread over the schedulers.
    this.#at = Math.floor(world.random.number() * addresses.length);
  }

  get leader(): Leader | undefined {
    return this.#leader;
  }

  get problem(): string {
    const named = this.#named.join(", ");
    return this.#list === undefined
      ? `no scheduler answers at ${named}; start one with limpet scheduler, or correct schedulers`
      : `no scheduler leads yet, says one of ${named}`;
  }

  get list(): SchedulerList | undefined {
    return this.#list;
  }

  start(): void {
    this.#watch();
  }

  /** Whoever told us last may not have noticed yet: ask another one. */
  doubt(): void {
    if (this.#stopped || this.#retry !== undefined) return;
    this.#later();
  }

  #watch(): void {
    this.#watched?.close();
    if (this.#stopped) return;
    const addresses = [...new Set([...this.#named, ...this.#known])];
    const address = addresses[this.#at++ % addresses.length]!;
    const client = this.#world.connect(address, 0);
    this.#watched = client;
    client.watch({
      list: (list) => {
        if (this.#watched === client) this.#told(list);
      },
      closed: (err) => {
        if (this.#watched !== client || this.#stopped) return;
        if (err !== undefined) this.#world.log.debug("a scheduler does not answer", { scheduler: address, err });
        this.#later();
      },
    });
  }

  #later(): void {
    if (this.#retry !== undefined) return;
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS);
    const again = (): void => {
      this.#retry = undefined;
      this.#watch();
    };
    this.#retry = this.#world.clock.after(longest * (0.5 + this.#world.random.number()), again, "background");
  }

  #told(list: SchedulerList): void {
    this.#list = list;
    this.#known = list.hosts.map(({ address }) => address);
    const leader = list.hosts.find((host) => host.leader);
    // An old list may come after a newer one, from another scheduler.
    if (leader === undefined || list.term < (this.#leader?.term ?? 0)) return;
    this.#failures = 0;
    if (leader.address === this.#leader?.address && list.term === this.#leader.term) return;
    this.#leader?.close();
    this.#leader = this.#world.connect(leader.address, list.term);
    this.onChange?.();
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#watched?.close();
    this.#leader?.close();
  }
}
