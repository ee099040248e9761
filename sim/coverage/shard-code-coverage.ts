// Coverage of sharded types with application code: strategies, `shardOf`, ids in messages, and roles. See
// coverage.ts.
import { isLimpetError } from "../../src/kernel/errors.ts";
import type { ShardHomeChange } from "../../src/ports/store/shards.ts";
import { hasRole, isSharded, shardKey } from "../checkers/looks.ts";
import type { Observer, Operation, StrategyCall } from "../observer.ts";
import type { Stage } from "../stage.ts";

export const SHARD_CODE_COVERAGE = {
  "shard: strategy followed": "a shard got the home that the custom strategy had returned",
  "shard: strategy asked elsewhere": "two hosts ran the custom strategy, one after the other",
  "shard: strategy failed": "the custom strategy threw, and the shard got a home all the same",
  "shard: strategy late": "the custom strategy did not answer in time",
  "shard: strategy answered too late": "the custom strategy answered after its timeout",
  "shard: strategy returned no possible home": "the custom strategy returned a host that cannot be a home",
  "shard: strategy could not be asked": "no host with the custom strategy could be reached",
  "shard: found by its own rule": "a call was routed by a custom `shardOf`",
  "shard: own rule failed": "a caller got the error that the custom `shardOf` failed for its actor",
  "shard: found without the class": "a host without the class called an actor of a type with a custom `shardOf`",
  "shard: called by envelope": "a call was sent to a type, and the id was on the envelope",
  "shard: called by what it carries": "a call was sent to a type, and the id was in the message",
  "shard: message without an id": "a caller got the error that its message contains no id",
  "shard: called from a host without the role": "a host with the class and without its role called an actor of it",
} as const satisfies Record<string, string>;

type ShardCodeSituation = keyof typeof SHARD_CODE_COVERAGE;

const BY_FAULT: Readonly<Record<string, ShardCodeSituation>> = {
  threw: "shard: strategy failed",
  late: "shard: strategy late",
  "no such host": "shard: strategy returned no possible home",
  "nobody to ask": "shard: strategy could not be asked",
};

/** Longest wait for a strategy. */
const PATIENCE_MS = 5_000;

export class ShardCodeCoverage implements Observer {
  readonly #stage: Stage;
  /** Last response of a strategy, by shard. */
  readonly #answers = new Map<string, string>();
  /** Number of the process that got the last request, by namespace and type. */
  readonly #requested = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
    if (stage.plan.sharded === undefined) return;
    stage.world.database.watchers.push({ notedHomes: (_station, _term, changes) => this.#persisted(changes) });
  }

  #persisted(changes: readonly ShardHomeChange[]): void {
    for (const { namespace, type, shard, incarnation } of changes) {
      const key = shardKey(namespace, type, shard);
      if (incarnation === undefined || !this.#answers.has(key)) continue;
      if (this.#answers.get(key) === incarnation) this.#stage.reach("shard: strategy followed");
      this.#answers.delete(key);
    }
  }

  strategyCalled({ namespace, type, process }: StrategyCall): void {
    const key = `${namespace}/${type}`;
    const before = this.#requested.get(key);
    if (before !== undefined && before !== process.number) this.#stage.reach("shard: strategy asked elsewhere");
    this.#requested.set(key, process.number);
  }

  strategyAnswered({ namespace, type, shard, askedAt, answer, process }: StrategyCall): void {
    if (!process.hasEnded && this.#stage.now - askedAt > PATIENCE_MS)
      this.#stage.reach("shard: strategy answered too late");
    if (shard !== undefined && answer !== undefined) this.#answers.set(shardKey(namespace, type, shard), answer);
  }

  logged({ event, fields }: Parameters<NonNullable<Observer["logged"]>>[0]): void {
    if (event !== "strategy.failed") return;
    const mark = BY_FAULT[String(fields?.fault)];
    if (mark !== undefined) this.#stage.reach(mark);
  }

  answered({ call, outcome }: Operation): void {
    const { plan } = this.#stage;
    if (outcome === undefined || !isSharded(plan, call.type)) return;
    if ("error" in outcome) {
      if (isLimpetError(outcome.error, "SHARD_INVALID")) this.#stage.reach("shard: own rule failed");
      if (isLimpetError(outcome.error, "ARGUMENT_INVALID")) this.#stage.reach("shard: message without an id");
      return;
    }
    const { planned, types } = this.#stage.player(call.from);
    const hasClass = types.includes(call.type);
    if (call.how.region === "envelope") this.#stage.reach("shard: called by envelope");
    if (call.how.region === "carried" && hasClass) this.#stage.reach("shard: called by what it carries");
    if (hasClass && !hasRole(plan, planned, call.type)) this.#stage.reach("shard: called from a host without the role");
    if (plan.sharded![call.type]!.extractor === undefined) return;
    this.#stage.reach(hasClass ? "shard: found by its own rule" : "shard: found without the class");
  }
}
