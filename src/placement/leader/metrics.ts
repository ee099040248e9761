// Metrics of a leading scheduler, by namespace and type.
import type { ChangeReason, Operation } from "../../ports/control-messages.ts";
import type { Labels, Meter } from "../../ports/meter.ts";
import type { StickyEvent } from "../model/sticky-coordinator.ts";

const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const ACQUIRES = "Requests of hosts for sticky actors, by answer; a request that has to wait also counts as waiting.";
const CLAIMS = "Sticky actors that hosts claimed to hold, by whether another host has them.";

const STICKY: Record<StickyEvent, readonly [name: string, help: string, labels: Labels]> = {
  granted: ["acquires", ACQUIRES, { outcome: "granted" }],
  owner: ["acquires", ACQUIRES, { outcome: "forwarded" }],
  refused: ["acquires", ACQUIRES, { outcome: "refused" }],
  waiting: ["acquires", ACQUIRES, { outcome: "waiting" }],
  released: ["releases", "Sticky actors that hosts let go of.", {}],
  cleared: ["clears", "Sticky actors that were freed because their host is gone.", {}],
  claimed: ["claims", CLAIMS, { outcome: "accepted" }],
  conflict: ["claims", CLAIMS, { outcome: "conflict" }],
};

type TypeLabels = { readonly namespace: string; readonly type: string };

export class SchedulerInstruments {
  readonly #meter: Meter;
  /** Types with a round in progress. */
  readonly #locked = new Map<string, TypeLabels>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  leading(term: number): void {
    this.#meter.gauge("limpet_scheduler_leading", "1 while this scheduler leads.").set(term > 0 ? 1 : 0);
    // Rounds of a term end with it, finished or not.
    for (const labels of this.#locked.values()) this.#locks(labels, 0);
    for (const { namespace, type } of this.#sticky.values()) this.stickyActors(namespace, type, 0);
    this.#sticky.clear();
    if (term > 0) this.#meter.gauge("limpet_scheduler_term", "The term in which it leads, or last led.").set(term);
  }

  streams(count: number): void {
    this.#meter.gauge("limpet_scheduler_streams", "Hosts and clients connected to the leader.").set(count);
  }

  rebuilt(namespace: string, type: string, version: number, reason: ChangeReason, seconds: number): void {
    const labels = { namespace, type };
    this.#meter.gauge("limpet_scheduler_ring_version", "Version of the newest table.", labels).set(version);
    this.#meter
      .counter("limpet_scheduler_ring_rebuilds_total", "Tables rebuilt, by reason.", { ...labels, reason })
      .add(1);
    this.#meter
      .histogram("limpet_scheduler_ring_rebuild_seconds", "Time to rebuild a ring.", SECONDS, labels)
      .observe(seconds);
    this.#locks(labels, 1);
  }

  sent(namespace: string, type: string, operation: Operation, streams: number): void {
    const labels = { namespace, type, operation };
    this.#meter.counter("limpet_scheduler_orders_total", "Orders sent to hosts, by operation.", labels).add(streams);
  }

  settled(namespace: string, type: string, seconds: number): void {
    const labels = { namespace, type };
    this.#meter
      .histogram("limpet_scheduler_round_seconds", "Time from LOCK to the last acknowledged UNLOCK.", SECONDS, labels)
      .observe(seconds);
    this.#locks(labels, 0);
  }

  #locks(labels: TypeLabels, count: 0 | 1): void {
    const key = JSON.stringify(labels);
    if (count === 1) this.#locked.set(key, labels);
    else this.#locked.delete(key);
    this.#meter.gauge("limpet_scheduler_rounds_in_progress", "1 while the type is locked.", labels).set(count);
  }

  sticky(namespace: string, type: string, event: StickyEvent, count: number): void {
    const [name, help, labels] = STICKY[event];
    this.#meter.counter(`limpet_scheduler_sticky_${name}_total`, help, { namespace, type, ...labels }).add(count);
  }

  readonly #sticky = new Map<string, TypeLabels>();

  stickyActors(namespace: string, type: string, count: number): void {
    if (count > 0) this.#sticky.set(JSON.stringify({ namespace, type }), { namespace, type });
    const help = "Sticky actors that some host holds.";
    this.#meter.gauge("limpet_scheduler_sticky_actors", help, { namespace, type }).set(count);
  }

  evicted(namespace: string): void {
    const help = "Hosts that did not follow an order in time.";
    this.#meter.counter("limpet_scheduler_evictions_total", help, { namespace }).add(1);
  }
}
