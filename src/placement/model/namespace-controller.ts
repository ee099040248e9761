// All decisions of the leader for one namespace. Connects the hosts (connection-controller.ts), the rounds of
// types (type-rounds.ts) and the sticky actors (sticky-coordinator.ts). It never reads another namespace.
//
// A driver feeds it inputs with the time and performs the returned effects in their order. Pure.
import { invariant } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import {
  type ChangeReason,
  type Hello,
  type HostMessage,
  NOWHERE,
  type TypeTable,
} from "../../ports/control-messages.ts";
import type { ActorTypeController } from "./actor-type-controller.ts";
import {
  ConnectionController,
  describeRecord,
  type HostAdmission,
  type HostRecord,
  type KnownMember,
} from "./connection-controller.ts";
import type { Effect } from "./leader-effects.ts";
import { StickyCoordinator } from "./sticky-coordinator.ts";
import { agreeOn, disagreementOf, type TypeReport, tooManyTypes } from "./type-agreement.ts";
import { type RoundSettings, TypeRounds } from "./type-rounds.ts";

export interface NamespaceSettings extends RoundSettings {
  /** `fast` trusts a closed connection; commits stay fenced either way. */
  readonly failover: "lease" | "fast";
}

export class NamespaceController {
  readonly #settings: NamespaceSettings;
  readonly #connections: ConnectionController;
  readonly #rounds: TypeRounds;
  readonly sticky: StickyCoordinator;
  /** Hosts whose snapshot waits until their types are recorded. */
  readonly #uninformed = new Set<string>();

  /**
   * Reports whether the host is the home of shards of the type, so that it may hold actors regardless of the
   * tables. Set by the driver of shards.
   */
  isHome: (incarnation: string, type: string) => boolean = () => false;

