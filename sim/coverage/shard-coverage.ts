// Coverage of shards: every phase of allocation and hand-off, and the loss of each participant in it; see
// coverage.ts. Messages between the leader and the host in its own process are not visible. Other hosts
// exchange the same messages often enough.
import type { ShardHomeChange } from "../../src/ports/store/shards.ts";
import { decodeArguments } from "../../src/wire/link/payloads.ts";
import type { VirtualLinkMessage } from "../../src/world/network/link-messages.ts";
import type { Station } from "../../src/world/network/network.ts";
import type { VirtualControlMessage } from "../../src/world/network/virtual-control.ts";
import type { Process } from "../../src/world/process.ts";
import { isSharded, shardKey, shardKeyOf } from "../checkers/looks.ts";
import type { Life, Observer, Operation, Turn } from "../observer.ts";
import type { Stage } from "../stage.ts";

export const SHARD_COVERAGE = {
  "shard: moved": "a shard was handed over from one host to another",
  "shard: handed over while a turn ran": "a turn of an actor completed while the hand-off of its shard waited for it",
  "shard: turn cut off": "a turn that took longer than the hand-off timeout was cut off",
  "shard: call buffered": "a call was made while its shard moved, and then ran at the new home",
  "shard: call routed again": "a call came to a host that was not the home any more, and ran at the new one",
  "shard: no possible home": "a host got the answer that no host can be the home of a shard",
  "shard: asked again": "a host requested a shard from the next leader because the last one had not answered",
  "shard: asked by a host without the type": "a host that cannot be a home requested the home of a shard",
  "shard: note refused": "a leader learned from a rejected home that another one leads",
  "shard: leader lost while a home is written":
    "a leader ended after it had sent a home to the store, before it notified any host",
  "shard: leader lost while calls are buffered":
    "a leader ended before all hosts had acknowledged that they buffer calls",
  "shard: leader lost while a shard stops":
    "a leader ended before the home of a shard had reported that the shard is stopped",
  "shard: home lost while calls are buffered": "a home ended before all hosts had acknowledged that they buffer calls",
  "shard: home lost while it stops": "a home ended before it had reported that a shard is stopped",
  "shard: home lost when it had stopped": "a home ended just after it had reported that a shard is stopped",
  "shard: new home lost before its first call": "the new home of a shard ended before the first turn there",
  "shard: leader slept through a move": "a leader slept in the middle of a hand-over",
  "shard: home slept through a move": "a home slept in the middle of a hand-over",
  "shard: back without a call": "a remembered actor became active without a call",
  "shard: forgotten": "a remembered actor passivated itself and was forgotten",
  "shard: replaced in calm times": "a host was replaced while its actors were called, and no call failed",
} as const satisfies Record<string, string>;

type ShardSituation = keyof typeof SHARD_COVERAGE;
type HostSent = Extract<VirtualControlMessage, { about: "host" }>["message"];
type LeaderSent = Extract<VirtualControlMessage, { about: "scheduler" }>["message"];

interface Moving {
  phase: "buffering" | "stopping" | "stopped" | "persisting";
  leader: Process | undefined;
  home: number | undefined;
  readonly since: number;
}

const LOST: {
  readonly [phase in Moving["phase"]]: { readonly leader: ShardSituation; readonly home: ShardSituation };
} = {
  buffering: {
    leader: "shard: leader lost while calls are buffered",
    home: "shard: home lost while calls are buffered",
  },
  stopping: { leader: "shard: leader lost while a shard stops", home: "shard: home lost while it stops" },
  stopped: { leader: "shard: leader lost while a shard stops", home: "shard: home lost when it had stopped" },
  persisting: { leader: "shard: leader lost while a home is written", home: "shard: home lost when it had stopped" },
};

export class ShardCoverage implements Observer {
  readonly #stage: Stage;
  readonly #isOn: boolean;
  readonly #moving = new Map<string, Moving>();
  /** Place of the home by shard, as last announced. */
  readonly #homes = new Map<string, number>();
  /** Shards without a turn yet, by the place of their new home. */
  readonly #fresh = new Map<number, Set<string>>();
  /** The leader that has not answered a request yet, by host and shard. */
  readonly #requested = new Map<string, number>();
  readonly #turnedAway = new Set<unknown>();
  readonly #movedAt = new Map<string, { readonly since: number; readonly until: number }>();

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#isOn = stage.plan.sharded !== undefined;
    if (!this.#isOn) return;
    stage.world.database.watchers.push({
      asks: (station, question) => {
        if (question === "note homes") this.#persisting(station as Process);
      },
      remembered: (_station, _home, changes) => {
        if (changes.some(({ isKept }) => !isKept)) this.#stage.reach("shard: forgotten");
      },
      notedHomes: (station, _term, changes, isCurrent) => this.#persisted(station, changes, isCurrent),
    });
  }

  // ——— The store.

