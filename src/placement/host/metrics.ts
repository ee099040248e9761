// Metrics of a host as a member of the cluster, by namespace and type.
import type { ChangeReason, Operation } from "../../ports/control-messages.ts";
import type { Counter, Meter } from "../../ports/meter.ts";
import type { StickyCacheFigures } from "../model/sticky-holdings.ts";

const SECONDS = [0.00001, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10];
const COUNTS = [0, 1, 10, 100, 1_000, 10_000, 100_000];

export class HostInstruments {
  readonly #meter: Meter;
  readonly #namespace: string;

  constructor(meter: Meter, namespace: string) {
    this.#meter = meter;
    this.#namespace = namespace;
  }

  #labels(type: string): { readonly namespace: string; readonly type: string } {
    return { namespace: this.#namespace, type };
  }

  ordered(type: string, operation: Operation): void {
    const labels = { ...this.#labels(type), operation };
    this.#meter.counter("limpet_host_orders_total", "Orders of the leader, by operation.", labels).add(1);
  }

  version(type: string, version: number): void {
    this.#meter.gauge("limpet_host_ring_version", "Version of the newest table here.", this.#labels(type)).set(version);
  }

  applied(type: string, seconds: number): void {
    this.#meter
      .histogram("limpet_host_update_seconds", "Time to apply a new table.", SECONDS, this.#labels(type))
      .observe(seconds);
  }

  unlocked(type: string, seconds: number): void {
    this.#meter
      .histogram("limpet_host_lock_seconds", "Time from LOCK to UNLOCK.", SECONDS, this.#labels(type))
      .observe(seconds);
  }

  /**
   * Counts actors that moved away because of one update. `reason`: the reason of its table; a leader of the
   * previous release does not send it.
   */
  halted(type: string, actors: number, reason: ChangeReason | undefined): void {
    const labels = { ...this.#labels(type), reason: reason ?? "unknown" };
    this.#meter.counter("limpet_host_halts_total", "Updates after which actors had to move.", labels).add(1);
    this.#meter
      .histogram("limpet_host_halted_actors", "Actors that moved away at one update.", COUNTS, labels)
      .observe(actors);
    this.drained(type, actors, "moved");
  }

  /** `reason`: why actors had to go. */
  drained(type: string, actors: number, reason: "moved" | "lease" | "released"): void {
    const labels = this.#labels(type);
    this.#meter
      .counter("limpet_host_drained_actors_total", "Actors let go because of the cluster.", { ...labels, reason })
      .add(actors);
  }

  acked(type: string): void {
    this.#meter.counter("limpet_host_updates_acked_total", "Updates acknowledged.", this.#labels(type)).add(1);
  }

  // ——— Sticky actors.

  /**
   * Cached counters: very many actors may be granted at once, and a lookup of the counter costs more than the
   * count.
   */
  readonly #granted = new Map<string, Counter>();
  readonly #released = new Map<string, Counter>();

  stickyGranted(type: string): void {
    const help = "Sticky actors that were granted to this host.";
    this.#kept(this.#granted, type, "limpet_host_sticky_granted_total", help).add(1);
  }

  stickyReleased(type: string): void {
    const help = "Sticky actors that this host let go of.";
    this.#kept(this.#released, type, "limpet_host_sticky_released_total", help).add(1);
  }

  #kept(counters: Map<string, Counter>, type: string, name: string, help: string): Counter {
    let counter = counters.get(type);
    if (counter === undefined) {
      counter = this.#meter.counter(name, help, this.#labels(type));
      counters.set(type, counter);
    }
    return counter;
  }

  stickyCleared(count: number): void {
    const help = "Sticky actors that this host lost together with its lease.";
    this.#meter.counter("limpet_host_sticky_cleared_total", help, { namespace: this.#namespace }).add(count);
  }

  stickyHeld(type: string, count: number): void {
    const help = "Sticky actors that this host holds, in memory or not.";
    this.#meter.gauge("limpet_host_sticky_actors", help, this.#labels(type)).set(count);
  }

  readonly #cached = new Map<string, StickyCacheFigures>();

  /** Takes totals since the start, and adds the difference to the last call. */
  stickyCache(type: string, { hits, misses, invalidations }: StickyCacheFigures): void {
    const before = this.#cached.get(type) ?? { hits: 0, misses: 0, invalidations: 0 };
    this.#cached.set(type, { hits, misses, invalidations });
    const count = (result: string, more: number): void => {
      const help = "Calls to sticky actors outside this host's memory, by whether it had their address cached.";
      this.#meter.counter("limpet_host_sticky_cache_total", help, { ...this.#labels(type), result }).add(more);
    };
    count("hit", hits - before.hits);
    count("miss", misses - before.misses);
    count("invalidated", invalidations - before.invalidations);
  }

  leaseLost(): void {
    const help = "Times this host dropped all actors because its lease ran out.";
    this.#meter.counter("limpet_host_leases_lost_total", help, { namespace: this.#namespace }).add(1);
  }
}
