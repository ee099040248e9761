// Metrics of actors. Instruments are bound to their type once, so that a turn only adds and observes.
import { type Counter, DURATION_BUCKETS, type Gauge, type Histogram, type Meter } from "../ports/meter.ts";

export interface TypeInstruments {
  readonly activations: Counter;
  readonly active: Gauge;
  readonly activationSeconds: Histogram;
  /** Calls to actors on this host, and calls sent to another host. */
  readonly local: Counter;
  readonly remote: Counter;
  readonly turnSeconds: Histogram;
  readonly waitSeconds: Histogram;
  readonly succeeded: Counter;
  readonly failed: Counter;
  readonly fenced: Counter;
  /** For sticky types. */
  readonly stickyActivations: Counter;
  readonly idleSkipped: Counter;
  readonly unhandled: Counter;
  deactivated(reason: string): void;
}

export function typeInstruments(meter: Meter, namespace: string, type: string): TypeInstruments {
  const labels = { namespace, type };
  const departures = new Map<string, Counter>();
  const turns = (outcome: string): Counter =>
    meter.counter("limpet_turns_total", "Turns that ended.", { ...labels, outcome });
  const routed = (route: string): Counter =>
    meter.counter("limpet_calls_routed_total", "Calls, by where their actor is.", { ...labels, route });
  return {
    activations: meter.counter("limpet_actor_activations_total", "Actors brought into memory.", labels),
    active: meter.gauge("limpet_actors_active", "Actors in memory.", labels),
    activationSeconds: meter.histogram(
      "limpet_activation_seconds",
      "From the first call to the first turn.",
      DURATION_BUCKETS,
      labels,
    ),
    local: routed("local"),
    remote: routed("remote"),
    turnSeconds: meter.histogram(
      "limpet_turn_seconds",
      "From the start of a turn to its end.",
      DURATION_BUCKETS,
      labels,
    ),
    waitSeconds: meter.histogram(
      "limpet_mailbox_wait_seconds",
      "From a call to the start of its turn.",
      DURATION_BUCKETS,
      labels,
    ),
    succeeded: turns("success"),
    failed: turns("error"),
    fenced: meter.counter(
      "limpet_commits_fenced_total",
      "Commits refused because another activation took over.",
      labels,
    ),
    stickyActivations: meter.counter(
      "limpet_sticky_activations_total",
      "Actors of sticky types brought into memory.",
      labels,
    ),
    idleSkipped: meter.counter(
      "limpet_idle_deactivations_skipped_total",
      "Sticky actors that were idle for so long that others would have left memory.",
      labels,
    ),
    unhandled: meter.counter("limpet_unhandled_calls_total", "Calls of actors that failed without a handler.", labels),
    deactivated(reason) {
      let counter = departures.get(reason);
      if (counter === undefined) {
        counter = meter.counter("limpet_actor_deactivations_total", "Actors that left memory.", { ...labels, reason });
        departures.set(reason, counter);
      }
      counter.add(1);
    },
  };
}
