// A host's membership in the cluster: keeps one stream to the leader and a lease, and lets go of actors when
// it must.
//
// The pure models decide: host-tables.ts about activations, host-lease.ts about the lease. This file drives
// them, together with order-follower.ts. One rule covers every failure: actors continue as long as the lease
// lasts, regardless of the stream and the leader. When the lease is over, the host drops everything and comes
// back as a new incarnation. The exception, a host that slept together with its leader, is in slept-lease.ts.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { ActiveActor, ActorHost, ActorTypeInfo } from "../../ports/actor-host.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import { HERE, type Placement, type Route, WAIT } from "../../ports/placement.ts";
import type { Random } from "../../ports/random.ts";
import type { ProcessIdentity } from "../../ports/store/coordination.ts";
import { ShardMember } from "../../sharding/host/region-driver.ts";
import type { ShardRouter } from "../../sharding/host/shard-router.ts";
import type { Leader, LeaderSource } from "../discovery/leader-source.ts";
import { HostLease } from "../model/host-lease.ts";
import { HostTables } from "../model/host-tables.ts";
import { StickyMember } from "../sticky/sticky-client.ts";
import type { HostInstruments } from "./metrics.ts";
import { OrderFollower } from "./order-follower.ts";
import { hostedTypes, mayHost } from "./roles.ts";
import { SleptLease } from "./slept-lease.ts";

export interface MembershipSettings {
  readonly namespace: string;
  /** Address at which other hosts call this one. */
  readonly address: string;
  readonly name: string;
  /** Build id; empty or left out: unknown. */
  readonly build?: string | undefined;
  /** Roles of this host. Left out: none. */
  readonly roles?: readonly string[] | undefined;
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
  /** Waiting calls may be routed now. Empty: all types. */
  changed(types: readonly string[]): void;
  /** Calls that wait for these shards may be routed now. */
  opened?(type: string, shards: readonly number[]): void;
  /** Calls that wait for this sticky actor may be routed now, or fail with the error. */
  answered(type: string, id: string, error?: LimpetError): void;
  /** This host has become the home of a shard; `move` identifies the move, if there was one. */
  gained?(type: string, shard: number, move: string | undefined): void;
  /**
   * Steps of a shard that moves away. `leaving`: its actors are about to stop. `left`: they have stopped, and
   * the shard probably lives at that address next. `moved`: it does.
   */
  leaving?(type: ActorTypeInfo, shard: number, actors: readonly ActiveActor[]): void;
  left?(type: string, shard: number, move: string, address: string): void;
  moved?(type: string, shard: number, address: string): void;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;
/** The host gives up on a leader that has not sent welcome within this time. */
const WELCOME_MS = 3_000;

export class Membership implements Placement {
  readonly address: string;
  readonly #settings: MembershipSettings;
  readonly #deps: MembershipDeps;
  readonly #tables: HostTables;
  readonly #lease = new HostLease();
  #incarnation: string;
  #replaces: string | undefined;
  #types: readonly string[];
  #stream: ControlStream<HostMessage> | undefined;
  /** The leader at the other end of the last stream. */
  #leader: Leader | undefined;
  #welcome = false;
  #failures = 0;
  #retry: Timer | undefined;
  #renewal: Timer | undefined;
  #ending: Timer | undefined;
  readonly #orders: OrderFollower;
  readonly #sticky: StickyMember;
  readonly #shards: ShardMember;
  readonly #slept: SleptLease;
  /** Called after every change that a caller of `until` may wait for. */
  #watchers = new Set<() => void>();
  #refusal: string | undefined;
  #isAtOdds = false;
  /** An operator wants it to hold as little as possible. */
  #draining = false;
  #stopped = false;

  constructor(settings: MembershipSettings, deps: MembershipDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.address = settings.address;
    this.#tables = new HostTables(settings.address);
    this.#sticky = new StickyMember(settings, this.#tables, { ...deps, wants: (type) => this.#types.includes(type) });
    this.#shards = new ShardMember({
      ...deps,
      tables: this.#tables,
      lease: this.#lease,
      mayHost: (type) => mayHost(type, settings.roles ?? []),
      incarnation: () => this.#incarnation,
      outside: (type, id) => this.#outsideShards(type, id),
      stopped: () => this.#notify(),
    });
    this.#slept = new SleptLease({
      clock: deps.clock,
      log: deps.log,
      lease: this.#lease,
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

