// Election of a scheduler: it campaigns for leadership through the store, leads while it has it, and
// otherwise knows the leader.
//
// It renews its candidacy several times within its lease; the store's answer names the leader. Leadership
// counts from the moment the campaign was *sent*, on this process's own clocks. The scheduler gives it up
// well before it can run out in the store. It listens for other hosts only when there are other schedulers or
// it is dedicated: a process that is alone opens no port.

import { LimpetError } from "../../kernel/errors.ts";
import type { LeaderAnswer, LeaderRequest } from "../../ports/admin.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ControlService, SchedulerList } from "../../ports/cluster/control-service.ts";
import type { LeaderFeature } from "../../ports/cluster/leader-feature.ts";
import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Meter } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import type { Coordination, ElectionResult, ProcessIdentity, SchedulerEntry } from "../../ports/store/coordination.ts";
import type { Leader, LeaderSource } from "../discovery/leader-source.ts";
import { localStream } from "../discovery/local-stream.ts";
import { HostLease } from "../model/host-lease.ts";
import { LeaderTerm, type LeaderTermSettings } from "./leader-term.ts";
import { SchedulerInstruments } from "./metrics.ts";

export interface SchedulerSettings extends LeaderTermSettings {
  readonly dedicated: boolean;
  readonly leaderLeaseMs: number;
}

export interface SchedulerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly coordination: Coordination;
  readonly shards: LeaderFeature;
  readonly identity: ProcessIdentity;
  hasEnded(process: ProcessIdentity): boolean;
  /** Starts the server for hosts of other processes. */
  openDoor(service: ControlService): Promise<{ readonly address: string; close(): Promise<void> }>;
  /** The scheduler of another process. */
  connect(address: string, term: number): Leader & { close(): void };
}

/** Number of campaigns within a lease. */
const CAMPAIGNS = 4;
/** Above this number, schedulers campaign less often, to limit the load on the store. */
const CROWD = 50;
const RETRY_MS = 200;
const DOUBT_MS = 20;
/** Pause while the leader is known, but its server is not open yet. */
const UNOPENED_MS = 100;
const STOP_MS = 1_000;

export class SchedulerNode implements ControlService, LeaderSource {
  /** Renewed after every term that ended here, so that the store begins a new term as well. */
  incarnation: string;
  /** The previous incarnation, until the store knows that it has ended. */
  #former: string | undefined;
  readonly #settings: SchedulerSettings;
  readonly #deps: SchedulerDeps;
  readonly #instruments: SchedulerInstruments;
  readonly #lease = new HostLease();
  /** Watchers, each with the last list it received, as text: an unchanged list is not sent again. */
  readonly #watchers = new Map<(list: SchedulerList) => void, string>();
  #standing: ElectionResult | undefined;
  #seenTerm = 0;
  #leading: LeaderTerm | undefined;
  #takingOver = false;
  #remote: (Leader & { close(): void }) | undefined;
  #door: { readonly address: string; close(): Promise<void> } | undefined;
  #opening: Promise<void> | undefined;
  #campaigning: Promise<void> | undefined;
  /** A request whether a term that ended here is still the newest. Campaigns wait for it. */
  #asking: Promise<unknown> | undefined;
  #next: Timer | undefined;
  #end: Timer | undefined;
  #failures = 0;
  #silentSince: number | undefined;
  #stopped = false;
  onChange: (() => void) | undefined;

  constructor(settings: SchedulerSettings, deps: SchedulerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.incarnation = deps.random.id();
    this.#instruments = new SchedulerInstruments(deps.meter);
    this.#lease.length(settings.leaderLeaseMs);
  }

