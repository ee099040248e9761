// One term of leadership: drives the pure controllers, one per namespace. It feeds them the messages of hosts
// and the time, and performs their effects. It ends with the term, and none of its state outlives it.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { LeaderAnswer, LeaderRequest } from "../../ports/admin.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { NamespaceFeature, ShardRequests, TermFeature } from "../../ports/cluster/leader-feature.ts";
import type { ControlListener, ControlStream } from "../../ports/control.ts";
import {
  type Hello,
  type HostMessage,
  isShardReport,
  type SchedulerMessage,
  type ShardReport,
} from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Coordination, Member, ProcessIdentity } from "../../ports/store/coordination.ts";
import { type Effect, NamespaceController } from "../model/namespace-controller.ts";
import type { Ring } from "../model/ring.ts";
import { Rings } from "../model/rings.ts";
import { MemberWrites } from "./member-writes.ts";
import type { SchedulerInstruments } from "./metrics.ts";
import { type LeaderView, stickyPage, viewOf } from "./views.ts";

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
  /** A bug has ended the term: this scheduler campaigns again at its next interval, not at once. */
  broken(why: string): void;
}

/** Pauses between checks: a process that has just ended may need a moment to be seen as ended. */
const LOOKS_AGAIN_MS = [0, 10, 50, 250, 1_000];
/** Maximum number of rings kept for metrics and queries. */
const RINGS = 10_000;

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
  readonly #rings = new Rings();
  readonly #ringOf = new Map<string, Ring>();
  #lastStream = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #looking: Timer | undefined;
  readonly #memberWrites: MemberWrites;
  #over = false;
  /** Rejects requests that wait for a durable write or for hosts; called when the term ends. */
  readonly #openRequests = new Set<() => void>();

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
    const until = deps.clock.monotonic() + waitMs;
    for (const [namespace, known] of Map.groupBy(members, (member) => member.namespace)) {
      this.#namespaces.set(namespace, this.#newNamespace(namespace, known, until));
    }
    this.removeEndedHosts();
    this.#arm();
  }

  get streams(): number {
    return this.#streams.size;
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
      message: (message) => this.#heard(number, message),
      closed: () => this.#closed(number),
    };
  }

  #heard(number: number, message: HostMessage): void {
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

  #mayDecide(): boolean {
    if (this.#over) return false;
    if (this.#deps.lasts()) return true;
    this.#deps.over("it could not be kept up");
    return false;
  }

  /**
   * A broken invariant ends the term, not the process: the next leader begins with the state in the store.
   */
  #endOnBug(err: unknown): void {
    if (!isLimpetError(err, "INVARIANT")) throw err;
    this.#deps.log.error("leader.invariant-broken", { term: this.term, err });
    this.#deps.broken("an invariant of its decisions is broken");
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
    this.#lookAgain(0);
  }

  // ——— Inputs and effects.

  #feed(namespace: string, input: (now: number) => Effect[]): void {
    if (!this.#mayDecide()) return;
    try {
      const effects = input(this.#deps.clock.monotonic());
      for (const effect of effects) this.#perform(namespace, effect);
      this.#lookAtShards(namespace, effects);
    } catch (err) {
      this.#endOnBug(err);
    }
    this.#arm();
  }

  #perform(namespace: string, effect: Effect): void {
    const { instruments, log } = this.#deps;
    switch (effect.kind) {
      case "send":
        if (effect.message.kind === "order") {
          const { operation, types, tables } = effect.message;
          for (const type of operation === "update" ? tables.map((table) => table.type) : types) {
            instruments.sent(namespace, type, operation, effect.streams.length);
          }
        }
        for (const number of effect.streams) this.#streams.get(number)?.stream.send(effect.message);
        break;
      case "close":
        this.#streams.get(effect.stream)?.stream.close({ code: effect.code, message: effect.why });
        break;
      case "save": {
        const { incarnation, address, machine, pid } = effect.host;
        const { types, isKnown } = effect;
        const member = { namespace, incarnation, address, machine, pid, types };
        this.#memberWrites.write({ kind: "save", member, isKnown }, () => {
          const controller = this.#namespaces.get(namespace)!;
          this.#feed(namespace, (now) => controller.saved(incarnation, types, now));
        });
        break;
      }
      case "drop":
        this.#memberWrites.write({ kind: "drop", incarnation: effect.incarnation });
        break;
      case "began": {
        const { type, version, hosts } = effect.table;
        const before = this.#deps.clock.monotonic();
        this.#rebuild(
          namespace,
          type,
          hosts.map(({ address }) => address),
        );
        instruments.rebuilt(
          namespace,
          type,
          version.number,
          effect.reason,
          (this.#deps.clock.monotonic() - before) / 1_000,
        );
        break;
      }
      case "sticky": {
        const { type, event, count } = effect;
        instruments.sticky(namespace, type, event, count);
        instruments.stickyActors(namespace, type, this.#namespaces.get(namespace)!.sticky.owners.size(type));
        break;
      }
      case "settled":
        instruments.settled(namespace, effect.type, effect.tookMs / 1_000);
        break;
      case "host": {
        const { address, name } = effect.host;
        if (effect.event === "evicted") instruments.evicted(namespace);
        const level = effect.event === "evicted" || effect.event === "suspect" ? "warn" : "info";
        log[level](`host.${effect.event}`, { namespace, host: address, name, why: effect.why || undefined });
        break;
      }
    }
  }

  /** Connected hosts, or possible homes of shards, may have changed. */
  #lookAtShards(namespace: string, effects: readonly Effect[]): void {
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

  #rebuild(namespace: string, type: string, addresses: readonly string[]): void {
    const key = JSON.stringify([namespace, type]);
    const before = this.#ringOf.get(key);
    if (before === undefined && this.#ringOf.size >= RINGS) return;
    this.#ringOf.set(key, this.#rings.of(addresses, this.#settings.replicationFactor, before));
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

  #lookAgain(attempt: number): void {
    this.#looking?.cancel();
    const ms = LOOKS_AGAIN_MS[attempt];
    if (ms === undefined || this.#over) return;
    const look = (): void => {
      this.removeEndedHosts();
      this.#lookAgain(attempt + 1);
    };
    this.#looking = this.#deps.clock.after(ms, look, "background");
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

  async admin(request: Exclude<LeaderRequest, { kind: "cluster" }>): Promise<LeaderAnswer<LeaderRequest>> {
    switch (request.kind) {
      case "drain":
        return this.#drain(request.host);
      case "sticky":
        return stickyPage(this.#namespaces.get(request.namespace), request.query, this.#deps.clock.monotonic());
      case "release":
        return this.#release(request.namespace, request.type, request.id);
      case "shards":
        return this.#operate(request, (requests, now) => requests.view(request.type, now), notLeading);
      case "steerShards": {
        const { type, steering } = request;
        return this.#operate(request, (requests, now) => requests.steer(type, steering, now), notedMaybe);
      }
    }
  }

  /** A request waits no longer than this scheduler leads; then it fails with `cutOff`. */
  #operate<T>(
    { namespace, type }: { readonly namespace: string; readonly type: string },
    run: (requests: ShardRequests, now: number) => Promise<T>,
    cutOff: () => LimpetError,
  ): Promise<T> {
    const requests = this.#shards.get(namespace)?.requests;
    if (requests === undefined) {
      throw new LimpetError("NOT_SHARDED", `no host has actors of ${type} that live in shards`);
    }
    return new Promise((resolve, reject) => {
      let isReceived = false;
      const rejectRequest = (): void => reject(isReceived ? cutOff() : notLeading());
      this.#openRequests.add(rejectRequest);
      this.#lead(namespace, (_, now) => {
        isReceived = true;
        const left = (): void => {
          this.#openRequests.delete(rejectRequest);
          this.#arm();
        };
        run(requests, now).finally(left).then(resolve, reject);
      });
      if (isReceived) return;
      this.#openRequests.delete(rejectRequest);
      rejectRequest();
    });
  }

  /** Updates metrics. */
  measure(): void {
    for (const { coordinator } of this.#shards.values()) coordinator.measure();
  }

  #release(namespace: string, type: string, id: string): void {
    const sticky = this.#namespaces.get(namespace)?.sticky;
    const effects = sticky?.release(type, id, this.#deps.clock.monotonic());
    if (effects === undefined) throw new LimpetError("NOT_STICKY", `no host holds ${type}/${id} as a sticky actor`);
    if (effects === "silent")
      throw new LimpetError("NOT_READY", `the host of ${type}/${id} is not connected now; retry`);
    this.#feed(namespace, () => effects);
  }

  #drain(which: string): void {
    let found = false;
    for (const [namespace, controller] of this.#namespaces) {
      const effects = controller.drain(which);
      if (effects === undefined) continue;
      found = true;
      this.#feed(namespace, () => effects);
    }
    if (!found) throw new LimpetError("HOST_UNKNOWN", `no host is called ${which}`);
  }

  /** Resolves when all changes of members are durable, or the term has ended. */
  noted(): Promise<void> {
    return this.#memberWrites.written();
  }

  /** Stops all decisions. Hosts are not notified yet. */
  freeze(): void {
    this.#over = true;
    for (const rejectRequest of this.#openRequests) rejectRequest();
    this.#memberWrites.end();
    this.#deps.shards.end();
    this.#timer?.cancel();
    this.#looking?.cancel();
  }

  /** Notifies hosts that they have to look for another leader. */
  end(why: string): void {
    this.freeze();
    for (const { stream } of this.#streams.values()) stream.close({ code: "NOT_LEADER", message: why });
    this.#streams.clear();
    this.#deps.instruments.streams(0);
  }
}

const notLeading = (): LimpetError => new LimpetError("NOT_LEADER", "this scheduler does not lead any more");

/** The write may be in the store, or on its way to it. */
const notedMaybe = (): LimpetError =>
  new LimpetError("COMMIT_UNKNOWN", "this scheduler does not lead any more; the store may have applied the request");