  // ——— Placement, for the router.

  route(type: string, id: string, until: number): Route {
    if (this.#tables.isSticky(type))
      return this.#lease.held ? this.#sticky.route(type, id, until) : this.#around(type, id);
    const route = this.#tables.route(type, id);
    return route === HERE && !this.#lease.held ? WAIT : route;
  }

  inShards(type: string): ShardRouter | undefined {
    const table = this.#tables.newest(type);
    return table?.shards === undefined ? undefined : this.#shards.router(type, table);
  }

  #outsideShards(type: string, id: string): Route {
    if (!this.hasHosts(type)) return this.#tables.route(type, id);
    // The called host knows the actor's address and responds with it; that answer is cached.
    const told = this.#sticky.holdings.belief(type, id);
    return told !== undefined && this.isHost(type, told) ? told : this.#tables.route(type, id);
  }

  /** Without a lease this host holds and requests nothing, but a call may go elsewhere. */
  #around(type: string, id: string): Route {
    const owner = this.#sticky.holdings.belief(type, id);
    return owner === undefined || owner === this.address ? WAIT : owner;
  }

  isSticky(type: string): boolean {
    const table = this.#tables.newest(type);
    return table !== undefined && (table.sticky || table.shards !== undefined);
  }

  isSharded(type: string): boolean {
    return this.#tables.shards(type) !== undefined;
  }

  shardOf(type: string, id: string): number | undefined {
    return this.#shards.shardOf(type, id);
  }

  cacheOwner(type: string, id: string, address: string): void {
    // For a host that can compute the shard, only the leader decides about its home.
    if (this.inShards(type)?.knows) return;
    this.#sticky.holdings.learn(type, id, address);
  }

  invalidateOwner(type: string, id: string, address?: string): void {
    if (this.isSharded(type)) {
      if (address === undefined) this.#shards.recheckOwner(type, id);
      else this.#shards.invalidateOwner(type, id, address);
    }
    this.#sticky.holdings.forget(type, id, address);
  }

  isHost(type: string, address: string): boolean {
    return this.#tables.hostAt(type, address) !== undefined;
  }

  hasHosts(type: string): boolean {
    return this.#tables.hosts(type).length > 0;
  }

  hostsOf(type: string): readonly string[] {
    return this.#tables.hosts(type).map(({ address }) => address);
  }

  hostedTypes(): readonly string[] {
    return this.#tables.types();
  }

  left(type: string, id: string, reason: string | undefined): void {
    this.#sticky.left(type, id, reason);
  }

  get sticky(): StickyMember {
    return this.#sticky;
  }

  get shards(): ShardMember {
    return this.#shards;
  }

  get hasLease(): boolean {
    return this.#lease.held;
  }

  /**
   * Decides whether an actor of that shard may be activated here. It may not without a lease. A host that
   * lost its lease is the home of nothing; a host without a first lease may already be assigned as a home.
   */
  standing(type: string, shard: number): "here" | "wait" | "elsewhere" {
    const standing = this.#shards.activation(type, shard);
    return standing === "here" && !this.#lease.held ? "wait" : standing;
  }

  cachedOwner(type: string, id: string): { term: number; version: number; owner: string | undefined } {
    const { term, number } = this.#tables.version(type);
    return { term, version: number, owner: this.#believed(type, id) };
  }

  #believed(type: string, id: string): string | undefined {
    if (this.isSharded(type)) return this.#shards.cachedOwner(type, id);
    return this.#tables.isSticky(type) ? this.#sticky.holdings.belief(type, id) : this.#tables.owner(type, id);
  }

  ownerBefore(type: string, id: string): string | undefined {
    return this.#lease.held && !this.isSticky(type) ? this.#tables.ownerBefore(type, id) : undefined;
  }

  released(type: string, id: string, by: string, { term, version }: { term: number; version: number }): boolean {
    return this.#lease.held && !this.isSticky(type) && this.#tables.released(type, id, by, { term, number: version });
  }

  silentFor(now: number): number {
    const { silentSince } = this.#deps.source;
    return silentSince === undefined || this.mayBegin(now) ? 0 : now - silentSince;
  }

  mayBegin(now: number): boolean {
    return this.#lease.mayBegin(now, this.#deps.clock.now());
  }

  mayCommit(now: number): boolean {
    return this.#lease.lasts(now, this.#deps.clock.now());
  }

  confirmLease(settled: (isKept: boolean) => void): void {
    if (this.mayCommit(this.#deps.clock.monotonic())) settled(true);
    else if (!this.#lease.held || this.#stopped || !this.#slept.ask()) settled(false);
    else this.#slept.wait(settled);
  }

  get tables(): HostTables {
    return this.#tables;
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
  async until(condition: () => boolean, ms: number): Promise<boolean> {
    if (condition()) return true;
    return new Promise((resolve) => {
      const done = (outcome: boolean): void => {
        timer.cancel();
        this.#watchers.delete(look);
        resolve(outcome);
      };
      const look = (): void => {
        if (condition()) done(true);
      };
      const timer = this.#deps.clock.after(ms, () => done(condition()));
      this.#watchers.add(look);
    });
  }

  #notify(): void {
    for (const look of [...this.#watchers]) look();
  }

  // ——— The stream.

  #leaderChanged(): void {
    this.#failures = 0;
    // If the leader of this process ends its term because it slept, this host asks before the next term.
    if (this.#isOver()) this.#slept.ask();
    // A stream to a leader that stepped down ends by itself; any other stream is still useful.
    if (this.#stream === undefined) this.#connect();
    this.#notify();
  }

  #connect(): void {
    this.#retry?.cancel();
    const { leader } = this.#deps.source;
    if (this.#stopped || this.#stream !== undefined || leader === undefined || this.#slept.isPending) return;
    const listener = new StreamEnd(
      (message) => this.#heard(stream, message),
      (error) => this.#closed(stream, error),
    );
    const stream = leader.report(listener);
    this.#stream = stream;
    this.#leader = leader;
    this.#welcome = false;
    stream.send({
      kind: "hello",
      namespace: this.#settings.namespace,
      incarnation: this.#incarnation,
      replaces: this.#replaces,
      address: this.address,
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
    this.#renewal?.cancel();
    if (this.#stopped) return;
    if (error !== undefined && !isLimpetError(error, "NOT_LEADER")) {
      // The host retries while there is no leader; one warning is enough.
      const level = this.#failures === 0 ? "warn" : "debug";
      this.#deps.log[level]("leader.disconnected", { err: error });
    }
    this.#isAtOdds = isLimpetError(error, "OPTION_INVALID");
    this.#refusal = this.#isAtOdds || isLimpetError(error, "ADDRESS_IN_USE") ? error!.message : undefined;
    this.#deps.source.doubt();
    this.#later();
    this.#slept.closed(isLimpetError(error, "NOT_LEADER"));
    this.#notify();
  }

  /** Randomized, because all hosts reconnect when a new leader appears. */
  #later(): void {
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS);
    const ms = longest * (0.5 + this.#deps.random.number());
    this.#retry?.cancel();
    this.#retry = this.#deps.clock.after(ms, () => this.#connect(), "background");
  }

  #leave(stream: ControlStream<HostMessage>, why: string): void {
    if (this.#stream !== stream) return;
    stream.close();
    this.#closed(stream, new LimpetError("UNREACHABLE", why));
  }

  // ——— Messages of the leader.

  #heard(stream: ControlStream<HostMessage>, message: SchedulerMessage): void {
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
        this.#renewed(message.sequence);
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
        this.#sticky.heard(message);
        return;
    }
    this.#notify();
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
    this.#renew(stream);
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

  #renew(stream: ControlStream<HostMessage>): void {
    this.#renewal?.cancel();
    if (this.#stream !== stream || this.#stopped) return;
    const { clock, catalog } = this.#deps;
    const sequence = this.#lease.renewing(clock.monotonic(), clock.now());
    stream.send({ kind: "renew", sequence, actors: catalog.resident });
    this.#renewal = clock.after(this.#lease.renewEveryMs, () => this.#renew(stream), "background");
  }

  #renewed(sequence: number): void {
    const { clock } = this.#deps;
    // The lease counts from the request, even if the answer is read late. If the lease is over already,
    // everything must go first.
    if (this.#isOver()) {
      this.#endLease();
      return;
    }
    const waited = !this.#lease.held || !this.mayBegin(clock.monotonic());
    // Only an answered renewal proves that this stream works.
    this.#failures = 0;
    this.#lease.renewed(sequence);
    this.#slept.grantedBy(this.#leader);
    this.#watchEnd();
    if (waited) this.#deps.changed([]);
  }

  /**
   * Checked as often as the lease is renewed, also without a leader: a clock that stood still fires as late
   * as the process slept.
   */
  #watchEnd(): void {
    this.#ending?.cancel();
    const { clock } = this.#deps;
    const ms = Math.min(Math.max(this.#lease.endsAt - clock.monotonic(), 0), this.#lease.renewEveryMs);
    this.#ending = clock.after(
      ms,
      () => {
        if (!this.#lease.held) return;
        if (this.#lease.lasts(clock.monotonic(), clock.now())) this.#watchEnd();
        else this.#endLease();
      },
      "background",
    );
  }

  #isOver(): boolean {
    const { clock } = this.#deps;
    return this.#lease.held && !this.#lease.lasts(clock.monotonic(), clock.now());
  }

  #endLease(): void {
    if (!this.#slept.ask()) this.#loseLease();
  }

  #keptLease(): void {
    this.#watchEnd();
    this.#connect();
    this.#deps.changed([]);
    this.#notify();
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
    this.#ending?.cancel();
    this.#tables.clear();
    this.#orders.clear();
    this.#sticky.clear(true);
    this.#shards.clear();
    for (const { name, activations } of catalog.types.values()) {
      if (activations.size > 0) instruments.drained(name, activations.size, "lease");
    }
    catalog.dropAll();
    this.#slept.clear();
    this.#replaces = this.#incarnation;
    this.#incarnation = random.id();
    const stream = this.#stream;
    this.#stream = undefined;
    this.#renewal?.cancel();
    stream?.close();
    if (!this.#stopped) this.#later();
    // Calls of other hosts that wait here have to find another host.
    this.#deps.changed([]);
    this.#notify();
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
    this.#tell(types);
  }

  #tell(types: readonly string[]): void {
    this.#types = types;
    this.#stream?.send({ kind: "types", types, sticky: this.#sticky.rules(), sharded: this.#shards.rules() });
  }

  /** No other host has the type. */
  #isAlone(type: string): boolean {
    return this.#tables.hosts(type).every(({ address }) => address === this.address);
  }

  /** Types without another host stay here until there is one. */
  #handOver(): void {
    const kept = this.#types.filter((type) => this.#isAlone(type));
    if (kept.length === this.#types.length) return;
    this.#tell(kept);
    if (kept.length > 0) this.#deps.log.warn("drain.types-kept", { types: kept });
  }

  /** Resolves when the leader has sent welcome, or on timeout. */
  async heard(ms: number): Promise<void> {
    await this.until(() => this.#stream !== undefined && this.#welcome, ms);
  }

  /** Hands over the types that other hosts can take. Bounded by the time given. */
  async leave(ms: number): Promise<void> {
    const moving = this.#types.filter((type) => !this.#isAlone(type));
    // Shards go first, one by one and with their calls buffered: a host that leaves the table has to let go
    // of everything at once.
    if (this.#shards.leave(moving)) await this.until(() => !this.#shards.holdsAny(moving), ms);
    if (moving.length > 0 && this.#stream !== undefined) {
      this.report(this.#types.filter((type) => this.#isAlone(type)));
      // Other hosts may leave at the same time: the last one keeps its types to its end.
      const gone = (): boolean =>
        moving.every(
          (type) =>
            this.#isAlone(type) ||
            (!this.#tables.view(type).locked &&
              this.#tables.hosts(type).every(({ address }) => address !== this.address)),
        );
      await this.until(gone, ms);
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
    this.#shards.clear();
    this.#stream?.send({ kind: "goodbye" });
    this.#stream?.close();
    this.#retry?.cancel();
    this.#renewal?.cancel();
    this.#ending?.cancel();
    this.#slept.clear();
  }
}

class StreamEnd implements ControlListener<SchedulerMessage> {
  readonly message: (message: SchedulerMessage) => void;
  readonly closed: (error: Error | undefined) => void;

  constructor(message: (message: SchedulerMessage) => void, closed: (error: Error | undefined) => void) {
    this.message = message;
    this.closed = closed;
  }
}
