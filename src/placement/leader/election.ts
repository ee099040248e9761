// Election of the leader: a scheduler campaigns for leadership through the store, leads a term while it has
// it, and otherwise connects to the leader.
//
// It renews its candidacy several times within its lease; the store's answer names the leader. Leadership
// counts from the moment the campaign was *sent*, on this process's own clocks. The scheduler gives it up
// well before it can run out in the store.
import type { Clock, Timer } from "../../ports/clock.ts";
import type { LeaderFeature } from "../../ports/cluster/leader-feature.ts";
import type { Log } from "../../ports/log.ts";
import type { Meter } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import type { Coordination, ElectionResult, ProcessIdentity, SchedulerEntry } from "../../ports/store/coordination.ts";
import type { Leader } from "../discovery/leader-source.ts";
import { HostLease } from "../model/host-lease.ts";
import { LeaderTerm, type LeaderTermSettings } from "./leader-term.ts";
import { SchedulerInstruments } from "./metrics.ts";

export interface ElectionSettings extends LeaderTermSettings {
  readonly dedicated: boolean;
  readonly leaderLeaseMs: number;
}

export interface ElectionDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly coordination: Coordination;
  readonly shards: LeaderFeature;
  readonly identity: ProcessIdentity;
  hasEnded(process: ProcessIdentity): boolean;
  /** The scheduler of another process. */
  connect(address: string, term: number): Leader & { close(): void };
  /** The address at which other hosts find this scheduler; empty: there is none yet. */
  address(): string;
  /** The store has answered a campaign. */
  campaigned(): void;
  /** The leader is another one. */
  changed(): void;
}

/** Number of campaigns within a lease. */
const CAMPAIGNS = 4;
/** Above this number, schedulers campaign less often, to limit the load on the store. */
const CROWD = 50;
const RETRY_MS = 200;
const RECHECK_MS = 20;
/** Pause while the leader is known, but its server is not open yet. */
const UNOPENED_MS = 100;
const STOP_MS = 1_000;

export class Election {
  /** Renewed after every term that ended here, so that the store begins a new term as well. */
  incarnation: string;
  /** The previous incarnation, until the store knows that it has ended. */
  #former: string | undefined;
  readonly #settings: ElectionSettings;
  readonly #deps: ElectionDeps;
  readonly #instruments: SchedulerInstruments;
  readonly #lease = new HostLease();
  /** The last answer of the store. */
  #result: ElectionResult | undefined;
  #seenTerm = 0;
  /** The term in which this scheduler leads. */
  #leaderTerm: LeaderTerm | undefined;
  #takingOver = false;
  #remote: (Leader & { close(): void }) | undefined;
  #campaigning: Promise<void> | undefined;
  /** A request whether a term that ended here is still the newest. Campaigns wait for it. */
  #asking: Promise<unknown> | undefined;
  #next: Timer | undefined;
  #end: Timer | undefined;
  #failures = 0;
  /** No campaign begins before this time: a term has failed here, and another scheduler shall lead. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #silentSince: number | undefined;
  #stopped = false;

  constructor(settings: ElectionSettings, deps: ElectionDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.incarnation = deps.random.id();
    this.#instruments = new SchedulerInstruments(deps.meter);
    this.#lease.length(settings.leaderLeaseMs);
  }

  /** False once the lease is over, even if the process has just woken up and has not stepped down yet. */
  get leads(): boolean {
    return this.#leaderTerm !== undefined && this.#lasts();
  }

  get result(): ElectionResult | undefined {
    return this.#result;
  }

  /** The term in which this scheduler leads. */
  get term(): LeaderTerm | undefined {
    return this.#leaderTerm;
  }

  /** The leader in another process. */
  get remote(): Leader | undefined {
    return this.#remote;
  }

  /** The store has not answered the last campaign. */
  get isSilent(): boolean {
    return this.#failures > 0;
  }

  /** Time since when the store has not answered, on the monotonic clock. */
  get silentSince(): number | undefined {
    return this.#silentSince;
  }

  // ——— Campaigns.

