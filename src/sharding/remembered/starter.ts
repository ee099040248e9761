// Starts the remembered actors of one type on this host, at a bounded rate.
//
// - When the host becomes the home of a shard, the starter reads its remembered actors page by page, and
//   starts them unless they run already. Shards wait in a queue, and everything waits while the host has no
//   free memory.
// - An actor that stopped without being forgotten is restarted after a pause, and so is one that could not be
//   started. While it keeps failing, the pauses grow (restarts.ts).
// - Right before a start, the starter checks again: the shard may have moved, and the actor may have been
//   forgotten since it was read. An actor forgotten during a scan is recorded in that scan. A forget on
//   another host is not visible here. So results of a scan do not count after the host has become the home of
//   the shard once more.
// - A shard with an interrupted scan, or with actors that were let go as if it moved, does not count as
//   scanned. The manager scans it again, if it is here.
import { LimpetError } from "../../kernel/errors.ts";
import type { ActorHost, ActorTypeInfo, RememberedRule } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ShardActivation } from "../../ports/cluster/host-feature.ts";
import type { Log } from "../../ports/log.ts";
import type { Shards } from "../../ports/store/shards.ts";
import type { DeclaredDaemons } from "./declared-daemons.ts";
import type { RememberedInstruments } from "./metrics.ts";
import { StartRateLimit } from "./rate-limit.ts";
import { RememberedRestarts } from "./restarts.ts";

export interface StarterDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: ActorHost;
  readonly shards: Shards;
  readonly instruments: RememberedInstruments;
  activation(type: string, shard: number): ShardActivation;
  /** Actors that always run. Undefined: the actors remembered in the store run. */
  readonly daemons?: DeclaredDaemons;
  /** The actor is remembered, but is no daemon of the type any more. */
  dismiss?(id: string): void;
}

/** Actors per page. */
const PAGE = 1_000;
/** Shards scanned at the same time: while one is read, actors of others start. */
const LANES = 4;
/** Pause for a shard that is about to move, or a store that does not respond. */
const PAUSE_MS = 200;
/** Pause for a host without free memory, until other actors are idle. */
const NO_ROOM_MS = 2_000;
/** Maximum number of waiting restarts. Beyond it, their shards are scanned again instead. */
const MOST_RESTARTS = 100_000;

/** One pass over a shard. */
interface Scan {
  readonly shard: number;
  readonly tenure: number | undefined;
  /** Actors that must not be started any more. */
  readonly passed: Set<string>;
}

export class RememberedStarter {
  readonly #type: ActorTypeInfo;
  readonly #rule: RememberedRule;
  readonly #deps: StarterDeps;
  /** Shards to scan, each with the id after which to begin. */
  readonly #line = new Map<number, string | undefined>();
  /** Shards that were scanned, or are about to be. */
  readonly #known = new Set<number>();
  /** How many times the host has become the home of each shard. */
  readonly #tenures = new Map<number, number>();
  readonly #scans = new Set<Scan>();
  /** Actors with a forget in progress. */
  readonly #forgetting = new Map<string, number>();
  readonly #restarts: RememberedRestarts;
  readonly #pace: StartRateLimit;
  #lanes = 0;
  #isRestarting = false;
  #isOver = false;
  #lastWarning = Number.NEGATIVE_INFINITY;

  constructor(type: ActorTypeInfo, rule: RememberedRule, deps: StarterDeps) {
    this.#type = type;
    this.#rule = rule;
    this.#deps = deps;
    this.#pace = new StartRateLimit(rule.startsPerSecond, deps.clock);
    this.#restarts = new RememberedRestarts(rule, deps.clock, () => this.#work());
  }

