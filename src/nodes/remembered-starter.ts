// Brings the remembered actors of one type back to life on this host, at a bounded rate.
//
// - When the host becomes the home of a shard its remembered actors are read, a page at a time, and started unless they run already. Shards
//   wait in line, and so does everything while the host has no room in memory.
// - One that stopped without being forgotten is started again after a while. So is one that could not be started.
// - Right before one is started it is looked whether it is still to be: its shard may have moved, and it may have been forgotten since
//   it was read. What is forgotten while a shard is gone through is noted for that.
import type { ActorType } from "../actors/actor-type.ts";
import type { Catalog } from "../actors/catalog.ts";
import type { RememberedRule } from "../actors/lifetime-options.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Shards } from "../ports/shards.ts";
import type { RememberedInstruments } from "./remembered-instruments.ts";
import type { Standing } from "./shard-remembered.ts";

export interface StarterWorld {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly shards: Shards;
  readonly instruments: RememberedInstruments;
  standing(type: string, shard: number): Standing;
}

/** Actors that are read at once. */
const PAGE = 1_000;
/** Shards that are gone through at the same time: while one is read, actors of others begin. */
const LANES = 4;
/** Those that are being started at the same time. */
const AT_ONCE = 200;
/** A shard that is about to move, a store that does not answer. */
const PAUSE_MS = 200;
/** A host without room has some when others are idle. */
const NO_ROOM_MS = 2_000;
/** Starts follow each other in little groups, so that not each of them needs a timer. */
const GROUP_MS = 20;
/** Those that wait to be started again. When there are more their shards are gone through once more instead. */
const MOST_RESTARTS = 100_000;

export class RememberedStarter {
  readonly #type: ActorType;
  readonly #rule: RememberedRule;
  readonly #world: StarterWorld;
  /** Shards to go through, each with the id behind which to begin. */
  readonly #line = new Map<number, string | undefined>();
  /** All shards of which it was ever told. */
  readonly #known = new Set<number>();
  /** For each shard that is gone through: who must not be started any more. */
  readonly #scans = new Set<Set<string>>();
  /** On their way to be forgotten. */
  readonly #forgetting = new Map<string, number>();
  /** When each is started again; in that order, as all wait for the same time. */
  readonly #restarts = new Map<string, number>();
  #alarm: Timer | undefined;
  #underWay = 0;
  /** When the next may be started. */
  #nextAt = 0;
  #lanes = 0;
  #isRestarting = false;
  #isOver = false;
  /** What is waited for may be there. */
  readonly #pauses = new Set<() => void>();
  #lastWarning = Number.NEGATIVE_INFINITY;

  constructor(type: ActorType, rule: RememberedRule, world: StarterWorld) {
    this.#type = type;
    this.#rule = rule;
    this.#world = world;
  }