  /** The leader may be another one: campaigns soon. */
  recheck(): void {
    if (!this.#stopped) this.#later(RECHECK_MS * (1 + this.#deps.random.number()));
  }

  #later(ms: number): void {
    this.#next?.cancel();
    const waitMs = Math.max(ms, this.#pausedUntil - this.#deps.clock.monotonic());
    this.#next = this.#deps.clock.after(waitMs, () => void this.campaign(), "background");
  }

  /** One campaign at a time; further callers wait for the one in progress. */
  campaign(): Promise<void> {
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
        const dead = (this.#result?.schedulers ?? [])
          .concat(this.#result?.leader ?? [])
          .filter((scheduler) => this.#isDead(scheduler));
        const candidate = this.#candidate();
        const former = this.#former;
        const gone = dead.map(({ incarnation }) => incarnation).concat(former ?? []);
        const result = await coordination.campaign(candidate, gone);
        if (this.#stopped) return;
        // The term ended meanwhile, so the answer is about the previous incarnation.
        if (candidate.incarnation !== this.incarnation) continue;
        if (former === this.#former) this.#former = undefined;
        this.#failures = 0;
        this.#silentSince = undefined;
        this.#result = result;
        if (this.#isBefore(result.term) && result.leading) {
          // The restored store has this scheduler as the leader of an old term. Hosts would reject it, so it
          // begins a new one.
          this.#resign("the store was restored");
          continue;
        }
        if (result.leading) {
          this.#lease.renewed(sequence);
          await this.#lead(result);
        } else {
          await this.#follow(result);
          if (result.leader !== undefined && this.#isDead(result.leader)) continue;
        }
        break;
      }
      if (this.#stopped) return;
      this.#deps.campaigned();
      this.#later(this.#pause());
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
    if (this.#leaderTerm === undefined || this.#leaderTerm.term >= this.#seenTerm) return;
    this.#giveUp("a host has seen a newer term");
    this.recheck();
  }

  #pause(): number {
    const usual = this.#settings.leaderLeaseMs / CAMPAIGNS;
    if (this.#leaderTerm !== undefined) return usual;
    if (this.#result?.leader?.address === "") return Math.min(UNOPENED_MS, usual);
    return usual * Math.max(1, (this.#result?.schedulers.length ?? 0) / CROWD);
  }

  #isDead(scheduler: SchedulerEntry): boolean {
    return this.#settings.failover !== "lease" && this.#deps.hasEnded(scheduler);
  }

  #candidate() {
    const { dedicated, leaderLeaseMs, leaseMs } = this.#settings;
    return {
      ...this.#deps.identity,
      incarnation: this.incarnation,
      address: this.#deps.address(),
      dedicated,
      leaseMs: leaderLeaseMs,
      hostLeaseMs: leaseMs,
      seenTerm: this.#seenTerm,
    };
  }

  // ——— Leading and following.

  async #lead({ term, hostLeaseMs }: ElectionResult): Promise<void> {
    if (this.#leaderTerm?.term === term) {
      this.#watchEnd();
      this.#leaderTerm.removeEndedHosts();
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
        this.recheck();
      };
      const leaderTerm = new LeaderTerm(term, members, waitMs, this.#settings, {
        clock,
        log,
        coordination,
        shards: beginShards(term, over),
        hasEnded,
        instruments: this.#instruments,
        lasts: () => this.#lasts(),
        over,
        broken: (why) => this.#broken(why),
      });
      if (leaderTerm.isOver) return;
      this.#leaderTerm = leaderTerm;
    } finally {
      this.#takingOver = false;
    }
    this.#forgetRemote();
    this.#watchEnd();
    this.#instruments.leading(term);
    this.#deps.log.info("leader.elected", { term });
    this.#deps.changed();
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
        if (this.#leaderTerm === undefined) return;
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
    if (this.#leaderTerm !== undefined) this.#resign(why);
  }

  /** A bug has ended the term. Another scheduler leads next, or this one after a lease. */
  #broken(why: string): void {
    const { clock, log, coordination } = this.#deps;
    this.#pausedUntil = clock.monotonic() + this.#settings.leaderLeaseMs;
    this.#resign(why);
    this.recheck();
    coordination.resign(this.#former!).catch((err: unknown) => log.warn("leader.resign-failed", { err }));
  }

  /** See `Leader.endTerm`. A store that does not respond delays campaigns for a fifth of a lease at most. */
  endTerm(term: number): Promise<boolean> {
    if (this.#leaderTerm?.term === term) this.#giveUp("its process slept");
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
    const leaderTerm = this.#leaderTerm;
    if (leaderTerm === undefined) return;
    this.#leaderTerm = undefined;
    this.#end?.cancel();
    this.#instruments.leading(0);
    this.#deps.log.info("leader.stepped-down", { term: leaderTerm.term, why });
    leaderTerm.end(`this scheduler does not lead any more: ${why}`);
    this.#deps.changed();
  }

  async #follow({ term, leader }: ElectionResult): Promise<void> {
    this.#lease.lost();
    this.#stepDown("another scheduler leads");
    const address = leader?.address || undefined;
    if (this.#remote?.address === address && this.#remote?.term === term) return;
    if (address === undefined && this.#remote === undefined) return;
    this.#forgetRemote();
    if (address !== undefined) this.#remote = this.#deps.connect(address, term);
    this.#deps.changed();
  }

  #forgetRemote(): void {
    this.#remote?.close();
    this.#remote = undefined;
  }

  /** Hands leadership on at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#next?.cancel();
    this.#end?.cancel();
    await this.#campaigning;
    const leaderTerm = this.#leaderTerm;
    if (leaderTerm !== undefined) await this.#within(STOP_MS, leaderTerm.persisted());
    leaderTerm?.freeze();
    this.#leaderTerm = undefined;
    this.#forgetRemote();
    // The store first, so that a host that looks for another leader can become the leader itself.
    const resigning = [this.incarnation].concat(this.#former ?? []).map((one) => this.#deps.coordination.resign(one));
    await Promise.all(resigning).catch((err: unknown) => {
      this.#deps.log.warn("leader.resign-failed", { err });
    });
    leaderTerm?.end("this scheduler stops");
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.#deps.clock.after(ms, resolve);
    });
    await Promise.race([work, late]).finally(() => timer?.cancel());
  }
}
