// One term of leadership: drives the pure controllers, one per namespace. It feeds them the messages of hosts
// and the time, and performs their effects. It ends with the term, and none of its state outlives it.
//
// A broken invariant ends the term: a later leader begins with the state that the store and the hosts have.
// The process and its actors go on.
import { isLimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { LeaderAnswer, LeaderRequest } from "../../ports/admin.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { NamespaceFeature, TermFeature } from "../../ports/cluster/leader-feature.ts";
import {
  type ControlListener,
  type ControlStream,
  type Hello,
  type HostMessage,
  isShardReport,
  type SchedulerMessage,
  type ShardReport,
} from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Coordination, Member, ProcessIdentity } from "../../ports/store/coordination.ts";
import type { Effect } from "../model/leader-effects.ts";
import { NamespaceController } from "../model/namespace-controller.ts";
import { MemberWrites } from "./member-writes.ts";
import type { SchedulerInstruments } from "./metrics.ts";
import { TermEffects } from "./term-effects.ts";
import { TermRequests } from "./term-requests.ts";
import { type LeaderView, viewOf } from "./views.ts";

export interface LeaderTermSettings {
  readonly leaseMs: number;
  readonly roundTimeoutMs: number;
  readonly coalesceMs: number;
  readonly replicationFactor: number;
  /** `auto`: the leader waits for a lease to end, unless the process is known to have ended. */
  readonly failover: "auto" | "lease" | "fast";
}

export interface LeaderTermDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly coordination: Coordination;
  readonly shards: TermFeature;
  readonly instruments: SchedulerInstruments;
  /** True only if the process has certainly ended. */
  hasEnded(process: ProcessIdentity): boolean;
  /** The leadership still lasts, by this process's own clock. */
  lasts(): boolean;
  /** The term is over: another scheduler leads, or may lead. */
  over(why: string): void;
  /** A bug has ended the term: this scheduler does not campaign for a while, so that another one may lead. */
  broken(why: string): void;
}

/** Pauses between checks: a process that has just ended may need a moment to be seen as ended. */
const RECHECKS_MS = [0, 10, 50, 250, 1_000];

export class LeaderTerm {
  readonly term: number;
  readonly #settings: LeaderTermSettings;
  readonly #deps: LeaderTermDeps;
  readonly #namespaces = new Map<string, NamespaceController>();
  readonly #shards = new Map<string, ReturnType<TermFeature["namespace"]>>();
  readonly #streams = new Map<
    number,
    { readonly stream: ControlStream<SchedulerMessage>; namespace: string | undefined }
  >();
  #lastStream = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #rechecking: Timer | undefined;
  readonly #memberWrites: MemberWrites;
  readonly #effects: TermEffects;
  readonly #requests: TermRequests;
  #over = false;

