// A host's membership in the cluster: keeps one stream to the leader, reports its types, and drops its actors
// when it must.
//
// One rule covers every failure: actors continue as long as the lease lasts (lease-keeper.ts), regardless of
// the stream and the leader. When the lease is over, the host drops everything and comes back as a new
// incarnation. order-follower.ts executes the orders, and placement-resolver.ts answers the router.
import { backoffMs } from "../../kernel/backoff.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { ActorHost } from "../../ports/actor-host.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ShardHostFeature } from "../../ports/cluster/host-feature.ts";
import type { ControlStream, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ProcessIdentity } from "../../ports/store/coordination.ts";
import type { Leader, LeaderSource } from "../discovery/leader-source.ts";
import type { HostLease } from "../model/host-lease.ts";
import type { HostTables } from "../model/host-tables.ts";
import type { StickyClient } from "../sticky/sticky-client.ts";
import { ConditionWaits } from "./condition-waits.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import type { HostInstruments } from "./metrics.ts";
import { OrderFollower } from "./order-follower.ts";
import { hostedTypes } from "./roles.ts";

export interface MembershipSettings {
  readonly namespace: string;
  /** Address at which other hosts call this one. */
  readonly address: string;
  readonly name: string;
  /** Build id; empty or left out: unknown. */
  readonly build?: string;
  /** Roles of this host. Left out: none. */
  readonly roles?: readonly string[];
  readonly moveTimeoutMs: number;
}

export interface MembershipDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly identity: ProcessIdentity;
  readonly instruments: HostInstruments;
  readonly source: LeaderSource;
  readonly catalog: ActorHost;
  readonly tables: HostTables;
  readonly lease: HostLease;
  readonly sticky: StickyClient;
  readonly shards: ShardHostFeature;
  /** Waiting calls may be routed now. Empty: all types. */
  changed(types: readonly string[]): void;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;
/** The host gives up on a leader that has not sent welcome within this time. */
const WELCOME_MS = 3_000;

export class Membership {
  readonly #address: string;
  readonly #settings: MembershipSettings;
  readonly #deps: MembershipDeps;
  readonly #tables: HostTables;
  readonly #lease: HostLease;
  readonly #keeper: LeaseKeeper;
  #incarnation: string;
  #replaces: string | undefined;
  #types: readonly string[];
  #stream: ControlStream<HostMessage> | undefined;
  /** The leader at the other end of the last stream. */
  #leader: Leader | undefined;
  #welcome = false;
  #failures = 0;
  #retry: Timer | undefined;
  readonly #orders: OrderFollower;
  readonly #sticky: StickyClient;
  readonly #shards: ShardHostFeature;
  readonly #waits: ConditionWaits;
  #refusal: string | undefined;
  #isAtOdds = false;
  /** An operator wants it to hold as little as possible. */
  #draining = false;
  #stopped = false;