  /** Number of shards to scan and of actors to restart. */
  get waiting(): { readonly shards: number; readonly restarts: number } {
    return { shards: this.#line.size + this.#scans.size, restarts: this.#restarts.size };
  }

  /** Updates the gauges; called when metrics are collected. */
  measure(): void {
    const { instruments } = this.#deps;
    instruments.shards.set(this.waiting.shards);
    instruments.restarts.set(this.waiting.restarts);
  }

  /** The host has become the home of this shard. */
  gained(shard: number): void {
    this.#tenures.set(shard, (this.#tenures.get(shard) ?? 0) + 1);
    this.scan(shard);
  }

  /** The shard is here, and some of its actors may not run. */
  scan(shard: number): void {
    if (this.#isOver) return;
    this.#known.add(shard);
    this.#line.delete(shard);
    this.#line.set(shard, undefined);
    this.#work();
  }

  knows(shard: number): boolean {
    return this.#known.has(shard);
  }

  /** The actor was let go as if it lived elsewhere. If its shard is here, it has to be scanned again. */
  invalidateScan(id: string): void {
    const shard = this.#foundShard(id);
    if (shard !== undefined) this.#known.delete(shard);
  }

  /**
   * The actor has stopped, and is remembered. `hasFailed`: it stopped because it failed, or could not be
   * started.
   */
  restartLater(id: string, hasFailed = false): void {
    if (this.#isOver) return;
    const shard = this.#foundShard(id);
    if (this.#restarts.size >= MOST_RESTARTS) {
      if (shard !== undefined) this.scan(shard);
      return;
    }
    const where = shard ?? this.#restarts.get(id)?.shard;
    this.#restarts.add(id, where === undefined ? undefined : this.#tenures.get(where), where, hasFailed);
  }

  /** Time until its restart here; undefined: it waits for none. */
  restartsInMs(id: string): number | undefined {
    const restart = this.#restarts.get(id);
    const shard = this.#foundShard(id);
    if (restart === undefined || shard === undefined || restart.tenure !== this.#tenures.get(shard)) return undefined;
    if (this.#deps.activation(this.#type.name, shard) === "elsewhere") return undefined;
    return Math.max(restart.at - this.#deps.clock.monotonic(), 0);
  }

  /**
   * The actor is about to be forgotten; the returned function must be called when that has succeeded or
   * failed.
   */
  beginForget(id: string): () => void {
    this.#forgetting.set(id, (this.#forgetting.get(id) ?? 0) + 1);
    for (const { passed } of this.#scans) passed.add(id);
    this.#restarts.delete(id);
    return () => {
      const left = this.#forgetting.get(id)! - 1;
      if (left > 0) this.#forgetting.set(id, left);
      else this.#forgetting.delete(id);
    };
  }

  stop(): void {
    this.#isOver = true;
    this.#line.clear();
    this.#restarts.stop();
    this.#pace.stop();
  }

  #shardOf(id: string): number {
    return this.#type.options.sharded!.shardOf(id);
  }

  /** Undefined: the application's own rule fails. The start then reports the error. */
  #foundShard(id: string): number | undefined {
    try {
      return this.#shardOf(id);
    } catch {
      return undefined;
    }
  }

  // ——— The queue; several lanes work in parallel.

  #work(): void {
    while (this.#lanes < LANES && !this.#isOver) {
      const next = this.#next();
      if (next === undefined) return;
      this.#lanes++;
      void next.then(() => {
        this.#lanes--;
        this.#work();
      });
    }
  }

  #next(): Promise<void> | undefined {
    const due = this.#isRestarting ? undefined : this.#restarts.due;
    const [next] = this.#line;
    if (due !== undefined) return this.#restart(due);
    return next === undefined ? undefined : this.#scanShard(...next);
  }

  async #restart(id: string): Promise<void> {
    this.#isRestarting = true;
    try {
      await this.#restartOne(id);
    } catch (err) {
      // The application's own rule computes the shard; it may fail now and not the next time.
      this.#notNow(id, err);
    }
    this.#isRestarting = false;
  }

  async #restartOne(id: string): Promise<void> {
    const shard = this.#shardOf(id);
    let isClear = this.#isClear(shard);
    for (; typeof isClear === "number"; isClear = this.#isClear(shard)) await this.#pace.pause(isClear);
    // It may have been forgotten meanwhile, or activated by a call.
    const restart = this.#restarts.get(id);
    if (restart === undefined) return;
    // Its shard was elsewhere in between, where it may have been forgotten; the shard is scanned since it is
    // back.
    const isOld = restart.tenure !== this.#tenures.get(shard);
    if (isClear === "wait" && !isOld) return this.restartLater(id);
    this.#restarts.delete(id);
    // A forget may just have failed, so it is not certain that the actor is remembered.
    if (isClear === "now" && !isOld && !this.#type.activations.has(id)) this.#start(id, false);
  }

  /** Retries the actor, as long as the shard in which it was remembered is here. */
  #notNow(id: string, err: unknown): void {
    const { shard, tenure } = this.#restarts.get(id) ?? {};
    this.#restarts.delete(id);
    this.#warn(id, err);
    if (this.#isOver || shard === undefined || this.#tenures.get(shard) !== tenure) return;
    if (this.#deps.activation(this.#type.name, shard) !== "elsewhere") this.#restarts.add(id, tenure, shard, true);
  }

  /** A shard that is about to move goes to the end of the queue, with its remaining actors. */
  async #scanShard(shard: number, from: string | undefined): Promise<void> {
    this.#line.delete(shard);
    const scan: Scan = { shard, tenure: this.#tenures.get(shard), passed: new Set(this.#forgetting.keys()) };
    this.#scans.add(scan);
    try {
      let after = from;
      for (;;) {
        const page = await this.#read(scan, after);
        if (page === "never") return;
        for (const id of page ?? []) {
          const isAside = this.#isRunning(id, scan.tenure) || !this.#belongs(id, scan) || this.#isDismissed(id);
          const isClear = isAside ? "now" : await this.#startOne(id, scan, true);
          if (isClear === "never") return;
          if (isClear === "wait") return await this.#putBack(shard, after);
          after = id;
        }
        if (page === undefined) return await this.#putBack(shard, after);
        if (page.length < PAGE) return await this.#startDaemons(scan, after);
      }
    } finally {
      this.#scans.delete(scan);
    }
  }

  /** Starts daemons of the shard that the store does not remember yet, because their number has grown. */
  async #startDaemons(scan: Scan, after: string | undefined): Promise<void> {
    for (const id of this.#deps.daemons?.in(scan.shard) ?? []) {
      const isClear = this.#isRunning(id, scan.tenure) ? "now" : await this.#startOne(id, scan, false);
      if (isClear === "never") return;
      if (isClear === "wait") return await this.#putBack(scan.shard, after);
    }
  }

  #isDismissed(id: string): boolean {
    const { daemons, dismiss } = this.#deps;
    if (daemons === undefined || daemons.has(id)) return false;
    dismiss?.(id);
    return true;
  }

  /** Reports whether the actor runs, or waits for its restart. */
  has(id: string): boolean {
    return this.#type.activations.has(id) || this.#restarts.get(id) !== undefined;
  }

  async #startOne(id: string, scan: Scan, isKnown: boolean): Promise<"now" | "wait" | "never"> {
    const { shard, tenure, passed } = scan;
    let isClear = this.#isClear(shard);
    for (; typeof isClear === "number"; isClear = this.#isClear(shard)) await this.#pace.pause(isClear);
    if (this.#isGivenUp(scan)) return "never";
    if (isClear === "now" && !passed.has(id) && !this.#isRunning(id, tenure)) this.#start(id, isKnown);
    return isClear;
  }

  /** The shard lives elsewhere; or it did, and a new scan covers it since it is back. */
  #isGivenUp({ shard, tenure }: Scan): boolean {
    if (this.#tenures.get(shard) !== tenure) return true;
    if (this.#deps.activation(this.#type.name, shard) !== "elsewhere") return false;
    this.#known.delete(shard);
    return true;
  }

  /** An actor that was remembered in another shard than its current one would run in two places. */
  #belongs(id: string, { shard, tenure, passed }: Scan): boolean {
    try {
      const now = this.#shardOf(id);
      if (now === shard) return true;
      this.#warn(id, new LimpetError("SHARD_INVALID", `it is remembered in shard ${shard}, and is in ${now} now`));
    } catch (err) {
      // The rule may succeed the next time.
      this.#warn(id, err);
      if (!passed.has(id) && this.#restarts.size < MOST_RESTARTS) this.#restarts.add(id, tenure, shard, true);
    }
    return false;
  }

  /** Reports whether the actor runs, or waits for a restart of the current tenure. */
  #isRunning(id: string, tenure: number | undefined): boolean {
    const restart = this.#restarts.get(id);
    return this.#type.activations.has(id) || (restart !== undefined && restart.tenure === tenure);
  }

  async #putBack(shard: number, after: string | undefined): Promise<void> {
    if (!this.#line.has(shard)) this.#line.set(shard, after);
    await this.#pace.pause(PAUSE_MS);
  }

  /** Undefined: the store does not respond. */
  async #read(scan: Scan, after: string | undefined): Promise<string[] | undefined | "never"> {
    const { shards, catalog, log } = this.#deps;
    const type = this.#type.name;
    const { shard } = scan;
    if (this.#isGivenUp(scan)) return "never";
    try {
      const page = await shards.remembered({ namespace: catalog.namespace, type, shard }, after, PAGE);
      return this.#isGivenUp(scan) ? "never" : page;
    } catch (err) {
      log.debug("remembered.read-failed", { type, shard, err });
      return this.#isGivenUp(scan) ? "never" : undefined;
    }
  }

  /**
   * Decides whether an actor of that shard may be started now. A number: check again after that time, or when
   * a start has ended.
   */
  #isClear(shard: number): "now" | "wait" | "never" | number {
    const { clock, catalog, activation } = this.#deps;
    const where = activation(this.#type.name, shard);
    if (this.#isOver || where === "elsewhere") return "never";
    if (where === "wait" || !catalog.mayBegin(clock.monotonic())) return "wait";
    if (!catalog.hasRoom) return NO_ROOM_MS;
    return this.#pace.waitMs ?? "now";
  }

  #start(id: string, isKnown: boolean): void {
    const { catalog, instruments } = this.#deps;
    const isOver = this.#pace.begin();
    this.#restarts.delete(id);
    void catalog
      .start(this.#type, id, isKnown)
      .then(() => {
        instruments.started.add(1);
        this.#restarts.started(id);
      })
      .catch((err: unknown) => {
        instruments.failed.add(1);
        this.#warn(id, err);
        // An actor that is still being activated may yet succeed.
        const isThere = this.#type.activations.has(id) || this.#restarts.get(id) !== undefined;
        if (!isThere && !this.#forgetting.has(id)) this.restartLater(id, true);
      })
      .finally(isOver);
  }

  /** When many fail, one warning represents all of them. */
  #warn(id: string, err: unknown): void {
    const now = this.#deps.clock.monotonic();
    const isFirst = now - this.#lastWarning >= this.#rule.restartAfterMs;
    if (isFirst) this.#lastWarning = now;
    const level = isFirst ? "warn" : "debug";
    this.#deps.log[level]("remembered.start-failed", { type: this.#type.name, id, err });
  }
}