  /** `waitMs`: how long hosts of an earlier leader may still hold actors under its leases. */
  constructor(
    term: number,
    members: readonly Member[],
    waitMs: number,
    settings: LeaderTermSettings,
    deps: LeaderTermDeps,
  ) {
    this.term = term;
    this.#settings = settings;
    this.#deps = deps;
    this.#memberWrites = new MemberWrites(term, deps);
    this.#effects = new TermEffects(settings.replicationFactor, {
      ...deps,
      memberWrites: this.#memberWrites,
      send: (stream, message) => this.#streams.get(stream)?.stream.send(message),
      close: (stream, error) => this.#streams.get(stream)?.stream.close(error),
      saved: (namespace, incarnation, types) =>
        this.#feed(namespace, (now) => this.#namespaces.get(namespace)!.saved(incarnation, types, now)),
      stickyActors: (namespace, type) => this.#namespaces.get(namespace)!.sticky.owners.size(type),
    });
    this.#requests = new TermRequests({
      clock: deps.clock,
      namespaces: this.#namespaces,
      shards: this.#shards,
      perform: (namespace, effects) => this.#feed(namespace, () => effects),
      run: (namespace, input) => this.#lead(namespace, (_, now) => input(now)),
      ended: () => this.#arm(),
      failed: (err) => this.#endOnBug(err),
    });
    const until = deps.clock.monotonic() + waitMs;
    for (const [namespace, known] of Map.groupBy(members, (member) => member.namespace)) {
      this.#namespaces.set(namespace, this.#newNamespace(namespace, known, until));
    }
    this.removeEndedHosts();
    this.#arm();
  }

  get isOver(): boolean {
    return this.#over;
  }

  #newNamespace(namespace: string, members: readonly Member[], until: number): NamespaceController {
    const { failover, ...settings } = this.#settings;
    const rule = failover === "fast" ? "fast" : "lease";
    const controller = new NamespaceController(
      { ...settings, namespace, term: this.term, failover: rule },
      members,
      until,
    );
    const shards = this.#deps.shards.namespace({
      namespace,
      table: (type) => controller.table(type),
      hosts: () => controller.hosts,
      host: (incarnation) => controller.host(incarnation),
      speaker: (stream) => controller.speaker(stream),
      send: (streams, message) => {
        for (const number of streams) this.#streams.get(number)?.stream.send(message);
      },
      feed: (input) => this.#lead(namespace, input),
    });
    controller.isHome = (incarnation, type) => shards.coordinator.isHome(incarnation, type);
    this.#shards.set(namespace, shards);
    return controller;
  }

  // ——— Streams.

  report(stream: ControlStream<SchedulerMessage>): ControlListener<HostMessage> {
    const number = ++this.#lastStream;
    this.#streams.set(number, { stream, namespace: undefined });
    this.#deps.instruments.streams(this.#streams.size);
    return {
      message: (message) => this.#message(number, message),
      closed: () => this.#closed(number),
    };
  }

  #message(number: number, message: HostMessage): void {
    const open = this.#streams.get(number);
    if (open === undefined) return;
    if (message.kind === "hello") {
      if (open.namespace === undefined) this.#hello(number, open, message);
      else open.stream.close({ code: "PROTOCOL", message: "a host must send hello only once" });
      return;
    }
    const controller = open.namespace === undefined ? undefined : this.#namespaces.get(open.namespace);
    if (controller === undefined) open.stream.close({ code: "PROTOCOL", message: "a host must send hello first" });
    else if (isShardReport(message)) this.#shardMessage(open.namespace!, controller, number, message);
    else this.#feed(open.namespace!, (now) => controller.message(number, message, now));
  }

  #shardMessage(namespace: string, controller: NamespaceController, stream: number, message: ShardReport): void {
    const host = controller.speaker(stream);
    if (host !== undefined) this.#lead(namespace, (shards, now) => shards.message(host, message, now));
  }

  /** Feeds the driver of shards, as `#feed` feeds the namespace. */
  #lead(namespace: string, input: (shards: NamespaceFeature, now: number) => void): void {
    if (!this.#mayDecide()) return;
    const shards = this.#shards.get(namespace)!.coordinator;
    try {
      input(shards, this.#deps.clock.monotonic());
    } catch (err) {
      this.#endOnBug(err);
    }
    const controller = this.#namespaces.get(namespace);
    for (const host of shards.takeRelieved()) this.#feed(namespace, (now) => controller?.handedOver(host, now) ?? []);
    this.#arm();
  }

  #hello(
    number: number,
    open: { namespace: string | undefined; readonly stream: ControlStream<SchedulerMessage> },
    hello: Hello,
  ): void {
    const { namespace } = hello;
    let controller = this.#namespaces.get(namespace);
    if (controller === undefined) {
      if (this.#namespaces.size >= LIMITS.namespaces) {
        open.stream.close({ code: "HOST_FULL", message: "there are too many namespaces in this cluster" });
        return;
      }
      controller = this.#newNamespace(namespace, [], 0);
      this.#namespaces.set(namespace, controller);
    }
    open.namespace = namespace;
    // A crashed process that was restarted on the same address must not wait for its own previous
    // incarnation.
    this.removeEndedHosts();
    this.#feed(namespace, (now) => controller.hello(number, hello, now));
  }

  #closed(number: number): void {
    const open = this.#streams.get(number);
    this.#streams.delete(number);
    this.#deps.instruments.streams(this.#streams.size);
    if (open?.namespace === undefined) return;
    const controller = this.#namespaces.get(open.namespace)!;
    const speaker = controller.speaker(number);
    this.#feed(open.namespace, (now) => controller.closed(number, now));
    if (speaker !== undefined) this.#lead(open.namespace, (shards, now) => shards.streamLost(speaker.incarnation, now));
    this.#recheckEnded(0);
  }

  // ——— Inputs and effects.

  /** False once the leadership is over, even if this term has not been ended yet. */
  #mayDecide(): boolean {
    if (this.#over) return false;
    if (this.#deps.lasts()) return true;
    this.#deps.over("it could not be kept up");
    return false;
  }

  #feed(namespace: string, input: (now: number) => Effect[]): void {
    if (!this.#mayDecide()) return;
    try {
      const effects = input(this.#deps.clock.monotonic());
      for (const effect of effects) this.#effects.perform(namespace, effect);
      this.#notifyShards(namespace, effects);
    } catch (err) {
      this.#endOnBug(err);
    }
    this.#arm();
  }

  #endOnBug(err: unknown): void {
    if (!isLimpetError(err, "INVARIANT")) throw err;
    if (this.#over) return;
    this.#deps.log.error("leader.invariant-broken", { term: this.term, err });
    this.freeze();
    this.#deps.broken("an invariant of its decisions is broken");
  }

  /** Connected hosts, or possible homes of shards, may have changed. */
  #notifyShards(namespace: string, effects: readonly Effect[]): void {
    if (!effects.some(({ kind }) => kind === "host" || kind === "began" || kind === "settled")) return;
    const shards = this.#shards.get(namespace)?.coordinator;
    const now = this.#deps.clock.monotonic();
    for (const effect of effects) {
      if (effect.kind === "host" && effect.event === "removed") shards?.gone(effect.host.incarnation, now);
    }
    shards?.look(now);
    for (const effect of effects) {
      if (effect.kind === "host" && effect.event === "returned") shards?.returned(effect.host.incarnation, now);
    }
  }

  #arm(): void {
    let first = Number.POSITIVE_INFINITY;
    for (const { deadline } of this.#namespaces.values()) first = Math.min(first, deadline);
    for (const { coordinator } of this.#shards.values()) first = Math.min(first, coordinator.deadline);
    if (first === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = first;
    if (this.#over || first === Number.POSITIVE_INFINITY) return;
    const ms = Math.max(first - this.#deps.clock.monotonic(), 0);
    this.#timer = this.#deps.clock.after(ms, () => this.#tick(), "background");
  }

  #tick(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    for (const [namespace, controller] of this.#namespaces) this.#feed(namespace, (now) => controller.tick(now));
    for (const namespace of this.#shards.keys()) this.#lead(namespace, (shards, now) => shards.tick(now));
    this.#arm();
  }

  #recheckEnded(attempt: number): void {
    this.#rechecking?.cancel();
    const ms = RECHECKS_MS[attempt];
    if (ms === undefined || this.#over) return;
    const look = (): void => {
      this.removeEndedHosts();
      this.#recheckEnded(attempt + 1);
    };
    this.#rechecking = this.#deps.clock.after(ms, look, "background");
  }

  /** Removes silent hosts that are known to have ended. */
  removeEndedHosts(): void {
    if (this.#over || this.#settings.failover === "lease") return;
    for (const [namespace, controller] of this.#namespaces) {
      for (const host of controller.view().hosts) {
        if (host.state === "member" || host.state === "joining" || !this.#deps.hasEnded(host)) continue;
        this.#feed(namespace, (now) => controller.dead(host.incarnation, now));
      }
    }
  }

  // ——— For display and operators.

  view(): LeaderView {
    return viewOf(this.#namespaces, this.term, this.#deps.clock.monotonic());
  }

  admin(request: Exclude<LeaderRequest, { kind: "cluster" }>): Promise<LeaderAnswer<LeaderRequest>> {
    return this.#requests.answer(request);
  }

  /** Updates metrics. */
  measure(): void {
    for (const { coordinator } of this.#shards.values()) coordinator.measure();
  }

  /** Resolves when all changes of members are durable, or the term has ended. */
  persisted(): Promise<void> {
    return this.#memberWrites.written();
  }

  /** Stops all decisions. Hosts are not notified yet. */
  freeze(): void {
    this.#over = true;
    this.#requests.end();
    this.#memberWrites.end();
    this.#deps.shards.end();
    this.#timer?.cancel();
    this.#rechecking?.cancel();
  }

  /** Notifies hosts that they have to look for another leader. */
  end(why: string): void {
    this.freeze();
    for (const { stream } of this.#streams.values()) stream.close({ code: "NOT_LEADER", message: why });
    this.#streams.clear();
    this.#deps.instruments.streams(0);
  }
}
