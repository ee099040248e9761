// Brings the remembered actors of one type back to life on this host, at a bounded rate.
//
// - When the host becomes the home of a shard its remembered actors are read, a page at a time, and started unless they run already. Shards
//   wait in line, and so does everything while the host has no room in memory.
// - One that stopped without being forgotten is started again after a while. So is one that could not be started; while it keeps failing
//   it waits longer and longer (remembered-restarts.ts).
// - Right before one is started it is looked whether it is still to be: its shard may have moved, and it may have been forgotten since
//   it was read. What is forgotten while a shard is gone through is noted for that. What is forgotten while it lives elsewhere is not, so
//   nothing that was read or noted before the host became its home once more counts after that.
// - A shard that was given up half-way, or that lost actors as if it moved, is not taken for gone through: who looks after that has it
//   gone through again, if it is here.
import type { ActorType } from "../../actors/actor-type.ts";
import type { Catalog } from "../../actors/catalog.ts";
import type { RememberedRule } from "../../actors/options/lifetime-options.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Shards } from "../../ports/store/shards.ts";
import type { DeclaredDaemons } from "./declared-daemons.ts";
import type { Standing } from "./manager.ts";
import type { RememberedInstruments } from "./metrics.ts";
import { StartPace } from "./rate-limit.ts";
import { RememberedRestarts } from "./restarts.ts";

export interface StarterDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly shards: Shards;
  readonly instruments: RememberedInstruments;
  standing(type: string, shard: number): Standing;
  /** Actors that always run. Undefined: the actors remembered in the store run. */
  readonly daemons?: DeclaredDaemons | undefined;
  /** It is remembered, but is no daemon of the type any more. */
  dismiss?(id: string): void;
}

/** Actors that are read at once. */
const PAGE = 1_000;
/** Shards that are gone through at the same time: while one is read, actors of others begin. */
const LANES = 4;
/** A shard that is about to move, a store that does not answer. */
const PAUSE_MS = 200;
/** A host without room has some when others are idle. */
const NO_ROOM_MS = 2_000;
/** Those that wait to be started again. When there are more their shards are gone through once more instead. */
const MOST_RESTARTS = 100_000;

/** One way through a shard. */
interface Scan {
  readonly shard: number;
  readonly tenure: number | undefined;
  /** Who must not be started any more. */
  readonly passed: Set<string>;
}

export class RememberedStarter {
  readonly #type: ActorType;
  readonly #rule: RememberedRule;
  readonly #deps: StarterDeps;
  /** Shards to go through, each with the id behind which to begin. */
  readonly #line = new Map<number, string | undefined>();
  /** Shards that were gone through, or are about to be. */
  readonly #known = new Set<number>();
  /** How many times the host has become the home of each. */
  readonly #tenures = new Map<number, number>();
  readonly #scans = new Set<Scan>();
  /** On their way to be forgotten. */
  readonly #forgetting = new Map<string, number>();
  readonly #restarts: RememberedRestarts;
  readonly #pace: StartPace;
  #lanes = 0;
  #isRestarting = false;
  #isOver = false;
  #lastWarning = Number.NEGATIVE_INFINITY;

  constructor(type: ActorType, rule: RememberedRule, deps: StarterDeps) {
    this.#type = type;
    this.#rule = rule;
    this.#deps = deps;
    this.#pace = new StartPace(rule.startsPerSecond, deps.clock);
    this.#restarts = new RememberedRestarts(rule, deps.clock, () => this.#work());
  }