  /** Resolves when the leader is known, or when the store cannot answer. */
  async start(): Promise<void> {
    if (this.#settings.dedicated) await this.#openDoor();
    await this.#campaign();
  }

  get address(): string | undefined {
    return this.#door?.address;
  }

  /** False once the lease is over, even if the process has just woken up and has not stepped down yet. */
  get leads(): boolean {
    return this.#leading !== undefined && this.#lasts();
  }

  get schedulers(): readonly SchedulerEntry[] {
    return this.#standing?.schedulers ?? [];
  }

  // ——— The leader.

  get leader(): Leader | undefined {
    return this.#leading === undefined ? this.#remote : this.#self(this.#leading);
  }

  get problem(): string {
    return this.#failures > 0
      ? "the store does not name the leader"
      : "no scheduler leads yet, or its server is not open yet";
  }

  get silentSince(): number | undefined {
    return this.#silentSince;
  }

  #self(leading: LeaderTerm): Leader {
    return {
      address: this.address ?? "this process",
      term: leading.term,
      report: (listener) => localStream(this.#deps.clock, listener, (stream) => this.report(stream)),
      endTerm: () => this.#endTerm(leading.term),
      admin: (request) => this.admin(request),
    };
  }

  doubt(): void {
    if (!this.#stopped) this.#later(DOUBT_MS * (1 + this.#deps.random.number()));
  }

  #later(ms: number): void {
    this.#next?.cancel();
    this.#next = this.#deps.clock.after(ms, () => void this.#campaign(), "background");
  }

  /** One campaign at a time; further callers wait for the one in progress. */
  #campaign(): Promise<void> {
    this.#campaigning ??= this.#campaignOnce().finally(() => {
      this.#campaigning = undefined;
    });
    return this.#campaigning;
  }

  async #campaignOnce(): Promise<void> {
    const { clock, coordination } = this.#deps;
    const askedAt = clock.monotonic();
    try {
      // Twice at most: the first answer may name a leader that is known to have ended.
      for (let attempt = 0; attempt < 2 && !this.#stopped; attempt++) {
        // After a sleep, the term ends first: its host may have to ask the store about it.
        if (!this.#lasts()) this.#giveUp("it could not be kept up");
        if (this.#asking !== undefined) await this.#asking;
        if (this.#stopped) return;
        const sequence = this.#lease.renewing(clock.monotonic(), clock.now());
        const dead = (this.#standing?.schedulers ?? [])
          .concat(this.#standing?.leader ?? [])
          .filter((scheduler) => this.#isDead(scheduler));
        const candidate = this.#candidate();
        const former = this.#former;
        const gone = dead.map(({ incarnation }) => incarnation).concat(former ?? []);
        const standing = await coordination.campaign(candidate, gone);
        if (this.#stopped) return;
        // The term ended meanwhile, so the answer is about the previous incarnation.
        if (candidate.incarnation !== this.incarnation) continue;
        if (former === this.#former) this.#former = undefined;
        this.#failures = 0;
        this.#silentSince = undefined;
        this.#standing = standing;
        if (this.#isBefore(standing.term) && standing.leading) {
          // The restored store has this scheduler as the leader of an old term. Hosts would reject it, so it
          // begins a new one.
          this.#resign("the store was restored");
          continue;
        }
        if (standing.leading) {
          this.#lease.renewed(sequence);
          await this.#lead(standing);
        } else {
          await this.#follow(standing);
          if (standing.leader !== undefined && this.#isDead(standing.leader)) continue;
        }
        break;
      }
      if (this.#stopped) return;
      if (this.schedulers.length > 1) this.#openDoorSoon();
      this.#later(this.#pause());
      this.#tellWatchers();
    } catch (err) {
      this.#silentSince ??= askedAt;
      this.#deps.log[this.#failures++ === 0 ? "warn" : "debug"]("election.failed", { err });
      this.#later(RETRY_MS * (1 + this.#deps.random.number()));
    }
  }

  /**
   * Detects a term below one that was seen before: the store was restored from an earlier point. The next
   * term of this process is above both.
   */
  #isBefore(term: number): boolean {
    if (term < this.#seenTerm) {
      this.#deps.log.warn("store.restored", { term, seenTerm: this.#seenTerm });
      return true;
    }
    this.#seenTerm = term;
    return false;
  }

  /**
   * A host here has seen a newer term than the leader's. If that leader is this scheduler, it gives up and
   * begins another term.
   */
  sawTerm(term: number): void {
    this.#seenTerm = Math.max(this.#seenTerm, term);
    if (this.#leading === undefined || this.#leading.term >= this.#seenTerm) return;
    this.#giveUp("a host has seen a newer term");
    this.doubt();
  }

  #pause(): number {
    const usual = this.#settings.leaderLeaseMs / CAMPAIGNS;
    if (this.#leading !== undefined) return usual;
    if (this.#standing?.leader?.address === "") return Math.min(UNOPENED_MS, usual);
    return usual * Math.max(1, this.schedulers.length / CROWD);
  }

  #isDead(scheduler: SchedulerEntry): boolean {
    return this.#settings.failover !== "lease" && this.#deps.hasEnded(scheduler);
  }

  #candidate() {
    const { dedicated, leaderLeaseMs, leaseMs } = this.#settings;
    return {
      ...this.#deps.identity,
      incarnation: this.incarnation,
      address: this.#door?.address ?? "",
      dedicated,
      leaseMs: leaderLeaseMs,
      hostLeaseMs: leaseMs,
      seenTerm: this.#seenTerm,
    };
  }

  // ——— Leading and following.

  async #lead({ term, hostLeaseMs }: ElectionResult): Promise<void> {
    if (this.#leading?.term === term) {
      this.#watchEnd();
      this.#leading.removeEndedHosts();
      return;
    }
    // The same scheduler, but a new term: its state of the old term may be out of date.
    this.#stepDown("a new term has begun");
    if (this.#takingOver) return;
    this.#takingOver = true;
    try {
      const { clock, log, coordination, shards, hasEnded } = this.#deps;
      const [members, beginShards] = await Promise.all([coordination.members(), shards.load()]);
      if (this.#stopped || !this.#lasts()) return;
      const waitMs = Math.max(hostLeaseMs, this.#settings.leaseMs) + this.#overlapMs();
      const over = (why: string): void => {
        this.#giveUp(why);
        this.doubt();
      };
      this.#leading = new LeaderTerm(term, members, waitMs, this.#settings, {
        clock,
        log,
        coordination,
        shards: beginShards(term, over),
        hasEnded,
        instruments: this.#instruments,
        lasts: () => this.#lasts(),
        over,
        broken: (why) => this.#giveUp(why),
      });
    } finally {
      this.#takingOver = false;
    }
    this.#forgetRemote();
    this.#watchEnd();
    this.#instruments.leading(term);
    this.#deps.log.info("leader.elected", { term });
    this.onChange?.();
  }

  /**
   * An embedded leader gives way to a dedicated one through the store, and leads until it has the answer.
   * Leases it granted meanwhile last longer than the ones granted before its term ended.
   */
  #overlapMs(): number {
    return this.#settings.dedicated ? this.#settings.leaderLeaseMs : 0;
  }

  #lasts(): boolean {
    const { clock } = this.#deps;
    return this.#lease.lasts(clock.monotonic(), clock.now());
  }

  /** Leadership ends on this process's own clock, whether or not the store responds. */
  #watchEnd(): void {
    this.#end?.cancel();
    const ms = Math.max(this.#lease.endsAt - this.#deps.clock.monotonic(), 0);
    this.#end = this.#deps.clock.after(
      ms,
      () => {
        if (this.#leading === undefined) return;
        if (this.#lasts()) this.#watchEnd();
        else this.#giveUp("it could not be kept up");
      },
      "background",
    );
  }

  /**
   * Ends the term here, although the store may not know. A later leader must not continue the same term: the
   * last orders are forgotten here, and it would send other contents under the same numbers.
   */
  #giveUp(why: string): void {
    if (this.#leading !== undefined) this.#resign(why);
  }

  /** See `Leader.endTerm`. A store that does not respond delays campaigns for a fifth of a lease at most. */
  #endTerm(term: number): Promise<boolean> {
    if (this.#leading?.term === term) this.#giveUp("its process slept");
    const isNewest = this.#deps.coordination.persist(term, []);
    const asking = this.#within(this.#settings.leaseMs / 5, isNewest).catch(() => {});
    this.#asking = asking;
    void asking.then(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    return isNewest;
  }

  #resign(why: string): void {
    this.#former = this.incarnation;
    this.incarnation = this.#deps.random.id();
    this.#stepDown(why);
  }

  #stepDown(why: string): void {
    const leading = this.#leading;
    if (leading === undefined) return;
    this.#leading = undefined;
    this.#end?.cancel();
    this.#instruments.leading(0);
    this.#deps.log.info("leader.stepped-down", { term: leading.term, why });
    leading.end(`this scheduler does not lead any more: ${why}`);
    this.onChange?.();
  }

  async #follow({ term, leader }: ElectionResult): Promise<void> {
    this.#lease.lost();
    this.#stepDown("another scheduler leads");
    const address = leader?.address || undefined;
    if (this.#remote?.address === address && this.#remote?.term === term) return;
    if (address === undefined && this.#remote === undefined) return;
    this.#forgetRemote();
    if (address !== undefined) this.#remote = this.#deps.connect(address, term);
    this.onChange?.();
  }

  #forgetRemote(): void {
    this.#remote?.close();
    this.#remote = undefined;
  }

  // ——— The server for other hosts.

  #openDoorSoon(): void {
    if (this.#door !== undefined || this.#opening !== undefined) return;
    void this.#openDoor().then(
      () => this.doubt(),
      (err: LimpetError) => this.#deps.log.error("scheduler.listen-failed", { err }),
    );
  }

  #openDoor(): Promise<void> {
    this.#opening ??= this.#deps
      .openDoor(this)
      .then(async (door) => {
        if (this.#stopped) await door.close();
        else this.#door = door;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }

  // ——— Control service.

  report(stream: ControlStream<SchedulerMessage>): ControlListener<HostMessage> {
    if (this.#leading !== undefined) return this.#leading.report(stream);
    stream.close({ code: "NOT_LEADER", message: "this scheduler does not lead" });
    return { message() {}, closed() {} };
  }

  watch(listener: (list: SchedulerList) => void): () => void {
    const list = this.#list();
    this.#watchers.set(listener, JSON.stringify(list));
    listener(list);
    return () => this.#watchers.delete(listener);
  }

  #list(): SchedulerList {
    const hosts = this.schedulers
      .filter(({ address }) => address !== "")
      .map(({ address, leader, dedicated, incarnation }) => ({ address, leader, dedicated, incarnation }));
    // Sorted, so that two lists of the same schedulers are equal.
    hosts.sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
    return { term: this.#standing?.term ?? 0, hosts };
  }

  #tellWatchers(): void {
    if (this.#watchers.size === 0) return;
    const list = this.#list();
    const text = JSON.stringify(list);
    for (const [watcher, before] of [...this.#watchers]) {
      if (before === text) continue;
      this.#watchers.set(watcher, text);
      watcher(list);
    }
  }

  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>> {
    return this.#answer(request) as Promise<LeaderAnswer<R>>;
  }

  async #answer(request: LeaderRequest): Promise<LeaderAnswer<LeaderRequest>> {
    const leading = this.#leading;
    if (leading === undefined) throw new LimpetError("NOT_LEADER", "this scheduler does not lead");
    if (request.kind !== "cluster") return leading.admin(request);
    const schedulers = this.schedulers.map(({ address, incarnation, dedicated, leader }) => {
      return { address, incarnation, dedicated, leader };
    });
    return { term: leading.term, schedulers, ...leading.view() };
  }

  /** Updates the metrics of the leader, if it leads. */
  measure(): void {
    this.#leading?.measure();
  }

  /** Hands leadership on at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#next?.cancel();
    this.#end?.cancel();
    await this.#campaigning;
    const leading = this.#leading;
    if (leading !== undefined) await this.#within(STOP_MS, leading.noted());
    leading?.freeze();
    this.#leading = undefined;
    this.#forgetRemote();
    // The store first, so that a host that looks for another leader can become the leader itself.
    const resigning = [this.incarnation].concat(this.#former ?? []).map((one) => this.#deps.coordination.resign(one));
    await Promise.all(resigning).catch((err: unknown) => {
      this.#deps.log.warn("leader.resign-failed", { err });
    });
    leading?.end("this scheduler stops");
    await this.#opening?.catch(() => {});
    await this.#door?.close();
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.#deps.clock.after(ms, resolve);
    });
    await Promise.race([work, late]).finally(() => timer?.cancel());
  }
}
