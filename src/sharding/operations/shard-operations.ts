// Views and commands of operators for the shards of one namespace, on the leader.
import { LimpetError } from "../../kernel/errors.ts";
import { meantHost, type ShardHostInfo } from "../../kernel/shard-strategy.ts";
import { checkPlace } from "../../kernel/shards.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaderNamespace, ShardRequests } from "../../ports/cluster/leader-feature.ts";
import type { ShardPlace, ShardSteering, ShardsOfHost, ShardsView } from "../../ports/shard-admin.ts";
import type { ShardHomeChange } from "../../ports/store/shards.ts";
import type { CoordinatorDriver } from "../leader/coordinator-driver.ts";
import type { Counted } from "../leader/shard-stats.ts";
import type { ShardedType } from "../leader/sharded-type.ts";
import { assignedRow, pausedRow } from "../model/steering-rows.ts";

export interface ShardOperationsDeps extends Pick<LeaderNamespace, "namespace" | "host" | "hosts"> {
  readonly clock: Clock;
  requestStats(hosts: readonly string[], type: string, question: number): void;
  /** Calls back when the change is durable; never, if the term ends before. */
  persist(change: ShardHomeChange, written: () => void): void;
}

export class ShardOperations implements ShardRequests {
  readonly #leader: CoordinatorDriver;
  readonly #deps: ShardOperationsDeps;

  constructor(leader: CoordinatorDriver, deps: ShardOperationsDeps) {
    this.#leader = leader;
    this.#deps = deps;
  }

  #known(type: string): ShardedType {
    const known = this.#leader.types.get(type);
    if (known !== undefined) return known;
    const hosts = [...this.#deps.hosts()].filter(({ types, held }) => types.has(type) || held.has(type));
    if (hosts.length > 0 && hosts.every(({ stream }) => stream === undefined)) {
      throw new LimpetError("NOT_READY", `no host of ${type} has connected to the new leader yet; retry`);
    }
    throw new LimpetError("NOT_SHARDED", `no host has actors of ${type} that live in shards`);
  }

  // ——— Views.

  async view(type: string, now: number): Promise<ShardsView> {
    const known = this.#known(type);
    const connected = [...this.#homes(known).keys()].filter((host) => this.#deps.host(host)?.stream !== undefined);
    const stats = this.#leader.stats.begin(type, connected, now, (question) =>
      this.#deps.requestStats(connected, type, question),
    );
    return this.#view(type, known, await stats);
  }