  constructor(settings: MembershipSettings, deps: MembershipDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#address = settings.address;
    this.#tables = deps.tables;
    this.#lease = deps.lease;
    this.#sticky = deps.sticky;
    this.#shards = deps.shards;
    this.#waits = new ConditionWaits(deps.clock);
    this.#keeper = new LeaseKeeper({
      ...deps,
      gained: () => deps.changed([]),
      kept: () => this.#keptLease(),
      lost: () => this.#loseLease(),
    });
    this.#orders = new OrderFollower(this.#tables, this.#sticky, settings, deps);
    this.#incarnation = deps.random.id();
    this.#types = hostedTypes(deps.catalog.types.values(), settings.roles ?? []);
  }

  start(): void {
    this.#deps.source.onChange = () => this.#leaderChanged();
    this.#connect();
  }

  get incarnation(): string {
    return this.#incarnation;
  }

  /** Other hosts of a type report different settings: this host cannot join them as it is. */
  get disagreement(): string | undefined {
    return this.#isAtOdds ? this.#refusal : undefined;
  }

  /** Reason why the host is not ready; undefined when it is. */
  get problem(): string | undefined {
    if (this.#refusal !== undefined) return this.#refusal;
    if (this.#deps.source.leader === undefined) return this.#deps.source.problem;
    if (!this.#lease.held) return "it has no lease yet";
    if (!this.#tables.informed || !this.#tables.hasAll(this.#types))
      return "it waits for a table of every type it hosts";
    return this.#shards.problem;
  }

  /** Resolves to true when the condition holds; to false on timeout. */
  until(condition: () => boolean, ms: number): Promise<boolean> {
    return this.#waits.until(condition, ms);
  }

  /** A condition that a caller of `until` waits for may hold now. */
  notify(): void {
    this.#waits.notify();
  }

  // ——— The stream.

  #leaderChanged(): void {
    this.#failures = 0;
    this.#keeper.leaderChanged();
    // A stream to a leader that stepped down ends by itself; any other stream is still useful.
    if (this.#stream === undefined) this.#connect();
    this.notify();
  }

  #connect(): void {
    this.#retry?.cancel();
    const { leader } = this.#deps.source;
    if (this.#stopped || this.#stream !== undefined || leader === undefined || this.#keeper.isPending) return;
    const stream: ControlStream<HostMessage> = leader.report({
      message: (message) => this.#received(stream, message),
      closed: (error) => this.#closed(stream, error),
    });
    this.#stream = stream;
    this.#leader = leader;
    this.#welcome = false;
    stream.send({
      kind: "hello",
      namespace: this.#settings.namespace,
      incarnation: this.#incarnation,
      replaces: this.#replaces,
      address: this.#address,
      name: this.#settings.name,
      types: this.#types,
      sticky: this.#sticky.rules(),
      sharded: this.#shards.rules(),
      build: this.#settings.build || undefined,
      confirmsHomes: true,
      unlocked: this.#tables.unlocked(),
      ...this.#deps.identity,
    });
    this.#retry = this.#deps.clock.after(
      WELCOME_MS,
      () => {
        if (!this.#welcome) this.#leave(stream, "it did not send welcome in time");
      },
      "background",
    );
  }

  #closed(stream: ControlStream<HostMessage>, error: Error | undefined): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    this.#sticky.disconnected();
    this.#shards.disconnected();
    this.#keeper.pause();
    if (this.#stopped) return;
    if (error !== undefined && !isLimpetError(error, "NOT_LEADER")) {
      // The host retries while there is no leader; one warning is enough.
      const level = this.#failures === 0 ? "warn" : "debug";
      this.#deps.log[level]("leader.disconnected", { err: error });
    }
    this.#isAtOdds = isLimpetError(error, "OPTION_INVALID");
    this.#refusal = this.#isAtOdds || isLimpetError(error, "ADDRESS_IN_USE") ? error!.message : undefined;
    this.#deps.source.recheck();
    this.#later();
    this.#keeper.closed(isLimpetError(error, "NOT_LEADER"));
    this.notify();
  }

  /** Randomized, because all hosts reconnect when a new leader appears. */
  #later(): void {
    const ms = backoffMs(this.#failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) * (0.5 + this.#deps.random.number());
    this.#retry?.cancel();
    this.#retry = this.#deps.clock.after(ms, () => this.#connect(), "background");
  }

  #leave(stream: ControlStream<HostMessage>, why: string): void {
    if (this.#stream !== stream) return;
    stream.close();
    this.#closed(stream, new LimpetError("UNREACHABLE", why));
  }

  // ——— Messages of the leader.

  /** After a bug has shown, the host starts over: its tables cannot be trusted. */
  #received(stream: ControlStream<HostMessage>, message: SchedulerMessage): void {
    try {
      this.#message(stream, message);
    } catch (err) {
      if (!isLimpetError(err, "INVARIANT")) throw err;
      this.#deps.log.error("membership.invariant-broken", { err, message: message.kind });
      this.#startOver();
    }
  }

  #message(stream: ControlStream<HostMessage>, message: SchedulerMessage): void {
    if (this.#stream !== stream || this.#stopped) return;
    switch (message.kind) {
      case "welcome":
        this.#welcomed(stream, message.term, message.leaseMs);
        break;
      case "order":
        this.#orders.follow(message, stream, () => this.#stream === stream);
        if (this.#draining) this.#handOver();
        break;
      case "renewed":
        // Only an answered renewal proves that this stream works.
        if (this.#keeper.renewed(message.sequence, this.#leader)) this.#failures = 0;
        break;
      case "removed":
        this.#deps.log.warn("membership.removed", { why: message.reason });
        this.#startOver();
        break;
      case "drain":
        this.#deps.log.info("drain.requested");
        this.#draining = true;
        this.#handOver();
        break;
      case "shardHomes":
      case "beginHandOff":
      case "handOff":
      case "askStrategy":
      case "getShardStats":
        this.#shards.message(message);
        break;
      default:
        this.#sticky.message(message);
        return;
    }
    this.notify();
  }

  #welcomed(stream: ControlStream<HostMessage>, term: number, leaseMs: number): void {
    if (!this.#tables.accept(term)) {
      this.#refuse(stream, term);
      return;
    }
    this.#welcome = true;
    this.#refusal = undefined;
    this.#isAtOdds = false;
    this.#lease.length(leaseMs);
    this.#keeper.renew(stream);
    this.#sticky.joined(stream);
    this.#shards.joined(stream);
  }

  /**
   * Terms grow, also when the store was restored: see stores/leadership.ts. So this leader is an old one, or
   * the store's clock is wrong.
   */
  #refuse(stream: ControlStream<HostMessage>, term: number): void {
    const newest = this.#tables.term;
    const { log, source } = this.#deps;
    log[this.#failures === 0 ? "warn" : "debug"]("leader.rejected", { term, newest });
    source.sawTerm?.(newest);
    this.#leave(stream, `it leads in term ${term}, and there is a newer one`);
    this.#refusal = `it rejects the leader of term ${term}, because it has seen term ${newest}; if this lasts, the store was restored and its clock is behind: set the clock, then restart the leader`;
  }

  /** See `Placement.confirmLease`. */
  confirmLease(settled: (isKept: boolean) => void): void {
    this.#keeper.confirm(settled);
  }

  #keptLease(): void {
    this.#connect();
    this.#deps.changed([]);
    this.notify();
  }

  #loseLease(): void {
    this.#deps.log.warn("lease.lost");
    this.#deps.instruments.leaseLost();
    this.#startOver();
  }

  /** Drops everything of this incarnation. The next hello announces it. */
  #startOver(): void {
    const { catalog, instruments, random } = this.#deps;
    this.#lease.lost();
    this.#tables.clear();
    this.#orders.clear();
    this.#sticky.clear(true);
    this.#shards.clear(true);
    for (const { name, activations } of catalog.types.values()) {
      if (activations.size > 0) instruments.drained(name, activations.size, "lease");
    }
    catalog.dropAll();
    this.#keeper.clear();
    this.#replaces = this.#incarnation;
    this.#incarnation = random.id();
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
    if (!this.#stopped) this.#later();
    // Calls of other hosts that wait here have to find another host.
    this.#deps.changed([]);
    this.notify();
  }

  // ——— Joining and leaving.

  get types(): readonly string[] {
    return this.#types;
  }

  /** Hosts these types from now on, even if it was asked to hand them over before. */
  report(types: readonly string[]): void {
    this.#draining = false;
    // The answer of the other hosts to this report is not known yet.
    this.#isAtOdds = false;
    this.#sendTypes(types);
  }

  #sendTypes(types: readonly string[]): void {
    this.#types = types;
    this.#stream?.send({ kind: "types", types, sticky: this.#sticky.rules(), sharded: this.#shards.rules() });
  }

  /** Types without another host stay here until there is one. */
  #handOver(): void {
    const kept = this.#types.filter((type) => this.#tables.isOnlyHost(type));
    if (kept.length === this.#types.length) return;
    this.#sendTypes(kept);
    if (kept.length > 0) this.#deps.log.warn("drain.types-kept", { types: kept });
  }

  /** Resolves when the leader has sent welcome, or on timeout. */
  async connected(ms: number): Promise<void> {
    await this.until(() => this.#stream !== undefined && this.#welcome, ms);
  }

  /** Hands over the types that other hosts can take. Bounded by the time given. */
  async leave(ms: number): Promise<void> {
    const moving = this.#types.filter((type) => !this.#tables.isOnlyHost(type));
    // Shards go first, one by one and with their calls buffered: a host that leaves the table has to let go
    // of everything at once.
    if (this.#shards.leave(moving)) await this.until(() => !this.#shards.holdsAny(moving), ms);
    if (moving.length > 0 && this.#stream !== undefined) {
      this.report(this.#types.filter((type) => this.#tables.isOnlyHost(type)));
      // Other hosts may leave at the same time: the last one keeps its types to its end.
      const isGone = (type: string): boolean => this.#tables.isOnlyHost(type) || this.#tables.hasLeft(type);
      await this.until(() => moving.every(isGone), ms);
    }
  }

  /** All incarnations under which a leader may still know this process. */
  get names(): readonly string[] {
    return this.#replaces === undefined ? [this.#incarnation] : [this.#incarnation, this.#replaces];
  }

  /** Everything here is gone: no host has to wait for it. */
  goodbye(): void {
    this.#stopped = true;
    this.#sticky.clear(false);
    this.#shards.clear(false);
    this.#stream?.send({ kind: "goodbye" });
    this.#stream?.close();
    this.#retry?.cancel();
    this.#keeper.stop();
  }
}