  /** Shards to go through and actors to start again. */
  get waiting(): { readonly shards: number; readonly restarts: number } {
    return { shards: this.#line.size + this.#scans.size, restarts: this.#restarts.size };
  }

  /** Brings the gauges up to date; called when somebody looks. */
  measure(): void {
    const { instruments } = this.#deps;
    instruments.shards.set(this.waiting.shards);
    instruments.restarts.set(this.waiting.restarts);
  }

  /** The host has become the home of this shard. */
  gained(shard: number): void {
    this.#tenures.set(shard, (this.#tenures.get(shard) ?? 0) + 1);
    this.goThrough(shard);
  }

  /** It is here, and somebody of it may not run. */
  goThrough(shard: number): void {
    if (this.#isOver) return;
    this.#known.add(shard);
    this.#line.delete(shard);
    this.#line.set(shard, undefined);
    this.#work();
  }

  knows(shard: number): boolean {
    return this.#known.has(shard);
  }

  /** It was let go as if it lived elsewhere. Its shard may be here all the same: then it is to be gone through again. */
  doubt(id: string): void {
    const shard = this.#foundShard(id);
    if (shard !== undefined) this.#known.delete(shard);
  }

  /** It has stopped, and is remembered. `hasFailed`: it stopped because it failed, or could not be started. */
  later(id: string, hasFailed = false): void {
    if (this.#isOver) return;
    const shard = this.#foundShard(id);
    if (this.#restarts.size >= MOST_RESTARTS) {
      if (shard !== undefined) this.goThrough(shard);
      return;
    }
    const where = shard ?? this.#restarts.get(id)?.shard;
    this.#restarts.add(id, where === undefined ? undefined : this.#tenures.get(where), where, hasFailed);
  }

  /** In how long it is started again here; undefined: it does not wait for that. */
  restartsInMs(id: string): number | undefined {
    const restart = this.#restarts.get(id);
    const shard = this.#foundShard(id);
    if (restart === undefined || shard === undefined || restart.tenure !== this.#tenures.get(shard)) return undefined;
    if (this.#deps.standing(this.#type.name, shard) === "elsewhere") return undefined;
    return Math.max(restart.at - this.#deps.clock.monotonic(), 0);
  }

  /** It is about to be forgotten; the function is called when that is over, whatever became of it. */
  forgets(id: string): () => void {
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

  /** Undefined: code of the application, which has to say it, fails. Whoever starts it finds that out. */
  #foundShard(id: string): number | undefined {
    try {
      return this.#shardOf(id);
    } catch {
      return undefined;
    }
  }

  // ——— One thing after the other, a few at the same time.

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
    return next === undefined ? undefined : this.#goThrough(...next);
  }

  async #restart(id: string): Promise<void> {
    this.#isRestarting = true;
    try {
      await this.#restartOne(id);
    } catch (err) {
      // Which shard it belongs to is for code of the application to say, which may fail now and not the next time.
      this.#notNow(id, err);
    }
    this.#isRestarting = false;
  }

  async #restartOne(id: string): Promise<void> {
    const shard = this.#shardOf(id);
    let isClear = this.#isClear(shard);
    for (; typeof isClear === "number"; isClear = this.#isClear(shard)) await this.#pace.pause(isClear);
    // It may have been forgotten meanwhile, or have come to life by a call.
    const restart = this.#restarts.get(id);
    if (restart === undefined) return;
    // Its shard was elsewhere in between, where it may have been forgotten, and is gone through since it is back.
    const isOld = restart.tenure !== this.#tenures.get(shard);
    if (isClear === "wait" && !isOld) return this.later(id);
    this.#restarts.delete(id);
    // Somebody may just have failed to forget it, so it is not taken for sure that it is remembered.
    if (isClear === "now" && !isOld && !this.#type.activations.has(id)) this.#start(id, false);
  }

  /** It is tried again, as long as the shard is here in which it was remembered. */
  #notNow(id: string, err: unknown): void {
    const { shard, tenure } = this.#restarts.get(id) ?? {};
    this.#restarts.delete(id);
    this.#warn(id, err);
    if (this.#isOver || shard === undefined || this.#tenures.get(shard) !== tenure) return;
    if (this.#deps.standing(this.#type.name, shard) !== "elsewhere") this.#restarts.add(id, tenure, shard, true);
  }

  /** A shard that is about to move goes to the end of the line, with what is left of it. */
  async #goThrough(shard: number, from: string | undefined): Promise<void> {
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

  /** Daemons of the shard that the store does not remember yet, because their number has grown. */
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

  /** Runs, or waits to be started again. */
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

  /** The shard lives elsewhere; or it did, and is gone through anew since it is back. */
  #isGivenUp({ shard, tenure }: Scan): boolean {
    if (this.#tenures.get(shard) !== tenure) return true;
    if (this.#deps.standing(this.#type.name, shard) !== "elsewhere") return false;
    this.#known.delete(shard);
    return true;
  }

  /** One that was remembered in another shard than it is in now would run in two places. */
  #belongs(id: string, { shard, tenure, passed }: Scan): boolean {
    try {
      const now = this.#shardOf(id);
      if (now === shard) return true;
      this.#warn(id, new LimpetError("SHARD_INVALID", `it is remembered in shard ${shard}, and is in ${now} now`));
    } catch (err) {
      // It may be said the next time.
      this.#warn(id, err);
      if (!passed.has(id) && this.#restarts.size < MOST_RESTARTS) this.#restarts.add(id, tenure, shard, true);
    }
    return false;
  }

  /** Or it waits to be started again, since the host is the home of its shard. */
  #isRunning(id: string, tenure: number | undefined): boolean {
    const restart = this.#restarts.get(id);
    return this.#type.activations.has(id) || (restart !== undefined && restart.tenure === tenure);
  }

  async #putBack(shard: number, after: string | undefined): Promise<void> {
    if (!this.#line.has(shard)) this.#line.set(shard, after);
    await this.#pace.pause(PAUSE_MS);
  }

  /** Undefined: the store does not answer. */
  async #read(scan: Scan, after: string | undefined): Promise<string[] | undefined | "never"> {
    const { shards, catalog, log } = this.#deps;
    const type = this.#type.name;
    const { shard } = scan;
    if (this.#isGivenUp(scan)) return "never";
    try {
      const page = await shards.remembered({ namespace: catalog.namespace, type, shard }, after, PAGE);
      return this.#isGivenUp(scan) ? "never" : page;
    } catch (err) {
      log.debug("remembered actors could not be read", { type, shard, err });
      return this.#isGivenUp(scan) ? "never" : undefined;
    }
  }

  /** May one of that shard be started at this very moment? A number: it is to be looked again after that, or when somebody is there. */
  #isClear(shard: number): "now" | "wait" | "never" | number {
    const { clock, catalog, standing } = this.#deps;
    const where = standing(this.#type.name, shard);
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
        // One that is still on its way may yet come to life.
        const isThere = this.#type.activations.has(id) || this.#restarts.get(id) !== undefined;
        if (!isThere && !this.#forgetting.has(id)) this.later(id, true);
      })
      .finally(isOver);
  }

  /** When many fail, one stands for all of them. */
  #warn(id: string, err: unknown): void {
    const now = this.#deps.clock.monotonic();
    const isNews = now - this.#lastWarning >= this.#rule.restartAfterMs;
    if (isNews) this.#lastWarning = now;
    const what = "a remembered actor could not be started";
    this.#deps.log[isNews ? "warn" : "debug"](what, { type: this.#type.name, id, err });
  }
}
