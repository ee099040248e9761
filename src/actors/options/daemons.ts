// Declares actors that always run: a fixed number of one class, or a single one. Both are sharded, remembered
// actors. Their ids come from the declaration instead of a first call, and the home of their shard starts
// them. Options are checked when the class is wrapped.
import { invalidOption } from "../../kernel/check.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { DEFAULT_SHARDS, isDaemonCount, MOST_DAEMONS } from "../../kernel/shards.ts";
import { isActorClass } from "../actor-type.ts";
import type { ActorClass, AnyActor } from "../routing/remote.ts";
import { isSharded, type ShardedOptions, sharded } from "./sharded-options.ts";

/**
 * For `limpet({ actors: [daemons(Poller, 8)] })`: the actors `"0"` to `"7"` of the class always run, spread
 * over the hosts, each on one host at a time. A function in place of the number is called every half minute.
 * An actor that stops is started again after `restartAfter`; an actor beyond the number is stopped.
 */
export function daemons<A extends AnyActor>(type: ActorClass<A>, count: number | (() => number)): ActorClass<A> {
  const called = `daemons(${nameOf(type)}, …)`;
  if (typeof count !== "function" && !isDaemonCount(count)) {
    throw invalidOption(
      `${called}: the number of actors must be a whole number from 0 to ${MOST_DAEMONS}; got ${count}`,
    );
  }
  return alwaysRunning(type, typeof count === "function" ? count : () => count, DEFAULT_SHARDS, called);
}

/**
 * For `limpet({ actors: [singleton(Clock)] })`: one actor of the class always runs, on one host of the
 * cluster. Its id is `"0"`.
 */
export function singleton<A extends AnyActor>(type: ActorClass<A>): ActorClass<A> {
  return alwaysRunning(type, () => 1, 1, `singleton(${nameOf(type)})`);
}

function alwaysRunning<A extends AnyActor>(
  type: ActorClass<A>,
  count: () => number,
  most: number,
  called: string,
): ActorClass<A> {
  if (!isActorClass(type)) throw invalidOption(`${called} needs a class that extends Actor`);
  const own = placementOf(type, called);
  const { shards = most } = own;
  const placement = Object.freeze({
    ...sharded({ ...own, shards, remember: true, shardOf: (id) => numberOf(id) % shards, version: "daemons" }),
    daemons: count,
  });
  const Base = type as ActorClass<AnyActor>;
  // The name of the class is kept, so handles of the class itself reach these actors too.
  const Daemon = class extends Base {
    static options = { ...type.options, name: type.options?.name ?? type.name, placement };
  };
  return Daemon as unknown as ActorClass<A>;
}

const SET_HERE = ["shardOf", "version", "messageId", "maxActive"] as const;

/** The sharding options of the class. It may not set options that `daemons()` and `singleton()` decide. */
function placementOf(type: ActorClass, called: string): ShardedOptions {
  const { placement } = type.options ?? {};
  if (placement === undefined || placement === "hash") return {};
  if (!isSharded(placement)) throw invalidOption(`${called}: the class must have the placement sharded(), or none`);
  for (const key of [...SET_HERE, "remember"] as const) {
    const isNeeded = key === "remember" && placement.remember === true;
    if (placement[key] !== undefined && !isNeeded)
      throw invalidOption(`${called}: sharded({ ${key} }) cannot be set as well`);
  }
  const { kind: _, ...options } = placement;
  return options;
}

function numberOf(id: string): number {
  const number = Number(id);
  if (Number.isSafeInteger(number) && number >= 0 && String(number) === id) return number;
  throw new LimpetError(
    "SHARD_INVALID",
    `daemons are called by their numbers, "0", "1" and so on; got ${JSON.stringify(id)}`,
  );
}

const nameOf = (type: unknown): string => (typeof type === "function" ? type.name : String(type));