  /**
   * `members` were recorded by an earlier leader; the controller waits for them until `waitUntil` at most.
   */
  constructor(settings: NamespaceSettings, members: readonly KnownMember[], waitUntil: number) {
    this.#settings = settings;
    this.#connections = new ConnectionController(settings.leaseMs);
    this.#rounds = new TypeRounds(settings, {
      connections: this.#connections,
      settled: (type, tookMs, effects) => this.#settled(type, tookMs, effects),
    });
    this.sticky = new StickyCoordinator({
      host: (incarnation) => this.#connections.host(incarnation),
      table: (type) => this.#rounds.get(type)?.table,
    });
    for (const member of members) {
      this.#connections.expect(member, waitUntil);
      this.sticky.owners.expect(member.incarnation, member.types);
      for (const type of member.types) this.#rounds.of(type);
    }
  }

  /** Time of the next `tick` that has work. */
  get deadline(): number {
    return Math.min(this.#connections.deadline, this.sticky.owners.deadline, this.#rounds.deadline);
  }

  view(): { readonly hosts: readonly HostRecord[]; readonly types: readonly ActorTypeController[] } {
    return { hosts: [...this.#connections.hosts], types: [...this.#rounds.all] };
  }

  /** The host connected by that stream. */
  speaker(stream: number): HostRecord | undefined {
    return this.#connections.of(stream);
  }

  host(incarnation: string): HostRecord | undefined {
    return this.#connections.host(incarnation);
  }

  get hosts(): Iterable<HostRecord> {
    return this.#connections.hosts;
  }

  table(type: string): TypeTable | undefined {
    return this.#rounds.get(type)?.table;
  }

  // ——— Inputs.

  hello(stream: number, hello: Hello, now: number): Effect[] {
    const effects: Effect[] = [];
    if (hello.types.length > LIMITS.typesPerHost) {
      return [{ kind: "close", stream, code: "PROTOCOL", why: tooManyTypes(hello.types) }];
    }
    const before = hello.replaces === undefined ? undefined : this.#connections.host(hello.replaces);
    if (before !== undefined) this.#remove(before, "leave", "it came back as a new incarnation", now, effects, true);
    const disagreement = disagreementOf(hello.incarnation, hello, this.#connections, this.sticky.owners);
    if (disagreement !== undefined) {
      effects.push({ kind: "close", stream, code: "OPTION_INVALID", why: disagreement });
      return this.#finish(effects, now);
    }
    const admission = this.#admit(stream, hello, now);
    if (admission.kind === "removed") {
      effects.push({ kind: "send", streams: [stream], message: { kind: "removed", reason: admission.reason } });
      return this.#finish(effects, now);
    }
    if (admission.kind === "refused") {
      effects.push({ kind: "close", stream, code: "ADDRESS_IN_USE", why: admission.reason });
      return this.#finish(effects, now);
    }
    const { host, stale } = admission;
    if (host.stream !== stream)
      invariant(false, `a host is admitted on the stream of its hello; ${describeRecord(host)}`);
    if (stale !== undefined)
      effects.push({ kind: "close", stream: stale, code: "PROTOCOL", why: "the host has a newer stream" });
    effects.push({ kind: "host", event: host.held.size > 0 ? "returned" : "joined", host, why: "" });
    this.#agree(hello.incarnation, hello, now, effects);
    this.sticky.hostJoined(host);
    for (const type of host.types) this.#rounds.of(type);
    this.#rounds.welcome(stream, effects);
    this.#persist(host, effects);
    // A new host gets its snapshot after its types are persisted, so that the snapshot has the rings that
    // name the host. A host that comes back may hold actors, and must get every round at once.
    if (host.persisting === undefined || !host.isFresh) this.#rounds.inform(host, effects);
    else this.#uninformed.add(host.incarnation);
    this.#changed(new Set([...host.types, ...host.held]), "join", now);
    this.#forget(host, effects);
    return this.#finish(effects, now);
  }

  /** Hosts that joined in this term and report different settings are evicted. */
  #agree(incarnation: string, report: TypeReport, now: number, effects: Effect[]): void {
    for (const [host, type] of agreeOn(incarnation, report, this.#connections, this.sticky.owners)) {
      const why = `${type} has hosts with another setting; all hosts of a type must have the same setting`;
      // It may hold actors of its other types, so the leader waits for its lease.
      this.#cutOff(host, "OPTION_INVALID", why, now, effects);
    }
  }

  /** A removed host that a table still lists may regard itself as an owner, even if it reports no types. */
  #admit(stream: number, hello: Hello, now: number): HostAdmission {
    const { incarnation } = hello;
    const isRemoved = this.#connections.host(incarnation) === undefined && this.#rounds.names(incarnation);
    if (isRemoved) return { kind: "removed", reason: "this incarnation is no member of the cluster any more" };
    return this.#connections.hello(stream, hello, now);
  }

  message(stream: number, message: Exclude<HostMessage, Hello>, now: number): Effect[] {
    const host = this.#connections.of(stream);
    if (host === undefined) return [];
    const effects: Effect[] = [];
    switch (message.kind) {
      case "types":
        this.#report(host, message, now, effects);
        break;
      case "ack":
        this.#rounds.acked(host, message, now, effects);
        break;
      case "renew":
        if (this.#connections.renew(host, message.actors, now)) {
          effects.push({ kind: "send", streams: [stream], message: { kind: "renewed", sequence: message.sequence } });
        }
        break;
      case "acquire":
        this.sticky.acquire(host, stream, message.requests, now);
        break;
      case "claims":
        effects.push(...this.sticky.claims(host, message));
        effects.push({ kind: "send", streams: [stream], message: { kind: "acknowledged", part: message.part } });
        break;
      case "claimed":
        this.sticky.claimed(host, now);
        break;
      case "released":
        this.sticky.released(host, message.type, message.ids, now);
        break;
      case "goodbye":
        this.#remove(host, "leave", "it said goodbye", now, effects);
        break;
      case "getShardHomes":
      case "beginHandOffAck":
      case "shardStopped":
      case "shardStarted":
      case "leaveShards":
        // Handled by the driver of shards.
        break;
    }
    return this.#finish(effects, now);
  }

  closed(stream: number, now: number): Effect[] {
    const effects: Effect[] = [];
    const host = this.#connections.closed(stream);
    if (host === undefined) return effects;
    this.sticky.closed(host);
    const nothing = host.held.size === 0 && host.persisting === undefined;
    if (nothing || this.#settings.failover === "fast") this.#remove(host, "lost", "its stream ended", now, effects);
    else effects.push({ kind: "host", event: "suspect", host, why: "its stream ended without a goodbye" });
    return this.#finish(effects, now);
  }

  /** The record of the host's types is durable. */
  saved(incarnation: string, types: readonly string[], now: number): Effect[] {
    const host = this.#connections.host(incarnation);
    const effects: Effect[] = [];
    if (host === undefined) return [{ kind: "drop", incarnation }];
    if (host.state === "expected")
      invariant(false, `a host has connected before its types are persisted; ${describeRecord(host)}`);
    host.persisting = undefined;
    host.held = new Set(types);
    if (host.state === "joining") host.state = "member";
    this.#connections.refresh(host);
    this.sticky.stir();
    this.#persist(host, effects);
    this.#changed(host.held, "join", now);
    this.#forget(host, effects);
    return this.#finish(effects, now);
  }

  /** The host's process has ended: none of its actors can be left. */
  dead(incarnation: string, now: number): Effect[] {
    const effects: Effect[] = [];
    const host = this.#connections.host(incarnation);
    if (host !== undefined) this.#remove(host, "lost", "its process has ended", now, effects);
    return this.#finish(effects, now);
  }

  /**
   * An operator requests that a host, by address or name, hands over its actors. Undefined: there is no such
   * host.
   */
  drain(which: string): Effect[] | undefined {
    const streams = this.#connections.named(which).flatMap(({ stream }) => (stream === undefined ? [] : [stream]));
    return streams.length === 0 ? undefined : [{ kind: "send", streams, message: { kind: "drain" } }];
  }

  tick(now: number): Effect[] {
    const effects: Effect[] = [];
    this.sticky.tick(now);
    for (const host of this.#connections.expired(now)) this.#remove(host, "lost", "its lease is over", now, effects);
    this.#rounds.tick(now, (incarnations) => this.#evict(incarnations, now, effects), effects);
    return this.#finish(effects, now);
  }

  // ——— Hosts.

  #report(host: HostRecord, report: TypeReport, now: number, effects: Effect[]): void {
    const { types } = report;
    const tooMany = types.length > LIMITS.typesPerHost;
    if (tooMany || (types.length > 0 && host.address === NOWHERE)) {
      const why = tooMany ? tooManyTypes(types) : "a host that has types needs an address";
      effects.push({ kind: "close", stream: host.stream!, code: "PROTOCOL", why });
      return;
    }
    const disagreement = disagreementOf(host.incarnation, report, this.#connections, this.sticky.owners);
    if (disagreement !== undefined) {
      effects.push({ kind: "close", stream: host.stream!, code: "OPTION_INVALID", why: disagreement });
      return;
    }
    this.#agree(host.incarnation, report, now, effects);
    const touched = new Set([...host.types, ...types]);
    host.types = new Set(types);
    host.sticky = report.sticky ?? new Map();
    host.sharded = report.sharded ?? new Map();
    this.#connections.refresh(host);
    this.#persist(host, effects);
    this.#changed(touched, "types", now);
    this.#forget(host, effects);
  }

  /** Persists the types of a host before the host may hold actors of them. One write at a time. */
  #persist(host: HostRecord, effects: Effect[]): void {
    if (host.persisting !== undefined || [...host.types].every((type) => host.held.has(type))) return;
    host.persisting = new Set([...host.held, ...host.types]);
    effects.push({ kind: "save", host, types: [...host.persisting].sort(), isKnown: host.held.size > 0 });
  }

  #evict(incarnations: readonly string[], now: number, effects: Effect[]): void {
    for (const incarnation of incarnations) {
      const host = this.#connections.host(incarnation);
      if (host === undefined || host.state === "evicted") continue;
      this.#cutOff(host, "NOT_READY", "it did not follow an order in time", now, effects);
    }
  }

  /** The leader stops answering the host's renewals, so its lease ends. */
  #cutOff(host: HostRecord, code: "NOT_READY" | "OPTION_INVALID", why: string, now: number, effects: Effect[]): void {
    if (host.state === "evicted") return;
    const { stream } = host;
    this.#connections.evict(host);
    effects.push({ kind: "host", event: "evicted", host, why });
    if (stream !== undefined) effects.push({ kind: "close", stream, code, why });
    this.#changed(new Set([...host.types, ...host.held]), "evicted", now);
  }

  /** `isLost`: the host may have held sticky actors to its end. */
  #remove(
    host: HostRecord,
    reason: ChangeReason,
    why: string,
    now: number,
    effects: Effect[],
    isLost = reason === "lost",
  ): void {
    const { stream } = host;
    this.#connections.remove(host);
    this.sticky.gone(host, isLost, now);
    effects.push({ kind: "host", event: "removed", host, why });
    if (stream !== undefined && reason === "lost") {
      effects.push({ kind: "send", streams: [stream], message: { kind: "removed", reason: why } });
    }
    if (host.held.size > 0 || host.persisting !== undefined)
      effects.push({ kind: "drop", incarnation: host.incarnation });
    const touched = new Set([...host.types, ...host.held]);
    this.#rounds.gone(host, touched, now, effects);
    this.#changed(touched, reason, now);
  }

  // ——— Types.

  /** Computes the hosts of these types again, and opens types whose holders are all known now. */
  #changed(types: ReadonlySet<string>, reason: ChangeReason, now: number): void {
    for (const type of types) {
      const controller = this.#rounds.of(type);
      controller.sticky = this.sticky.owners.isSticky(type);
      const rule = this.#connections.shardedRule(type);
      controller.shards = rule?.shards ?? controller.shards;
      controller.ownShards = rule?.ownShards ?? controller.ownShards;
      if (controller.phase === "closed" && this.#connections.isKnown(type)) this.#rounds.open(controller, now);
      if (this.#connections.isAwaited(type)) controller.hold();
      else controller.want(this.#connections.eligible(type), reason, now);
    }
  }

  /** Last step of every input: begins the rounds that can begin. */
  #finish(effects: Effect[], now: number): Effect[] {
    if (this.#rounds.begin(now, effects)) this.sticky.stir();
    for (const incarnation of this.#uninformed) this.#inform(incarnation, effects);
    // Sent after the tables: a host must have the table that lists an owner before it learns of the owner.
    effects.push(...this.sticky.finish(now));
    return effects;
  }

  /**
   * The host's types are persisted, and the rounds that follow have begun: sends its snapshot, if its stream
   * is open and has none.
   */
  #inform(incarnation: string, effects: Effect[]): void {
    const host = this.#connections.host(incarnation);
    if (host !== undefined && host.stream !== undefined && !host.isInformed && host.state !== "evicted") {
      const isSoon = [...host.types].some((type) => this.#rounds.get(type)?.isPending);
      if (host.persisting !== undefined || isSoon) return;
      this.#rounds.inform(host, effects);
    }
    this.#uninformed.delete(incarnation);
  }

  /** A finished round has shown which hosts hold nothing of the type any more. */
  #settled(type: string, tookMs: number, effects: Effect[]): void {
    effects.push({ kind: "settled", type, tookMs });
    for (const host of this.#connections.holdersOf(type)) {
      if (!host.types.has(type) && !this.#mayHold(host, type)) this.#forget(host, effects);
    }
  }

  /** The host has handed over its last shard. */
  handedOver(incarnation: string, now: number): Effect[] {
    const effects: Effect[] = [];
    const host = this.#connections.host(incarnation);
    if (host !== undefined) this.#forget(host, effects);
    return this.#finish(effects, now);
  }

  #mayHold(host: HostRecord, type: string): boolean {
    return this.#rounds.mayHold(host, type) || this.isHome(host.incarnation, type);
  }

  /**
   * Removes types from the record that the host neither reports nor can hold. A write in progress is checked
   * when it is done.
   */
  #forget(host: HostRecord, effects: Effect[]): void {
    if (host.persisting !== undefined) return;
    const left = new Set([...host.held].filter((type) => host.types.has(type) || this.#mayHold(host, type)));
    if (left.size === host.held.size) return;
    host.held = left;
    this.#connections.refresh(host);
    if (left.size === 0) {
      effects.push({ kind: "drop", incarnation: host.incarnation });
    } else {
      host.persisting = left;
      effects.push({ kind: "save", host, types: [...left].sort(), isKnown: true });
    }
  }
}