  /** Shards to go through and actors to start again. */
  get waiting(): { readonly shards: number; readonly restarts: number } {
    return { shards: this.#line.size + this.#scans.size, restarts: this.#restarts.size };
  }

  /** Brings the gauges up to date; called when somebody looks. */
  measure(): void {
    const { instruments } = this.#world;
    instruments.shards.set(this.waiting.shards);
    instruments.restarts.set(this.waiting.restarts);
  }

  /** The host has become the home of this shard. */
  gained(shard: number): void {
    this.#known.add(shard);
    this.#line.delete(shard);
    this.#line.set(shard, undefined);
    this.#work();
  }

  knows(shard: number): boolean {
    return this.#known.has(shard);
  }

  /** It has stopped, and is remembered. */
  later(id: string): void {
    if (this.#isOver) return;
    if (this.#restarts.size >= MOST_RESTARTS) {
      this.#line.set(this.#shardOf(id), undefined);
      this.#work();
      return;
    }
    this.#restarts.delete(id);
    this.#restarts.set(id, this.#world.clock.monotonic() + this.#rule.restartAfterMs);
    this.#setAlarm();
  }

  /** It is about to be forgotten; the function is called when that is over, whatever became of it. */
  forgets(id: string): () => void {
    this.#forgetting.set(id, (this.#forgetting.get(id) ?? 0) + 1);
    for (const passed of this.#scans) passed.add(id);
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
    this.#restarts.clear();
    this.#alarm?.cancel();
    this.#resume();
  }

  #shardOf(id: string): number {
    return this.#type.options.sharded!.shardOf(id);
  }

  #setAlarm(): void {
    const [first] = this.#restarts.values();
    if (this.#alarm !== undefined || first === undefined || this.#isOver) return;
    const ring = (): void => {
      this.#alarm = undefined;
      this.#work();
      this.#setAlarm();
    };
    const ms = Math.max(first - this.#world.clock.monotonic(), GROUP_MS);
    this.#alarm = this.#world.clock.after(ms, ring, "background");
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
    const due = this.#nextDue();
    const [next] = this.#line;
    if (due !== undefined) return this.#restart(due);
    return next === undefined ? undefined : this.#goThrough(...next);
  }

  #nextDue(): string | undefined {
    const [first] = this.#restarts;
    const isDue = first !== undefined && first[1] <= this.#world.clock.monotonic();
    return isDue && !this.#isRestarting ? first[0] : undefined;
  }

  async #restart(id: string): Promise<void> {
    this.#isRestarting = true;
    try {
      await this.#restartOne(id);
    } catch (err) {
      // Which shard it belongs to is for code of the application to say.
      this.#restarts.delete(id);
      this.#warn(id, err);
    }
    this.#isRestarting = false;
  }

  async #restartOne(id: string): Promise<void> {
    const shard = this.#shardOf(id);
    let isClear = this.#isClear(shard);
    for (; typeof isClear === "number"; isClear = this.#isClear(shard)) await this.#pause(isClear);
    // It may have been forgotten meanwhile, or have come to life by a call.
    if (!this.#restarts.has(id)) return;
    if (isClear === "wait") return this.later(id);
    this.#restarts.delete(id);
    // Somebody may just have failed to forget it, so it is not taken for sure that it is remembered.
    if (isClear === "now" && !this.#type.activations.has(id)) this.#start(id, false);
  }

  /** A shard that is about to move goes to the end of the line, with what is left of it. */
  async #goThrough(shard: number, from: string | undefined): Promise<void> {
    this.#line.delete(shard);
    const passed = new Set(this.#forgetting.keys());
    this.#scans.add(passed);
    try {
      let after = from;
      for (;;) {
        const page = await this.#read(shard, after);
        for (const id of page ?? []) {
          const isAside = this.#isRunning(id) || !this.#belongs(id, shard);
          const isClear = isAside ? "now" : await this.#startOne(id, shard, passed);
          if (isClear === "never") return;
          if (isClear === "wait") return await this.#putBack(shard, after);
          after = id;
        }
        if (page === undefined) return await this.#putBack(shard, after);
        if (page.length < PAGE) return;
      }
    } finally {
      this.#scans.delete(passed);
    }
  }

  async #startOne(id: string, shard: number, passed: ReadonlySet<string>): Promise<"now" | "wait" | "never"> {
    let isClear = this.#isClear(shard);
    for (; typeof isClear === "number"; isClear = this.#isClear(shard)) await this.#pause(isClear);
    if (isClear === "now" && !passed.has(id) && !this.#isRunning(id)) this.#start(id, true);
    return isClear;
  }

  /** One that was remembered in another shard than it is in now would run in two places. */
  #belongs(id: string, shard: number): boolean {
    try {
      const now = this.#shardOf(id);
      if (now === shard) return true;
      this.#warn(id, new LimpetError("SHARD_INVALID", `it is remembered in shard ${shard}, and is in ${now} now`));
    } catch (err) {
      this.#warn(id, err);
    }
    return false;
  }

  #isRunning(id: string): boolean {
    return this.#type.activations.has(id) || this.#restarts.has(id);
  }

  async #putBack(shard: number, after: string | undefined): Promise<void> {
    if (!this.#line.has(shard)) this.#line.set(shard, after);
    await this.#pause(PAUSE_MS);
  }

  /** Undefined: the store does not answer, or the shard is not this host's any more. */
  async #read(shard: number, after: string | undefined): Promise<string[] | undefined> {
    const { shards, catalog, log, standing } = this.#world;
    const type = this.#type.name;
    if (standing(type, shard) === "elsewhere") return [];
    try {
      return await shards.remembered({ namespace: catalog.namespace, type, shard }, after, PAGE);
    } catch (err) {
      log.debug("remembered actors could not be read", { type, shard, err });
      return undefined;
    }
  }

  /** May one of that shard be started at this very moment? A number: it is to be looked again after that, or when somebody is there. */
  #isClear(shard: number): "now" | "wait" | "never" | number {
    const { clock, catalog, standing } = this.#world;
    const where = standing(this.#type.name, shard);
    if (this.#isOver || where === "elsewhere") return "never";
    const now = clock.monotonic();
    if (where === "wait" || !catalog.mayBegin(now)) return "wait";
    if (!catalog.hasRoom) return NO_ROOM_MS;
    if (this.#underWay >= AT_ONCE) return PAUSE_MS;
    return this.#nextAt - now > GROUP_MS ? this.#nextAt - now : "now";
  }

  /** Also over as soon as somebody who was started is there. */
  async #pause(ms: number): Promise<void> {
    if (this.#isOver) return;
    await new Promise<void>((resolve) => {
      const over = (): void => {
        timer.cancel();
        this.#pauses.delete(over);
        resolve();
      };
      const timer = this.#world.clock.after(ms, over, "background");
      this.#pauses.add(over);
    });
  }

  #resume(): void {
    for (const over of [...this.#pauses]) over();
  }

  #start(id: string, isKnown: boolean): void {
    const { catalog, clock, instruments } = this.#world;
    this.#nextAt = Math.max(this.#nextAt, clock.monotonic()) + 1_000 / this.#rule.startsPerSecond;
    this.#underWay++;
    void catalog
      .start(this.#type, id, isKnown)
      .then(() => instruments.started.add(1))
      .catch((err: unknown) => {
        instruments.failed.add(1);
        this.#warn(id, err);
        // One that is still on its way may yet come to life.
        if (!this.#isRunning(id) && !this.#forgetting.has(id)) this.later(id);
      })
      .finally(() => {
        if (this.#underWay-- >= AT_ONCE) this.#resume();
      });
  }

  /** When many fail, one stands for all of them. */
  #warn(id: string, err: unknown): void {
    const now = this.#world.clock.monotonic();
    const isNews = now - this.#lastWarning >= this.#rule.restartAfterMs;
    if (isNews) this.#lastWarning = now;
    const what = "a remembered actor could not be started";
    this.#world.log[isNews ? "warn" : "debug"](what, { type: this.#type.name, id, err });
  }
}
