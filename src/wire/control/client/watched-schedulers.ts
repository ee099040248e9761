// Finds the leader through named schedulers: any of them announces the leader, and each change. When one does
// not answer, the next one is tried. The named schedulers are only the entry; the schedulers in their lists
// are tried as well.
//
// A host that has found the leader watches the leader itself, on the connection that also carries its
// reports: one connection serves both streams. The host leaves the earlier scheduler only when the leader has
// answered the watch, so an unreachable leader hides no change of leaders.

import { backoffMs } from "../../../kernel/backoff.ts";
import type { Leader, LeaderSource } from "../../../placement/discovery/leader-source.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import type { SchedulerList } from "../../../ports/cluster/control-service.ts";
import type { Log } from "../../../ports/log.ts";
import type { Random } from "../../../ports/random.ts";
import type { WatchListener } from "./client.ts";

export interface SchedulerClient extends Leader {
  /** The returned function stops the watch. */
  watch(listener: WatchListener): () => void;
  close(): void;
}

export interface WatchedSchedulersDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  connect(address: string, term: number): SchedulerClient;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** One stream of lists. */
interface Watch {
  readonly client: SchedulerClient;
  stop: () => void;
}

export class WatchedSchedulers implements LeaderSource {
  readonly #named: readonly string[];
  readonly #deps: WatchedSchedulersDeps;
  #known: readonly string[] = [];
  /** The stream that sent the newest list. */
  #watch: Watch | undefined;
  /** The stream that replaces it as soon as it sends a list. */
  #next: Watch | undefined;
  #leader: { readonly client: SchedulerClient; readonly view: Leader } | undefined;
  #list: SchedulerList | undefined;
  #at: number;
  #failures = 0;
  #retry: Timer | undefined;
  #returning: Timer | undefined;
  #stopped = false;
  onChange: (() => void) | undefined;

  constructor(addresses: readonly string[], deps: WatchedSchedulersDeps) {
    this.#named = addresses;
    this.#deps = deps;
    // Hosts spread over the schedulers.
    this.#at = Math.floor(deps.random.number() * addresses.length);
  }

  get leader(): Leader | undefined {
    return this.#leader?.view;
  }

  get problem(): string {
    const named = this.#named.join(", ");
    return this.#list === undefined
      ? `no scheduler answers at ${named}; start one with limpet scheduler, or correct schedulers`
      : `no scheduler leads yet, according to ${named}`;
  }

  get list(): SchedulerList | undefined {
    return this.#list;
  }

  start(): void {
    this.#ask();
  }

  /** The watched scheduler may not have noticed a change yet: another one is tried. */
  recheck(): void {
    if (this.#stopped || this.#retry !== undefined) return;
    this.#later();
  }

  #ask(): void {
    if (this.#stopped) return;
    const addresses = [...new Set([...this.#named, ...this.#known])];
    this.#open(this.#clientOf(addresses[this.#at++ % addresses.length]!));
  }

  /** The client that is connected to that address already, or a new one. */
  #clientOf(address: string): SchedulerClient {
    const open = [this.#leader?.client, this.#watch?.client, this.#next?.client];
    return open.find((client) => client?.address === address) ?? this.#deps.connect(address, 0);
  }

  #open(client: SchedulerClient): void {
    const before = this.#next;
    const watch: Watch = { client, stop() {} };
    this.#next = watch;
    if (before !== undefined) this.#end(before);
    watch.stop = client.watch({
      list: (list) => this.#received(watch, list),
      closed: (err) => this.#closed(watch, err),
    });
  }

  #received(watch: Watch, list: SchedulerList): void {
    if (this.#stopped) return;
    if (watch === this.#next) {
      const before = this.#watch;
      this.#watch = watch;
      this.#next = undefined;
      if (before !== undefined) this.#end(before);
    }
    if (watch === this.#watch) this.#follow(watch.client, list);
  }

  #closed(watch: Watch, err: Error | undefined): void {
    if (this.#stopped || (watch !== this.#watch && watch !== this.#next)) return;
    const { address } = watch.client;
    if (err !== undefined) this.#deps.log.debug("scheduler.unreachable", { scheduler: address, err });
    if (watch === this.#watch) this.#watch = undefined;
    else this.#next = undefined;
    this.#release(watch.client);
    this.#later();
  }

  #end(watch: Watch): void {
    watch.stop();
    this.#release(watch.client);
  }

  /** Closes the connection unless it still carries a stream. */
  #release(client: SchedulerClient): void {
    const used = [this.#leader?.client, this.#watch?.client, this.#next?.client];
    if (!used.includes(client)) client.close();
  }

  #later(): void {
    if (this.#retry !== undefined) return;
    const pauseMs = backoffMs(this.#failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    const again = (): void => {
      this.#retry = undefined;
      this.#ask();
    };
    this.#retry = this.#deps.clock.after(pauseMs * (0.5 + this.#deps.random.number()), again, "background");
  }

  #follow(by: SchedulerClient, list: SchedulerList): void {
    this.#list = list;
    this.#known = list.hosts.map(({ address }) => address);
    const leader = list.hosts.find((host) => host.leader);
    const known = this.#leader?.view;
    // An old list of another scheduler may arrive after a newer one.
    if (leader === undefined || list.term < (known?.term ?? 0)) return;
    this.#failures = 0;
    if (leader.address === known?.address && list.term === known.term) {
      // The watch of the leader broke, and another scheduler answered instead.
      if (by !== this.#leader!.client) this.#returnSoon();
      return;
    }
    const before = this.#leader?.client;
    const client = this.#clientOf(leader.address);
    this.#leader = { client, view: leaderAt(client, list.term) };
    if (client !== by) this.#open(client);
    if (before !== undefined) this.#release(before);
    this.onChange?.();
  }

  #returnSoon(): void {
    this.#returning?.cancel();
    const back = (): void => {
      const leader = this.#leader?.client;
      if (!this.#stopped && leader !== undefined && leader !== this.#watch?.client) this.#open(leader);
    };
    this.#returning = this.#deps.clock.after(LONGEST_PAUSE_MS, back, "background");
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#returning?.cancel();
    for (const watch of [this.#watch, this.#next]) watch?.client.close();
    this.#leader?.client.close();
  }
}

/** The same client may serve one term after another. */
function leaderAt(client: SchedulerClient, term: number): Leader {
  return {
    address: client.address,
    term,
    report: (listener) => client.report(listener),
    admin: (request) => client.admin(request),
  };
}