  /** All homes, and all hosts that may be homes. */
  #homes({ shards }: ShardedType): Map<string, number[]> {
    const byHost = new Map(shards.regions().map(({ incarnation }) => [incarnation, [] as number[]]));
    for (const [shard, host] of shards.homes) {
      const held = byHost.get(host);
      if (held === undefined) byHost.set(host, [shard]);
      else held.push(shard);
    }
    return byHost;
  }

  #view(type: string, known: ShardedType, counts: ReadonlyMap<string, Counted>): ShardsView {
    const { rule, shards, assigned, moves, faults } = known;
    const now = this.#deps.clock.monotonic();
    const mayBe = new Set(shards.regions().map(({ incarnation }) => incarnation));
    const addressOf = (host: string): string => this.#deps.host(host)?.address ?? host;
    const hosts = [...this.#homes(known)].map(([host, held]): ShardsOfHost => {
      const { name = "", build = "" } = this.#deps.host(host) ?? {};
      held.sort((a, b) => a - b);
      const counted = counts.get(host);
      const actors = counted && held.map((shard) => counted.get(shard) ?? 0);
      const leaving = !mayBe.has(host);
      return { address: addressOf(host), name, incarnation: host, build, leaving, shards: held, actors };
    });
    return {
      type,
      shards: rule.shards,
      strategy: rule.strategy.kind,
      paused: shards.isPaused,
      hosts: hosts.sort((a, b) => (a.address < b.address ? -1 : 1)),
      moving: shards.moves().map(({ shard, phase, reason, from, to, startedAt, waitsFor }) => ({
        shard,
        phase,
        reason,
        from: addressOf(from),
        to: to === undefined ? undefined : addressOf(to),
        forMs: Math.max(Math.round(now - startedAt), 0),
        waitsFor: waitsFor.map(addressOf),
      })),
      moved: moves.toReversed(),
      told: [...assigned].sort(([a], [b]) => a - b).map(([shard, host]) => ({ shard, host })),
      faults,
    };
  }

  // ——— Commands.

  /** Resolves when the command is durable, or has begun. */
  async steer(type: string, steering: ShardSteering, now: number): Promise<void> {
    const known = this.#known(type);
    switch (steering.kind) {
      case "move":
        this.#move(type, known, steering, now);
        break;
      case "pause": {
        known.shards.pause(steering.paused, now);
        await this.#persisted([pausedRow(type, steering.paused)]);
        break;
      }
      case "allocate":
        await this.#allocate(type, known, steering.places);
    }
  }

  #move(type: string, known: ShardedType, { shard, host }: { shard: number; host: string }, now: number): void {
    const { shards } = known;
    checkShard(type, known, shard, host);
    const to = meantHost(host, shards.regions());
    if (to === undefined) throw unknownHost(type, host, shards.regions());
    const isMoving = shards.moving.has(shard);
    if (!isMoving && shards.homeOf(shard) === to.incarnation) return;
    const effects = shards.moveByHand(shard, to.incarnation, now);
    if (effects !== undefined) {
      this.#leader.perform(type, effects, now);
      return;
    }
    const why = isMoving ? "moves already" : "has no home yet, so it cannot move";
    throw new LimpetError("NOT_READY", `shard ${shard} of ${type} ${why}`);
  }

  async #allocate(type: string, known: ShardedType, places: readonly ShardPlace[]): Promise<void> {
    const { kind } = known.rule.strategy;
    if (kind !== "external") {
      const cure = `set placement: sharded({ strategy: "external" }) in its class`;
      throw new LimpetError(
        "ARGUMENT_INVALID",
        `the strategy of ${type} must be "external" to assign its shards; got "${kind}"; ${cure}`,
      );
    }
    for (const { shard, host = "anywhere" } of places) checkShard(type, known, shard, host);
    await this.#persisted(places.map(({ shard, host }) => assignedRow(type, shard, host)));
    for (const { shard, host } of places) {
      if (host === undefined) known.assigned.delete(shard);
      else known.assigned.set(shard, host);
    }
    known.shards.rebalanceSoon(this.#deps.clock.monotonic());
  }

  async #persisted(rows: readonly Omit<ShardHomeChange, "namespace">[]): Promise<void> {
    const { namespace, persist } = this.#deps;
    await Promise.all(rows.map((row) => new Promise<void>((done) => persist({ namespace, ...row }, done))));
  }
}

function checkShard(type: string, { rule }: ShardedType, shard: number, host: string): void {
  checkPlace(shard, host);
  if (shard < rule.shards) return;
  throw new LimpetError("ARGUMENT_INVALID", `a shard of ${type} must be from 0 to ${rule.shards - 1}; got ${shard}`);
}

/** Maximum number of hosts listed in an error. */
const SHOWN = 10;

function unknownHost(type: string, host: string, hosts: readonly ShardHostInfo[]): LimpetError {
  const named = hosts.filter(({ name }) => name === host);
  const what =
    named.length > 1
      ? `several hosts of ${type} are called ${host}; use the address of one: ${listed(named)}`
      : `no host of ${type} is called ${host}; there ${hosts.length === 1 ? "is" : "are"} ${listed(hosts)}`;
  return new LimpetError("HOST_UNKNOWN", what);
}

function listed(hosts: readonly ShardHostInfo[]): string {
  const shown = hosts.slice(0, SHOWN).map(({ name, address }) => (name === "" ? address : `${name} (${address})`));
  const rest = hosts.length > SHOWN ? `, and ${hosts.length - SHOWN} more` : "";
  return shown.length === 0 ? "none" : shown.join(", ") + rest;
}