  #persisting(leader: Process): void {
    for (const moving of this.#moving.values()) {
      if (moving.phase === "stopped" && moving.leader === leader) moving.phase = "persisting";
    }
  }

  #persisted(_station: Station, _changes: readonly ShardHomeChange[], isCurrent: boolean): void {
    if (!isCurrent) this.#stage.reach("shard: note refused");
  }

  // ——— Lives and turns.

  activated(life: Life): void {
    if (this.#stage.plan.sharded?.[life.type]?.remember !== true) return;
    const isOurs = ({ namespace, call }: Operation): boolean =>
      call.type === life.type && call.id === life.id && namespace === life.namespace;
    const isCalled = this.#stage.operations.some((one) => one.outcome === undefined && isOurs(one));
    if (!isCalled) this.#stage.reach("shard: back without a call");
  }

  turnBegan({ life, op }: Turn): void {
    const shard = this.#isOn ? shardKeyOf(this.#stage.plan, life) : undefined;
    if (shard === undefined) return;
    this.#fresh.get(life.process.place)?.delete(shard);
    const moved = this.#movedAt.get(shard);
    const operation = this.#stage.operations.findLast(({ token }) => token === op);
    if (operation === undefined || moved === undefined) return;
    if (operation.beganAt > moved.since && operation.beganAt < moved.until) this.#stage.reach("shard: call buffered");
    if (this.#turnedAway.has(op)) this.#stage.reach("shard: call routed again");
  }

  turnEnded({ life, beganAt }: Turn): void {
    const shard = this.#isOn ? shardKeyOf(this.#stage.plan, life) : undefined;
    const moving = shard === undefined ? undefined : this.#moving.get(shard);
    if (moving !== undefined && moving.phase === "stopping" && beganAt < moving.since) {
      this.#stage.reach("shard: handed over while a turn ran");
    }
  }

  answered({ call, outcome }: Parameters<NonNullable<Observer["answered"]>>[0]): void {
    if (!isSharded(this.#stage.plan, call.type) || outcome === undefined || !("error" in outcome)) return;
    if (String(outcome.error).includes("while its actor moved")) this.#stage.reach("shard: turn cut off");
  }

  // ——— Lost processes.

  gone(_host: unknown, process: Process): void {
    for (const [shard, { phase, leader, home }] of this.#moving) {
      if (process === leader) this.#stage.reach(LOST[phase].leader);
      if (process.place === home) this.#stage.reach(LOST[phase].home);
      if (process === leader || process.place === home) this.#moving.delete(shard);
    }
    if ((this.#fresh.get(process.place)?.size ?? 0) > 0)
      this.#stage.reach("shard: new home lost before its first call");
    this.#fresh.delete(process.place);
  }

  slept(process: Process): void {
    for (const { leader, home } of this.#moving.values()) {
      if (process === leader) this.#stage.reach("shard: leader slept through a move");
      if (process.place === home) this.#stage.reach("shard: home slept through a move");
    }
  }

  // ——— Messages.

  sent(process: Process, to: number, message: unknown): void {
    if (!this.#isOn) return;
    const sent = message as VirtualControlMessage | VirtualLinkMessage;
    if ("kind" in sent) {
      if (sent.kind === "call" && sent.call.hops > 0 && isSharded(this.#stage.plan, sent.call.type)) {
        this.#turnedAway.add(decodeArguments(sent.call.args as never)[0]);
      }
    } else if (sent.about === "host") this.#sentByHost(process, to, sent.message);
    else if (sent.about === "scheduler") this.#sentByLeader(process, to, sent.message);
  }

  #playerAt(place: number): Stage["players"][number] | undefined {
    return this.#stage.players.find(({ host }) => host.place === place);
  }

  #sentByHost(process: Process, to: number, word: HostSent): void {
    const { planned, types } = this.#playerAt(process.place)!;
    if (word.kind === "getShardHomes") {
      if (!types.includes(word.type)) this.#stage.reach("shard: asked by a host without the type");
      for (const shard of word.shards) {
        const key = `${process.number} ${shardKey(planned.namespace, word.type, shard)}`;
        const before = this.#requested.get(key);
        if (before !== undefined && before !== to) this.#stage.reach("shard: asked again");
        this.#requested.set(key, to);
      }
    }
    if (word.kind !== "shardStopped") return;
    const moving = this.#moving.get(shardKey(planned.namespace, word.type, word.shard));
    if (moving !== undefined) Object.assign(moving, { phase: "stopped", home: process.place });
  }

  #sentByLeader(leader: Process, to: number, word: LeaderSent): void {
    if (word.kind !== "shardHomes" && word.kind !== "beginHandOff" && word.kind !== "handOff") return;
    const player = this.#playerAt(to)!;
    const { namespace } = player.planned;
    if (word.kind === "shardHomes") {
      for (const { shard, host } of word.homes) {
        const key = shardKey(namespace, word.type, shard);
        this.#requested.delete(`${player.host.process?.number} ${key}`);
        this.#announced(key, host?.address);
      }
      return;
    }
    const key = shardKey(namespace, word.type, word.shard);
    const known = this.#moving.get(key);
    if (word.kind === "beginHandOff") {
      if (known?.leader === leader) return;
      const since = this.#stage.now;
      this.#moving.set(key, { phase: "buffering", leader, home: this.#homes.get(key), since });
    } else if (known !== undefined) Object.assign(known, { phase: "stopping", home: to });
  }

  #announced(key: string, address: string | undefined): void {
    const moving = this.#moving.get(key);
    this.#moving.delete(key);
    if (address === undefined) {
      this.#stage.reach("shard: no possible home");
      return;
    }
    const place = this.#stage.players.find(({ host }) => host.process?.app?.host.status().address === address)?.host
      .place;
    if (place === undefined) return;
    const before = this.#homes.get(key);
    if (moving !== undefined) {
      this.#movedAt.set(key, { since: moving.since, until: this.#stage.now });
      if (moving.home !== undefined && moving.home !== place) this.#stage.reach("shard: moved");
    }
    this.#homes.set(key, place);
    if (before === place) return;
    const fresh = this.#fresh.get(place) ?? new Set<string>();
    this.#fresh.set(place, fresh.add(key));
  }
}
