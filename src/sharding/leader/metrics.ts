// Metrics of the shards of a leading scheduler, by namespace and type.
import type { Meter } from "../../ports/meter.ts";
import type { MoveReason } from "../../ports/shard-admin.ts";
import type { StrategyFault } from "../model/strategy-requests.ts";

const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SHARDS = "limpet_scheduler_shards";
const SHARDS_HELP = "Shards that each host is, or will be, the home of.";

export class ShardInstruments {
  readonly #meter: Meter;
  /** Hosts with a gauge above zero. */
  readonly #hosts = new Map<string, { readonly namespace: string; readonly type: string; readonly host: string }>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** The term has ended. */
  end(): void {
    for (const labels of this.#hosts.values()) this.#meter.gauge(SHARDS, SHARDS_HELP, labels).set(0);
    this.#hosts.clear();
  }

  /** `counts`: by the addresses of hosts. */
  shards(namespace: string, type: string, counts: ReadonlyMap<string, number>, moving: number): void {
    for (const [key, labels] of this.#hosts) {
      if (labels.namespace !== namespace || labels.type !== type || counts.has(labels.host)) continue;
      this.#meter.gauge(SHARDS, SHARDS_HELP, labels).set(0);
      this.#hosts.delete(key);
    }
    for (const [host, count] of counts) {
      const labels = { namespace, type, host };
      this.#hosts.set(JSON.stringify(labels), labels);
      this.#meter.gauge(SHARDS, SHARDS_HELP, labels).set(count);
    }
    this.#meter.gauge("limpet_scheduler_shards_moving", "Shards on their way.", { namespace, type }).set(moving);
  }

  homesRequested(namespace: string, type: string, count: number): void {
    const help = "Requests of hosts for the homes of shards.";
    this.#meter.counter("limpet_scheduler_shard_home_requests_total", help, { namespace, type }).add(count);
  }

  /** `forced`: some of its actors were given up. `nowhere`: no host could be its next home. */
  shardMoved(
    namespace: string,
    type: string,
    reason: MoveReason,
    result: "moved" | "forced" | "nowhere",
    seconds: number,
  ): void {
    const help = "Finished moves of shards, by reason and result.";
    const labels = { namespace, type };
    this.#meter.counter("limpet_scheduler_shard_moves_total", help, { ...labels, reason, result }).add(1);
    if (reason === "lost") return;
    const took = "Time from the decision to move a shard until its new home was announced.";
    this.#meter.histogram("limpet_scheduler_shard_hand_off_seconds", took, SECONDS, labels).observe(seconds);
  }

  strategyFailed(namespace: string, type: string, why: StrategyFault): void {
    const help = "Failures of an application's own strategy of shards, by reason.";
    this.#meter.counter("limpet_scheduler_shard_strategy_faults_total", help, { namespace, type, why }).add(1);
  }
}
